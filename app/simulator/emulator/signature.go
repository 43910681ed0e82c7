package emulator

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

const (
	signatureScheme = "AWS4-HMAC-SHA256 "
	signatureTime   = "20060102T150405Z"
)

// signature is the header of a request that is signed with the signature version 4 of AWS.
type signature struct {
	keyID, day, region, service string
	names                       []string
	signature                   string
}

// parseSignature reads the parts behind the name of the scheme.
func parseSignature(text string) (signature, bool) {
	fields := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		fields[name] = value
	}
	scope := strings.Split(fields["Credential"], "/")
	if len(scope) != 5 || scope[4] != "aws4_request" || fields["Signature"] == "" {
		return signature{}, false
	}
	return signature{
		keyID: scope[0], day: scope[1], region: scope[2], service: scope[3], names: strings.Split(fields["SignedHeaders"], ";"),
		signature: fields["Signature"],
	}, true
}

// covers reports whether the host and all headers of AWS are signed, in order, and no header that a proxy may change.
func (s *signature) covers(r *http.Request) bool {
	if !slices.IsSorted(s.names) || !slices.Contains(s.names, "host") {
		return false
	}
	for name := range r.Header {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "x-amz-") && !slices.Contains(s.names, lower) {
			return false
		}
	}
	for _, name := range []string{"traceparent", "user-agent", "via", "x-forwarded-for", "connection", "accept-encoding"} {
		if slices.Contains(s.names, name) {
			return false
		}
	}
	return true
}

// compute makes the signature of a request by the documented steps.
func (s *signature) compute(r *http.Request, body []byte, secret string) string {
	sum := sha256.Sum256(body)
	path, _, _ := strings.Cut(r.RequestURI, "?")
	var headers strings.Builder
	for _, name := range s.names {
		value := strings.Join(r.Header.Values(name), ",")
		if name == "host" {
			value = r.Host
		}
		fmt.Fprintf(&headers, "%s:%s\n", name, strings.Join(strings.Fields(value), " "))
	}
	canonical := strings.Join([]string{
		r.Method, awsEscape(path, "/"), canonicalQuery(r), headers.String(), strings.Join(s.names, ";"), hex.EncodeToString(sum[:]),
	}, "\n")
	hash := sha256.Sum256([]byte(canonical))
	scope := strings.Join([]string{s.day, s.region, s.service, "aws4_request"}, "/")
	key := []byte("AWS4" + secret)
	for _, part := range []string{s.day, s.region, s.service, "aws4_request"} {
		key = keyedHash(key, part)
	}
	text := strings.TrimSpace(signatureScheme) + "\n" + r.Header.Get("X-Amz-Date") + "\n" + scope + "\n" + hex.EncodeToString(hash[:])
	return hex.EncodeToString(keyedHash(key, text))
}

// canonicalQuery is the query, encoded and sorted by the names and then by the values.
func canonicalQuery(r *http.Request) string {
	const separator = "\x00" // It sorts before all characters of a name.
	var list []string
	for name, values := range r.URL.Query() {
		for _, value := range values {
			list = append(list, awsEscape(name, "")+separator+awsEscape(value, ""))
		}
	}
	slices.Sort(list)
	return strings.ReplaceAll(strings.Join(list, "&"), separator, "=")
}

// awsEscape encodes everything but unreserved characters. Kept has further characters that stay.
func awsEscape(text, kept string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.~"+kept, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

func keyedHash(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
