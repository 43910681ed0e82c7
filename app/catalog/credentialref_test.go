package catalog

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// resolved is a provider with values of the environment alone.
func resolved(v *FileProvider, env SecretLookup) *Provider {
	p, _ := v.resolve(&Sources{Env: env})
	return p
}

func TestAReferenceOfACredentialHasOneOfThreeForms(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"${KEY}": "", "${ACCESS_KEY}:${SECRET}": "", "${ACCESS_KEY}:${SECRET}:${SESSION}": "", "sealed:main": "", "sealed:Main-2.b_c": "", "file:/run/secrets/key": "",
		"sk-live-1":               "must be a reference like ${NAME}, sealed:NAME or file:/path",
		"${key}":                  "must be a reference like",
		"Bearer ${KEY}":           "must be a reference like",
		"sealed:":                 "must name a sealed credential",
		"sealed:a b":              "must name a sealed credential",
		"file:run/key":            "must name the file by its whole path",
		"file:/run/../key":        "must name the file by its whole path",
		"file:":                   "must name the file by its whole path",
		"env:KEY":                 "must be a reference like",
		strings.Repeat("${K}", 9): "must be a reference like",
		"${A}:${B}:${C}:${D}":     "must be a reference like",
		"${A}:secret":             "must be a reference like",
		"file:/" + strings.Repeat("a", referenceBytesMax): "is longer than",
	} {
		for field, members := range map[string]string{
			"credential": "credential: '" + text + "'", "credentials[0]": "credential: '${FIRST}', credentials: ['" + text + "']",
		} {
			all := Check(southAuth(t, members))
			if says == "" && len(all) > 0 || says != "" && (len(all) != 1 || !strings.HasPrefix(all[0].Error(), "providers[1]."+field+": "+says)) {
				t.Errorf("%s %q: %q", field, text, all)
			}
		}
	}
	if all := Check(southAuth(t, `headers: {x-team: "a${team}"}`)); len(all) != 1 || !strings.Contains(all[0].Error(), "not like ${NAME}") {
		t.Errorf("a header: %q", all)
	}
}

func TestEachReferenceWithoutAUsableValueIsAProblemOfItsField(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return "file:" + path
	}
	s := Sources{
		Env: func(string) (string, bool) { return "hunter2", true },
		Sealed: map[string]SealedCredential{
			"main": {Value: NewSecret("hunter2")}, "lost": {Problem: "was sealed with another secret key"}, "bad": {Value: NewSecret("unusable")},
		},
		CheckValue: func(_ Auth, value Secret) error {
			if value.Reveal() == "unusable" {
				return errors.New("it is malformed")
			}
			return nil
		},
	}
	for reference, says := range map[string]string{
		write("good", "hunter2\r\n"): "",
		"sealed:main":                "",
		"${KEY}":                     "",
		"sealed:none":                "there is no sealed credential none",
		"sealed:lost":                "the sealed credential lost was sealed with another secret key",
		"sealed:bad":                 "the value of sealed:bad cannot be used: it is malformed",
		write("empty", " \n"):        "is empty",
		write("large", strings.Repeat("a", 64<<10+1)): "holds more than 64 KiB",
		"file:" + dir:                        "is not a regular file",
		"file:" + filepath.Join(dir, "none"): "cannot be read: no such file or directory",
		write("bad", "unusable"):             "cannot be used: it is malformed",
	} {
		f := southAuth(t, "credential: '${KEY}', credentials: ['"+reference+"']")
		f.Providers[0].Disabled, f.Providers[1].Credential = true, ""
		got := texts(CheckReferences(f, s))
		if says == "" && len(got) > 0 || says != "" && (len(got) != 1 || !strings.HasPrefix(got[0], "providers[1].credentials[0]: ") ||
			!strings.Contains(got[0], says)) {
			t.Errorf("%s: %q", reference, got)
		}
		p, _ := f.Providers[1].resolve(&s)
		if says == "" && (p.Unusable != "" || p.Credentials[1].Reveal() != "hunter2" || p.CredentialIDs[1] != reference) ||
			says != "" && "providers[1]."+p.Unusable != got[0] {
			t.Errorf("%s: the provider is unusable for %q", reference, p.Unusable)
		}
	}
}

func TestSealedNamesAreListedWithTheirProviders(t *testing.T) {
	t.Parallel()
	f := southAuth(t, "credential: 'sealed:a', credentials: ['${KEY}', 'sealed:b']")
	got := f.SealedNames()
	if len(got) != 2 || !slices.Equal(got["a"], []string{"south"}) || !slices.Equal(got["b"], []string{"south"}) {
		t.Errorf("%v", got)
	}
}

// TestAChangedSealedCredentialOrFileIsReadAgain checks that the catalog takes a sealed credential when it is announced, and a file
// at the next reload, although the catalog stays the same.
func TestAChangedSealedCredentialOrFileIsReadAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte("first file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	values := make(chan string, 1)
	values <- "first value"
	b := setup(t, lookup, func(o *Options) {
		o.Sealed = func(context.Context) (map[string]SealedCredential, error) {
			value := <-values
			values <- value
			return map[string]SealedCredential{"main": {Value: NewSecret(value)}}, nil
		}
	})
	b.apply(t, with(t, "name: South", "name: South, credential: 'sealed:main', credentials: ['file:"+path+"']"))
	s := b.awaitVersion(t, b.c)
	has := func(s *Snapshot, sealed, file string) bool {
		p, _ := s.Provider("south")
		return p.Unusable == "" && p.Credentials[0].Reveal() == sealed && p.Credentials[1].Reveal() == file
	}
	if !has(s, "first value", "first file") {
		t.Fatal("the first values are not in force")
	}
	<-values
	values <- "second value"
	changed := b.c.Changed()
	if err := RequestReload(t.Context(), b.db); err != nil {
		t.Fatal(err)
	}
	<-changed
	if next := b.c.Snapshot(); !has(next, "second value", "first file") || next.Version() != s.Version() {
		t.Error("the second value is not in force, or the version of the catalog has changed")
	}
	if err := os.WriteFile(path, []byte("second file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.c.reload(t.Context()); err != nil || !has(b.c.Snapshot(), "second value", "second file") {
		t.Errorf("the second file is not in force: %v", err)
	}
	before := b.c.Snapshot()
	if err := b.c.reload(t.Context()); err != nil || b.c.Snapshot() != before {
		t.Errorf("a reload without a change makes a snapshot: %v", err)
	}
}
