package apikey

import (
	"bytes"
	"crypto/rand"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"umg/app"
)

func TestSecretsHaveTheirShapeAndUseEveryLetter(t *testing.T) {
	t.Parallel()
	shape := regexp.MustCompile(`^sk-umg-[0-9A-Za-z]{38}$`)
	letters := map[rune]int{}
	seen := map[string]bool{}
	for range 500 {
		s, err := newSecret(rand.Reader)
		must(t, err)
		if !shape.MatchString(s) || !wellFormed(s) || seen[s] {
			t.Fatalf("secret %q", s)
		}
		seen[s] = true
		for _, c := range s[len(secretPrefix) : len(secretPrefix)+secretChars] {
			letters[c]++
		}
	}
	if len(letters) != len(base62) {
		t.Fatalf("%d of %d letters are used", len(letters), len(base62))
	}
	if _, err := newSecret(strings.NewReader("too little")); err == nil {
		t.Fatal("a secret without randomness")
	}
	if s, err := newSecret(bytes.NewReader(append(bytes.Repeat([]byte{255}, secretChars), make([]byte, secretChars)...))); err != nil ||
		s[len(secretPrefix):len(secretPrefix)+secretChars] != strings.Repeat("0", secretChars) {
		t.Fatalf("bytes that favour letters are used: %q, %v", s, err)
	}
}

func TestChecksumRejectsWhatWasMistyped(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, err := newSecret(bytes.NewReader(rapid.SliceOfN(rapid.ByteRange(0, 247), 512, 512).Draw(t, "random")))
		if err != nil {
			t.Fatalf("a secret out of fair bytes: %v", err)
		}
		if !wellFormed(s) {
			t.Fatalf("a real key is rejected: %s", s)
		}
		at := rapid.IntRange(0, len(s)-1).Draw(t, "at")
		with := rapid.SampledFrom([]byte(base62+"-_ \x00'é")).Draw(t, "with")
		if s[at] != with && wellFormed(s[:at]+string([]byte{with})+s[at+1:]) {
			t.Fatalf("a wrong letter at %d passes", at)
		}
		if swapped := []byte(s); at > len(secretPrefix) && s[at] != s[at-1] {
			swapped[at], swapped[at-1] = s[at-1], s[at]
			if wellFormed(string(swapped)) {
				t.Fatalf("swapped letters at %d pass", at)
			}
		}
		if wellFormed(s[:at]) || wellFormed(s+"0") || wellFormed(" "+s) || wellFormed(strings.ToUpper(s)) {
			t.Fatal("another length or case passes")
		}
	})
}

func TestCreateKeyShowsTheSecretOnceAndStoresItsHash(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.member(t, "ada@example.com")
	end := b.clock.Now().Add(time.Hour)
	k, secret := b.key(t, u.Principal(), Spec{
		Name: "  Laptop ", Env: "staging", ErrorMode: Standard, Models: []string{"a", "b"}, Concurrency: 3, ExpiresAt: &end,
	})
	if k.Name != "Laptop" || k.Env != "staging" || k.ErrorMode != Standard || k.Concurrency != 3 || k.CreatedBy != u.Email ||
		!slices.Equal(k.Models, []string{"a", "b"}) || !k.ExpiresAt.Equal(end) || k.LastUse.At != nil || k.Disabled ||
		!strings.HasPrefix(secret, k.Secret.Prefix) || !strings.HasSuffix(secret, k.Secret.LastFour) || len(k.Secret.Prefix) > 11 {
		t.Fatalf("created %+v", k)
	}
	if p := k.Principal(); p.AccountID != u.AccountID || p.KeyID != k.ID || p.UserID != "" || !p.MayUse("a") || p.MayUse("c") {
		t.Fatalf("acts as %+v", p)
	}
	body := secret[len(secretPrefix) : len(secretPrefix)+secretChars]
	if n := count(t, b.db, `select count(*) from api_keys k where position($1 in k::text) > 0`, body); n != 0 {
		t.Fatal("the secret is stored")
	}
	b.clock.Advance(time.Second)
	plain, _ := b.key(t, u.Principal(), Spec{Name: "Plain"})
	if plain.Env != "" || plain.ErrorMode != Documented || len(plain.Models) != 0 || plain.ExpiresAt != nil {
		t.Fatalf("the defaults are %+v", plain)
	}
	keys, err := b.keys.List(t.Context(), u.Principal())
	if err != nil || len(keys) != 2 || keys[0].ID != plain.ID || keys[1].ID != k.ID {
		t.Fatalf("listed %+v, %v", keys, err)
	}
}

func TestCreateKeyRefusesNonsense(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.member(t, "ada@example.com").Principal()
	past := b.clock.Now()
	for param, spec := range map[string]Spec{
		"name":        {Name: "   "},
		"name ":       {Name: strings.Repeat("x", 81)},
		"name  ":      {Name: "a\nb"},
		"name   ":     {Name: "\xff"},
		"env":         {Name: "x", Env: "Prod!"},
		"error_mode":  {Name: "x", ErrorMode: "loud"},
		"models":      {Name: "x", Models: []string{""}},
		"models ":     {Name: "x", Models: make([]string, 101)},
		"concurrency": {Name: "x", Concurrency: -1},
		"expires_at":  {Name: "x", ExpiresAt: &past},
	} {
		_, secret, err := b.keys.Create(t.Context(), p, spec)
		if e := wantError(t, err, app.Invalid, "invalid_value"); e.Param != strings.TrimSpace(param) || secret != "" {
			t.Errorf("%s: the error is at %q", param, e.Param)
		}
	}
}

func TestAnAccountHasALimitedNumberOfKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.member(t, "ada@example.com").Principal()
	_, err := b.db.Exec(`
		insert into api_keys (id, account_id, secret_hash, name, prefix, last_four, env, error_mode, models, scopes, concurrency, created_at)
		select 'key_' || n, $1, sha256(n::text::bytea), 'x', '', '....', 'x', 'standard', '{}', '{videos}', 0, now() from generate_series(1, $2::int) n`,
		p.AccountID, keysMax)
	must(t, err)
	_, _, err = b.keys.Create(t.Context(), p, Spec{Name: "one more"})
	wantError(t, err, app.Conflict, "too_many_keys")
	must(t, b.keys.Delete(t.Context(), p, "key_1"))
	b.key(t, p, Spec{})
}

func TestKeysOfAnotherAccountDoNotExist(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, bob := b.member(t, "ada@example.com").Principal(), b.member(t, "bob@example.com").Principal()
	k, secret := b.key(t, ada, Spec{})
	for what, err := range map[string]error{
		"disable foreign": b.keys.Disable(t.Context(), bob, k.ID, true),
		"delete foreign":  b.keys.Delete(t.Context(), bob, k.ID),
		"disable unknown": b.keys.Disable(t.Context(), bob, "key_unknown", true),
		"delete unknown":  b.keys.Delete(t.Context(), bob, "key_unknown"),
	} {
		if e := wantError(t, err, app.NotFound, "key_not_found"); e.Error() != keyNotFound().Error() {
			t.Errorf("%s: %v", what, e)
		}
	}
	if keys, err := b.keys.List(t.Context(), bob); err != nil || len(keys) != 0 {
		t.Fatalf("bob sees %+v, %v", keys, err)
	}
	if _, err := b.ring(t).Find(t.Context(), secret, "192.0.2.1"); err != nil {
		t.Fatalf("ada's key was harmed: %v", err)
	}
}
