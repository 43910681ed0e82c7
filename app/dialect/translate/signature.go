package translate

import (
	"slices"
	"strconv"
	"strings"

	"umg/app/llm"
)

// styleMark separates the provider in the name of a maker from the letter of the style in which it signed, because one provider may use
// several styles. Some styles also sign the text of the reasoning, and their providers refuse a conversation whose text has changed, so
// that a digest of the text follows.
const styleMark = "~"

// styleLetters has the letter of each style. Clients have them in their histories, so that they never change.
var styleLetters = map[llm.Style]string{
	llm.Chat: "c", llm.Messages: "m", llm.Responses: "r", llm.Native: "n", llm.Converse: "b", llm.Cohere: "h",
}

// signsText reports whether providers of a style sign the text of the reasoning.
func signsText(style llm.Style) bool { return style == llm.Messages || style == llm.Converse }

// sealThought marks a signature with its maker. An empty signature is marked also, so that the maker of unsigned reasoning is known.
// Without a provider the signature stays as it is.
func (t *translation) sealThought(upstream llm.Style, digest uint64, signature string) string {
	if t.provider == "" {
		return signature
	}
	maker := t.provider + styleMark + styleLetters[upstream]
	if signsText(upstream) && signature != "" {
		maker += strconv.FormatUint(digest, 36)
	}
	return llm.SignatureMark + maker + "." + signature
}

// digestOf continues the digest of a text. The first digest is digestStart.
func digestOf(digest uint64, text string) uint64 {
	for i := range len(text) {
		digest = (digest ^ uint64(text[i])) * digestPrime
	}
	return digest
}

// The constants of FNV-1a.
const (
	digestStart = 14695981039346656037
	digestPrime = 1099511628211
)

// openSignature returns the signature of the provider when this provider made it in this style and the text has not changed.
func (t *translation) openSignature(upstream llm.Style, p *llm.Part) (string, bool) {
	rest, ok := strings.CutPrefix(p.Signature, llm.SignatureMark)
	if !ok {
		return "", false
	}
	maker, signature, ok := strings.Cut(rest, ".")
	provider, signed, _ := strings.Cut(maker, styleMark)
	if !ok || provider != t.provider || !strings.HasPrefix(signed, styleLetters[upstream]) {
		return "", false
	}
	digest := signed[1:]
	return signature, digest == "" || digest == strconv.FormatUint(digestOf(digestStart, p.Text), 36)
}

// carrySignatures keeps only the reasoning that the provider itself has signed. Providers refuse reasoning that they cannot read, and
// every style allows a history without reasoning.
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
			if client == upstream && !strings.HasPrefix(p.Signature, llm.SignatureMark) {
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
