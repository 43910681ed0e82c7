package console

import "testing"

func TestNextStaysInTheConsole(t *testing.T) {
	t.Parallel()
	for next, want := range map[string]string{
		"/console/keys": "/console/keys", "/console/keys?x=1#y": "/console/keys", "/console": "/console",
		"/console/keys/key_1/delete": "/console/keys/key_1/delete", "/console/a%20b": "/console/a%20b",
		"": "/console", "/": "/console", "keys": "/console", "/consolekeys": "/console", "/v1/models": "/console",
		"//evil.example": "/console", "//evil.example/console/keys": "/console", "https://evil.example/console/keys": "/console",
		"javascript:alert(1)": "/console", `/\evil.example`: "/console", `/console\..\..`: "/console",
		"/console/../evil": "/console", "/console/%2e%2e/evil": "/console", "/console/./keys": "/console", "/console//evil.example": "/console",
		"/console/%2f%2fevil.example": "/console", "/console/..": "/console", "/console/keys/": "/console", "%zz": "/console",
		"/console/keys%0d%0aSet-Cookie:x": "/console/keys%0d%0aSet-Cookie:x",
	} {
		if got := safeNext(next); got != want {
			t.Errorf("safeNext(%q) = %q, want %q", next, got, want)
		}
	}
}
