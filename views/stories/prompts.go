package stories

import (
	"time"

	"github.com/a-h/templ"

	"umg/app"
	"umg/app/markdown"
	"umg/views"
	playpages "umg/views/playground"
)

const promptDay = 24 * time.Hour

func examplePrompts() []playpages.Prompt {
	return []playpages.Prompt{
		{ID: "prompt_01kb4a00000000000000000001", Name: "Release notes, short", Latest: 4, Model: "aurora-mini",
			Variables: []string{"product", "changes"}, Author: "Ada Lovelace", CreatedAt: at(31 * promptDay), UpdatedAt: at(12 * time.Minute)},
		{ID: "prompt_01kb4a00000000000000000002", Name: "Ticket triage with tools and a schema that says what an answer has to look like",
			Latest: 17, Model: "meridian/atlas-large-with-a-rather-long-name-2026-05-01", Variables: []string{"ticket", "queue", "customer",
				"language", "sla", "history"},
			Author: "charles.babbage.the.elder@analytical-engines.example.com", CreatedAt: at(90 * promptDay), UpdatedAt: at(26 * time.Hour)},
		{ID: "prompt_01kb4a00000000000000000003", Name: "Haiku", Latest: 1, Model: "aurora-mini", Author: "", CreatedAt: at(200 * promptDay),
			UpdatedAt: at(200 * promptDay)},
	}
}

const exampleSystem = `You write release notes for {{product}}.

- At most five points, the most important first.
- No marketing words.`

func exampleContent() playpages.PromptContent {
	return playpages.PromptContent{
		Settings: []views.Fact{{Name: "Model", Value: "aurora-mini"}, {Name: "API style", Value: "chat"}, {Name: "max", Value: "800"},
			{Name: "temperature", Value: "0.2"}},
		System: exampleSystem,
		Turns: []playpages.PromptTurn{
			{Role: "user", Text: "What is new in version 4.2?", Image: "https://example.com/board.png",
				Words: "image at https://example.com/board.png"},
			{Role: "assistant", Text: "I look it up.", HTML: markdown.Untrusted("I look it up."),
				Calls: []playpages.ToolCall{{ID: "call_7", Name: "changes", Arguments: `{"version":"4.2"}`}}},
			{Role: "tool", CallID: "call_7", Text: `[{"title":"Search finds prompts"}]`},
			{Role: "assistant", Text: "ok",
				HTML: markdown.Untrusted("**4.2** brings:\n\n1. Search finds *saved prompts*.\n2. Nothing else.\n\n```sh\ngateway demo\n```")},
		},
		Message:   playpages.PromptTurn{Role: "user", Text: "Now write it for this list:\n\n{{changes}}"},
		Variables: []playpages.Variable{{Name: "product", Value: "Unified Model Gateway"}, {Name: "changes"}},
		Tools: "[\n  {\n    \"name\": \"changes\",\n    \"description\": \"Changes of a version\",\n" +
			"    \"parameters\": {\n      \"type\": \"object\"\n    }\n  }\n]",
	}
}

func hostileContent() playpages.PromptContent {
	const bad = "<script>alert(1)</script><img src=x onerror=alert(1)> {{x}} \u202Egnp.exe " +
		"averyveryverylongwordwithoutanyplacetobreakitaveryveryverylongwordwithoutanyplacetobreakitaveryveryverylongword"
	return playpages.PromptContent{
		Settings: []views.Fact{{Name: "Model", Value: bad}}, System: bad,
		Turns: []playpages.PromptTurn{
			{Role: "user", Text: bad, Image: "https://evil.example/\"onload=alert(1)", Words: "image"},
			{Role: "assistant", Text: bad, HTML: markdown.Untrusted(bad + " [x](javascript:alert(1)) ![y](https://evil.example/y.png)"),
				Calls: []playpages.ToolCall{{Name: bad, Arguments: bad}}},
		},
		Variables: []playpages.Variable{{Name: "x", Value: bad}}, Tools: "[\"" + bad + "\"]",
	}
}

func promptVersions() []playpages.PromptVersion {
	return []playpages.PromptVersion{
		{Number: 4, Model: "aurora-mini", Author: "Ada Lovelace", Restored: 2, CreatedAt: at(12 * time.Minute)},
		{Number: 3, Model: "aurora-mini", Author: "charles.babbage.the.elder@analytical-engines.example.com", CreatedAt: at(3 * time.Hour)},
		{Number: 2, Model: "meridian/atlas-large", Author: "Ada Lovelace", CreatedAt: at(2 * promptDay)},
		{Number: 1, Model: "meridian/atlas-large", CreatedAt: at(31 * promptDay)},
	}
}

func exampleShares() []playpages.PromptShare {
	return []playpages.PromptShare{
		{ID: "share_01kb4a00000000000000000002", Number: 4, Author: "Ada Lovelace", CreatedAt: at(time.Minute),
			ExpiresAt: Now().Add(7 * promptDay)},
		{ID: "share_01kb4a00000000000000000001", Number: 2, Author: "charles.babbage.the.elder@analytical-engines.example.com",
			CreatedAt: at(2 * promptDay),
			ExpiresAt: Now().Add(200 * promptDay), ViewedAt: ago(3 * time.Hour)},
	}
}

func promptStory(name, title string, status int, path string, view func(s views.Shell) templ.Component) Story {
	return Story{Name: name, Group: "Saved prompts", Title: title, Status: status, Path: "/console/prompts" + path, View: view}
}

func prompts() []Story {
	list := examplePrompts()
	lists := func(name, title string, p playpages.Prompts) Story {
		return promptStory(name, title, 200, "", func(s views.Shell) templ.Component {
			p.Shell, p.Query.Page = s, max(p.Query.Page, 1)
			return playpages.PromptsPage(p)
		})
	}
	detail := func(name, title string, change func(*playpages.PromptDetail)) Story {
		return promptStory(name, title, 200, "/"+list[0].ID, view(playpages.PromptPage, func(s views.Shell) playpages.PromptDetail {
			return playpages.PromptDetail{
				Shell: s, Prompt: list[0], Version: promptVersions()[0], Versions: promptVersions(), Content: exampleContent(), Shares: exampleShares(),
			}
		}, change))
	}
	return append(append([]Story{
		lists("prompts-empty", "No prompts yet", playpages.Prompts{}),
		lists("prompts", "Saved prompts", playpages.Prompts{Some: true, List: list, Total: 3}),
		lists("prompts-many", "The second page of many", playpages.Prompts{Some: true, List: list, Total: 53,
			Query: playpages.PromptQuery{Page: 2}}),
		lists("prompts-no-match", "No prompt matches", playpages.Prompts{Some: true, Query: playpages.PromptQuery{Text: "sonnet"}}),
		detail("prompt", "A prompt with everything", func(*playpages.PromptDetail) {}),
		detail("prompt-first", "A prompt with one version and no links", func(d *playpages.PromptDetail) {
			d.Prompt, d.Version, d.Versions, d.Shares = list[2], promptVersions()[3], promptVersions()[3:], nil
			d.Content = playpages.PromptContent{Settings: []views.Fact{{Name: "Model", Value: "aurora-mini"}}}
		}),
		detail("prompt-old", "An old version", func(d *playpages.PromptDetail) { d.Version = promptVersions()[2] }),
		detail("prompt-hostile", "A prompt with hostile text", func(d *playpages.PromptDetail) {
			d.Prompt.Name, d.Content = "<b onclick=alert(1)>\u202Egnp.exe", hostileContent()
		}),
	}, promptForms(list[0])...), sharedStories()...)
}

func promptForms(one playpages.Prompt) []Story {
	ask := func(name, title string, status int, page func(playpages.PromptAsk) templ.Component, a playpages.PromptAsk) Story {
		return promptStory(name, title, status, "/"+one.ID, func(s views.Shell) templ.Component {
			a.Shell, a.Prompt = s, one
			return page(a)
		})
	}
	save := func(name, title string, status int, p playpages.PromptSave) Story {
		return promptStory(name, title, status, "", func(s views.Shell) templ.Component {
			p.Shell, p.Title, p.Document = s, "Save the prompt", `{"object":"prompt"}`
			return playpages.PromptSavePage(p)
		})
	}
	take := func(name, title string, status int, p playpages.PromptImport) Story {
		return promptStory(name, title, status, "/import", func(s views.Shell) templ.Component {
			p.Shell = s
			return playpages.PromptImportPage(p)
		})
	}
	share := func(name, title string, status int, f playpages.PromptShareForm) Story {
		return promptStory(name, title, status, "/"+one.ID+"/share", func(s views.Shell) templ.Component {
			f.Shell, f.Prompt, f.Number = s, one, 4
			return playpages.PromptSharePage(f)
		})
	}
	return []Story{
		promptDiff("prompt-diff", "Two versions compared", 2, 4, exampleChanges()),
		promptDiff("prompt-diff-same", "Two versions that are the same", 2, 2, nil),
		save("prompt-save", "Save a prompt", 200, playpages.PromptSave{}),
		save("prompt-save-refused", "Save a prompt, without a name", 422, playpages.PromptSave{
			NameError: "Enter a name (1–80 characters).",
		}),
		save("prompt-save-full", "Save a prompt, too many", 422, playpages.PromptSave{
			Name: "One more", FormError: "This account has 500 prompts, which is the limit. Delete one that is no longer used.",
		}),
		promptStory("prompt-conflict", "Another member saved in the meantime", 409, "", func(s views.Shell) templ.Component {
			return playpages.PromptConflictPage(playpages.PromptConflict{Shell: s, Prompt: one, Base: 2, Document: `{"object":"prompt"}`})
		}),
		ask("prompt-rename", "Rename a prompt", 200, playpages.PromptRenamePage, playpages.PromptAsk{Name: one.Name}),
		ask("prompt-delete", "Delete a prompt", 200, playpages.PromptDeletePage, playpages.PromptAsk{}),
		take("prompt-import", "Import a prompt", 200, playpages.PromptImport{}),
		take("prompt-import-refused", "Import a prompt, a mistake in the file", 422, playpages.PromptImport{
			Error: "Line 7: turns[1].role must be user, assistant or tool.", Field: "turns[1].role",
		}),
		share("prompt-share", "Make a link", 200, playpages.PromptShareForm{End: playpages.ShareWeek}),
		share("prompt-share-date", "Make a link, with a wrong day", 422, playpages.PromptShareForm{
			End: playpages.ShareDate, Until: "2028-02-30", UntilError: "The link must end in the future, and within a year.",
		}),
		promptStory("prompt-shared", "A link, shown once", 200, "/"+one.ID+"/share", func(s views.Shell) templ.Component {
			return playpages.PromptSharedPage(playpages.PromptShared{
				PromptDetail: playpages.PromptDetail{Shell: s, Prompt: one, Version: promptVersions()[0], Versions: promptVersions(),
					Shares: exampleShares()},
				Link: "https://models.example.com/console/shared/bWFkZSB1cCBmb3IgdGhlIHN0b3J5Ym8w", Share: exampleShares()[0],
			})
		}),
	}
}

func promptDiff(name, title string, from, to int, changes []playpages.PromptChange) Story {
	one := examplePrompts()[0]
	return promptStory(name, title, 200, "/"+one.ID+"/diff", func(s views.Shell) templ.Component {
		return playpages.PromptDiffPage(playpages.PromptDiff{Shell: s, Prompt: one, Versions: promptVersions(), From: from, To: to,
			Sections: changes})
	})
}

func exampleChanges() []playpages.PromptChange {
	same := func(text string) playpages.PromptLine { return playpages.PromptLine{Text: text} }
	out := func(text string) playpages.PromptLine {
		return playpages.PromptLine{Kind: playpages.PromptRemoved, Text: text}
	}
	in := func(text string) playpages.PromptLine {
		return playpages.PromptLine{Kind: playpages.PromptAdded, Text: text}
	}
	return []playpages.PromptChange{
		{Title: "Settings", Lines: []playpages.PromptLine{out("model: meridian/atlas-large"), in("model: aurora-mini"), same("style: chat"),
			same("temperature: 0.2")}},
		{Title: "System prompt", Lines: []playpages.PromptLine{
			same("You write release notes for {{product}}."), same(""), same("Read what follows with care."), same("Then think about who reads it."),
			same("They are in a hurry."), same("- At most five points, the most important first."), out("- Be enthusiastic!"),
			in("- No marketing words."),
			in("- A very long line that was added and does not fit into the width of a telephone, " +
				"nor into the width of its column here."),
			same(""),
		}},
		{Title: "Message", Lines: []playpages.PromptLine{same("Now write it for this list:"), same("{{changes}}")}},
		{Title: "Tools", Lines: []playpages.PromptLine{same("[]")}},
	}
}

// sharedStories are what links show, to strangers and to members.
func sharedStories() []Story {
	shared := func(name, title string, out bool, adjust func(*views.Shell), content playpages.PromptContent) Story {
		return Story{Name: name, Group: "Shared prompts", Title: title, Status: 200, Out: out, Path: "/console/shared/made-up", Adjust: adjust,
			View: func(s views.Shell) templ.Component {
				return playpages.SharedPromptPage(playpages.SharedPrompt{
					Shell: s, Name: "Release notes, short", Content: content, ExpiresAt: Now().Add(7 * promptDay), Path: "/console/shared/made-up",
				})
			}}
	}
	gone := func(name string, out bool) Story {
		return Story{Name: name, Group: "Shared prompts", Title: "A link that shows nothing", Status: 404, Out: out,
			Path: "/console/shared/made-up",
			View: playpages.SharedGonePage}
	}
	return []Story{
		shared("shared", "A shared prompt, for a stranger", true, nil, exampleContent()),
		shared("shared-member", "A shared prompt, for a member of an account", false, nil, exampleContent()),
		shared("shared-reader", "A shared prompt, for who may not call models", false,
			func(s *views.Shell) { s.Viewer.Rights = app.ReadUsage }, exampleContent()),
		shared("shared-hostile", "A shared prompt with hostile text", true, nil, hostileContent()),
		gone("shared-gone", true), gone("shared-gone-member", false),
		{Name: "shared-copy", Group: "Shared prompts", Title: "Copy a shared prompt", Status: 200, Path: "/console/shared/made-up",
			View: func(s views.Shell) templ.Component {
				return playpages.SharedCopyPage(playpages.SharedPrompt{Shell: s, Name: "Release notes, short", Path: "/console/shared/made-up"}, "")
			}},
	}
}
