package format_test

import (
	"bytes"
	"testing"
	"time"

	"umg/app"
	"umg/views/format"
)

func TestNumbersAndDaysAreWrittenAsTheRegionDoes(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, time.March, 5, 12, 0, 0, 0, time.UTC)
	text := format.Dollars(app.Amount(1_234_567_891_230_000)) + " " + format.Count(1234) + " " + format.Count(-7654321) + " " +
		format.Percent(25, 1000) + " " + format.Day(day) + " " + day.Format(format.ShortDayForm) + " a, b. 1,234 v1.2"
	for region, want := range map[string]string{
		"":      "$1,234,567.89123 1,234 \u22127,654,321 2.5% 5 Mar 2026 5 Mar a, b. 1,234 v1.2",
		"en-US": "$1,234,567.89123 1,234 \u22127,654,321 2.5% Mar 5, 2026 Mar 5 a, b. 1,234 v1.2",
		"en-GB": "$1,234,567.89123 1,234 \u22127,654,321 2.5% 5 Mar 2026 5 Mar a, b. 1,234 v1.2",
		"en-IN": "$12,34,567.89123 1,234 \u221276,54,321 2.5% 5 Mar 2026 5 Mar a, b. 1,234 v1.2",
		"de-DE": "$1.234.567,89123 1.234 \u22127.654.321 2,5% 05.03.2026 05.03. a, b. 1,234 v1.2",
		"fr-FR": "$1\u202f234\u202f567,89123 1\u202f234 \u22127\u202f654\u202f321 2,5% 5 Mar 2026 5 Mar a, b. 1,234 v1.2",
		"es-ES": "$1.234.567,89123 1234 \u22127.654.321 2,5% 5 Mar 2026 5 Mar a, b. 1,234 v1.2",
		"ja-JP": "$1,234,567.89123 1,234 \u22127,654,321 2.5% 2026/03/05 03/05 a, b. 1,234 v1.2",
	} {
		r, _ := format.FindRegion(region)
		if got := r.String(text); got != want {
			t.Errorf("%s: %q\nwant %q", region, got, want)
		}
	}
	if got := format.Marked("prompts over 200,000 tokens: $2.50, size 1280x720"); format.RegionOf("de-DE", "").String(got) !=
		"prompts over 200.000 tokens: $2,50, size 1280x720" {
		t.Errorf("%q", got)
	}
}

func TestTheRegionIsTheChosenOneOrThatOfTheBrowser(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ chosen, header, want string }{
		{"", "", ""}, {"", "xx,tlh;q=0.5", ""}, {"", "de", "de-DE"}, {"", "xx, DE-at;q=0.9,en-US", "de-AT"}, {"", "en", "en-US"},
		{"fr-FR", "de-DE", "fr-FR"}, {"mars", "ja-JP", "ja-JP"}, {"", "d", ""}, {"", ",,;", ""},
	} {
		if got := format.RegionOf(c.chosen, c.header); got.ID != c.want {
			t.Errorf("%q and %q give %q, want %q", c.chosen, c.header, got.ID, c.want)
		}
	}
}

// FuzzLocalize gives it texts that this package did not write, such as those of a caller in a page.
func FuzzLocalize(f *testing.F) {
	for _, text := range []string{"\x1f", ",\x1f234", "5 \x1fMar \x1f20", "1,\x1f23", "9,\x1f999,\x1f9", " \x1f", "99 \x1fFoo \x1f2026", "1,\x1f234,\x1f"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, r := range append(format.Regions(), format.Region{}) {
			if got := r.Localize(bytes.Clone(text)); bytes.IndexByte(got, '\x1f') >= 0 {
				t.Errorf("%s of %q is %q", r.ID, text, got)
			}
		}
	})
}
