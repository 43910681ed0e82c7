package video

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"umg/app"
)

func TestSecondsAreReadAsTextOrNumberWhenWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, secondsMax).Draw(t, "n")
		for _, raw := range []string{
			strconv.Itoa(n), strconv.Quote(strconv.Itoa(n)), strconv.Itoa(n) + ".0", strconv.Itoa(n) + "e0", strconv.Itoa(n*10) + "e-1",
		} {
			if got, err := seconds(jsontext.Value(raw)); err != nil || got != n {
				t.Fatalf("%s is %d, %v", raw, got, err)
			}
		}
		fraction := rapid.IntRange(1, 99).Draw(t, "fraction")
		for _, raw := range []string{
			fmt.Sprintf("%d.%02d", n, fraction), fmt.Sprintf(`"%d.%02d"`, n, fraction), fmt.Sprintf("-%d", n), fmt.Sprintf(`"-%d"`, n),
			fmt.Sprintf(`" %d"`, n), fmt.Sprintf(`"%ds"`, n), strconv.Itoa(n + secondsMax), "0", `"0"`, `""`, "true", "[4]", "{}", "1e999",
		} {
			if got, err := seconds(jsontext.Value(raw)); err == nil {
				t.Fatalf("%s is %d", raw, got)
			} else if e := app.AsError(err); e.Param != "seconds" || e.Kind != app.Invalid {
				t.Fatalf("%+v", e)
			}
		}
	})
	for _, raw := range []string{"", "null"} {
		if got, err := seconds(jsontext.Value(raw)); got != 0 || err != nil {
			t.Errorf("%q is %d, %v", raw, got, err)
		}
	}
}

func TestABodyIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[^\x00-\x1f]{0,40}`)
		want := map[string]any{"model": "m" + word.Draw(t, "model"), "prompt": "p" + word.Draw(t, "prompt"), "user": word.Draw(t, "user")}
		if rapid.Bool().Draw(t, "sized") {
			want["size"] = "1280x720"
		}
		if rapid.Bool().Draw(t, "pictured") {
			want["input_reference"] = map[string]any{"image_url": "https://example.com/" + word.Draw(t, "path")}
		}
		want["x"+word.Draw(t, "unknown")] = word.Draw(t, "value")
		body, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		c := Call{Body: body}
		m, err := c.peek()
		if err != nil {
			t.Fatal(err)
		}
		w, err := m.read()
		if err != nil {
			t.Fatal(err)
		}
		size, _ := want["size"].(string)
		picture, _ := want["input_reference"].(map[string]any)
		url, _ := picture["image_url"].(string)
		if id, _ := modelOf(m, false); id != want["model"] || w.prompt != want["prompt"] || w.endUser != want["user"] || w.size != size || w.imageURL != url {
			t.Fatalf("%s was read as %+v", body, w)
		}
	})
}

func FuzzACallIsReadOrRefusedInItsWords(f *testing.F) {
	for _, seed := range []string{
		`{"model":"m","prompt":"p","seconds":"8","size":"1x1","user":"u"}`, `{"model":"m","prompt":"p","input_reference":{"image_url":"data:,"}}`,
		`{"seconds":4.5}`, `{`, ``, `[]`, `nul`, `{"model":{}}`, `{"model":"m","model":"n","prompt":"\ud800"}`, `{"a":` + strings.Repeat("[", 200),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c := Call{Body: body}
		m, err := c.peek()
		if err != nil {
			if e := app.AsError(err); e.Kind != app.Invalid || e.Code != "invalid_json" || e.Message == "" {
				t.Fatalf("%+v", e)
			}
			return
		}
		if id, err := modelOf(m, false); (id == "") == (err == nil) {
			t.Fatalf("the model is %q, %v", id, err)
		}
		w, err := m.read()
		if err != nil {
			if e := app.AsError(err); e.Kind != app.Invalid || e.Param == "" {
				t.Fatalf("%+v", e)
			}
			return
		}
		if strings.TrimSpace(w.prompt) == "" || strings.ContainsRune(w.prompt+w.endUser, 0) || w.seconds < 0 || w.seconds > secondsMax ||
			utf8.RuneCountInString(w.endUser) > endUserRunesMax {
			t.Fatalf("%+v", w)
		}
	})
}
