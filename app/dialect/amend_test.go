package dialect_test

import (
	"strings"
	"testing"

	"umg/app/dialect"
)

func TestAmendChangesMembersAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ doc, want string }{
		{`{"a":#1,"b":2}`, `{"b":2}`},
		{`{"a":1, "b" : #2}`, `{"a":1}`},
		{`{"a":#1,"b":#2}`, `{}`},
		{` { "a":1 , "b":#2 , "c":#3 , "d":4 } `, ` { "a":1 , "d":4 } `},
		{`{"a":#1,"b":2,"c":#3}`, `{"b":2}`},
		{`{"a":{"x":#1,"y":[2,{"a":3}]},"b":#{"z":1}}`, `{"a":{"y":[2,{"a":3}]}}`},
		{`{"a":{"x":{"k":#"v"}},"b":"}"}`, `{"a":{"x":{}},"b":"}"}`},
		{`{"a":=1000,"b":{"c":="xhigh","d":#1}}`, `{"a":7,"b":{"c":7}}`},
		{`{"a":#1,"b":=2,"c":#3,"d":4}`, `{"b":7,"d":4}`},
	} {
		var doc strings.Builder
		var changes []dialect.Change
		for _, b := range []byte(c.doc) {
			switch b {
			case '#':
				changes = append(changes, dialect.Change{At: doc.Len()})
			case '=':
				changes = append(changes, dialect.Change{At: doc.Len(), With: "7"})
			default:
				doc.WriteByte(b)
			}
		}
		if got := string(dialect.Amend([]byte(doc.String()), changes)); got != c.want {
			t.Errorf("%s became %s and not %s", c.doc, got, c.want)
		}
	}
}
