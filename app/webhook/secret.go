package webhook

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

const (
	secretPrefix = "whsec_"
	secretBytes  = 32
	hintChars    = 4
)

// newSeal makes the cipher that encrypts secrets, and a byte that identifies its key.
func newSeal(key [32]byte) (cipher.AEAD, byte, error) {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, 0, fmt.Errorf("webhook: the key: %w", err)
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		return nil, 0, fmt.Errorf("webhook: the key: %w", err)
	}
	mark := sha256.Sum256(append([]byte("webhook key id "), key[:]...))
	return seal, mark[0], nil
}

// newSecret draws the key that an endpoint's events are signed with.
func (s *Service) newSecret() ([]byte, error) {
	raw := make([]byte, secretBytes)
	if _, err := io.ReadFull(s.o.Random, raw); err != nil {
		return nil, fmt.Errorf("webhook: draw a secret: %w", err)
	}
	return raw, nil
}

// shownSecret is a secret as its owner sees it.
func shownSecret(raw []byte) string { return secretPrefix + base64.StdEncoding.EncodeToString(raw) }

// hintOf is what remains visible of a secret.
func hintOf(raw []byte) string {
	shown := strings.TrimRight(shownSecret(raw), "=")
	return secretPrefix + "…" + shown[len(shown)-hintChars:]
}

// sealSecret is a secret for the store: the key's byte, a nonce and the cipher text, which opens for its endpoint only.
func (s *Service) sealSecret(endpointID string, raw []byte) ([]byte, error) {
	nonce := make([]byte, s.seal.NonceSize())
	if _, err := io.ReadFull(s.o.Random, nonce); err != nil {
		return nil, fmt.Errorf("webhook: seal a secret: %w", err)
	}
	return s.seal.Seal(append([]byte{s.keyID}, nonce...), nonce, raw, []byte(endpointID)), nil
}

func (s *Service) openSecret(endpointID string, box []byte) ([]byte, error) {
	size := s.seal.NonceSize()
	switch {
	case len(box) < 1+size:
		return nil, errors.New("webhook: a sealed secret is cut")
	case box[0] != s.keyID:
		return nil, errors.New("webhook: a secret was sealed with another key than the configured one")
	}
	raw, err := s.seal.Open(nil, box[1:1+size], box[1+size:], []byte(endpointID))
	if err != nil {
		return nil, errors.New("webhook: a sealed secret does not open")
	}
	return raw, nil
}

// signedHeaders are those that a receiver is sent an event with. The signature is one for every secret, the newest first.
func signedHeaders(id string, at time.Time, body []byte, secrets [][]byte) []Header {
	stamp, signatures := strconv.FormatInt(at.Unix(), 10), make([]string, len(secrets))
	for i, secret := range secrets {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(id + "." + stamp + "."))
		mac.Write(body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return []Header{
		{"content-type", "application/json"}, {"webhook-id", id}, {"webhook-timestamp", stamp},
		{"webhook-signature", strings.Join(signatures, " ")},
	}
}
