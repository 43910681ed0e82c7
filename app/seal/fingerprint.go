package seal

import "crypto/sha256"

// Fingerprint is the SHA-256 of a secret. It takes the place of the secret in memory and in the database.
type Fingerprint [sha256.Size]byte

// FingerprintOf returns the fingerprint of a secret.
func FingerprintOf(secret string) Fingerprint { return sha256.Sum256([]byte(secret)) }
