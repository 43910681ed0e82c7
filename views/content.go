package views

import (
	"strconv"
	"time"

	"umg/app"
	"umg/views/ui"
)

// Which calls an account keeps the content of.
const (
	KeepNever = "never"
	KeepAsked = "asked"
	KeepAll   = "all"
)

const (
	contentPath      = accountPath + "/content"
	contentClearPath = contentPath + "/delete"
	colouredBytesMax = 24 << 10 // bytes of a highlighted text; a longer text has no colors, so that its page stays small
)

var keepOptions = []ui.Option{
	{Value: KeepNever, Label: "Never", Text: "Only sizes, times and costs are recorded. What keys ask for is not heard."},
	{Value: KeepAsked, Label: "Calls with keys that ask for it",
		Text: "Each key has the choice in its form. Calls from the playground are not kept."},
	{Value: KeepAll, Label: "All calls", Text: "Of every key, which cannot decline, and of the playground."},
}

// ContentSettings are what an account has decided about keeping what is asked and answered.
type ContentSettings struct {
	Keep      string
	Days      string // as the user typed it
	KeptBytes int64
	MostBytes int64
	KeepError string
	DaysError string
}

// words return the setting as text for a user who cannot change it.
func (c ContentSettings) words() string {
	days, _ := strconv.Atoi(c.Days)
	for_ := " for " + counted(int64(days), "day", "days") + "."
	switch c.Keep {
	case KeepAsked:
		return "This account keeps what is asked and answered in calls with keys that ask for it," + for_
	case KeepAll:
		return "This account keeps what is asked and answered in all calls," + for_
	}
	return "This account keeps nothing of what is asked and answered."
}

// ContentChoice is what a form for a key says about the choice of its account.
type ContentChoice struct {
	Keep string
	Days int
}

func (c ContentChoice) words() string {
	days := counted(int64(c.Days), "day", "days")
	const seen = " Owners, admins and developers see it on the page of each request."
	switch c.Keep {
	case KeepAsked:
		return "This account keeps what is asked and answered with keys that ask for it, for " + days +
			". Secrets that can be recognised are taken out." + seen
	case KeepAll:
		return "This account keeps what is asked and answered in all calls for " + days + ", whether a key asks for it or not." + seen
	}
	if c.Keep == "" {
		return "Whether this account keeps what is asked and answered is decided by its owners and admins."
	}
	return "This account keeps nothing of what is asked and answered, so asking changes nothing today. An owner or admin can change that."
}

// ContentState is whether the content of a call can be shown, and else why not.
type ContentState string

// The states.
const (
	ContentKept    ContentState = "kept"
	ContentDeleted ContentState = "deleted" // the content of this call was deleted by hand
	ContentCleared ContentState = "cleared" // all content of that time was deleted by hand
	ContentOver    ContentState = "over"    // the retention time is over
	ContentOff     ContentState = "off"     // the account stores no content
	ContentSilent  ContentState = "silent"  // the key did not ask for it
	ContentPlayed  ContentState = "played"  // a playground call, which only "all calls" includes
	ContentBefore  ContentState = "before"  // the account switched storing on later
	ContentVideo   ContentState = "video"
	ContentSoon    ContentState = "soon" // the content is not written yet
	ContentNone    ContentState = "none"
	ContentHidden  ContentState = "hidden" // the reader's role may not see it
)

// ContentText is one side of a call.
type ContentText struct {
	Text  string
	JSON  bool
	Bytes int64 // size as it was sent
	Cut   bool
}

func (c ContentText) language() string {
	if c.JSON && len(c.Text) <= colouredBytesMax {
		return "json"
	}
	return "text"
}

// CallContent is what was asked and answered in a call, or why it is not shown.
type CallContent struct {
	State     ContentState
	Request   ContentText
	Answer    ContentText
	Streamed  bool // the answer was assembled from the events of a stream
	Redacted  int
	Days      int
	ExpiresAt time.Time
	DeletedAt time.Time
}

// sizeNote says what of a side is shown.
func (c CallContent) sizeNote(t ContentText, answer bool) string {
	note := byteWords(t.Bytes) + " as sent"
	if answer {
		note = byteWords(t.Bytes) + " as it was sent to you"
		if c.Streamed {
			note += ", put together from the events of the stream"
		}
	}
	if t.Cut {
		note += ". It is cut off here: the first 65 kB are kept"
	}
	return note + "."
}

// why says why nothing is shown.
func (c CallContent) why(v *Viewer) string {
	days := counted(int64(c.Days), "day", "days")
	switch c.State {
	case ContentVideo:
		return "Videos keep their prompt themselves: it stands on the page of the video job."
	case ContentOver:
		return "This account keeps content for " + days + ", and this call is older."
	case ContentOff:
		if v != nil && v.Rights.Has(app.ManageAccount) {
			return "This account keeps nothing of what is asked and answered. You can change that for calls to come."
		}
		return "This account keeps nothing of what is asked and answered. An owner or admin can change that for calls to come."
	case ContentSilent:
		return "This account keeps content of keys that ask for it, and the key of this call does not."
	case ContentPlayed:
		return "This account keeps content of keys that ask for it, and this call came from the playground."
	case ContentBefore:
		return "The call was made before the account decided to keep content."
	case ContentSoon:
		return "It is being written. Load the page again in a moment."
	case ContentHidden:
		return "Only owners, admins and developers see what was asked and answered."
	}
	return "It was not kept. Content is written behind the back of a call and may be lost, for instance when a server is very busy; " +
		"charges never are."
}

// RequestContentPath is where the content of a call is deleted.
func requestContentPath(id string) string { return RequestPath(id) + "/content/delete" }

// ContentDelete asks before content goes.
type ContentDelete struct {
	Shell
	RequestID string // empty for all content of the account
	KeptBytes int64  // bytes of all content
}

func (d ContentDelete) title() string {
	if d.RequestID == "" {
		return "Delete all kept content"
	}
	return "Delete the content of this call"
}

func (d ContentDelete) text() string {
	if d.RequestID == "" {
		return "What was asked and answered in all calls until now is gone at once. Sizes, times and costs stay. This cannot be undone."
	}
	return "What was asked and answered is gone. Sizes, times and costs of the call stay. This cannot be undone."
}

func (d ContentDelete) action() string {
	if d.RequestID == "" {
		return contentClearPath
	}
	return requestContentPath(d.RequestID)
}

func (d ContentDelete) back() string {
	if d.RequestID == "" {
		return accountPath
	}
	return RequestPath(d.RequestID)
}

// byteWords is a size as people say it.
func byteWords(n int64) string {
	if n < 1000 {
		return counted(n, "byte", "bytes")
	}
	return sizeWords(n)
}
