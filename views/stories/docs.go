package stories

import (
	"github.com/a-h/templ"

	"umg/app/markdown"
	"umg/views"
	"umg/views/ui"
)

const docsExample = "## A call\n\nThe base URL is `" + BaseURL +
	"`. Every request carries the key.\n\n| Field | What it is |\n| --- | --- |\n" +
	"| `model` | required |\n| `stream` | *optional* |\n\n- [Streaming](/console/docs/streaming)\n- Errors\n\n" +
	"> Keep keys out of pages.\n\n## Next\n\nRead on."

func exampleDocs() []views.DocsGroup {
	return []views.DocsGroup{
		{Name: "Start", Pages: []views.DocsLink{
			{Title: "Quickstart", Text: "From nothing to the first answer in a minute.", Path: "/console/docs/quickstart"},
			{Title: "Authentication", Text: "Keys, what they may do, and how errors reach your program.", Path: "/console/docs/authentication"},
		}},
		{Name: "Text", Pages: []views.DocsLink{
			{Title: "Streaming", Text: "What a stream looks like in each style.", Path: "/console/docs/streaming"},
		}},
	}
}

func exampleGuide() []views.DocsGroup {
	return []views.DocsGroup{{Name: "Run", Pages: []views.DocsLink{
		{Title: "Configuration", Text: "Every setting with its flag, variable and default.", Path: "/console/operator/help/configuration"},
		{Title: "Commands", Text: "What each command of the gateway does.", Path: "/console/operator/help/commands"},
	}}}
}

func exampleDocument(s views.Shell) views.DocsPage {
	html, headings := markdown.Manual(docsExample)
	d := views.DocsPage{
		Shell: s, Title: "Quickstart", Description: "From nothing to the first answer in a minute.", Group: "Start",
		Path: "/console/docs/quickstart", Markdown: docsExample, Language: "python", Try: "/console/playground?model=" + Model,
		Groups: exampleDocs(), Headings: headings,
		Blocks: []views.DocsBlock{{HTML: html}, {Code: []ui.Sample{
			views.DocsSample("curl", "", "curl "+BaseURL+"/models \\\n  -H \"Authorization: Bearer $UMG_API_KEY\""),
			views.DocsSample("python", "", "import os\nprint(os.environ[\"UMG_API_KEY\"])"),
		}}},
		After: &views.DocsLink{Title: "Authentication", Path: "/console/docs/authentication"},
	}
	return d
}

func docs() []Story {
	index := func(query string, hits ...views.DocsLink) func(views.Shell) templ.Component {
		return func(s views.Shell) templ.Component {
			return views.DocsIndexPage(views.DocsIndex{Shell: s, Query: query, Hits: hits, Groups: exampleDocs()})
		}
	}
	page := func(s views.Shell) templ.Component { return views.DocumentPage(exampleDocument(s)) }
	guide := func(s views.Shell) templ.Component {
		d := exampleDocument(s)
		d.IsOperatorGuide, d.Title, d.Description, d.Group = true, "Configuration", "Every setting with its flag, variable and default.", "Run"
		d.Path, d.Try, d.Groups, d.After = "/console/operator/help/configuration", "", exampleGuide(), &exampleGuide()[0].Pages[1]
		return views.DocumentPage(d)
	}
	guides := func(query string) func(views.Shell) templ.Component {
		return func(s views.Shell) templ.Component {
			return views.DocsIndexPage(views.DocsIndex{Shell: s, IsOperatorGuide: true, Query: query, Groups: exampleGuide()})
		}
	}
	hit := views.DocsLink{
		Title: "Errors › model_not_found", Text: "HTTP 404 · Try again: No. There is no such model, or the key may not call it. " +
			"List the models it may call with GET /v1/models.",
		Path: "/console/docs/errors#model_not_found",
	}
	return []Story{
		{Name: "docs", Group: "Documentation", Title: "All pages", Status: 200, Path: "/console/docs", View: index("")},
		{Name: "docs-found", Group: "Documentation", Title: "A search", Status: 200, Path: "/console/docs",
			View: index("model", hit)},
		{Name: "docs-none", Group: "Documentation", Title: "A search that finds nothing", Status: 200, Path: "/console/docs",
			View: index("zebra")},
		{Name: "docs-page", Group: "Documentation", Title: "A page", Status: 200, Path: "/console/docs/quickstart", View: page},
		{Name: "docs-visitor", Group: "Documentation", Title: "A page for visitors", Status: 200, Path: "/console/docs/quickstart",
			Out: true, View: page},
		{Name: "operator-help", Group: "Operator", Title: "Help", Status: 200, Path: "/console/operator/help", Adjust: operators,
			View: guides("")},
		{Name: "operator-help-none", Group: "Operator", Title: "Help, a search that finds nothing", Status: 200,
			Path: "/console/operator/help", Adjust: operators, View: guides("zebra")},
		{Name: "operator-help-page", Group: "Operator", Title: "A page of the help", Status: 200,
			Path: "/console/operator/help/configuration", Adjust: operators, View: guide},
	}
}
