package requests

import (
	"time"

	"umg/app"
	"umg/views"
	"umg/views/format"
)

const (
	colouredBytesMax = 24 << 10 // bytes of a highlighted text; a longer text has no colors, so that its page stays small
)

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

// sizeNote says how large the text was, and whether it is cut off.
func (c CallContent) sizeNote(t ContentText, answer bool) string {
	note := format.Bytes(t.Bytes) + " as sent"
	if answer {
		note = format.Bytes(t.Bytes) + " as it was sent to you"
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
func (c CallContent) why(v *views.Viewer) string {
	days := format.CountOf(int64(c.Days), "day", "days")
	switch c.State {
	case ContentVideo:
		return "The page of the video job has the prompt."
	case ContentOver:
		return "This account stores content for " + days + ", and this call is older."
	case ContentOff:
		if v != nil && v.Rights.Has(app.ManageAccount) {
			return "This account stores no content of calls. You can change that for future calls."
		}
		return "This account stores no content of calls. An owner or admin can change that for future calls."
	case ContentSilent:
		return "This account stores content of keys that opt in. The key of this call does not."
	case ContentPlayed:
		return "This account stores content of keys that opt in, and this call came from the playground."
	case ContentBefore:
		return "The call was made before the account began to store content."
	case ContentSoon:
		return "The content is being written. Reload the page in a moment."
	case ContentHidden:
		return "Only owners, admins and developers can see the content of calls."
	}
	return "Not stored. Content is written after the call and may be lost, for instance when a server is very busy; " +
		"charges never are."
}
