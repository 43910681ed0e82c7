package credential_test

import (
	"bytes"
	"net/http"
	"testing"

	"umg/app/catalog"
	"umg/app/provider/credential"
)

// BenchmarkSignature1K measures what the signature of a request of 1 kB costs a call.
func BenchmarkSignature1K(b *testing.B) {
	s, err := credential.New(credential.Options{
		Provider: "acme", Auth: catalog.Auth{Kind: catalog.AuthSigV4, Service: "bedrock", Region: "us-east-1"},
		Value: catalog.NewSecret("AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY:session"), Now: newClock().Now,
	})
	if err != nil {
		b.Fatal(err)
	}
	body := bytes.Repeat([]byte("a"), 1<<10)
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost,
		"https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-haiku-4-5-20251001-v1:0/invoke", nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		r.Header = http.Header{"Content-Type": {"application/json"}}
		if err := s.Authorize(b.Context(), r, body); err != nil {
			b.Fatal(err)
		}
	}
}
