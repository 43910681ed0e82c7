package translate

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"umg/app/dialect/native"
	"umg/app/llm"
)

// signatureMark begins the signatures that a translation hands to clients: gw1.<maker>.<what the provider sent>. A
// signature means something only to its maker, so that one must be found again.
const signatureMark = "gw1."

// styleMark stands behind the provider in the name of a maker, before the first letter of the style in which it signed:
// one provider may speak several. The messages style signs the text of a thought too, and its providers refuse a whole
// conversation for one that has changed on its way, so there the digest of the text follows.
const styleMark = "~"

// sealThought marks a signature, even an empty one: that also tells whose the unsigned reasoning is. Without a provider it
// stays as it is.
func (t *translation) sealThought(upstream llm.Style, digest uint64, signature string) string {
	if t.provider == "" {
		return signature
	}
	maker := t.provider + styleMark + string(upstream[:1])
	if upstream == llm.Messages && signature != "" {
		maker += strconv.FormatUint(digest, 36)
	}
	return signatureMark + maker + "." + signature
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

// openSignature gives back what the maker sent, when it was this provider in this style, and the text is still what it
// signed.
func (t *translation) openSignature(upstream llm.Style, p *llm.Part) (string, bool) {
	rest, ok := strings.CutPrefix(p.Signature, signatureMark)
	if !ok {
		return "", false
	}
	maker, signature, ok := strings.Cut(rest, ".")
	provider, signed, _ := strings.Cut(maker, styleMark)
	if !ok || provider != t.provider || !strings.HasPrefix(signed, string(upstream[:1])) {
		return "", false
	}
	digest := signed[1:]
	return signature, digest == "" || digest == strconv.FormatUint(digestOf(digestStart, p.Text), 36)
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
			signature, own := t.openSignature(upstream, &p)
			if client == upstream && !strings.HasPrefix(p.Signature, signatureMark) {
				// The signature came unchanged from a provider of this style.
				signature, own = p.Signature, true
			}
			// Providers of the responses style look up reasoning without a signature.
			if own && (signature != "" || upstream != llm.Responses) {
				p.Signature = signature
				kept = append(kept, p)
			}
		}
		turn.Parts = kept
	}
	t.request.Turns = slices.DeleteFunc(t.request.Turns, func(turn llm.Turn) bool { return len(turn.Parts) == 0 })
}

func isReasoning(p llm.Part) bool { return p.Kind == llm.Reasoning }
