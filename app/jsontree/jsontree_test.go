package jsontree

import "testing"

func TestATreePrintsWhatItRead(t *testing.T) {
	t.Parallel()
	const doc = `{"b":[1,2.50,"é\n",null],"a":{"y":true,"x":false},"":[]}`
	v, err := Parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(v.AppendTo(nil)); got != doc {
		t.Errorf("printed %s", got)
	}
	changed := v.Clone()
	changed.Get("a").Set("z", Texts([]string{"one"}))
	changed.Get("a").Delete("y")
	changed.Set("b", Object("s", "text", "yes", true, "none", (*Value)(nil)))
	if got, want := string(changed.AppendTo(nil)), `{"b":{"s":"text","yes":true},"a":{"x":false,"z":["one"]},"":[]}`; got != want {
		t.Errorf("changed to %s", got)
	}
	if string(v.AppendTo(nil)) != doc {
		t.Error("a change of a clone shows in the original")
	}
	if changed.Get("none").Get("deeper").GetString("s") != "" || len(changed.GetStrings("a")) != 0 || len(v.GetItems("b")) != 4 {
		t.Error("a look-up finds what is not there, or not all that is")
	}
}

func TestParseRefusesWhatIsNotOneJSONValue(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{``, `{`, `[1,]`, `{"a":1,"a":2}`, `1 2`, `{"a"}`, `tru`} {
		if v, err := Parse([]byte(doc)); err == nil {
			t.Errorf("%q is read as %s", doc, v.AppendTo(nil))
		}
	}
}
