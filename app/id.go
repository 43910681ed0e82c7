package app

import (
	"io"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// Clock returns the time. Constructors take one, so that tests can set the time.
type Clock func() time.Time

// IDs makes identifiers. Now orders them, and Random makes them unique.
type IDs struct {
	Now    Clock
	Random io.Reader
}

// New returns prefix, an underscore and a lower-cased ULID: 48 bits of milliseconds and 80 random bits, sortable by
// time. Access is checked by owner, so ids need not be secret. New panics when the source of randomness fails, which crypto/rand
// never does.
func (g IDs) New(prefix string) string {
	id := ulid.MustNew(ulid.Timestamp(g.Now()), g.Random)
	return prefix + "_" + strings.ToLower(id.String())
}

// IsID reports whether s has the form of what New returns for the prefix. Lists take such a text as a cursor, even when the
// object was deleted since.
func IsID(prefix, s string) bool {
	rest, found := strings.CutPrefix(s, prefix+"_")
	return found && len(rest) == ulid.EncodedSize && strings.Trim(rest, "0123456789abcdefghjkmnpqrstvwxyz") == ""
}
