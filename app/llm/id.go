package llm

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// encodedPrefix begins an encoded id, for styles that do not take its characters.
	encodedPrefix = "gwx_"
	// hashedPrefix begins the hash of an id that is too long for a style.
	hashedPrefix = "gwh_"
	// hashBytes keeps the encoded hash with its prefix below 40 characters, which every provider takes.
	hashBytes = 24
)

// MintID makes the id of a part of an answer. It differs for each n and is the same for each call with the same arguments.
func (a *ResponseOptions) MintID(prefix string, n int) string {
	_, call, found := strings.Cut(a.CallID, "_")
	if !found {
		call = a.CallID
	}
	if n == 0 {
		return prefix + call
	}
	return prefix + call + "_" + strconv.Itoa(n)
}

// FitID changes the id of a tool call so that a style accepts it: letters, digits, _ and -, at most charsMax characters. Other ids are
// encoded so that OriginalID returns the original. An id that is still too long becomes a hash, which keeps call and result together;
// providers never return ids of earlier turns.
func FitID(id string, charsMax int) string {
	isOther := func(r rune) bool { return r >= utf8.RuneSelf || !letterOrDigit(byte(r)) && r != '_' && r != '-' }
	if id != "" && len(id) <= charsMax && !strings.ContainsFunc(id, isOther) {
		return id
	}
	packed := encodedPrefix + base64.RawURLEncoding.EncodeToString([]byte(id))
	if len(packed) <= charsMax {
		return packed
	}
	sum := sha256.Sum256([]byte(id))
	return hashedPrefix + base64.RawURLEncoding.EncodeToString(sum[:hashBytes])
}

// FitEndUser shortens the id of an end user that is too long for a style. It shortens the same id always alike.
func FitEndUser(id string, charsMax int) string {
	if utf8.RuneCountInString(id) > charsMax {
		return FitID(id, charsMax)
	}
	return id
}

// OriginalID returns the original of an id that FitID has encoded. Hashed and unchanged ids stay as they are.
func OriginalID(id string) string {
	if packed, ok := strings.CutPrefix(id, encodedPrefix); ok {
		if plain, err := base64.RawURLEncoding.DecodeString(packed); err == nil {
			return string(plain)
		}
	}
	return id
}

func letterOrDigit(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
