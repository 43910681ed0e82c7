package seal

import "crypto/sha256"

// Fingerprint is the SHA-256 of a secret. It takes the place of the secret in memory and in the database.
type Fingerprint [sha256.Size]byte

// FingerprintOf returns the fingerprint of a secret.
func FingerprintOf(secret string) Fingerprint {
	var short [64]byte // A key fits here, so that the check of a key allocates nothing.
	return sha256.Sum256(append(short[:0], secret...))
}
