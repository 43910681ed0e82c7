package headerfield

import (
	"net/http"
	"testing"

	"golang.org/x/net/http/httpguts"
)

// TestEachByteIsTakenAsNetHTTPTakesIt compares every byte within a name and a value.
func TestEachByteIsTakenAsNetHTTPTakesIt(t *testing.T) {
	t.Parallel()
	for c := range 256 {
		text := "a" + string([]byte{byte(c)}) + "b"
		if got, want := IsName(text), httpguts.ValidHeaderFieldName(text); got != want {
			t.Errorf("name %q: %v", text, got)
		}
		if got, want := IsValue([]byte(text)), httpguts.ValidHeaderFieldValue(text); got != want {
			t.Errorf("value %q: %v", text, got)
		}
	}
	if IsName("") || !IsValue("") {
		t.Error("an empty name is taken, or an empty value is not")
	}
	for _, name := range []string{"content-type", "X-REQUEST-ID", "a--b", "-x", "eTag", "x1-2y", "_a-_b"} {
		got := []byte(name)
		if Canonicalize(got); string(got) != http.CanonicalHeaderKey(name) {
			t.Errorf("%q became %q", name, got)
		}
	}
}
