package translate

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAStopSequenceIsFoundWhereverTheTextIsCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.SampledFrom([]string{"END", "E", "\n\n", "日本", "aab", "ab"}), 1, 3).Draw(t, "stops")
		text := rapid.StringOfN(rapid.RuneFrom([]rune("abEND\n日本 x")), 0, 30, -1).Draw(t, "text")
		want, wantMet := text, ""
		for _, stop := range list {
			if i := strings.Index(text, stop); i >= 0 && (i < len(want) || i == len(want) && len(stop) > len(wantMet)) {
				want, wantMet = text[:i], stop
			}
		}
		watch := stopWatcher{list: list}
		var got strings.Builder
		met := ""
		for _, r := range text {
			var safe string
			if safe, met = watch.pass(string(r)); met != "" {
				got.WriteString(safe)
				break
			}
			got.WriteString(safe)
		}
		if met == "" {
			got.WriteString(watch.rest())
		}
		// Cut letter by letter, a longer stop that begins earlier or at the same place may lose to a shorter one that ends
		// before it; the text before is never longer than what the whole text would give.
		if (met == "") != (wantMet == "") || !strings.HasPrefix(text, got.String()) || met == "" && got.String() != want {
			t.Fatalf("text %q stops %q: got %q met %q, want %q met %q", text, list, got.String(), met, want, wantMet)
		}
		if met != "" && !strings.HasPrefix(text[len(got.String()):], met) {
			t.Fatalf("text %q: %q does not stand behind %q", text, met, got.String())
		}
	})
}

func TestNothingIsKeptBackThatCannotBecomeAStop(t *testing.T) {
	t.Parallel()
	watch := stopWatcher{list: []string{"STOP"}}
	for _, c := range []struct{ in, out string }{{"a", "a"}, {"bS", "b"}, {"T", ""}, {"x", "STx"}, {"ST", ""}, {"ST", "ST"}} {
		if safe, met := watch.pass(c.in); safe != c.out || met != "" {
			t.Errorf("%q gave %q and %q, want %q", c.in, safe, met, c.out)
		}
	}
	if safe, met := watch.pass("OP and more"); safe != "" || met != "STOP" {
		t.Errorf("the end gave %q and %q", safe, met)
	}
}
