package native

import (
	"encoding/base64"
	"strings"
)

const (
	// SealedMark is how a signature that a translation has marked begins on this wire, after its quotation mark.
	SealedMark = "Z3cxL"

	sealPrefix = "gw1."
	// DummySignature is what providers take for calls that another model has made.
	DummySignature = "skip_thought_signature_validator"
)

// seal writes a marked signature as base64: in this style signatures are bytes, and clients refuse a text that does not
// stand for some. Others are base64 as they come.
func seal(signature string) string {
	if strings.HasPrefix(signature, sealPrefix) {
		return base64.StdEncoding.EncodeToString([]byte(signature))
	}
	return signature
}

// unseal reverses seal, also when a client has re-encoded the bytes in the other alphabet of base64. The dummy means
// that there is no signature.
func unseal(signature string) string {
	if signature == DummySignature {
		return ""
	}
	if !strings.HasPrefix(signature, SealedMark) {
		return signature
	}
	plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(standardBase64.Replace(signature), "="))
	if err != nil || !strings.HasPrefix(string(plain), sealPrefix) {
		return signature
	}
	return string(plain)
}

// standardBase64 turns the alphabet for addresses into the usual one. The wire takes both.
var standardBase64 = strings.NewReplacer("-", "+", "_", "/")

// standard is data in the usual alphabet, with padding. Data that is so already, as nearly all is, is not copied.
func standard(data string) string {
	data = standardBase64.Replace(data)
	if n := len(data) % 4; n > 1 {
		data += "=="[n-2:]
	}
	return data
}
