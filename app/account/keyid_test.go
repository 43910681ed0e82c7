package account

import (
	"testing"
	"time"

	"umg/app"
)

// Paths and queries may hold anything, also what the store cannot be asked about.
func TestAnIDThatNoStoreTakesIsAnUnknownKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.member(t, "ada@example.com").Principal()
	for _, id := range []string{"\x00", "key_\xff", "key_a\x00b"} {
		_, err := b.Key(t.Context(), p, id)
		wantError(t, err, app.NotFound, "key_not_found")
		_, err = b.UpdateKey(t.Context(), p, id, KeyPatch{Name: new("x")})
		wantError(t, err, app.NotFound, "key_not_found")
		_, _, err = b.RotateKey(t.Context(), p, id, time.Hour)
		wantError(t, err, app.NotFound, "key_not_found")
		wantError(t, b.DisableKey(t.Context(), p, id, true), app.NotFound, "key_not_found")
		wantError(t, b.DeleteKey(t.Context(), p, id), app.NotFound, "key_not_found")
		wantError(t, b.EndOldSecret(t.Context(), p, id), app.NotFound, "key_not_found")
		_, err = b.KeysPage(t.Context(), p, KeyQuery{After: id, Limit: 1})
		wantError(t, err, app.Invalid, "invalid_value")
	}
}

func TestAnIDThatNoStoreTakesIsAnUnknownMemberOrSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.member(t, "ada@example.com").Principal()
	for _, id := range []string{"\x00", "user_\xff"} {
		_, err := b.Member(t.Context(), p, id)
		wantError(t, err, app.NotFound, "member_not_found")
		wantError(t, b.EndSession(t.Context(), p, id), app.NotFound, "session_not_found")
		u, err := b.UserIn(t.Context(), p.UserID, id)
		if err != nil || u.AccountID != p.AccountID {
			t.Errorf("as a member of %q: %+v, %v", id, u, err)
		}
	}
}
