package dialect

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"umg/app/dialect/native"
	"umg/app/llm"
)

// signatureMark begins the signatures that a translation hands to clients: gw1.<provider>.<what the provider sent>.
// A signature means something only to the provider that made it, so that one must be found again.
const signatureMark = "gw1."

// digestMark stands between a provider and the digest of the text that it has signed.
const digestMark = "~"

// sealSignature marks a signature, even an empty one: that also tells whose the unsigned reasoning is. Without a
// provider it stays as it is.
func sealSignature(provider, signature string) string {
	if provider == "" {
		return signature
	}
	return signatureMark + provider + "." + signature
}

// sealThought marks the signature of a thought. The messages style signs the text too, and its providers refuse a whole
// conversation for one that has changed on its way, so the mark notes what it was.
func (t *translation) sealThought(upstream llm.Style, digest uint64, signature string) string {
	if t.provider == "" || upstream != llm.Messages || signature == "" {
		return sealSignature(t.provider, signature)
	}
	return sealSignature(t.provider+digestMark+strconv.FormatUint(digest, 36), signature)
}

// digestOf goes on with the digest of a text, which begins with digestStart.
func digestOf(digest uint64, text string) uint64 {
	for i := range len(text) {
		digest = (digest ^ uint64(text[i])) * digestPrime
	}
	return digest
}

// The numbers of FNV-1a.
const (
	digestStart = 14695981039346656037
	digestPrime = 1099511628211
)

// Sealed reports whether a request has signatures that a translation has handed out. Such a request must be
// translated even to its own style, as the provider cannot read them.
func Sealed(body []byte) bool {
	return bytes.Contains(body, []byte(`"`+signatureMark)) || bytes.Contains(body, []byte(`"`+native.SealedMark))
}

// openSignature gives back what the provider sent, when it was this one and the text is still what it signed.
func openSignature(provider, sealed, text string) (string, bool) {
	rest, ok := strings.CutPrefix(sealed, signatureMark)
	if !ok {
		return "", false
	}
	maker, signature, ok := strings.Cut(rest, ".")
	maker, digest, signed := strings.Cut(maker, digestMark)
	if signed && digest != strconv.FormatUint(digestOf(digestStart, text), 36) {
		return "", false
	}
	return signature, ok && maker == provider
}

// carrySignatures leaves in the history only the reasoning that the provider itself has signed. A provider refuses
// what it cannot read, and none needs it: a history without reasoning is legal everywhere.
func (t *translation) carrySignatures(client, upstream llm.Style) {
	t.request.Turns = slices.Clone(t.request.Turns)
	for i := range t.request.Turns {
		turn := &t.request.Turns[i]
		if !slices.ContainsFunc(turn.Parts, isReasoning) {
			continue
		}
		kept := make([]llm.Part, 0, len(turn.Parts))
		for _, p := range turn.Parts {
			if !isReasoning(p) {
				kept = append(kept, p)
				continue
			}
			signature, own := openSignature(t.provider, p.Signature, p.Text)
			if client == upstream && !strings.HasPrefix(p.Signature, signatureMark) {
				signature, own = p.Signature, true // it came straight from an upstream of this style
			}
			if own && (signature != "" || upstream != llm.Responses) { // whose providers look for one that is not proven
				p.Signature = signature
				kept = append(kept, p)
			}
		}
		turn.Parts = kept
	}
	t.request.Turns = slices.DeleteFunc(t.request.Turns, func(turn llm.Turn) bool { return len(turn.Parts) == 0 })
}

func isReasoning(p llm.Part) bool { return p.Kind == llm.Reasoning }
