package account

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"

	"umg/app/seal"
)

// secretBox encrypts secrets with AES-GCM and hashes tokens with a keyed hash, so that a copy of the database does not reveal them.
type secretBox struct {
	seal  *seal.Sealer
	codes []byte // Codes is the key of the hashes of recovery codes.
}

// newVault returns nil without a key, for commands that neither seal nor open anything.
func newVault(key [32]byte) *secretBox {
	if key == [32]byte{} {
		return nil
	}
	return &secretBox{seal: seal.New(key, "umg sign-in seeds"), codes: seal.Derive(key, "umg recovery codes")}
}

var errNoVault = errors.New("account: there is no key to seal the second step of signing in with")

// lock seals data for one purpose; what was sealed for another does not open.
func (v *secretBox) lock(data []byte, purpose string) ([]byte, error) {
	if v == nil {
		return nil, errNoVault
	}
	return v.seal.Seal(data, purpose), nil
}

func (v *secretBox) open(sealed []byte, purpose string) ([]byte, error) {
	if v == nil {
		return nil, errNoVault
	}
	data, err := v.seal.Open(sealed, purpose)
	if err != nil {
		return nil, fmt.Errorf("account: unseal a %s: %w", purpose, err)
	}
	return data, nil
}

// codeHash is what is kept of a user's recovery code.
func (v *secretBox) codeHash(userID, code string) (seal.Fingerprint, error) {
	if v == nil {
		return seal.Fingerprint{}, errNoVault
	}
	h := hmac.New(sha256.New, v.codes)
	h.Write([]byte(userID + "\x00" + code))
	return seal.Fingerprint(h.Sum(nil)), nil
}
