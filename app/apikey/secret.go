package apikey

import (
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// A key is a prefix that people and secret scanners recognise, the secret, and a checksum over it, which rejects what was mistyped,
// cut or made up before anything is looked up.
const (
	secretPrefix  = "sk-umg-"
	secretChars   = 32
	checksumChars = 6
	shownChars    = len(secretPrefix) + 4 // Key.Prefix shows this many characters.
	lastChars     = 4
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// newSecret draws a secret of 190 random bits. Bytes that would favour some letters are thrown away.
func newSecret(random io.Reader) (string, error) {
	const fair = 256 - 256%len(base62)
	body := make([]byte, 0, secretChars)
	var drawn [secretChars]byte
	for len(body) < secretChars {
		if _, err := io.ReadFull(random, drawn[:]); err != nil {
			return "", fmt.Errorf("apikey: draw a secret: %w", err)
		}
		for _, b := range drawn {
			if int(b) < fair && len(body) < secretChars {
				body = append(body, base62[int(b)%len(base62)])
			}
		}
	}
	sum := checksum(string(body))
	return secretPrefix + string(body) + string(sum[:]), nil
}

// checksum is the CRC-32 of the secret part in six base62 digits, most significant first. It goes over the bytes itself, because
// every request has a key and the library would need a copy of it.
func checksum(body string) (digits [checksumChars]byte) {
	sum := ^uint32(0)
	for i := range len(body) {
		sum = crc32.IEEETable[byte(sum)^body[i]] ^ sum>>8
	}
	sum = ^sum
	for i := checksumChars - 1; i >= 0; i-- {
		digits[i] = base62[sum%uint32(len(base62))]
		sum /= uint32(len(base62))
	}
	return digits
}

// wellFormed reports whether s has the shape of a key and its checksum holds. It says nothing about whether the key was ever made.
func wellFormed(s string) bool {
	body, found := strings.CutPrefix(s, secretPrefix)
	if !found || len(body) != secretChars+checksumChars {
		return false
	}
	for i := range len(body) {
		if !isBase62(body[i]) {
			return false
		}
	}
	sum := checksum(body[:secretChars])
	return body[secretChars:] == string(sum[:])
}

func isBase62(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}
