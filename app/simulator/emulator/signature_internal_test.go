package emulator

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// verifiedVectors is how many of the published requests verify. The others have paths that a signer normalizes, and no path of a
// provider is like those.
const verifiedVectors = 30

// TestSignaturesOfPublishedRequests computes the signature of each published request that is signed in its headers.
func TestSignaturesOfPublishedRequests(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../provider/recordings/testdata/providers/sigv4/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]struct {
		Context struct {
			Credentials struct {
				Secret string `json:"secret_access_key"`
			} `json:"credentials"`
		} `json:"context"`
		Signed string `json:"header_signed_request"`
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	verified := 0
	for name, v := range all {
		head, body, _ := strings.Cut(v.Signed, "\n\n")
		text := strings.ReplaceAll(head, "\n", "\r\n") + "\r\n\r\n"
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
		if err != nil || strings.HasSuffix(name, "-normalized") {
			continue
		}
		_ = r.Body.Close()
		header, isSigned := strings.CutPrefix(r.Header.Get("Authorization"), signatureScheme)
		s, ok := parseSignature(header)
		if !isSigned || !ok {
			continue
		}
		content, _ := io.ReadAll(strings.NewReader(body))
		if got := s.compute(r, content, v.Context.Credentials.Secret); got != s.signature {
			t.Errorf("%s: %s, want %s", name, got, s.signature)
		}
		verified++
		if got := s.compute(r, append(content, ' '), v.Context.Credentials.Secret); got == s.signature {
			t.Errorf("%s: another body has the same signature", name)
		}
		if got := s.compute(r, content, v.Context.Credentials.Secret+"x"); got == s.signature {
			t.Errorf("%s: another secret makes the same signature", name)
		}
	}
	t.Logf("%d of %d published requests verify", verified, len(all))
	if verified != verifiedVectors {
		t.Errorf("%d published requests verify, want %d", verified, verifiedVectors)
	}
}
