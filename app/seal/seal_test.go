package seal

import (
	"bytes"
	"errors"
	"testing"
)

func TestASealedValueOpensForItsKeyPurposeAndContextOnly(t *testing.T) {
	t.Parallel()
	key, other := [KeyBytes]byte{1}, [KeyBytes]byte{2}
	s := New(key, "mails")
	sealed := s.Seal([]byte("a live link"), "mail_1")
	if bytes.Contains(sealed, []byte("live")) {
		t.Fatal("the value can be read in its sealed form")
	}
	if plain, err := New(key, "mails").Open(sealed, "mail_1"); err != nil || string(plain) != "a live link" {
		t.Fatalf("%q, %v", plain, err)
	}
	for name, c := range map[string]struct {
		sealer  *Sealer
		context string
		sealed  []byte
		want    error
	}{
		"another key":     {New(other, "mails"), "mail_1", sealed, ErrOtherKey},
		"another purpose": {New(key, "sessions"), "mail_1", sealed, ErrBroken},
		"another row":     {s, "mail_2", sealed, ErrBroken},
		"nothing":         {s, "mail_1", nil, ErrBroken},
		"a header only":   {s, "mail_1", sealed[:headerBytes], ErrBroken},
		"a cut value":     {s, "mail_1", sealed[:len(sealed)-1], ErrBroken},
		"a changed value": {s, "mail_1", append(bytes.Clone(sealed[:len(sealed)-1]), sealed[len(sealed)-1]^1), ErrBroken},
		"no version":      {s, "mail_1", append([]byte{9}, sealed[1:]...), ErrBroken},
	} {
		if plain, err := c.sealer.Open(c.sealed, c.context); !errors.Is(err, c.want) || plain != nil {
			t.Errorf("%s: %q, %v", name, plain, err)
		}
	}
	before := s.aead.Seal(nil, nil, []byte("a live link"), []byte("mail_1"))
	if plain, err := s.Open(before, "mail_1"); err != nil || string(plain) != "a live link" {
		t.Errorf("a value without a header: %q, %v", plain, err)
	}
	if bytes.Equal(sealed, s.Seal([]byte("a live link"), "mail_1")) {
		t.Error("equal values have equal sealed forms")
	}
}
