package views

import (
	"strconv"
	"time"

	"umg/app"
	"umg/views/ui"
)

// Note is something that the people of an account should know, and where they can do something about it.
type Note struct {
	ID     string
	Tone   ui.Tone
	Icon   ui.IconName
	Title  string
	Text   string
	Href   string
	Link   string // text of the link
	At     *time.Time
	Unread bool
}

// Notes is the page of notices, those that were not read first.
type Notes struct {
	Shell
	List    []Note
	Missing bool // some notices could not be read
}

func (n Notes) unread() int {
	count := 0
	for _, one := range n.List {
		if one.Unread {
			count++
		}
	}
	return count
}

// bellMost is the largest count that the bell shows.
const bellMost = 9

func (s Shell) bellCount() string {
	if s.Unread > bellMost {
		return strconv.Itoa(bellMost) + "+"
	}
	return strconv.Itoa(s.Unread)
}

func (s Shell) bellLabel() string {
	if s.Unread == 0 {
		return "Notifications"
	}
	return "Notifications, " + s.bellCount() + " unread"
}

// NotifyEvent is a kind of event, with the ways in which the reader wants to be notified of it.
type NotifyEvent struct {
	Name              string // the name of the event; empty for an event that users cannot switch off
	Title, Text       string
	Mailed            bool // the event has mails
	Shown             bool // the event has notices
	ByMail, InConsole bool
	Need              app.Rights
}

// NotifySettings is the page of those choices.
type NotifySettings struct {
	Shell
	Events []NotifyEvent
	NoMail bool // the gateway sends no mails
	Email  string
}

// AlwaysTold are the events that are sent whatever the user chose, because they concern safety or stop all calls.
func AlwaysTold() []NotifyEvent {
	return []NotifyEvent{
		{Title: "Key found in public", Text: "A secret of the account was reported, and its key is switched off.", Mailed: true, Shown: true},
		{Title: "Account frozen", Text: "Billable requests are blocked until this is resolved.", Shown: true},
		{Title: "Signing in", Text: "Links to verify an address, to set a new password, and changes of your address.", Mailed: true},
		{Title: "People", Text: "Invitations to an account, and that an account was deleted.", Mailed: true},
	}
}

// StatusLine is a model with a problem.
type StatusLine struct {
	Model, Name string
	Paused      bool
}

// statusText says what is wrong, for one model or for several.
func statusText(lines []StatusLine) string {
	if len(lines) == 1 {
		if lines[0].Paused {
			return " is paused. Requests return 503."
		}
		return " is failing. Calls of it may fail or take longer."
	}
	return " are failing or paused. Calls of them may fail or take longer."
}

// others are further models in words.
func others(n int) string {
	if n == 1 {
		return "1 other model"
	}
	return strconv.Itoa(n) + " other models"
}
