package views

import "testing"

func TestLocalPathNeverLeavesTheServer(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/console/keys": "/console/keys", "/console/keys?x=1#y": "/console/keys?x=1#y", "": "/console", "keys": "/console",
		"//evil.example": "/console", `/\evil.example`: "/console", "https://evil.example": "/console", "javascript:alert(1)": "/console",
		"/\t/evil.example": "/console",
	} {
		if got := LocalPath(in); got != want {
			t.Errorf("LocalPath(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestModelPathsLeadBack(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"a/b": "/console/models/a/b", "boreal/drift:fast": "/console/models/boreal/drift:fast", "x?y#z": "/console/models/x%3Fy%23z",
	} {
		if got := ModelPath(id); got != want {
			t.Errorf("%s is at %s, want %s", id, got, want)
		}
	}
}
