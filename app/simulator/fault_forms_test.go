package simulator

import (
	"strings"
	"testing"
)

// TestFaultFormsMeanTheSame proves that a reader which follows the rules of event streams reads the same from every
// form. The reader is written here, after the rules.
func TestFaultFormsMeanTheSame(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, style string) {
		u := setup(t, Options{})
		want := eventsOf(string(u.post(style, ask{text: "echo: größer → 𝄞 ok", stream: true}).body))
		for _, form := range []string{"crlf", "cr", "bom", "comments", "multiline", "unknown", "split", "bom,crlf,comments,multiline,split"} {
			u := setup(t, Options{}) // A new simulator mints the same ids.
			res := u.post(style, ask{text: "echo: größer → 𝄞 ok", stream: true, simulated: "frames=" + form})
			got := eventsOf(string(res.body))
			if len(got) != len(want) || res.err != nil {
				t.Fatalf("%s: %d events, want %d: %q", form, len(got), len(want), res.body)
			}
			for i := range got {
				if strings.ReplaceAll(got[i].data, "\n", "") != want[i].data || got[i].event != want[i].event {
					t.Errorf("%s: %+v, want %+v", form, got[i], want[i])
				}
			}
		}
	})
}

// eventsOf reads an event stream by the rules: any line end, comments, unknown fields, data over several lines.
func eventsOf(body string) []frame {
	body = strings.TrimPrefix(body, "\ufeff")
	body = strings.ReplaceAll(strings.ReplaceAll(body, "\r\n", "\n"), "\r", "\n")
	var all []frame
	var f frame
	var data []string
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != nil {
				f.data = strings.Join(data, "\n")
				all = append(all, f)
			}
			f, data = frame{}, nil
		case name == "event":
			f.event = value
		case name == "data":
			data = append(data, value)
		}
	}
	return all
}
