package llm

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
)

const (
	// packedPrefix begins an encoded id, for styles that do not take its characters.
	packedPrefix = "gwx_"
	// hashedPrefix begins the hash of an id that is too long for a style.
	hashedPrefix = "gwh_"
	// hashBytes keeps the encoded hash with its prefix below 40 characters, which every provider takes.
	hashBytes = 24
)

// MintID makes an id for a part of an answer, different for each n and the same whenever it is asked again.
func (a *Ask) MintID(prefix string, n int) string {
	_, call, found := strings.Cut(a.CallID, "_")
	if !found {
		call = a.CallID
	}
	if n == 0 {
		return prefix + call
	}
	return prefix + call + "_" + strconv.Itoa(n)
}

// FitID writes the id of a tool call so that a style takes it: letters, digits, _ and -, at most charsMax characters. An
// id that fits stays. Others are packed so that UnfitID gives them back; what is then still too long becomes a hash,
// which keeps call and result together. Ids of earlier turns never come back from an upstream, so nothing is lost.
func FitID(id string, charsMax int) string {
	if len(id) <= charsMax && plainID(id) {
		return id
	}
	packed := packedPrefix + base64.RawURLEncoding.EncodeToString([]byte(id))
	if len(packed) <= charsMax {
		return packed
	}
	sum := sha256.Sum256([]byte(id))
	return hashedPrefix + base64.RawURLEncoding.EncodeToString(sum[:hashBytes])
}

// UnfitID undoes FitID where that is possible.
func UnfitID(id string) string {
	if packed, ok := strings.CutPrefix(id, packedPrefix); ok {
		if plain, err := base64.RawURLEncoding.DecodeString(packed); err == nil {
			return string(plain)
		}
	}
	return id
}

func plainID(id string) bool {
	for i := range len(id) {
		if c := id[i]; !letterOrDigit(c) && c != '_' && c != '-' {
			return false
		}
	}
	return id != ""
}

func letterOrDigit(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
