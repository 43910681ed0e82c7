package videos

import (
	"net/url"
	"slices"
	"strconv"

	"github.com/a-h/templ"

	"umg/app"
	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

const intro = "Every video this account has made, newest first."

// List is the list of an account's videos.
type List struct {
	views.Shell
	Query     Query
	Videos    []Video
	Older     string   // Older is the cursor of the next page; empty on the last one.
	Newer     string   // Newer is the cursor of the previous page; empty on the first one.
	Models    []string // Models are the ids of models for the filter.
	Stored    int64    // Stored counts the videos of the account.
	Bytes     int64    // Bytes is the stored size of the account's videos.
	Retention string   // Retention is the retention time of content, in words.
}

// Query says which videos are listed, and how. It is the address of the page.
type Query struct {
	Status, Model, Text string
	Table               bool
	After, Before       string // After and Before are cursors.
}

// ParseQuery reads an address; what cannot be meant is left out.
func ParseQuery(values url.Values) Query {
	q := Query{
		Status: values.Get("status"), Model: values.Get("model"), Text: format.Truncate(values.Get("q"), searchRunesMax),
		Table: values.Get("view") == "table", After: values.Get("after"), Before: values.Get("before"),
	}
	if !slices.ContainsFunc(statuses, func(o ui.Option) bool { return o.Value == q.Status }) {
		q.Status = ""
	}
	if q.After != "" {
		q.Before = ""
	}
	return q
}

const searchRunesMax = 199

// Path is the address of the list.
func (q Query) Path() string {
	values := url.Values{}
	view := ""
	if q.Table {
		view = "table"
	}
	for name, value := range map[string]string{
		"status": q.Status, "model": q.Model, "q": q.Text, "view": view, "after": q.After, "before": q.Before,
	} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if len(values) == 0 {
		return views.VideosPath
	}
	return views.VideosPath + "?" + values.Encode()
}

func (q Query) from(after, before string) Query {
	q.After, q.Before = after, before
	return q
}

func (q Query) as(table bool) Query {
	q.Table = table
	return q
}

func (q Query) narrowed() bool { return q.Status != "" || q.Model != "" || q.Text != "" }

func (q Query) paged() bool { return q.After != "" || q.Before != "" }

var statuses = []ui.Option{
	{Value: "", Label: "Any status"}, {Value: VideoQueued, Label: "Queued"}, {Value: VideoRunning, Label: "In progress"},
	{Value: VideoCompleted, Label: "Completed"}, {Value: VideoFailed, Label: "Failed"},
}

func (l List) modelOptions() []ui.Option {
	options := []ui.Option{{Label: "Any model"}}
	for _, id := range l.Models {
		options = append(options, ui.Option{Value: id, Label: id})
	}
	if l.Query.Model != "" && !slices.Contains(l.Models, l.Query.Model) {
		options = append(options, ui.Option{Value: l.Query.Model, Label: l.Query.Model})
	}
	return options
}

// shown says how many there are on the page.
func (l List) shown() string {
	n := int64(len(l.Videos))
	switch {
	case l.Query.narrowed():
		return format.CountOf(n, "video matches", "videos match") + l.onward()
	case n == l.Stored:
		return format.CountOf(n, "video", "videos")
	default:
		return format.Count(n) + " of " + format.CountOf(l.Stored, "video", "videos")
	}
}

func (l List) onward() string {
	if l.Older != "" || l.Query.paged() {
		return " on this page"
	}
	return ""
}

// Delete asks before videos are deleted.
type Delete struct {
	views.Shell
	Videos []Video
	Error  string
}

// doomedSeen is how many lines of what is to be deleted are seen at once.
const doomedSeen = 7

// doomed lets the keyboard scroll a list that is longer than what is seen of it.
func doomed(count int) templ.Attributes {
	if count <= doomedSeen {
		return nil
	}
	return templ.Attributes{"tabindex": "0", "aria-label": "To be deleted"}
}

func (d Delete) title() string {
	if len(d.Videos) == 1 {
		return "Delete this video?"
	}
	return "Delete " + strconv.Itoa(len(d.Videos)) + " videos?"
}

func (d Delete) button() string {
	if len(d.Videos) == 1 {
		return "Delete video"
	}
	return "Delete " + strconv.Itoa(len(d.Videos)) + " videos"
}

// running counts those that are not finished.
func (d Delete) running() int64 {
	n := int64(0)
	for _, v := range d.Videos {
		if v.running() {
			n++
		}
	}
	return n
}

// action is where the form goes: to the page of one video, or to the list.
func (d Delete) action() string {
	if len(d.Videos) == 1 {
		return d.Videos[0].path() + "/delete"
	}
	return views.VideosPath + "/delete"
}

func (d Delete) back() string {
	if len(d.Videos) == 1 {
		return d.Videos[0].path()
	}
	return views.VideosPath
}

// Detail is the page of one video.
type Detail struct {
	views.Shell
	Video      Video
	Typical    string // Typical is the recent duration of such videos; empty without any.
	Source     *Video // Source is the video that this one was made from; nil without one.
	Remixes    []Video
	MoreRemix  bool // MoreRemix means that there are more remixes than shown.
	Remix      Remix
	FrameTimes []string // FrameTimes are the times of the spritesheet's frames.
}

// Remix is the form that makes another video from one.
type Remix struct {
	Prompt, PromptError string
	Error               string
	NoCredit            bool
	PerSecond, Cost     app.Amount
	Closed              string     // Closed says why no remix can be made; empty when one can.
	Ask                 app.Amount // A price above Ask needs a confirmation; zero always asks.
	Once                string     // Once is the idempotency name: a form that is sent twice makes one video.
	Confirm             bool       // Confirm means that the price needs a confirmation.
}
