package page

import (
	"strings"
	"testing"
)

func TestNextStaysInTheConsole(t *testing.T) {
	t.Parallel()
	for next, want := range map[string]string{
		"/console/keys": "/console/keys", "/console/keys?x=1#y": "/console/keys?x=1", "/console": "/console",
		"/console/keys/key_1/delete": "/console/keys/key_1/delete", "/console/a%20b": "/console/a%20b",
		"": "/console", "/": "/console", "keys": "/console", "/consolekeys": "/console", "/v1/models": "/console",
		"//evil.example": "/console", "//evil.example/console/keys": "/console", "https://evil.example/console/keys": "/console",
		"javascript:alert(1)": "/console", `/\evil.example`: "/console", `/console\..\..`: "/console",
		"/console/../evil": "/console", "/console/%2e%2e/evil": "/console", "/console/./keys": "/console", "/console//evil.example": "/console",
		"/console/%2f%2fevil.example": "/console", "/console/..": "/console", "/console/keys/": "/console", "%zz": "/console",
		"/console/keys%0d%0aSet-Cookie:x":  "/console/keys%0d%0aSet-Cookie:x",
		"/console/invitations?token=a-B_9": "/console/invitations?token=a-B_9", "/console?": "/console",
		"/console/keys?a=%0d%0aSet-Cookie:x&b=//evil.example": "/console/keys?a=%0D%0ASet-Cookie%3Ax&b=%2F%2Fevil.example",
		"/console/keys?a=<script>\r\n":                        "/console", "/console/keys?a=%zz": "/console/keys", "/console/keys?a;b": "/console/keys",
		"/console?next=https://evil.example": "/console?next=https%3A%2F%2Fevil.example", "?token=a": "/console",
		"/console/keys?a=" + strings.Repeat("a", 2000): "/console", "//user@/console/keys": "/console",
	} {
		if got := SafeNext(next); got != want {
			t.Errorf("SafeNext(%q) = %q, want %q", next, got, want)
		}
	}
}
