package requests

import (
	"slices"
	"strconv"

	"umg/views"
	"umg/views/format"
)

const (
	columnsPath = "/console/requests/columns"
	intro       = "All requests, newest first. Prompts and responses are stored only if you opt in."
)

// Log is the list of an account's calls.
type Log struct {
	views.Shell
	Query    Query
	Choices  UsageChoices
	Requests []LoggedRequest
	Next     string       // start of the next page; empty on the last one
	Tail     string       // start of the live tail; empty when no new request can match
	Picture  *CallPicture // nil when the counts could not be read
	Problem  string       // why the filter cannot be used
	Failure  *views.LoadFailure
	Views    SavedViews
}

// LoggedRequest is one call with all that the log says of it.
type LoggedRequest struct {
	views.Request

	KeyID              string
	Provider, Upstream string
	Finish, Reason     string
	EndUser            string
	// Tag is the tag of the request's key.
	Tag string
	// Refusal is nil for a call that has a usage record.
	Refusal *Refusal
}

func (l Log) shown() string {
	text := format.CountOf(int64(len(l.Requests)), "request", "requests")
	if l.Next != "" || l.Query.After != "" {
		text += " on this page"
	}
	return text
}

// ended says how the answer ended, in the provider's words and ours.
func (r LoggedRequest) ended() string {
	switch {
	case r.Refusal != nil:
		return r.Cause() + r.Refusal.countWords()
	case r.ErrorCode != "":
		return r.Cause()
	case r.Finish != "" && r.Finish != "stop":
		return r.Finish
	default:
		return ""
	}
}

// denseAmount is what was used, in one line: a video has a length and no tokens.
func (r LoggedRequest) denseAmount() string {
	switch {
	case !r.IsVideo():
		return format.Count(r.Input) + " / " + format.Count(r.Output)
	case r.Seconds > 0:
		return format.Seconds(int(r.Seconds))
	default:
		return "–"
	}
}

// usedModel is the provider and its model, where these say more than what was asked for.
func (r LoggedRequest) usedModel() string {
	switch {
	case r.Refusal != nil:
		return r.Refusal.call()
	case r.Provider == "":
		return "no provider"
	case r.Upstream == "":
		return r.Provider
	default:
		return r.Provider + " / " + r.Upstream
	}
}

// tableClass says how many columns there are, which long lists need to know.
func (l Log) tableClass() string {
	if l.Query.dense() {
		words := 4 // columns that are not numbers
		for _, column := range []string{"key", "result"} {
			if !l.Query.shows(column) {
				words--
			}
		}
		return "log-dense log-words-" + strconv.Itoa(words)
	}
	return "request-log"
}

// chunks are the rows of a long list by parts, whose layout a browser can leave out while they are out of sight.
func (l Log) chunks() [][]LoggedRequest {
	if !l.Query.dense() {
		return [][]LoggedRequest{l.Requests}
	}
	return slices.Collect(slices.Chunk(l.Requests, rowsOfChunk))
}

func (r LoggedRequest) denseTime(q Query) string {
	return r.At.In(location(q.Zone)).Format("2 Jan, 15:04:05")
}
