package rawjson

import (
	"slices"
	"testing"
)

func TestAnObjectIsReadMemberByMember(t *testing.T) {
	t.Parallel()
	const doc = ` {"a" : [1, {"b":2}] , "\u0063":"x\"y", "d":{}, "e":null} `
	var names, values []string
	o := OpenObject([]byte(doc), 0)
	for o.Next() {
		names, values = append(names, string(o.Name())), append(values, string(o.Value.Of([]byte(doc))))
	}
	if !o.IsWhole() || !slices.Equal(names, []string{"a", "c", "d", "e"}) ||
		!slices.Equal(values, []string{`[1, {"b":2}]`, `"x\"y"`, `{}`, `null`}) {
		t.Errorf("whole %t, names %q, values %q", o.IsWhole(), names, values)
	}
	for _, broken := range []string{``, `[]`, `{`, `{"a":1`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1 "b":2}`, `{"a":"x}`, `{"a":1}}`, `{"a":[1}`} {
		o := OpenObject([]byte(broken), 0)
		for o.Next() {
		}
		if o.IsWhole() {
			t.Errorf("%q is read as a whole object", broken)
		}
	}
}

func TestAnArrayEndsBehindItsLastElement(t *testing.T) {
	t.Parallel()
	const spaced = ` [1 , "]" ]`
	for doc, want := range map[string]int{`[]x`: 2, spaced: 11, `[1,]`: -1, `[`: -1, `{}`: -1, `[tru]`: -1} {
		a := OpenArray([]byte(doc), 0)
		for a.Next() {
		}
		if a.End() != want {
			t.Errorf("%q ends at %d", doc, a.End())
		}
	}
}

func TestEditsLeaveTheRestOfADocumentAlone(t *testing.T) {
	t.Parallel()
	doc := []byte(`{"a":1, "b":2}`)
	var e Edits
	e.Replace(Span{12, 13}, "3")
	e.Insert(1, `"z":0,`)
	e.Replace(Span{5, 6}, "[]")
	if got := string(e.AppendTo([]byte("> "), doc)); got != `> {"z":0,"a":[], "b":3}` {
		t.Errorf("edited to %s", got)
	}
	e.Reset()
	e.Replace(Span{5, 6}, "7")
	if got := string(e.AppendPart(nil, doc, Span{1, 6})); got != `"a":7` {
		t.Errorf("the part is %s", got)
	}
	if e.Empty() || e.Full() {
		t.Error("one of eight replacements is said to be none or all")
	}
}
