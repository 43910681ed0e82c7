package views

import (
	"slices"
	"strconv"
	"strings"

	"umg/app"
	"umg/views/format"
	"umg/views/ui"
)

// Addresses and bounds of the search and of the list of shortcuts.
const (
	searchPath     = "/console/search"
	ShortcutsPath  = "/console/shortcuts"
	pageHitsMax    = 6 // hits among pages and actions, for a search text
	keywordRank    = 3
	notFoundRank   = 4
	hitIDPrefix    = "hit-"
	searchRunesMax = 100
)

// SearchHit is one thing that was found, and what leads to it.
type SearchHit struct {
	Icon  ui.IconName
	Title string
	Note  string // text beside the title, such as a price or a time
	Href  string
	Do    SearchAct // an action instead of an address
	Keys  string    // the shortcut with the same effect
	Mono  bool      // the title is an identifier

	need     app.Rights
	keywords string // further words that find it
}

// SearchAct is an action that does not leave the page.
type SearchAct string

// The acts of the palette.
const (
	ActTheme     SearchAct = "theme"
	ActShortcuts SearchAct = "shortcuts"
	ActSignOut   SearchAct = "sign-out"
)

// SearchGroup is a kind of thing and the hits of that kind.
type SearchGroup struct {
	Title string
	Hits  []SearchHit
}

// Search is what was found for a text: pages and actions, which this package knows, and what the services found.
type Search struct {
	Shell
	Query   string
	Found   []SearchGroup
	Missing []string // parts that could not be searched, such as "keys"
}

// SearchText is a text to search for as it can be meant.
func SearchText(text string) string { return strings.TrimSpace(format.Truncate(text, searchRunesMax)) }

// actions are what the palette does, or where it is done.
var actions = []SearchHit{
	{Icon: ui.IconPlus, Title: "Create an API key", Href: KeysPath + "/new", Keys: "c", need: app.ManageKeys,
		keywords: "new add secret token"},
	{Icon: ui.IconTerminal, Title: "Set up my tool", Href: RecipesPath,
		keywords: "recipe recipes claude code codex opencode gemini qwen cline continue aider webui langchain sdk connect"},
	{Icon: ui.IconFilm, Title: "Make a video", Href: VideoPlayPath, need: app.MakeVideos, keywords: "new create generate"},
	{Icon: ui.IconWebhook, Title: "Add a webhook endpoint", Href: WebhooksPath + "/new", need: app.UseWebhooks, keywords: "new create hook"},
	{Icon: ui.IconWallet, Title: "Add credit", Href: BillingPath + "#add-credit", need: app.ManageMoney, keywords: "top up pay balance money"},
	{Icon: ui.IconUsers, Title: "Invite a member", Href: SettingsPath + "/members", need: app.ManageMembers, keywords: "member team user add"},
	{Icon: ui.IconMoon, Title: "Change between light and dark", Do: ActTheme, Keys: "t", keywords: "theme toggle mode appearance"},
	{Icon: ui.IconKeyboard, Title: "Keyboard shortcuts", Do: ActShortcuts, Href: ShortcutsPath, Keys: "?", keywords: "help keys"},
	{Icon: ui.IconLogOut, Title: "Sign out", Do: ActSignOut, keywords: "log out leave exit"},
}

// pageWords are other words that people look for a page by.
var pageWords = map[string]string{
	"/console": "home dashboard start", UsagePath: "spend cost statistics tokens chart", RequestsPath: "logs history calls errors",
	BillingPath: "credit balance payment receipt ledger", KeysPath: "token secret", WebhooksPath: "events endpoint",
	ModelsPath: "prices catalogue", PlaygroundPath: "chat try prompt prompts", LimitsPath: "rate quota rpm tpm",
	SettingsPath + "/security": "password two-factor 2fa sessions", AuditPath: "history changes", notificationsPath: "notices bell",
	DocsPath: "documentation help api reference manual", notifySettingsPath: "e-mail mails alerts",
	PromptsPath: "saved templates versions", ComparePath: "side by side difference", BillingPath + "/ledger": "entries history credit debit",
}

// openPages are the pages that visitors may open without signing in.
var openPages = []SearchHit{
	{Icon: ui.IconLayers, Title: "Models", Href: ModelsPath, keywords: "prices catalogue"},
	{Icon: ui.IconBook, Title: "Docs", Href: DocsPath, keywords: "documentation help api reference manual"},
	{Icon: ui.IconUser, Title: "Sign in", Href: "/console/sign-in", keywords: "log in login account"},
	{Icon: ui.IconPlus, Title: "Sign up", Href: "/console/sign-up", keywords: "register create new account"},
}

// sidePages are those that other pages lead to, and no menu.
var sidePages = []ui.NavItem{
	{Icon: ui.IconBell, Text: "Notifications", Href: notificationsPath},
	{Icon: ui.IconFileText, Text: "Prompts", Href: PromptsPath, Need: app.CallText},
	{Icon: ui.IconReceipt, Text: "Ledger", Href: BillingPath + "/ledger", Need: app.ReadUsage},
	{Icon: ui.IconLayers, Text: "Compare models", Href: ComparePath, Need: app.ReadModels},
}

// pages are all pages that the reader may open.
func (s Search) pages() []SearchHit {
	if s.Viewer == nil {
		return slices.Clone(openPages)
	}
	var hits []SearchHit
	add := func(items []ui.NavItem, prefix string) {
		for _, item := range items {
			hit := SearchHit{Icon: item.Icon, Title: prefix + item.Text, Href: item.Href, keywords: pageWords[item.Href]}
			if item.Jump != "" {
				hit.Keys = "g " + item.Jump
			}
			hits = append(hits, hit)
		}
	}
	for _, group := range s.navigation() {
		add(group.items, "")
	}
	if s.Query != "" {
		add(allowed(settingsTabs, s.Viewer), "Settings: ")
		add(allowed(sidePages, s.Viewer), "")
	}
	return hits
}

// groups are what is shown: of what is always there what fits, and then what was found.
func (s Search) groups() []SearchGroup {
	may := slices.DeleteFunc(slices.Clone(actions), func(h SearchHit) bool { return !s.offers(h) })
	var out []SearchGroup
	for _, g := range append([]SearchGroup{{"Pages", s.fitting(s.pages())}, {"Actions", s.fitting(may)}}, s.Found...) {
		if len(g.Hits) > 0 {
			out = append(out, g)
		}
	}
	return out
}

// PageHits are the pages and actions with an address that fit the query.
func (s Search) PageHits() []SearchHit {
	may := slices.DeleteFunc(slices.Clone(actions), func(h SearchHit) bool { return !s.offers(h) || h.Href == "" })
	return append(s.fitting(s.pages()), s.fitting(may)...)
}

// offers reports whether the action is one for the reader. A visitor's is the theme alone.
func (s Search) offers(h SearchHit) bool {
	if s.Viewer == nil {
		return h.Do == ActTheme
	}
	return s.Viewer.Rights.Has(h.need)
}

// fitting are the hits that fit what is asked for, the best first. Asked for nothing, all fit.
func (s Search) fitting(hits []SearchHit) []SearchHit {
	if s.Query == "" {
		return hits
	}
	query := strings.ToLower(s.Query)
	hits = slices.DeleteFunc(hits, func(h SearchHit) bool { return h.rank(query) == notFoundRank })
	slices.SortStableFunc(hits, func(a, b SearchHit) int { return a.rank(query) - b.rank(query) })
	return hits[:min(len(hits), pageHitsMax)]
}

// rank is how well the hit fits: a title that begins so, one with a word that does, one that contains it, other words.
func (h SearchHit) rank(query string) int {
	title := strings.ToLower(h.Title)
	switch {
	case strings.HasPrefix(title, query):
		return 0
	case strings.Contains(" "+title, " "+query):
		return 1
	case strings.Contains(title, query):
		return 2
	}
	for word := range strings.FieldsSeq(query) {
		if !strings.Contains(" "+title, " "+word) && !strings.Contains(" "+h.keywords, " "+word) {
			return notFoundRank
		}
	}
	return keywordRank
}

// count is how many things were found, in words for who does not see them.
func (s Search) count() string {
	n := 0
	for _, g := range s.groups() {
		n += len(g.Hits)
	}
	switch n {
	case 0:
		return "Nothing found"
	case 1:
		return "1 result"
	default:
		return strconv.Itoa(n) + " results"
	}
}

func groupID(i int) string { return "hits-" + strconv.Itoa(i) }

func hitID(group, i int) string { return hitIDPrefix + strconv.Itoa(group) + "-" + strconv.Itoa(i) }

// Shortcuts is the list of shortcuts, and whether single keys do something.
type Shortcuts struct {
	Shell
	Next string // the page to which the choice returns
}

// keyLine is one line of the list.
type keyLine struct {
	keys []string
	text string
}

type keyGroup struct {
	title string
	lines []keyLine
}

// list is the keyboard shortcuts that the reader may use, in groups.
func (s Shortcuts) list() []keyGroup {
	everywhere := []keyLine{{[]string{s.commandKey(), "K"}, "Search and commands"}, {[]string{"?"}, "This list"},
		{[]string{"/"}, "Go to the page's search field"}, {[]string{"t"}, "Change between light and dark"}}
	if s.May(app.ManageKeys) {
		everywhere = append(everywhere, keyLine{[]string{"c"}, "Create an API key"})
	}
	var jumps []keyLine
	for _, group := range s.navigation() {
		for _, item := range group.items {
			if item.Jump != "" {
				jumps = append(jumps, keyLine{[]string{"g", item.Jump}, item.Text})
			}
		}
	}
	rows := []keyLine{{[]string{"j"}, "Next row, or older request"}, {[]string{"k"}, "Row before, or newer request"},
		{[]string{"o"}, "Open the row"}, {[]string{"x"}, "Close the request"}}
	return []keyGroup{{"Everywhere", everywhere}, {"Requests", rows}, {"Go to", jumps}}
}

// commandKey is the key that goes with another on the reader's machine.
func (s Shell) commandKey() string {
	if s.Mac {
		return "⌘"
	}
	return "Ctrl"
}
