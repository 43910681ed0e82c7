package views_test

import (
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	operatorpages "umg/views/operator"
)

// linksOf are the links in the text of a mail.
func linksOf(t *testing.T, text string) []string {
	t.Helper()
	page := render(t, operatorpages.OutboxMailPage(operatorpages.OutboxDetail{Mail: operatorpages.OutboxMail{ID: "mail_1", Subject: "Hello", Text: text}}))
	return parse(t, page).Find(`[data-testid="mail-text"] a`).Map(func(_ int, e *goquery.Selection) string { return e.AttrOr("href", "") })
}

func TestLinksOfAMailAreWebAddressesAndNothingElse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"Go to https://example.com/verify?token=a&b=%2Fc.":      {"https://example.com/verify?token=a&b=%2Fc"},
		"(http://127.0.0.1:8080/x) and https://example.com/!":   {"http://127.0.0.1:8080/x", "https://example.com/"},
		"first\nhttps://a.example.com\n\nhttps://b.example.com": {"https://a.example.com", "https://b.example.com"},
		"javascript:alert(1) data:text/html,x mailto:a@b.c":     nil,
		"xhttps://example.com":                                  {"https://example.com"},
		"<a href=\"https://example.com/x\">no</a>":              {"https://example.com/x"},
		"https://": nil,
	} {
		got := linksOf(t, text)
		if len(got) != len(want) {
			t.Errorf("%q: links %v, want %v", text, got, want)
			continue
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%q: links %v, want %v", text, got, want)
			}
		}
	}
}

func TestThePageOfAMailIsShownAsItsSource(t *testing.T) {
	t.Parallel()
	page := parse(t, render(t, operatorpages.OutboxMailPage(operatorpages.OutboxDetail{Mail: operatorpages.OutboxMail{
		ID: "mail_1", Subject: "Hello <b>", Text: "<img src=x>", HTML: "<main><script>alert(1)</script><img src=y></main>",
	}})))
	if n := page.Find("main img, main script, h1 b").Length(); n != 0 {
		t.Errorf("%d elements of a mail are elements of the page", n)
	}
	text := page.Find("main").Text()
	for _, want := range []string{"<img src=x>", "<script>alert(1)</script>", "Hello <b>"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s: %q", want, text)
		}
	}
}
