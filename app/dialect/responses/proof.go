package responses

import (
	"strings"

	"umg/app/llm"
)

// thoughtPrefix begins the id of a reasoning item.
const thoughtPrefix = "rs_"

// joinProof returns the signature of a reasoning part: the id of its item and its encrypted content. Providers check that both belong
// together. An id that is only a number was minted by the gateway and is left out. A signature with a mark
// belongs to no item of this style.
func joinProof(id, proof string) string {
	own, ok := strings.CutPrefix(id, thoughtPrefix)
	isMarked := strings.HasPrefix(proof, llm.SignatureMark)
	if !ok || proof == "" || isMarked || strings.Trim(own, "0123456789") == "" || strings.Contains(id, ".") {
		return proof
	}
	return id + "." + proof
}

// splitProof reverses joinProof.
func splitProof(signature string) (id, proof string) {
	if id, proof, ok := strings.Cut(signature, "."); ok && strings.HasPrefix(id, thoughtPrefix) {
		return id, proof
	}
	return "", signature
}
