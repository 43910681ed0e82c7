// Package mailtest checks that mails show harmlessly the texts that other users wrote. Tests give each name of Hostile to all that
// a mail names, and hand the mail to Check.
package mailtest

import (
	"regexp"
	"strings"
	"testing"
	"unicode"

	"umg/app/mail"
)

// shownMax is how many characters of one name a mail may show, with its quotation marks and what stands for links in it.
const shownMax = 400

// Hostile are names of a user who wants to write their own mails within mails of the gateway. Marker is in each.
func Hostile() []string {
	return []string{
		Marker + " http://evil.example/login?next=1",
		Marker + " www.evil.example/a evil.example:80/a",
		Marker + " write to thief@evil.example or mailto:thief@evil.example",
		Marker + "” was closed. Open https://evil.example “",
		Marker + "\r\n\r\nYour account is closed.\nBcc: all@evil.example",
		Marker + " \u202egnp.elpmaxe.live\u202c \u2066x\u2069 \u200bevil\u200b.example\u2028next",
		Marker + " <a href=\"https://evil.example\">click</a> <img src=x>",
		Marker + " evil．example evil。example ｈttp：//evil",
		Marker + " \xff\xfe evil.example\x00",
		Marker + " " + strings.Repeat("long ", 400),
	}
}

// Marker is what tells that a mail shows a name.
const Marker = "Zqx"

// link is what mail programs make links of, in addition to the addresses of the server and of people.
var link = regexp.MustCompile(`(?i)https?:|www\.|mailto:|[\pL\pN-]+[.．。｡][\pL]{2,}|[\pL\pN.]+[@＠][\pL\pN]`)

// Check refuses a mail that shows a name in a way that a reader could take for the gateway's own text. Own are the gateway's texts
// in which a mail program finds links: the address of the server and the addresses of people.
func Check(t *testing.T, m mail.Message, own ...string) {
	t.Helper()
	quoted := strings.Contains(m.Text, Marker)
	for what, text := range map[string]string{"subject": m.Subject, "text": m.Text, "page": pageText(m.HTML)} {
		for _, one := range own {
			text = strings.ReplaceAll(text, one, "")
		}
		if found := link.FindString(text); found != "" {
			t.Errorf("%s: the %s has a link: %q", m.Kind, what, found)
		}
		checkLines(t, m.Kind+": the "+what, text)
	}
	if quoted && !strings.Contains(m.Text, "The text in quotation marks was written by ") {
		t.Errorf("%s: it does not say who wrote the name: %s", m.Kind, m.Text)
	}
	if strings.Contains(m.Text, "\n\nYour account is closed.") || strings.Contains(m.HTML, "<img") {
		t.Errorf("%s: the name breaks out of its place", m.Kind)
	}
}

// checkLines looks for hidden characters, and for names that are long or stand outside quotation marks.
func checkLines(t *testing.T, where, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029') {
			t.Errorf("%s has the character %U", where, r)
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		at := strings.Index(line, Marker)
		switch {
		case at < 0:
		case !strings.HasSuffix(line[:at], "“") || !strings.Contains(line[at:], "”"):
			t.Errorf("%s shows the name outside quotation marks: %q", where, line)
		case len([]rune(line[at:strings.Index(line, "”")+len("”")])) > shownMax || strings.Count(line, "long ") > 30:
			t.Errorf("%s shows %d bytes of a name", where, len(line))
		}
	}
}

var (
	tags     = regexp.MustCompile(`(?s)<style.*?</style>|<[^>]*>`)
	entities = strings.NewReplacer("&#34;", `"`, "&#39;", "'", "&lt;", "<", "&gt;", ">", "&amp;", "&", "&#43;", "+")
)

// pageText is what a page shows.
func pageText(html string) string { return entities.Replace(tags.ReplaceAllString(html, "")) }
