package simulator

import (
	"hash/fnv"
	"net/http"
	"strings"
)

const (
	// signatureBytes is how long the random part of a signature is, between the mark of its style and the seal.
	signatureBytes = 24
	// signatureDummy is what a native upstream takes for calls that another model has made.
	signatureDummy = "skip_thought_signature_validator"
	// includeProof is what a caller of the responses style asks for to get the signature of reasoning.
	includeProof = "reasoning.encrypted_content"
)

// signature stands for the proof that reasoning is genuine. It is base64, as the real ones are, and only the provider
// that made it takes it back, in the style in which it went out.
func (x *exchange) signature() string {
	made := x.mint(x.style.signed)
	return made + x.seal(made)
}

// seal is a check sum of four letters over a signature and the provider that made it.
func (x *exchange) seal(made string) string {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	h := fnv.New32a()
	_, _ = h.Write([]byte(x.provider + "\x00" + x.style.name + "\x00" + made))
	sum := h.Sum32()
	seal := make([]byte, 4)
	for i := range seal {
		seal[i] = letters[sum%62]
		sum /= 62
	}
	return string(seal)
}

// verify refuses a conversation with a signature that this provider did not make. Bytes may come back in either alphabet of base64.
func (x *exchange) verify(p *prompt) *failure {
	at := len(x.style.signed) + signatureBytes
	for _, one := range p.signatures {
		if len(one) != at+4 || !strings.HasPrefix(one, x.style.signed) || one[at:] != x.seal(one[:at]) {
			return &failure{status: http.StatusBadRequest, code: x.style.forgedCode, message: x.style.forged}
		}
	}
	if p.unsigned && strings.Contains(p.model, "reason") {
		return badRequest("contents", "Function call is missing a thought_signature in functionCall parts.")
	}
	return nil
}

// addSignature adds the proof of reasoning that came back.
func (p *prompt) addSignature(signature string) { p.signatures = append(p.signatures, signature) }
