package ui

import (
	"html"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestHighlightKeepsEveryByte(t *testing.T) {
	t.Parallel()
	names := []string{"unknown"}
	for name := range languages {
		names = append(names, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		source := rapid.StringMatching("[ -~\n\tä–]{0,80}").Draw(t, "source")
		for _, name := range names {
			var b strings.Builder
			for _, r := range highlight(name, source) {
				b.WriteString(r.text)
			}
			if b.String() != source {
				t.Fatalf("%s: %q became %q", name, source, b.String())
			}
		}
	})
}

// TestBreaksKeepEveryByte checks that a long word of any characters stays that word, and is no markup.
func TestBreaksKeepEveryByte(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		source := rapid.StringMatching("([ -~é]|<wbr>|[._@]){0,60}").Draw(t, "source")
		var b strings.Builder
		if err := Breaks(source).Render(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		plain := strings.ReplaceAll(b.String(), "<wbr>", "")
		if html.UnescapeString(plain) != source || strings.ContainsAny(plain, "<>") || strings.HasSuffix(b.String(), "<wbr>") {
			t.Fatalf("%q became %q", source, b.String())
		}
	})
}

func TestHighlightNamesWhatItSees(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ lang, source, want string }{
		{"go", `return "a // b" // why`, `k:return| |s:"a // b"| |c:// why`},
		{"python", "if x: # no\n", "k:if| x: |c:# no|\n"},
		{"python", `f'it\'s'`, `f|s:'it\'s'`},
		{"curl", `curl -H "A: b"`, `k:curl| |f:-H| |s:"A: b"`},
		{"javascript", "const n = 1.5;", "k:const| n = |n:1.5|;"},
		{"env", "A_KEY=sk-9Qx", "f:A_KEY|=sk-9Qx"},
		{"json", `"open`, `s:"open`},
		{"nothing", "if", "if"},
	} {
		var parts []string
		for _, r := range highlight(c.lang, c.source) {
			part := r.text
			if r.class != "" {
				part = r.class + ":" + part
			}
			parts = append(parts, part)
		}
		if got := strings.Join(parts, "|"); got != c.want {
			t.Errorf("%s %q = %s, want %s", c.lang, c.source, got, c.want)
		}
	}
}

func TestThemesComeFromACookieThatAnybodyCanWrite(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Theme{"": System, "dark": Dark, "light": Light, "system": System, "DARK": System, `"><script>`: System} {
		if got := ParseTheme(in); got != want || Theme(in).Class() != string(want) {
			t.Errorf("ParseTheme(%q) = %s, class %s", in, got, Theme(in).Class())
		}
	}
	if System.ColorScheme() != "light dark" || Dark.ColorScheme() != "dark" {
		t.Error("the page declares the wrong colour scheme")
	}
}

func TestBarsStayInTheirBox(t *testing.T) {
	t.Parallel()
	for percent := 1; percent <= 100; percent++ {
		if h := barSize(percent); h < barLowest || h > barsHigh {
			t.Errorf("%d percent is %d high", percent, h)
		}
	}
}

func TestEveryToneHasAnIcon(t *testing.T) {
	t.Parallel()
	for _, tone := range []Tone{Plain, Info, Brand, Success, Warning, Danger} {
		if toneIcons[tone] == "" {
			t.Errorf("%q has no icon", tone)
		}
	}
}
