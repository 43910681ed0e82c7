package emulator

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestErrorsAreThoseThatWereRecorded compares the errors that a recording has with the recording.
func TestErrorsAreThoseThatWereRecorded(t *testing.T) {
	t.Parallel()
	words := map[string]string{"member": "max_tokens"}
	count := 0
	for name, p := range providers.Providers {
		for kind, a := range p.Errors {
			var got, want any
			body := os.Expand(a.Body, func(word string) string { return words[word] })
			isPage := strings.HasPrefix(a.Headers["content-type"], "text/html")
			if json.Unmarshal([]byte(body), &got) != nil && !isPage && body != "" {
				t.Errorf("%s, %s: the body is no JSON: %s", name, kind, body)
			}
			if a.Recorded == "" {
				continue
			}
			count++
			raw, err := os.ReadFile(filepath.Join("../../provider/recordings/testdata/providers", a.Recorded))
			if err != nil {
				t.Fatal(err)
			}
			var exchange struct {
				Response struct {
					Status  int
					Headers map[string]string
					Body    string
				}
			}
			if json.Unmarshal(raw, &exchange) == nil && exchange.Response.Body != "" {
				raw = []byte(exchange.Response.Body)
				if exchange.Response.Status != a.Status {
					t.Errorf("%s, %s: status %d, recorded is %d", name, kind, a.Status, exchange.Response.Status)
				}
				for _, header := range []string{"x-amzn-errortype", "retry-after", "retry-after-ms", "x-should-retry"} {
					if old := exchange.Response.Headers[header]; old != "" && old != a.Headers[header] {
						t.Errorf("%s, %s: header %s %q, recorded is %q", name, kind, header, a.Headers[header], old)
					}
				}
			}
			if err := json.Unmarshal(raw, &want); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %s:\n%v, recorded is\n%v (%v)", name, kind, got, want, err)
			}
		}
	}
	if count < 12 {
		t.Errorf("only %d errors are compared", count)
	}
}
