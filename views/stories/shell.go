package stories

import (
	"time"

	"github.com/a-h/templ"

	"umg/views"
	"umg/views/ui"
)

// shell is what surrounds the pages: finding things, the list of shortcuts, notices, and the frame for visitors.
func shell() []Story {
	search := func(name, title string, s views.Search) Story {
		return Story{Name: name, Group: "Shell", Title: title, Status: 200, Path: "/console/search",
			View: func(shell views.Shell) templ.Component {
				s.Shell = shell
				return views.SearchPage(s)
			}}
	}
	shortcuts := Story{Name: "shortcuts", Group: "Shell", Title: "The list of shortcuts", Status: 200, Path: "/console/shortcuts",
		View: func(s views.Shell) templ.Component {
			return views.ShortcutsPage(views.Shortcuts{Shell: s, Next: "/console/keys"})
		}}
	off := shortcuts
	off.Name, off.Title = "shortcuts-off", "The list of shortcuts, single keys switched off"
	off.Adjust = func(s *views.Shell) { s.KeysOff, s.Mac = true, true }
	return []Story{
		search("search", "Search, asked for nothing", views.Search{}),
		search("search-found", "Search, with results", views.Search{Query: "key", Found: foundThings(), Missing: []string{"videos"}}),
		search("search-none", "Search, nothing found", views.Search{Query: "zeppelin"}), shortcuts, off,
		notes("notices", "Notices, some unread", views.Notes{List: exampleNotes()}), notes("notices-empty", "No notices", views.Notes{}),
		notes("notices-missing", "Notices, of which some cannot be read", views.Notes{List: exampleNotes()[2:], Missing: true}),
		notify("notify", "How to hear of what", views.NotifySettings{Events: notifyEvents(), Email: Email}),
		notify("notify-no-mail", "How to hear of what, without mails", views.NotifySettings{Events: notifyEvents(), Email: Email, NoMail: true}),
		strip("status-one", "A model is degraded", views.StatusLine{Model: "aurora/mini", Name: "Aurora Mini"}),
		strip("status-many", "Models are degraded or paused", views.StatusLine{Model: "aurora/mini", Name: "Aurora Mini"},
			views.StatusLine{Model: "aurora/large", Name: "Aurora Large", Paused: true}, views.StatusLine{Model: "boreal/drift", Name: "Drift"}),
	}
}

func notes(name, title string, n views.Notes) Story {
	return Story{Name: name, Group: "Shell", Title: title, Status: 200, Path: "/console/notifications",
		Adjust: func(s *views.Shell) { s.Viewer.Account, s.Unread = "Analytical Engines", len(n.List) },
		View: func(s views.Shell) templ.Component {
			n.Shell = s
			return views.NotesPage(n)
		}}
}

func notify(name, title string, n views.NotifySettings) Story {
	return Story{Name: name, Group: "Shell", Title: title, Status: 200, Path: "/console/settings/notifications",
		View: func(s views.Shell) templ.Component {
			n.Shell = s
			return views.NotifySettingsPage(n)
		}}
}

// strip is the line under the top bar, on a page that has little else.
func strip(name, title string, lines ...views.StatusLine) Story {
	s := notes(name, title, views.Notes{})
	s.Adjust = func(shell *views.Shell) {
		shell.Viewer.Account, shell.Status, shell.Unread = "Analytical Engines", lines, 0
	}
	return s
}

func exampleNotes() []views.Note {
	return []views.Note{
		{ID: "leaked/1", Tone: ui.Danger, Icon: ui.IconKey, Title: "The key “production” was found in public",
			Text: "It is switched off. Rotate it, and enable it again.",
			Href: "/console/keys/key_01kb4a00000000000000000001", Link: "Open the key", At: ago(26 * time.Minute), Unread: true},
		{ID: "low/1", Tone: ui.Warning, Icon: ui.IconWallet, Title: "Little credit is left",
			Text: "$0.431882 is left. Calls are refused when it is used up.",
			Href: "/console/billing", Link: "Open billing", Unread: true},
		{ID: "hook/1", Tone: ui.Danger, Icon: ui.IconWebhook,
			Title: "The endpoint “a-rather-long-name-of-an-endpoint-that-has-to-wrap-somewhere” is disabled",
			Text:  "It failed for too long. Fix the receiver, then enable the endpoint; missed events can be resent.",
			Href:  "/console/webhooks/whe_1",
			Link:  "Open the endpoint",
			At:    ago(5 * time.Hour)},
		{ID: "topup/1", Tone: ui.Success, Icon: ui.IconCircleCheck, Title: "A top-up was paid", Text: "$50.00 was added to the credit.",
			Href: "/console/billing/top-ups/topup_1", Link: "Open the receipt", At: ago(50 * time.Hour)},
	}
}

func notifyEvents() []views.NotifyEvent {
	return []views.NotifyEvent{
		{Name: "low_balance", Title: "Low or used-up credit", Text: "Your own threshold is set under Billing.", Mailed: true, Shown: true,
			ByMail: true, InConsole: true},
		{Name: "webhook", Title: "Webhook endpoints", Text: "An endpoint fails, or was disabled by its failures.", Mailed: true, Shown: true,
			InConsole: true},
		{Name: "price", Title: "Price changes", Text: "A model you called in the last 30 days costs more or less from a day within two weeks.",
			Mailed: true, Shown: true, ByMail: true, InConsole: true},
		{Name: "key_expiry", Title: "Keys that expire", Text: "Within 7 days, or already.", Mailed: true, Shown: true, ByMail: true},
	}
}

func foundThings() []views.SearchGroup {
	return []views.SearchGroup{
		{Title: "API keys", Hits: []views.SearchHit{
			{Icon: ui.IconKey, Title: "key for production", Note: "sk-umg-7Hq2…f3Qk", Href: "/console/keys/key_01kb4a00000000000000000001"},
			{Icon: ui.IconKey, Title: "A key with a rather long name that a user gave it to say what it is for and where",
				Note: "sk-umg-9Kd1…aa0Z",
				Href: "/console/keys/key_01kb4a00000000000000000002"},
		}},
		{Title: "Requests", Hits: []views.SearchHit{{
			Icon: ui.IconActivity, Title: "req_01kb4a7m9x3v5d2c8n6q1w0zpr", Mono: true, Note: Model,
			Href: "/console/requests/req_01kb4a7m9x3v5d2c8n6q1w0zpr",
		}}},
	}
}
