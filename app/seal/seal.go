// Package seal encrypts secrets before they are stored. Make one Sealer for each purpose with New: a Sealer of another
// purpose cannot open what it seals.
package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// KeyBytes is the length of the server's secret key.
const KeyBytes = 32

// version is the first byte of every sealed value. A new layout needs a new version.
const version = 1

const (
	keyIDBytes  = 4
	headerBytes = 1 + keyIDBytes
)

// Open fails with one of these errors. Callers tell them apart with errors.Is.
var (
	ErrOtherKey = errors.New("the value was sealed with another secret key than the configured one")
	ErrBroken   = errors.New("the sealed value is damaged, or was sealed for something else")
)

// Sealer encrypts and authenticates values for one purpose. A sealed value is a version byte, the id of the key that sealed
// it, a random nonce and the AES-256-GCM ciphertext; the id lets values of two keys stand side by side while a key is replaced.
// It is safe for concurrent use.
type Sealer struct {
	header [headerBytes]byte
	aead   cipher.AEAD
}

// New derives the purpose's own key from the server's secret key. Purposes are constants in the code; changing one makes the
// values sealed for it unreadable.
func New(key [KeyBytes]byte, purpose string) *Sealer {
	block, err := aes.NewCipher(Derive(key, purpose))
	if err != nil {
		panic(fmt.Sprintf("seal: a derived key is no AES key: %v", err))
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(fmt.Sprintf("seal: AES has no GCM: %v", err))
	}
	s := &Sealer{aead: aead}
	s.header[0] = version
	copy(s.header[1:], Derive(key, "umg key id"))
	return s
}

// Derive returns 32 bytes that depend on the secret key and the purpose, and from which neither can be computed (HKDF, RFC 5869).
func Derive(key [KeyBytes]byte, purpose string) []byte {
	derived, err := hkdf.Key(sha256.New, key[:], nil, purpose, KeyBytes)
	if err != nil {
		panic(fmt.Sprintf("seal: derive a key: %v", err))
	}
	return derived
}

// Seal encrypts plain. Context is what the value belongs to, such as the id of its row. Open needs the same context, so a
// value that is copied to another row cannot be opened there.
func (s *Sealer) Seal(plain []byte, context string) []byte {
	return s.aead.Seal(s.header[:], nil, plain, []byte(context))
}

// KeyID returns the id of the secret key, in hexadecimal digits. Every sealed value begins with the version and this id.
func (s *Sealer) KeyID() string { return hex.EncodeToString(s.header[1:]) }

// Open decrypts what Seal made for the same context. It returns ErrOtherKey or ErrBroken. Values that were sealed before
// they had a header open as well.
func (s *Sealer) Open(sealed []byte, context string) ([]byte, error) {
	if bytes.HasPrefix(sealed, s.header[:]) {
		if plain, err := s.aead.Open(nil, nil, sealed[headerBytes:], []byte(context)); err == nil {
			return plain, nil
		}
	}
	if plain, err := s.aead.Open(nil, nil, sealed, []byte(context)); err == nil {
		return plain, nil
	}
	if len(sealed) > headerBytes && sealed[0] == version && !bytes.HasPrefix(sealed, s.header[:]) {
		return nil, ErrOtherKey
	}
	return nil, ErrBroken
}
