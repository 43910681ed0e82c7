package views_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"umg/app"
	"umg/views"
	keypages "umg/views/keys"
	"umg/views/stories"
)

// listed are the names of the keys that a query shows, in order.
func listed(t *testing.T, keys []views.Key, query string) []string {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	shell := views.Shell{Now: stories.Now(), Path: "/console/keys", Viewer: &views.Viewer{Rights: app.AllRights}}
	doc := parse(t, render(t, keypages.ListPage(keypages.List{Shell: shell, Keys: keys, Query: keypages.ParseQuery(values)})))
	var names []string
	doc.Find("[data-testid=key] .row-link").Each(func(_ int, e *goquery.Selection) { names = append(names, e.Text()) })
	return names
}

func someKeys() []views.Key {
	at := func(days int) *time.Time { t := stories.Now().AddDate(0, 0, days); return &t }
	spent := func(s app.Amount) *views.KeyBudget {
		return &views.KeyBudget{Limit: 10 * app.Dollar, Spent: s, Period: "day"}
	}
	old := stories.Now().AddDate(0, 0, -200)
	return []views.Key{
		{ID: "key_1", Name: "beta", Env: "production", Masked: "sk-umg-…AAAA", CreatedAt: old, LastUsed: at(-1), Budget: spent(app.Dollar)},
		{ID: "key_2", Name: "Alpha", Masked: "sk-umg-…BBBB", CreatedAt: old, LastUsed: at(-90), ExpiresAt: at(3), Budget: spent(9 * app.Dollar)},
		{ID: "key_3", Name: "gamma", CreatedAt: old, ExpiresAt: at(-1), CreatedBy: "grace@example.com"},
		{ID: "key_4", Name: "delta", CreatedAt: stories.Now(), Disabled: true, ExpiresAt: at(40)},
		{ID: "key_5", Name: "epsilon", CreatedAt: old, Scopes: []string{views.ScopeManagement}, ExpiresAt: at(90), LastUsed: at(-2),
			Previous: &views.PreviousSecret{LastFour: "…CCCC", Until: stories.Now().Add(time.Minute)}},
	}
}

func TestKeysAreFoundFilteredAndSortedByTheAddress(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"":                         "beta Alpha gamma delta epsilon",
		"q=ALP":                    "Alpha",
		"q=bbbb":                   "Alpha",
		"q=grace":                  "gamma",
		"q=key_4":                  "delta",
		"q=%3Cnothing":             "",
		"status=active":            "beta Alpha",
		"status=disabled":          "delta",
		"status=expired":           "gamma",
		"status=rotating":          "epsilon",
		"status=loud":              "beta Alpha gamma delta epsilon",
		"env=production":           "beta",
		"kind=management":          "epsilon",
		"kind=inference":           "beta Alpha gamma delta",
		"health=unused":            "Alpha",
		"health=expiring":          "Alpha",
		"health=unending":          "beta",
		"health=unbounded":         "",
		"sort=name":                "Alpha beta delta epsilon gamma",
		"sort=used":                "beta epsilon Alpha gamma delta",
		"sort=spent":               "Alpha beta gamma delta epsilon",
		"sort=expires":             "gamma Alpha delta epsilon beta",
		"sort=spent&status=active": "Alpha beta",
	} {
		if got := strings.Join(listed(t, someKeys(), query), " "); got != want {
			t.Errorf("%q shows %q, want %q", query, got, want)
		}
		values, _ := url.ParseQuery(query)
		q := keypages.ParseQuery(values)
		again, err := url.Parse(q.Path())
		if err != nil || keypages.ParseQuery(again.Query()) != q {
			t.Errorf("%q does not survive its address %s", query, q.Path())
		}
	}
}

// TestTheFormOpensWhereItHoldsSomething checks that a section with restrictions or an error is open, so that the user sees them.
func TestTheFormOpensWhereItHoldsSomething(t *testing.T) {
	t.Parallel()
	choices := keypages.Choices{Scopes: []keypages.ScopeChoice{{Value: "videos"}, {Value: "webhooks"}}, Models: []string{"m"}}
	shell := views.Shell{Now: stories.Now(), Path: "/console/keys/new", Viewer: &views.Viewer{Rights: app.AllRights}}
	for name, c := range map[string]struct {
		change func(*keypages.Form)
		open   bool
	}{
		"as it is first shown": {func(*keypages.Form) {}, false},
		"only a budget":        {func(f *keypages.Form) { f.Budget.Limit = "5" }, false},
		"a scope less":         {func(f *keypages.Form) { f.Scopes = []string{"videos"} }, true},
		"a model":              {func(f *keypages.Form) { f.Models = []string{"m"} }, true},
		"an address":           {func(f *keypages.Form) { f.Networks.Lines = "203.0.113.7" }, true},
		"blank addresses":      {func(f *keypages.Form) { f.Networks.Lines = " \r\n" }, false},
		"an expiry":            {func(f *keypages.Form) { f.Expiry.Choice = "30" }, true},
		"a choice of content":  {func(f *keypages.Form) { f.LogContent = true }, true},
		"requests":             {func(f *keypages.Form) { f.Limits.Requests = "1" }, true},
		"a mistake":            {func(f *keypages.Form) { f.Limits.TokensError = "no" }, true},
	} {
		f := keypages.NewForm(choices)
		c.change(&f)
		doc := parse(t, render(t, keypages.NewPage(keypages.NewKey{Shell: shell, Form: f})))
		if _, open := doc.Find("details.key-more").Attr("open"); open != c.open {
			t.Errorf("%s: open is %v", name, open)
		}
	}
}

// TestEachMistakeIsTiedToItsField checks that a screen reader on a field says what is wrong with it.
func TestEachMistakeIsTiedToItsField(t *testing.T) {
	t.Parallel()
	s, _ := stories.Find("key-new-errors")
	doc := parse(t, draw(t, s))
	for field, id := range map[string]string{
		"#key-name": "key-name-error", "#key-rpm": "key-rpm-error", "#key-addresses": "key-addresses-error", "#key-expiry-day": "key-expiry-day-error",
		"#key-scopes": "key-scopes-error", "#key-budget": "key-budget-error",
	} {
		if by := strings.Fields(doc.Find(field).AttrOr("aria-describedby", "")); !slices.Contains(by, id) || doc.Find("#"+id).Length() != 1 {
			t.Errorf("%s is described by %v", field, by)
		}
	}
	first := doc.Find("form.key-form button").First()
	if text := strings.TrimSpace(first.Text()); text != "Create key" || first.AttrOr("name", "") != "" {
		t.Errorf("the Enter key presses %q", text)
	}
}

// TestWhatARoleCannotDoIsNotOffered walks the pages that are drawn for other roles.
func TestWhatARoleCannotDoIsNotOffered(t *testing.T) {
	t.Parallel()
	for _, s := range stories.All() {
		if s.Group != "Roles" {
			continue
		}
		doc := parse(t, draw(t, s))
		shell := views.Shell{Viewer: &views.Viewer{}}
		s.Adjust(&shell)
		for selector, need := range map[string]app.Rights{
			`[href^="/console/keys"], form[action^="/console/keys"]`:                 app.ManageKeys,
			`[href^="/console/playground"]`:                                          app.CallText,
			`form[action^="/console/billing"], [href="/console/billing#add-credit"]`: app.ManageMoney,
			`form[action^="/console/webhooks"]`:                                      app.UseWebhooks,
		} {
			if n := doc.Find(selector).Length(); n > 0 && !shell.Viewer.Rights.Has(need) {
				t.Errorf("%s offers %d of %s to a %s", s.Name, n, selector, shell.Viewer.Role)
			}
		}
	}
}
