package dialect

import (
	"bytes"
	"slices"
	"strings"

	"umg/app/dialect/native"
	"umg/app/llm"
)

// signatureMark begins the signatures that a translation hands to clients: gw1.<provider>.<what the provider sent>.
// A signature means something only to the provider that made it, so that one must be found again.
const signatureMark = "gw1."

// sealSignature marks a signature, even an empty one: that also tells whose the unsigned reasoning is. Without a
// provider it stays as it is.
func sealSignature(provider, signature string) string {
	if provider == "" {
		return signature
	}
	return signatureMark + provider + "." + signature
}

// Sealed reports whether a request has signatures that a translation has handed out. Such a request must be
// translated even to its own style, as the provider cannot read them.
func Sealed(body []byte) bool {
	return bytes.Contains(body, []byte(`"`+signatureMark)) || bytes.Contains(body, []byte(`"`+native.SealedMark))
}

// openSignature gives back what the provider sent, when it was this one.
func openSignature(provider, sealed string) (string, bool) {
	rest, ok := strings.CutPrefix(sealed, signatureMark)
	if !ok {
		return "", false
	}
	maker, signature, ok := strings.Cut(rest, ".")
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
			signature, own := openSignature(t.provider, p.Signature)
			if client == upstream && !strings.HasPrefix(p.Signature, signatureMark) {
				signature, own = p.Signature, true // it came straight from an upstream of this style
			}
			// A client of the chat style gives a signature back without the text that it signs.
			torn := client == llm.Chat && upstream == llm.Messages && p.Text == ""
			if own && !torn {
				p.Signature = signature
				kept = append(kept, p)
			}
		}
		turn.Parts = kept
	}
	t.request.Turns = slices.DeleteFunc(t.request.Turns, func(turn llm.Turn) bool { return len(turn.Parts) == 0 })
}

func isReasoning(p llm.Part) bool { return p.Kind == llm.Reasoning }
