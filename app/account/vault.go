package account

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
)

// vault seals what only the server may read, and hashes what nobody may guess from a copy of the database.
type vault struct {
	seal  cipher.AEAD
	codes []byte // the key of the hashes of recovery codes
}

// newVault returns nil without a key, for commands that neither seal nor open anything.
func newVault(key [32]byte) *vault {
	if key == [32]byte{} {
		return nil
	}
	return &vault{seal: newSeal(key, "umg sign-in seeds"), codes: derive(key, "umg recovery codes")}
}

var errNoVault = errors.New("account: there is no key to seal the second step of signing in with")

// lock seals data for one purpose; what was sealed for another does not open.
func (v *vault) lock(data []byte, purpose string) ([]byte, error) {
	if v == nil {
		return nil, errNoVault
	}
	return v.seal.Seal(nil, nil, data, []byte(purpose)), nil
}

func (v *vault) open(sealed []byte, purpose string) ([]byte, error) {
	if v == nil {
		return nil, errNoVault
	}
	data, err := v.seal.Open(nil, nil, sealed, []byte(purpose))
	if err != nil {
		return nil, fmt.Errorf("account: unseal a %s; was the server's secret key replaced? %w", purpose, err)
	}
	return data, nil
}

// codeHash is what is kept of a user's recovery code.
func (v *vault) codeHash(userID, code string) (fingerprint, error) {
	if v == nil {
		return fingerprint{}, errNoVault
	}
	h := hmac.New(sha256.New, v.codes)
	h.Write([]byte(userID + "\x00" + code))
	return fingerprint(h.Sum(nil)), nil
}

// newSeal is a cipher under a key of its own for each purpose, which draws its nonces itself.
func newSeal(key [32]byte, purpose string) cipher.AEAD {
	block, err := aes.NewCipher(derive(key, purpose))
	if err != nil {
		panic(err)
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	return seal
}

func derive(key [32]byte, purpose string) []byte {
	derived, err := hkdf.Key(sha256.New, key[:], nil, purpose, 32)
	if err != nil {
		panic(err)
	}
	return derived
}
