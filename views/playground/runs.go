package playground

import (
	"net/url"
	"strings"
	"time"

	"umg/views"
)

// RunsPath is the list of the runs that the account keeps.
const RunsPath = views.PlaygroundPath + "/runs"

// Run is a message that was sent to one or more models, with their answers.
type Run struct {
	ID     string
	Title  string // the beginning of the message
	Person string // the e-mail address of who sent it; empty for a user who is gone
	At     time.Time
	Models []string
}

func (r Run) path(parts ...string) string {
	return strings.Join(append([]string{RunsPath, url.PathEscape(r.ID)}, parts...), "/")
}

// play is the playground with the run in it.
func (r Run) play() string { return views.PlaygroundPath + "?" + url.Values{"run": {r.ID}}.Encode() }

func (r Run) name() string {
	if r.Title == "" {
		return "Run"
	}
	return r.Title
}

// Runs is the list of the runs that the account keeps.
type Runs struct {
	views.Shell
	List []Run
	// Kept says that the account keeps new runs.
	Kept           bool
	ManagesAccount bool
}

// RunDetail is one run to read.
type RunDetail struct {
	views.Shell
	Run     Run
	Answers []RunAnswer
	URL     string // scheme and host of the server
}

// link is the address that members of the account can open.
func (d RunDetail) link() string { return d.URL + d.Run.path() }

// RunAnswer is the answer of one model, with its conversation and settings.
type RunAnswer struct {
	Model   string
	Result  Result
	Content PromptContent
}
