package settings

import (
	"strconv"

	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

var keepOptions = []ui.Option{
	{Value: views.KeepNever, Label: "Never", Text: "Only sizes, times and costs are recorded. Key settings are ignored."},
	{Value: views.KeepAsked, Label: "Calls with keys that ask for it",
		Text: "Each key has the choice in its form. Calls from the playground are not kept."},
	{Value: views.KeepAll, Label: "All calls", Text: "Of every key, which cannot decline, and of the playground."},
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
		return "This account keeps what is asked and answered in calls with keys that ask for it," + for_
	case views.KeepAll:
		return "This account keeps what is asked and answered in all calls," + for_
	}
	return "This account keeps nothing of what is asked and answered."
}

// ContentDelete asks before stored content is deleted.
type ContentDelete struct {
	views.Shell
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
