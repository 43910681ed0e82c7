package settings

import (
	"strconv"

	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

var keepOptions = []ui.Option{
	{Value: views.KeepNever, Label: "Never", Text: "Only sizes, times and costs are recorded. Key settings are ignored."},
	{Value: views.KeepAsked, Label: "Calls with keys that opt in",
		Text: "Opt in on the form of each key. Playground calls are not stored."},
	{Value: views.KeepAll, Label: "All calls", Text: "All keys and the playground. Keys cannot opt out."},
}

// ContentSettings are what an account has decided about keeping what is asked and answered.
type ContentSettings struct {
	Keep      string
	Days      string // the text that the user typed
	KeptBytes int64
	MostBytes int64
	KeepError string
	DaysError string
}

// words return the setting as text for a user who cannot change it.
func (c ContentSettings) words() string {
	days, _ := strconv.Atoi(c.Days)
	for_ := " for " + format.CountOf(int64(days), "day", "days") + "."
	switch c.Keep {
	case views.KeepAsked:
		return "This account stores the content of calls with keys that opt in," + for_
	case views.KeepAll:
		return "This account stores the content of all calls," + for_
	}
	return "This account stores no content of calls."
}

// ContentDelete asks before stored content is deleted.
type ContentDelete struct {
	views.Shell
	RequestID string // empty for all content of the account
	KeptBytes int64  // bytes of all content
}

func (d ContentDelete) title() string {
	if d.RequestID == "" {
		return "Delete all stored content"
	}
	return "Delete the content of this call"
}

func (d ContentDelete) text() string {
	if d.RequestID == "" {
		return "The stored content of all calls is deleted immediately. Sizes, times and costs stay. This cannot be undone."
	}
	return "The stored content of this call is deleted. Its sizes, times and costs stay. This cannot be undone."
}

func (d ContentDelete) action() string {
	if d.RequestID == "" {
		return views.ContentClearPath
	}
	return views.RequestContentPath(d.RequestID)
}

func (d ContentDelete) back() string {
	if d.RequestID == "" {
		return views.AccountPath
	}
	return views.RequestPath(d.RequestID)
}
