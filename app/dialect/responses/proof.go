package responses

import "strings"

const (
	// thoughtPrefix begins the id of a reasoning item.
	thoughtPrefix = "rs_"
	// sealPrefix begins a proof that a translation has marked. It belongs to no item of this style.
	sealPrefix = "gw1."
)

// joinProof is the signature of a thought: its proof, after the id of the item that it was made for. Providers look at
// both when they come back. An id that is only a number was made up here.
func joinProof(id, proof string) string {
	own, ok := strings.CutPrefix(id, thoughtPrefix)
	if !ok || proof == "" || strings.HasPrefix(proof, sealPrefix) || strings.Trim(own, "0123456789") == "" || strings.Contains(id, ".") {
		return proof
	}
	return id + "." + proof
}

// splitProof undoes joinProof.
func splitProof(signature string) (id, proof string) {
	if id, proof, ok := strings.Cut(signature, "."); ok && strings.HasPrefix(id, thoughtPrefix) {
		return id, proof
	}
	return "", signature
}
