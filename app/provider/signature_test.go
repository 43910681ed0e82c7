package provider_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"umg/app"
	"umg/app/catalog"
	"umg/app/llm"
	"umg/app/provider"
)

const (
	awsID     = "AKIDEXAMPLE"
	awsSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	awsToken  = "session/token+1=="
)

// awsEscape encodes everything but unreserved characters, as the documentation of AWS describes it. Keep has further characters to keep.
func awsEscape(text, keep string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.~"+keep, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

func awsHMAC(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// signatureFault computes the signature of a request by the documented steps, and says what is wrong with that of the request.
func signatureFault(r *http.Request, body []byte, region, service string) string {
	rest, isSigned := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	fields := map[string]string{}
	for part := range strings.SplitSeq(rest, ", ") {
		name, value, _ := strings.Cut(part, "=")
		fields[name] = value
	}
	at := r.Header.Get("X-Amz-Date")
	if !isSigned || len(at) != len("20060102T150405Z") {
		return "it is not signed"
	}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	var query []string
	for name, values := range r.URL.Query() {
		for _, value := range values {
			query = append(query, awsEscape(name, "")+"="+awsEscape(value, ""))
		}
	}
	slices.Sort(query)
	sum := sha256.Sum256(body)
	canonical := r.Method + "\n" + awsEscape(path, "/") + "\n" + strings.Join(query, "&") + "\n"
	names := strings.Split(fields["SignedHeaders"], ";")
	for _, name := range names {
		value := strings.Join(r.Header.Values(name), ",")
		if name == "host" {
			value = r.Host
		}
		canonical += name + ":" + strings.Join(strings.Fields(value), " ") + "\n"
	}
	canonical += "\n" + fields["SignedHeaders"] + "\n" + hex.EncodeToString(sum[:])
	hash := sha256.Sum256([]byte(canonical))
	scope := at[:8] + "/" + region + "/" + service + "/aws4_request"
	key := awsHMAC(awsHMAC(awsHMAC(awsHMAC([]byte("AWS4"+awsSecret), at[:8]), region), service), "aws4_request")
	want := hex.EncodeToString(awsHMAC(key, "AWS4-HMAC-SHA256\n"+at+"\n"+scope+"\n"+hex.EncodeToString(hash[:])))
	switch {
	case fields["Credential"] != awsID+"/"+scope:
		return "the scope is " + fields["Credential"]
	case !slices.Contains(names, "host") || !slices.Contains(names, "x-amz-date") || !slices.Contains(names, "x-amz-security-token") ||
		slices.Contains(names, "traceparent"):
		return "the signed headers are " + fields["SignedHeaders"]
	case fields["Signature"] != want:
		return "the signature is wrong"
	}
	return ""
}

func TestAProviderVerifiesSignatures(t *testing.T) {
	t.Parallel()
	paths := make(chan string, 9)
	var traced atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		paths <- r.RequestURI
		if fault := signatureFault(r, body, "us-east-1", "bedrock"); fault != "" {
			t.Errorf("%s %s: %s", r.Method, r.RequestURI, fault)
		}
		if r.Header.Get("Traceparent") != "" {
			traced.Add(1)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
	})
	c, r := client(t, provider.Options{Traced: true}), route(s.URL)
	r.Provider.Auth = catalog.Auth{Kind: catalog.AuthSigV4, Service: "bedrock", Region: "us-east-1"}
	r.Provider.Credentials = []catalog.Secret{catalog.NewSecret(awsID + ":" + awsSecret + ":" + awsToken)}
	r.Provider.Paths = map[llm.Style]string{llm.Messages: "/model/{model}/invoke"}
	ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled,
	}))
	r.Style = llm.Messages
	for _, model := range []string{"us.amazon.nova-2-lite-v1:0", "a b/c;d", "é%2F"} {
		r.Model = model
		p := payload(`{"text":"` + strings.Repeat("é", 30<<10) + `"}`)
		a, f := c.Send(ctx, provider.Attempt{Route: r, Payload: p, Header: http.Header{"X-Amz-Target": {"a  b"}}})
		p.Release()
		if f != nil {
			t.Fatal(f)
		}
		a.Close()
	}
	for _, path := range []string{"/model/a%3A0/x?z=1&a=b%2Fc&a=b", "/jobs", s.URL + "/arn%3Aaws%3Abedrock%2Fx"} {
		for _, p := range []*provider.Payload{nil, payload("{}")} {
			reply, f := c.Do(ctx, r, provider.Call{Method: http.MethodPut, Path: path, Payload: p})
			if f != nil {
				t.Fatal(f)
			}
			_ = reply.Close()
			if strings.Contains(reply.Redact("x "+awsToken+" and "+awsSecret), "session") || !reply.HasCredential(awsSecret) {
				t.Error("a part of the credential is shown")
			}
		}
	}
	close(paths)
	for i, want := range []string{ // Escapes stay as the caller has written them.
		"/v1/model/us.amazon.nova-2-lite-v1:0/invoke", "/v1/model/a%20b/c%3Bd/invoke", "/v1/model/%C3%A9%252F/invoke",
		"/v1/model/a%3A0/x?a=b&a=b%2Fc&z=1",
	} {
		if path := <-paths; path != want {
			t.Errorf("request %d has the path %s, want %s", i, path, want)
		}
	}
	if traced.Load() != 9 {
		t.Errorf("%d of 9 requests have a trace context", traced.Load())
	}
}

// TestOperatorsLearnWhyASignedRequestIsRefused sends signed requests to a provider that refuses them for several reasons.
func TestOperatorsLearnWhyASignedRequestIsRefused(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC)
	for _, k := range []struct {
		kind string
		date time.Time
		want string
	}{
		{"ExpiredTokenException:http://x", now.Add(time.Hour), "the session of the credential has ended, and the provider needs a new credential"},
		{"InvalidSignatureException", now.Add(10 * time.Minute), "the clock of the gateway is 10m0s behind the provider's and must be set"},
		{"RequestExpired", now.Add(-5 * time.Minute), "the clock of the gateway is 5m0s ahead of the provider's and must be set"},
		{"InvalidSignatureException", now.Add(4 * time.Minute), ""},
		{"AccessDeniedException", now, ""},
	} {
		for _, status := range []int{400, 403} {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", k.date.Format(http.TimeFormat))
				w.Header().Set("X-Amzn-Errortype", k.kind)
				w.WriteHeader(status)
				_, _ = io.WriteString(w, `{"message":"no"}`)
			})
			r := route(s.URL)
			r.Provider.Auth = catalog.Auth{Kind: catalog.AuthSigV4, Service: "bedrock", Region: "us-east-1"}
			r.Provider.Credentials = []catalog.Secret{catalog.NewSecret(awsID + ":" + awsSecret + ":" + awsToken)}
			_, f := send(t, client(t, provider.Options{Now: func() time.Time { return now }}), r, false)
			if f == nil || f.Class != provider.ClassCredential || f.Advice != k.want || f.Err.Kind != app.Unavailable || f.Err.Status != 0 {
				t.Errorf("%d %s: %+v", status, k.kind, f)
			}
		}
	}
}
