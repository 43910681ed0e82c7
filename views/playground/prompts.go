package playground

import (
	"cmp"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/app/markdown"
	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

const (
	promptNameMax = "80"
)

// Prompt is a saved prompt as the list shows it.
type Prompt struct {
	ID, Name  string
	Latest    int // Latest is the number of the newest version.
	Model     string
	Variables []string
	Author    string // Author wrote the newest version.
	CreatedAt time.Time
	UpdatedAt time.Time
}

func (p Prompt) path(parts ...string) string {
	return strings.Join(append([]string{views.PromptsPath, url.PathEscape(p.ID)}, parts...), "/")
}

// at is the page of one version; the newest is the prompt itself.
func (p Prompt) at(number int) string {
	if number == p.Latest {
		return p.path()
	}
	return p.path() + "?version=" + strconv.Itoa(number)
}

func (p Prompt) export(number int) string {
	return p.path("export") + "?version=" + strconv.Itoa(number)
}

func (p Prompt) compare(from, to int) string {
	return p.path("diff") + "?from=" + strconv.Itoa(from) + "&to=" + strconv.Itoa(to)
}

// play is the playground with a version of the prompt in it.
func (p Prompt) play(number int) string {
	q := url.Values{"prompt": {p.ID}}
	if number != p.Latest {
		q.Set("version", strconv.Itoa(number))
	}
	return views.PlaygroundPath + "?" + q.Encode()
}

// PromptQuery says which prompts are listed. It is the address of the page.
type PromptQuery struct {
	Text string
	Page int // Page counts from 1.
}

const promptPagesMax = 100

// ParsePromptQuery reads an address; what cannot be meant is left out.
func ParsePromptQuery(v url.Values) PromptQuery {
	q := PromptQuery{Text: views.FilterText(v.Get("q")), Page: 1}
	if n, err := strconv.Atoi(v.Get("page")); err == nil && n > 1 && n <= promptPagesMax {
		q.Page = n
	}
	return q
}

// Path is the address of the list for this query, without what says nothing.
func (q PromptQuery) Path() string {
	v := url.Values{}
	if q.Text != "" {
		v.Set("q", q.Text)
	}
	if q.Page > 1 {
		v.Set("page", strconv.Itoa(q.Page))
	}
	if len(v) == 0 {
		return views.PromptsPath
	}
	return views.PromptsPath + "?" + v.Encode()
}

// PromptsShown is how many prompts a page of the list has.
const PromptsShown = 50

// Prompts is the list of an account's prompts.
type Prompts struct {
	views.Shell
	Query PromptQuery
	List  []Prompt
	Total int  // Total counts the prompts that match.
	Some  bool // Some means that the account has at least one prompt.
}

func (p Prompts) found() string {
	first := (p.Query.Page-1)*PromptsShown + 1
	if n := len(p.List); n > 0 && n < p.Total {
		return format.Count(int64(first)) + "–" + format.Count(int64(first+n-1)) + " of " + format.CountOf(int64(p.Total), "prompt", "prompts")
	}
	return format.CountOf(int64(p.Total), "prompt", "prompts")
}

func (p Prompts) more() bool { return p.Query.Page*PromptsShown < p.Total }

func (p Prompts) page(n int) string { return PromptQuery{Text: p.Query.Text, Page: n}.Path() }

// PromptVersion is one state of a prompt.
type PromptVersion struct {
	Number    int
	Model     string
	Author    string
	Restored  int // Restored is the number of the version that this version restores; zero for none.
	CreatedAt time.Time
}

func (v PromptVersion) title() string { return "Version " + strconv.Itoa(v.Number) }

// PromptShare is a link that still works, without its secret part.
type PromptShare struct {
	ID        string
	Number    int
	Author    string
	CreatedAt time.Time
	ExpiresAt time.Time
	ViewedAt  *time.Time
}

// PromptDetail is the page of one version of a prompt.
type PromptDetail struct {
	views.Shell
	Prompt   Prompt
	Version  PromptVersion
	Versions []PromptVersion // Versions are all versions, the newest first.
	Content  PromptContent
	Shares   []PromptShare
}

func (d PromptDetail) old() bool { return d.Version.Number != d.Prompt.Latest }

// PromptContent is what a prompt consists of, to read.
type PromptContent struct {
	Settings  []views.Fact
	System    string
	Turns     []PromptTurn
	Message   PromptTurn // Message is not sent yet.
	Variables []Variable // Variables have their default values.
	Tools     string
	Schema    string
}

// PromptTurn is one turn of the conversation.
type PromptTurn struct {
	Role   string // Role is user, assistant or tool.
	Text   string
	HTML   markdown.HTML // HTML is the rendered text of an answer.
	Image  string
	Words  string // Words name the image.
	Calls  []ToolCall
	CallID string
}

func (t PromptTurn) empty() bool { return t.Text == "" && t.Image == "" && len(t.Calls) == 0 }

func (t PromptTurn) who() string {
	switch t.Role {
	case "assistant":
		return "Model"
	case "tool":
		return "Result of a tool"
	default:
		return "User"
	}
}

func (c PromptContent) empty() bool {
	return c.System == "" && len(c.Turns) == 0 && c.Message.empty() && c.Tools == "" && c.Schema == ""
}

// promptPart is a piece of a text: words, or the place of a variable.
type promptPart struct {
	text     string
	variable bool
}

var promptVariable = regexp.MustCompile(`\{\{[A-Za-z][A-Za-z0-9_]{0,39}\}\}`)

func promptParts(text string) []promptPart {
	var parts []promptPart
	last := 0
	for _, at := range promptVariable.FindAllStringIndex(text, -1) {
		if at[0] > last {
			parts = append(parts, promptPart{text[last:at[0]], false})
		}
		parts = append(parts, promptPart{text[at[0]:at[1]], true})
		last = at[1]
	}
	if last < len(text) {
		parts = append(parts, promptPart{text[last:], false})
	}
	return parts
}

// PromptDiff compares two versions.
type PromptDiff struct {
	views.Shell
	Prompt   Prompt
	Versions []PromptVersion
	From, To int
	Sections []PromptChange
}

// PromptChange is a section of a prompt and how it changed.
type PromptChange struct {
	Title string
	Lines []PromptLine
}

// PromptLine is one line of a comparison.
type PromptLine struct {
	Kind string // Kind is "", PromptRemoved or PromptAdded.
	Text string
}

// These are the kinds of lines that differ.
const (
	PromptRemoved = "removed"
	PromptAdded   = "added"
)

func (c PromptChange) changed() bool { return c.count(PromptRemoved)+c.count(PromptAdded) > 0 }

func (c PromptChange) count(kind string) (n int64) {
	for _, l := range c.Lines {
		if l.Kind == kind {
			n++
		}
	}
	return n
}

// unchanged names the sections that are the same in both versions.
func (d PromptDiff) unchanged() string {
	var titles []string
	for _, s := range d.Sections {
		if !s.changed() {
			titles = append(titles, s.Title)
		}
	}
	return strings.Join(titles, ", ")
}

func (d PromptDiff) same() bool {
	for _, s := range d.Sections {
		if s.changed() {
			return false
		}
	}
	return true
}

func (d PromptDiff) options() []ui.Option {
	options := make([]ui.Option, len(d.Versions))
	for i, v := range d.Versions {
		options[i] = ui.Option{Value: strconv.Itoa(v.Number), Label: v.title()}
		if v.Number == d.Prompt.Latest {
			options[i].Label += " (newest)"
		}
	}
	return options
}

const diffContext = 3 // At most this many unchanged lines are shown around a difference.

// shown are the lines near a difference; a run of others is one line that says how many they are.
func (c PromptChange) shown() []PromptLine {
	near := make([]bool, len(c.Lines))
	for i, l := range c.Lines {
		for j := max(0, i-diffContext); l.Kind != "" && j < min(len(c.Lines), i+diffContext+1); j++ {
			near[j] = true
		}
	}
	var lines []PromptLine
	skipped := 0
	leave := func() {
		if skipped > 0 {
			lines = append(lines, PromptLine{Kind: "skipped", Text: format.CountOf(int64(skipped), "unchanged line", "unchanged lines")})
		}
		skipped = 0
	}
	for i, l := range c.Lines {
		if near[i] {
			leave()
			lines = append(lines, l)
		} else {
			skipped++
		}
	}
	leave()
	return lines
}

func (l PromptLine) sign() string {
	switch l.Kind {
	case PromptRemoved:
		return "−"
	case PromptAdded:
		return "+"
	case "skipped":
		return "⋯"
	default:
		return ""
	}
}

// PromptSave asks for the name of a prompt that is saved for the first time.
type PromptSave struct {
	views.Shell
	Title     string
	Document  string // Document is the prompt as a file, which the form sends back.
	Name      string
	NameError string
	FormError string
}

// PromptConflict says that another user saved a newer version.
type PromptConflict struct {
	views.Shell
	Prompt   Prompt
	Base     int
	Document string // Document is the prompt as a file, which the forms send back.
}

// PromptAsk asks before something is done to a prompt.
type PromptAsk struct {
	views.Shell
	Prompt Prompt
	Name   string
	Error  string
}

// PromptImport takes a file.
type PromptImport struct {
	views.Shell
	Error string
	Field string // Field is the file's field with the error.
}

// A link ends in one of these ways.
const (
	ShareDay   = "1"
	ShareWeek  = "7"
	ShareMonth = "30"
	ShareDate  = "date"
)

var shareEnds = []ui.ChipOption{
	{Value: ShareDay, Label: "1 day"}, {Value: ShareWeek, Label: "7 days"}, {Value: ShareMonth, Label: "30 days"},
	{Value: ShareDate, Label: "Until a date"},
}

// PromptShareForm makes a link.
type PromptShareForm struct {
	views.Shell
	Prompt     Prompt
	Number     int
	End        string // End is ShareDay, ShareWeek, ShareMonth or ShareDate.
	Until      string // Until is a day, for ShareDate.
	UntilError string
	FormError  string
}

// firstDay and lastDay bound the days that a link can end on.
func (f PromptShareForm) firstDay() string { return f.Now.UTC().AddDate(0, 0, 1).Format(time.DateOnly) }

func (f PromptShareForm) lastDay() string { return f.Now.UTC().AddDate(1, 0, 0).Format(time.DateOnly) }

// PromptShared shows a link that was just made, once.
type PromptShared struct {
	PromptDetail
	Link  string
	Share PromptShare
}

// SharedPrompt is the page of a shared link, which is public.
type SharedPrompt struct {
	views.Shell
	Name      string
	Content   PromptContent
	ExpiresAt time.Time
	Path      string // Path is that of the page.
}

// copyPath leads to the copy in the reader's own account, through the sign-in page for a visitor.
func (s SharedPrompt) copyPath() string {
	if s.Viewer == nil {
		return "/console/sign-in?next=" + url.QueryEscape(s.Path+"/copy")
	}
	return s.Path + "/copy"
}

// mayCopy reports whether the reader can use a playground, or may be able to after signing in.
func (s SharedPrompt) mayCopy() bool { return s.Viewer == nil || s.Viewer.Rights.Has(app.CallText) }

// settingWords name the parameters of a call for people.
var settingWords = map[string]string{
	"max": "Max output tokens", "temperature": "Temperature", "effort": "Reasoning effort", "budget": "Thinking budget",
	"verbosity": "Verbosity", "topp": "Top P", "topk": "Top K", "stop": "Stop sequences", "seed": "Seed",
}

// settingName is the name of a setting; one that is not known stays as it is.
func settingName(key string) string { return cmp.Or(settingWords[key], key) }
