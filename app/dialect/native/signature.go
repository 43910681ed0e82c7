package native

import (
	"encoding/base64"
	"strings"

	"umg/app/llm"
)

const (
	// SealedMark is the beginning of a marked signature in base64, after its quotation mark.
	SealedMark = "Z3cxL"
	// DummySignature is the signature that providers accept for calls of another model.
	DummySignature = "skip_thought_signature_validator"
)

// seal encodes a marked signature in base64, because signatures of this style are bytes and clients refuse other text. Signatures of
// providers are in base64 already.
func seal(signature string) string {
	if strings.HasPrefix(signature, llm.SignatureMark) {
		return base64.StdEncoding.EncodeToString([]byte(signature))
	}
	return signature
}

// unseal reverses seal, also when a client has re-encoded the bytes in the URL alphabet of base64. It returns nothing for DummySignature.
func unseal(signature string) string {
	if signature == DummySignature {
		return ""
	}
	if !strings.HasPrefix(signature, SealedMark) {
		return signature
	}
	plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(standardBase64.Replace(signature), "="))
	if err != nil || !strings.HasPrefix(string(plain), llm.SignatureMark) {
		return signature
	}
	return string(plain)
}

// standardBase64 replaces the URL alphabet of base64 by the standard one. The style allows both.
var standardBase64 = strings.NewReplacer("-", "+", "_", "/")

// standard returns base64 in the standard alphabet with padding. Data that is already in this form is not copied.
func standard(data string) string {
	data = standardBase64.Replace(data)
	if n := len(data) % 4; n > 1 {
		data += "=="[n-2:]
	}
	return data
}
