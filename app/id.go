package app

import (
	"io"
	"strings"
	"sync"
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

// New returns prefix, an underscore and a lower-cased ULID: 48 bits of milliseconds and 80 random bits, sortable by time. Access is checked
// by owner, so ids need not be secret. New panics when the source of randomness fails, which crypto/rand never does.
func (g IDs) New(prefix string) string {
	s, _ := idSpaces.Get().(*idSpace)
	defer idSpaces.Put(s)
	if err := s.id.SetTime(ulid.Timestamp(g.Now())); err != nil {
		panic(err)
	}
	if _, err := io.ReadFull(g.Random, s.id[6:]); err != nil {
		panic(err)
	}
	at := len(prefix) + 1
	s.text = append(append(s.text[:0], prefix...), '_')
	s.text = append(s.text, make([]byte, ulid.EncodedSize)...)
	if err := s.id.MarshalTextTo(s.text[at:]); err != nil {
		panic(err)
	}
	for i, c := range s.text[at:] {
		if c >= 'A' {
			s.text[at+i] = c + 'a' - 'A'
		}
	}
	return string(s.text)
}

// idSpace is the space in which an id is made. It is reused, as every request has an id.
type idSpace struct {
	id   ulid.ULID
	text []byte
}

var idSpaces = sync.Pool{New: func() any { return &idSpace{} }}

// IsID reports whether s has the form of what New returns for the prefix. Lists take such a text as a cursor, even when the
// object was deleted since.
func IsID(prefix, s string) bool {
	rest, found := strings.CutPrefix(s, prefix+"_")
	return found && len(rest) == ulid.EncodedSize && strings.Trim(rest, "0123456789abcdefghjkmnpqrstvwxyz") == ""
}
