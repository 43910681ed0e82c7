// Package views draws the frame of the console's pages: the shell with its navigation, search and notices, the words and parts that
// several areas share, and the models of what they show (Model, Key, Request, Webhook, Credit). The pages themselves are in the
// packages below it, one for each area, which import views and never each other. No view reads data: every page is drawn from a view
// model, so the stories draw it from examples.
package views

import (
	"slices"
	"strings"
	"time"

	"umg/app"
	"umg/views/format"
	"umg/views/ui"
)

// Shell is what surrounds the content of every page.
type Shell struct {
	Path    string // path of the page: marks the navigation, and the theme form returns to it
	Theme   ui.Theme
	Now     time.Time
	Viewer  *Viewer // nil for visitors who are not signed in; they get the page without navigation
	BaseURL string  // base URL of the API, ends in /v1
	Balance Balance
	Frozen  *Freeze // nil for an account that is not frozen
	Toasts  []ui.Toast
	Still   bool   // times are not converted by scripts; for screenshots
	Summary string // summary of an open page for search engines; empty takes the default of its path
	Mac     bool   // the reader's keyboard has a command key
	KeysOff bool   // single-key shortcuts are off
	// Zone is the time zone that the reader chose. It is empty for that of the browser.
	Zone   string
	Clock  string       // 12 for times with AM and PM; empty for 24 hours
	Unread int          // number of unread notices
	Status []StatusLine // degraded models
}

// Viewer is the signed-in reader of the page.
type Viewer struct {
	Email    string
	Rights   app.Rights
	Role     string
	Account  string          // name of the current account
	Accounts []AccountChoice // all accounts of the user; no choice is shown for a single one
	Operator bool            // the user is an operator
}

// AccountChoice is an account to which the user may switch.
type AccountChoice struct {
	ID, Name, Role string
	Current        bool
}

// Initial is the first letter of the viewer's name, for the picture in the menu.
func (v Viewer) Initial() string {
	for _, r := range v.Email {
		return strings.ToUpper(string(r))
	}
	return "?"
}

// menuLabel names the menu of the account for who does not see it.
func (v Viewer) menuLabel() string {
	if v.Account == "" {
		return "Account of " + v.Email
	}
	return v.Account + ", account of " + v.Email
}

// Balance is the credit shown on every page. It is not Known while the store cannot be asked.
type Balance struct {
	Known     bool
	Available app.Amount
	LowAt     app.Amount // the balance is amber at or below this

	NeverFunded bool // the account has never had credit
	// Uncharged accounts need no credit, and their calls are not charged.
	Uncharged bool
}

// Tone is red for nothing left, amber for little. An uncharged account needs nothing.
func (b Balance) Tone() ui.Tone {
	switch {
	case !b.Known || b.Uncharged:
		return ui.Plain
	case b.Available <= 0:
		return ui.Danger
	case b.Available <= b.LowAt:
		return ui.Warning
	default:
		return ui.Plain
	}
}

// Rounded is the balance in whole cents, never more than there is.
func (b Balance) Rounded() string {
	switch {
	case !b.Known:
		return "–"
	case b.Available > 0 && b.Available < app.Cent:
		return "<$0.01"
	}
	main, _ := format.DollarParts(b.Available - b.Available%app.Cent)
	return main
}

// Exact is the balance with all its digits.
func (b Balance) Exact() string {
	if !b.Known {
		return "–"
	}
	main, fine := format.DollarParts(b.Available)
	return main + fine
}

// State is what a screen reader says of the chip beside the amount.
func (b Balance) State() string {
	switch {
	case b.Uncharged:
		return ", calls are not charged"
	case !b.Known:
		return ", not available right now"
	case b.Tone() == ui.Danger && b.NeverFunded:
		return ", no credit yet"
	case b.Tone() == ui.Danger:
		return ", used up"
	case b.Tone() == ui.Warning:
		return ", running low"
	default:
		return ""
	}
}

// LocalPath is the path if it leads to a page of this server, and the overview otherwise. Paths come back from forms
// and addresses, and a browser takes //host and /\host for another server.
func LocalPath(path string) string {
	if strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") && !strings.ContainsAny(path, "\\\r\n\t") {
		return path
	}
	return "/console"
}

// Pages whose views live elsewhere, and what leads to them from every page.
const (
	DocsPath   = "/console/docs"
	SetupPath  = "/console/setup"
	sharedPath = "/console/shared"

	notificationsPath  = "/console/notifications"
	notifySettingsPath = SettingsPath + "/notifications"
)

// navGroup is a part of the menu: pages that serve one end. Its title is left out where the pages speak for themselves.
type navGroup struct {
	title string
	items []ui.NavItem
}

// navigation is the console's pages in the order of the menu.
var navigation = []navGroup{
	{items: []ui.NavItem{{Icon: ui.IconDashboard, Text: "Overview", Href: "/console", Jump: "o"}}},
	{title: "Build", items: []ui.NavItem{
		{Icon: ui.IconLayers, Text: "Models", Href: ModelsPath, Jump: "m", Need: app.ReadModels},
		{Icon: ui.IconMessage, Text: "Playground", Href: PlaygroundPath, Jump: "p", Need: app.CallText},
		{Icon: ui.IconFilm, Text: "Videos", Href: VideosPath, Jump: "v", Need: app.UseVideos},
		{Icon: ui.IconBox, Text: "Assets", Href: AssetsPath, Jump: "a", Need: app.UseAssets},
		{Icon: ui.IconKey, Text: "API keys", Href: KeysPath, Jump: "k", Need: app.ManageKeys},
		{Icon: ui.IconWebhook, Text: "Webhooks", Href: WebhooksPath, Jump: "w", Need: app.UseWebhooks},
	}},
	{title: "Observe", items: []ui.NavItem{
		{Icon: ui.IconGauge, Text: "Usage", Href: UsagePath, Jump: "u", Need: app.ReadUsage},
		{Icon: ui.IconActivity, Text: "Requests", Href: RequestsPath, Jump: "r", Need: app.ReadUsage},
		{Icon: ui.IconWallet, Text: "Billing", Href: BillingPath, Jump: "b", Need: app.ReadUsage},
	}},
	{title: "Account", items: []ui.NavItem{
		{Icon: ui.IconBook, Text: "Docs", Href: DocsPath, Jump: "d"},
		{Icon: ui.IconSettings, Text: "Settings", Href: SettingsPath, Jump: "s"},
	}},
}

// navigation is the part of the menu that the reader may open.
func (s Shell) navigation() []navGroup {
	var groups []navGroup
	for i, group := range navigation {
		items := allowed(group.items, s.Viewer)
		if s.Viewer.Operator && i == len(navigation)-1 {
			items = append(items, ui.NavItem{Icon: ui.IconSliders, Text: "Operator", Href: OperatorPath})
		}
		if len(items) > 0 {
			groups = append(groups, navGroup{title: group.title, items: items})
		}
	}
	return groups
}

// part is the entry of the menu that contains the page, if the reader may open it. The entry's own page has none.
func (s Shell) part() (part ui.NavItem) {
	for _, group := range s.navigation() {
		for _, item := range group.items {
			if item.Href != "/console" && item.Href != s.Path && within(s.Path, item.Href) {
				part = item
			}
		}
	}
	return part
}

// titled is the title of the page with the part of the console that it is in, so that tabs of a browser and its history
// tell two pages of one name apart.
func (s Shell) titled(title string) string {
	if s.Viewer == nil && !s.lobby() {
		return title
	}
	for _, group := range navigation {
		for _, item := range group.items {
			if item.Text != title && item.Href != "/console" && within(s.Path, item.Href) {
				return title + " · " + item.Text
			}
		}
	}
	return title
}

func allowed(items []ui.NavItem, v *Viewer) []ui.NavItem {
	return slices.DeleteFunc(slices.Clone(items), func(n ui.NavItem) bool { return !v.Rights.Has(n.Need) })
}

// within says whether the page at path belongs to the entry at href.
func within(path, href string) bool {
	if href == "/console" {
		return path == href
	}
	if href == SettingsPath && slices.ContainsFunc(settingsTabs, func(tab ui.NavItem) bool { return below(path, tab.Href) }) {
		return true
	}
	return below(path, href) || href == PlaygroundPath && below(path, PromptsPath)
}

func below(path, href string) bool { return path == href || strings.HasPrefix(path, href+"/") }

// lobbies are the pages that are open to visitors and still have a menu: the catalog, the documentation and shared prompts.
var lobbies = []string{ModelsPath, ComparePath, DocsPath, sharedPath, searchPath}

// lobby reports whether a visitor reads one of them.
func (s Shell) lobby() bool {
	return s.Viewer == nil && slices.ContainsFunc(lobbies, func(href string) bool { return below(s.Path, href) })
}

// summary is what a search engine shows of the page; pages behind the door have none.
func (s Shell) summary() string {
	switch {
	case s.Summary != "":
		return s.Summary
	case below(s.Path, ModelsPath):
		return "Every model of the gateway with its exact prices, limits, availability and speed."
	case below(s.Path, DocsPath):
		return "How to call text, image and video models through one gateway: quickstart, API styles, errors, limits, webhooks."
	case s.Viewer == nil:
		return "One API in front of generative models of every kind, with exact prices and a record of every request."
	default:
		return ""
	}
}

// sheet is a stylesheet that only some pages need, by how their addresses begin.
type sheet struct {
	name   string
	exact  string // a whole address
	begins []string
	hidden []string // prefixes of operator pages, which are unknown to other users
}

// sheets are loaded after the one that all pages share.
var sheets = []sheet{
	{name: "money.css", begins: []string{BillingPath, UsagePath, RequestsPath},
		hidden: []string{MetricsPath, OperatorAccountsPath, TrialsPath, MarginPath, ProvidersPath, OperatorModelsPath}},
	{name: "requests.css", begins: []string{UsagePath, RequestsPath},
		hidden: []string{MetricsPath, OperatorAccountsPath, TrialsPath, MarginPath, ProvidersPath, OperatorModelsPath}},
	{name: "account.css", begins: []string{SettingsPath, "/console/keys", "/console/assets", LimitsPath}, hidden: []string{OperatorPath}},
	// Forms of one model are beside the list of models.
	{name: "providers.css", hidden: []string{ProvidersPath, strings.TrimSuffix(OperatorModelsPath, "s")}},
	{name: "models.css", begins: []string{"/console/models", ComparePath}},
	{name: "play.css", begins: []string{"/console/playground", "/console/videos", "/console/assets", "/console/prompts", "/console/shared"}},
	{name: "start.css", exact: "/console", begins: []string{RecipesPath, LimitsPath, SetupPath, notificationsPath, notifySettingsPath},
		hidden: []string{LimitAnswersPath}},
	{name: "docs.css", begins: []string{"/console/docs", "/console/playground", PromptsPath, "/console/shared"},
		hidden: []string{OperatorHelpPath}},
}

// scripts are loaded in addition to the one that all pages share.
var scripts = []sheet{
	{name: "playground.js", begins: []string{"/console/playground", "/console/videos", "/console/assets"}},
	{name: "videos.js", begins: []string{"/console/playground/video", "/console/videos", "/console/assets"}},
}

// extra names those of the sheets that the page needs.
func (s Shell) extra(all []sheet) []string {
	var names []string
	for _, one := range all {
		whole := one.exact != "" && one.exact == s.Path
		if whole || begins(s.Path, one.begins) || s.Viewer != nil && s.Viewer.Operator && begins(s.Path, one.hidden) {
			names = append(names, one.name)
		}
	}
	return names
}

func begins(path string, beginnings []string) bool {
	return slices.ContainsFunc(beginnings, func(begin string) bool { return strings.HasPrefix(path, begin) })
}
