package views_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"

	"umg/app"
	"umg/static"
	"umg/views"
	"umg/views/codesample"
	"umg/views/format"
	homepages "umg/views/home"
	keypages "umg/views/keys"
	modelpages "umg/views/models"
	playpages "umg/views/playground"
	signinpages "umg/views/signin"
	"umg/views/stories"
	"umg/views/ui"
)

func parse(t *testing.T, page string) *goquery.Document {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func render(t *testing.T, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	if err := (format.Region{}).Component(c).Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestNothingInlineForThePolicyToBlock looks for styles, handlers and scripts in the page itself, and for attributes
// that make the script compile code.
func TestNothingInlineForThePolicyToBlock(t *testing.T) {
	t.Parallel()
	handler := regexp.MustCompile(`^(on[a-z]+|style|hx-on.*|hx-vals|hx-headers)$`)
	for _, s := range stories.All() {
		doc := parse(t, draw(t, s))
		doc.Find("*").Each(func(_ int, e *goquery.Selection) {
			for _, a := range e.Nodes[0].Attr {
				if handler.MatchString(a.Key) || strings.Contains(a.Val, "javascript:") || strings.HasPrefix(a.Val, "js:") {
					t.Errorf("%s: <%s %s=%q>", s.Name, e.Nodes[0].Data, a.Key, a.Val)
				}
				if a.Key == "hx-trigger" && strings.ContainsAny(a.Val, "[]") {
					t.Errorf("%s: a filter in hx-trigger needs the permission to compile code: %s", s.Name, a.Val)
				}
			}
		})
		doc.Find("script, style").Each(func(_ int, e *goquery.Selection) {
			if src, ok := e.Attr("src"); !ok || !strings.HasPrefix(src, static.Prefix) || strings.TrimSpace(e.Text()) != "" {
				t.Errorf("%s: an inline or foreign <%s>", s.Name, e.Nodes[0].Data)
			}
		})
	}
}

func TestEveryAssetOfEveryPageExists(t *testing.T) {
	t.Parallel()
	for _, s := range stories.All() {
		for _, m := range regexp.MustCompile(`/static/[^"]+`).FindAllString(draw(t, s), -1) {
			w := httptest.NewRecorder()
			static.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, m, nil))
			if w.Code != http.StatusOK {
				t.Errorf("%s asks for %s, which answers %d", s.Name, m, w.Code)
			}
		}
	}
}

func TestEveryControlHasAName(t *testing.T) {
	t.Parallel()
	for _, s := range stories.All() {
		doc := parse(t, draw(t, s))
		doc.Find("input:not([type=hidden]), select, textarea").Each(func(_ int, e *goquery.Selection) {
			id, _ := e.Attr("id")
			labelled := e.AttrOr("aria-label", "") != "" || e.Closest("label").Length() > 0 || (id != "" && doc.Find(`label[for="`+id+`"]`).Length() == 1)
			if !labelled {
				t.Errorf("%s: a control without a name: %s", s.Name, id)
			}
		})
		doc.Find("button, a").Each(func(_ int, e *goquery.Selection) {
			if e.AttrOr("aria-label", "")+strings.TrimSpace(e.Text()) == "" {
				html, _ := goquery.OuterHtml(e)
				t.Errorf("%s: a button or link without words: %s", s.Name, html)
			}
		})
		doc.Find("dialog").Each(func(_ int, e *goquery.Selection) {
			if e.AttrOr("aria-label", e.AttrOr("aria-labelledby", "")) == "" {
				t.Errorf("%s: a dialog without a name", s.Name)
			}
		})
	}
}

func TestReferencesBetweenElementsHold(t *testing.T) {
	t.Parallel()
	within := []string{"for", "aria-controls", "aria-describedby", "popovertarget", "commandfor",
		"data-copy-from", "data-reveal", "data-tab-also",
	}
	for _, s := range stories.All() {
		doc := parse(t, draw(t, s))
		ids := map[string]int{}
		doc.Find("[id]").Each(func(_ int, e *goquery.Selection) { ids[e.AttrOr("id", "")]++ })
		for id, n := range ids {
			if n > 1 {
				t.Errorf("%s: the id %s is used %d times", s.Name, id, n)
			}
		}
		for _, attribute := range within {
			doc.Find("[" + attribute + "]").Each(func(_ int, e *goquery.Selection) {
				for id := range strings.FieldsSeq(e.AttrOr(attribute, "")) {
					if ids[id] == 0 {
						t.Errorf("%s: %s names %s, which is not there", s.Name, attribute, id)
					}
				}
			})
		}
		// The drawer shows a part of another page, with its heading, beside the list and its own.
		if n := doc.Find("h1").Not(".log-drawer h1").Length(); n != 1 {
			t.Errorf("%s has %d headings of the first rank", s.Name, n)
		}
		if doc.Find("main#main").Length() != 1 || doc.Find("title").Text() == "" || doc.Find("html[lang]").Length() != 1 {
			t.Errorf("%s lacks a main part, a title or a language", s.Name)
		}
	}
}

// TestFormsWorkWithoutScripts checks that a form sends to the same place as htmx.
func TestFormsWorkWithoutScripts(t *testing.T) {
	t.Parallel()
	for _, s := range stories.All() {
		doc := parse(t, draw(t, s))
		doc.Find("form").Each(func(_ int, e *goquery.Selection) {
			action, method := e.AttrOr("action", ""), e.AttrOr("method", "")
			known := method == "post" || method == "get"
			if !strings.HasPrefix(action, "/console/") || !known || e.Find("button[type=submit]").Length() == 0 {
				t.Errorf("%s: a form with action %q, method %q", s.Name, action, method)
			}
			if hx := e.AttrOr("hx-post", e.AttrOr("hx-get", action)); hx != action {
				t.Errorf("%s: scripts send to %s, the form to %s", s.Name, hx, action)
			}
			e.Find("button[hx-post]").Each(func(_ int, b *goquery.Selection) {
				if b.AttrOr("formaction", "") != b.AttrOr("hx-post", "") {
					t.Errorf("%s: scripts send to %s, the button to %s", s.Name, b.AttrOr("hx-post", ""), b.AttrOr("formaction", ""))
				}
			})
		})
		doc.Find("a[hx-get]").Each(func(_ int, e *goquery.Selection) {
			if e.AttrOr("href", "") != e.AttrOr("hx-get", "") {
				t.Errorf("%s: scripts fetch %s, the link leads to %s", s.Name, e.AttrOr("hx-get", ""), e.AttrOr("href", ""))
			}
		})
	}
}

func TestSecretsAppearOnlyWhereAKeyWasJustMade(t *testing.T) {
	t.Parallel()
	for _, s := range stories.All() {
		made := strings.HasPrefix(s.Name, "key-created") || strings.HasPrefix(s.Name, "key-rotated") || s.Name == "overview-key-made" ||
			s.Name == "overview-key-replaced" || s.Name == "recipe-key-created"
		if strings.Contains(draw(t, s), stories.Secret) != made {
			t.Errorf("%s: a secret is shown, or is missing", s.Name)
		}
	}
}

func TestHostileTextStaysText(t *testing.T) {
	t.Parallel()
	const evil = `"><img src=x onerror=alert(1)><script>alert(1)</script>` + "`'{{"
	shell := views.Shell{
		Path: evil, Theme: ui.Theme(evil), Viewer: &views.Viewer{Email: evil, Rights: app.AllRights}, BaseURL: evil, Toasts: []ui.Toast{{Tone: ui.Info, Text: evil}},
	}
	key := views.Key{
		ID: evil, Name: evil, Masked: evil, Env: evil, ErrorMode: evil, CreatedAt: stories.Now(), CreatedBy: evil, LastFrom: evil, Scopes: []string{evil},
		Models: []string{evil}, Addresses: []string{evil}, Previous: &views.PreviousSecret{LastFour: evil, Until: stories.Now().Add(time.Hour)},
	}
	row := views.Request{ID: evil, Model: evil, KeyName: evil, Style: evil, Outcome: evil, ErrorCode: evil, At: stories.Now()}
	form := keypages.Form{Networks: keypages.NetworkForm{Lines: "</textarea>" + evil}, Expiry: keypages.ExpiryForm{Day: evil}, Models: []string{evil}, Name: evil, NameError: evil, Env: evil, EnvError: evil, Mode: evil, ModeError: evil, FormError: evil}
	call := codesample.Call{BaseURL: evil, Key: evil, Model: evil}
	body := []homepages.StyleBody{{Style: "chat", Body: []byte(`{"a":"</code><img src=x>"}`)}}
	steps := &homepages.Onboarding{KeyError: evil, BaseURL: evil, Model: evil, Bodies: body, Language: evil, Style: evil, MayCall: true,
		Refused: &homepages.Arrival{ID: evil, Method: evil, Route: evil, KeyName: evil, Code: evil}, Sent: &homepages.SentCall{Answer: evil, Model: evil}}
	made := &homepages.Onboarding{HasKey: true, KeyHint: evil, Fresh: &views.FreshKey{Key: key, Secret: evil}, BaseURL: evil, Bodies: body,
		First: &homepages.FirstRequest{Request: row}}
	entry := signinpages.Entry{Shell: shell, Email: evil, EmailError: evil, PasswordError: evil, FormError: evil, Next: evil}
	model := views.Model{
		ID: evil, Name: evil, Description: evil, Owner: evil, Capabilities: []string{evil}, Input: []string{evil, "image"}, Output: []string{evil},
		Styles: []views.Style{"chat", views.Style(evil)}, Notice: evil, Sizes: []string{evil}, State: views.ModelAvailable,
		Prices: []views.Price{{Meter: evil, Amount: 1, Per: 1}},
	}
	field := modelpages.Field{Name: evil, Types: evil, Text: evil, Default: evil, Allowed: []string{evil}}
	field.Fields = []modelpages.Field{field}
	contract := modelpages.Contract{Style: "chat", Hash: evil, Fields: []modelpages.Field{field}, Hints: []string{evil}, Without: []string{evil}, Sample: []byte(`{"a":"<img src=x>"}`)}
	turn := playpages.Turn{Answer: true, Text: evil, Thought: evil, Image: evil, Note: evil}
	called := playpages.Turn{Answer: true, Calls: []playpages.ToolCall{{ID: evil, Name: evil, Arguments: evil}}}
	param := playpages.Param{Path: evil, Key: evil, Kind: playpages.ParamEnum, Text: evil, Default: evil, Bounds: evil, Options: []string{evil}, Value: evil, Error: evil}
	play := playpages.Playground{
		Shell: shell, Models: []views.Model{model}, Pane: playpages.Pane{
			Model: model, Style: "chat", Params: []playpages.Param{param}, Trouble: &views.PlayTrouble{Message: evil, Field: evil, Code: evil},
			Form: playpages.Form{System: evil, Prompt: evil, ImageURL: evil, Image: evil, Turns: []playpages.Turn{turn, called}, Tools: evil, ToolChoice: evil,
				Format: evil, SchemaName: evil, Schema: evil, Vars: []playpages.Variable{{Name: evil, Value: evil}}},
		},
	}
	play.Others = []playpages.Pane{play.Pane}
	play.Others[0].Number = 1
	for name, view := range map[string]templ.Component{
		"models": modelpages.ListPage(modelpages.List{Shell: shell, Query: modelpages.Query{Text: evil[:1]}, All: []views.Model{model}}),
		"model": modelpages.DetailPage(modelpages.Detail{
			Shell: shell, Model: model, KeyHint: evil, Language: evil, Style: evil, Contracts: []modelpages.Contract{contract},
		}),
		"playground": playpages.Page(play),
		"code": playpages.CodePage(playpages.Code{
			Shell: shell, Model: model, KeyHint: evil, Variants: []playpages.Variant{{Style: "chat", Body: []byte(`{"a":"</code><img src=x>"}`)}, {Style: "native", Refusal: evil}},
		}),
		"sign-up":  signinpages.SignUpPage(entry),
		"sign-in":  signinpages.Page(entry),
		"overview": homepages.OverviewPage(homepages.Overview{Shell: shell, Onboarding: steps, Recent: &homepages.Recent{Requests: []views.Request{row}}, Failures: &homepages.Failures{Requests: []views.Request{row}}}),
		"made":     homepages.OverviewPage(homepages.Overview{Shell: shell, Onboarding: made, Failure: &views.LoadFailure{RequestID: evil}}),
		"keys":     keypages.ListPage(keypages.List{Shell: shell, Keys: []views.Key{key}}),
		"key":      keypages.DetailPage(keypages.Detail{Shell: shell, Key: key, Form: form}),
		"rotated":  keypages.RotatedPage(keypages.Rotated{Shell: shell, Fresh: views.FreshKey{Key: key, Secret: evil}, Call: call}),
		"new":      keypages.NewPage(keypages.NewKey{Shell: shell, Form: form}),
		"created":  keypages.CreatedPage(keypages.Created{Shell: shell, Fresh: views.FreshKey{Key: key, Secret: evil}, Call: call, Language: evil}),
		"delete":   keypages.DeletePage(keypages.Delete{Shell: shell, Key: key, TypeName: true, NameError: evil}),
		"error":    views.ErrorPage(views.Failure{Shell: shell, Title: evil, Message: evil, RequestID: evil}),
		"404":      views.NotFoundPage(views.NotFound{Shell: shell, Near: []views.SearchHit{{Title: evil, Note: evil, Href: "/console"}}}),
	} {
		doc := parse(t, render(t, view))
		if doc.Find("img, script:not([src]), [onerror]").Length() > 0 {
			t.Errorf("%s: hostile text became markup", name)
		}
		if class := doc.Find("html").AttrOr("class", ""); class != "system" {
			t.Errorf("%s: a hostile theme gives the class %q", name, class)
		}
	}
}

func TestBalanceWarnsInTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		balance views.Balance
		want    ui.Tone
	}{
		{views.Balance{}, ui.Plain},
		{views.Balance{Known: true, Available: 2 * app.Dollar, LowAt: app.Dollar}, ui.Plain},
		{views.Balance{Known: true, Available: app.Dollar, LowAt: app.Dollar}, ui.Warning},
		{views.Balance{Known: true, Available: 1, LowAt: 0}, ui.Plain},
		{views.Balance{Known: true, Available: 0, LowAt: app.Dollar}, ui.Danger},
		{views.Balance{Known: true, Available: -5, LowAt: app.Dollar}, ui.Danger},
		{views.Balance{Known: true, Available: 0, LowAt: app.Dollar, Uncharged: true}, ui.Plain},
	} {
		if got := c.balance.Tone(); got != c.want {
			t.Errorf("%+v has the tone %q, want %q", c.balance, got, c.want)
		}
	}
}

// TestWaitingFollowsUntilAnswered: the step follows the server's events while it waits, also after a request that failed or was
// refused, and stops when it is done.
func TestWaitingFollowsUntilAnswered(t *testing.T) {
	t.Parallel()
	failed := &homepages.FirstRequest{Request: views.Request{Outcome: "failed", ErrorCode: "insufficient_quota"}}
	answered := &homepages.FirstRequest{Request: views.Request{Outcome: "succeeded", Cost: 43, Duration: time.Second}}
	for says, c := range map[string]struct {
		o       homepages.Onboarding
		follows int
	}{
		"Waiting for your first request": {homepages.Onboarding{}, 1},
		"Not enough credit":              {homepages.Onboarding{First: failed}, 1},
		"The key has expired":            {homepages.Onboarding{First: failed, Refused: &homepages.Arrival{Code: "key_expired"}}, 1},
		"$0.000000043":                   {homepages.Onboarding{First: answered, Sent: &homepages.SentCall{Answer: "Hello."}}, 0},
	} {
		doc := parse(t, render(t, homepages.OnboardingCard(c.o)))
		if n := doc.Find("[data-live]").Length(); n != c.follows || !strings.Contains(doc.Find("#first-request").Text(), says) {
			t.Errorf("%s: %d follow, and it says %q", says, n, doc.Find("#first-request").Text())
		}
	}
	if parse(t, render(t, homepages.FirstRequestPart(homepages.Onboarding{First: answered}, false))).Find("[hx-get]").Length() > 0 {
		t.Error("an answered request in a fresh page fetches the page again")
	}
}

func TestDisabledAndExpiredKeysSaySo(t *testing.T) {
	t.Parallel()
	s, _ := stories.Find("keys")
	rows := parse(t, draw(t, s)).Find("[data-testid=key]")
	for i, want := range []string{"Active", "Active", "Active", "Disabled", "Expired", "Rotating", "Active", "Leaked"} {
		row := rows.Eq(i)
		if got := strings.TrimSpace(row.Find(".cell-status .badge").Text()); got != want {
			t.Errorf("row %d is %q, want %q", i, got, want)
		}
		action := "disable"
		if want == "Disabled" || want == "Leaked" {
			action = "enable"
		}
		if row.Find(`form[action$="/`+action+`"]`).Length() != 1 {
			t.Errorf("row %d cannot %s", i, action)
		}
	}
}

// TestTheOverviewSaysTheBalanceOnce looks for a part of the balance that repeats its amount, and for how long a trial lasts.
func TestTheOverviewSaysTheBalanceOnce(t *testing.T) {
	t.Parallel()
	for _, s := range stories.All() {
		balance := parse(t, draw(t, s)).Find("#credit .stat").First()
		whole := strings.TrimSpace(balance.Find(".stat-value").Text())
		balance.Find(".stat-split > div").Each(func(_ int, part *goquery.Selection) {
			words := strings.Join(strings.Fields(part.Text()), " ")
			if amount := strings.TrimSpace(part.Find(".num").Text()); amount != "" && amount == whole {
				t.Errorf("%s: %q of a balance of %s", s.Name, words, whole)
			}
			if strings.HasPrefix(words, "Trial,") && !regexp.MustCompile(`^Trial, \d+ days? left, until \d+ \w+ \d+`).MatchString(words) {
				t.Errorf("%s: %q", s.Name, words)
			}
		})
	}
}
