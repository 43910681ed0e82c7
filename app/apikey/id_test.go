package apikey

import (
	"testing"
	"time"

	"umg/app"
)

// TestAnIDThatNoStoreTakesIsAnUnknownKey uses ids that the database cannot be asked about, because paths and queries may hold
// anything.
func TestAnIDThatNoStoreTakesIsAnUnknownKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.member(t, "ada@example.com").Principal()
	for _, id := range []string{"\x00", "key_\xff", "key_a\x00b"} {
		_, err := b.keys.Get(t.Context(), p, id)
		wantError(t, err, app.NotFound, "key_not_found")
		_, err = b.keys.Update(t.Context(), p, id, Patch{Name: new("x")})
		wantError(t, err, app.NotFound, "key_not_found")
		_, _, err = b.keys.Rotate(t.Context(), p, id, time.Hour)
		wantError(t, err, app.NotFound, "key_not_found")
		wantError(t, b.keys.Disable(t.Context(), p, id, true), app.NotFound, "key_not_found")
		wantError(t, b.keys.Delete(t.Context(), p, id), app.NotFound, "key_not_found")
		wantError(t, b.keys.EndOldSecret(t.Context(), p, id), app.NotFound, "key_not_found")
		_, err = b.keys.Page(t.Context(), p, Query{After: id, Limit: 1})
		wantError(t, err, app.Invalid, "invalid_value")
	}
}
