package stories

import (
	"github.com/a-h/templ"

	"umg/views"
	"umg/views/ui"
)

// shell is what surrounds the pages: finding things, the list of shortcuts, notices, and the frame for visitors.
func shell() []Story {
	search := func(name, title string, s views.Search) Story {
		return Story{Name: name, Group: "Shell", Title: title, Status: 200, Path: "/console/search", View: func(shell views.Shell) templ.Component {
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
	}
}

func foundThings() []views.SearchGroup {
	return []views.SearchGroup{
		{Title: "API keys", Hits: []views.SearchHit{
			{Icon: ui.IconKey, Title: "key for production", Note: "sk-umg-7Hq2…f3Qk", Href: "/console/keys/key_01kb4a00000000000000000001"},
			{Icon: ui.IconKey, Title: "A key with a rather long name that somebody gave it to say what it is for and where", Note: "sk-umg-9Kd1…aa0Z",
				Href: "/console/keys/key_01kb4a00000000000000000002"},
		}},
		{Title: "Requests", Hits: []views.SearchHit{{
			Icon: ui.IconActivity, Title: "req_01kb4a7m9x3v5d2c8n6q1w0zpr", Mono: true, Note: Model, Href: "/console/requests/req_01kb4a7m9x3v5d2c8n6q1w0zpr",
		}}},
	}
}
