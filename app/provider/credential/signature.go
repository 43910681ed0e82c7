package credential

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"umg/app"
)

// amzPrefix begins the headers that AWS wants to be signed.
const amzPrefix = "X-Amz-"

// signature signs each request with the signature version 4 of AWS.
type signature struct {
	keys            aws.Credentials
	service, region string
	signer          *v4.Signer
	now             app.Clock
	secrets         []string
}

func newSignature(o Options) (Source, error) {
	parts := splitCredential(o.Value.Reveal(), 2, 3)
	if parts == nil {
		return nil, errors.New("auth of kind sigv4 needs ACCESS_KEY_ID:SECRET or ACCESS_KEY_ID:SECRET:SESSION_TOKEN")
	}
	s := &signature{
		keys: aws.Credentials{AccessKeyID: parts[0], SecretAccessKey: parts[1]}, service: o.Auth.Service, region: o.Auth.Region,
		signer: v4.NewSigner(), now: o.Now, secrets: append([]string{o.Value.Reveal()}, parts...),
	}
	if len(parts) > 2 {
		s.keys.SessionToken = parts[2]
	}
	return s, nil
}

// Authorize signs the request: its method, host, path, query and body, its type and the headers of AWS. Other headers are not signed,
// because proxies on the way may change them, and the trace context belongs to the attempt.
func (s *signature) Authorize(ctx context.Context, r *http.Request, body []byte) error {
	address := *r.URL
	address.RawPath = address.EscapedPath() // The path is signed as it is sent, whatever form it has.
	signed := &http.Request{Method: r.Method, URL: &address, Host: r.Host, Header: http.Header{}}
	for name, values := range r.Header {
		if strings.HasPrefix(name, amzPrefix) || name == "Content-Type" {
			signed.Header[name] = append([]string(nil), values...)
		}
	}
	sum := sha256.Sum256(body)
	if err := s.signer.SignHTTP(ctx, s.keys, signed, hex.EncodeToString(sum[:]), s.service, s.region, s.now()); err != nil {
		return errors.New("the request cannot be signed")
	}
	maps.Copy(r.Header, signed.Header)
	r.URL, r.Host = signed.URL, signed.Host // The signer has sorted the query, and has left out a port that is the usual one.
	return nil
}

// Reject reports false, because every signature is new.
func (s *signature) Reject(*http.Request) bool { return false }

// Secrets are the parts of the credential.
func (s *signature) Secrets() []string { return s.secrets }
