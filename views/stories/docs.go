package stories

import (
	"github.com/a-h/templ"

	"umg/app/markdown"
	"umg/views"
	docpages "umg/views/docs"
	"umg/views/ui"
)

const docsExample = "## A call\n\nThe base URL is `" + BaseURL +
	"`. Every request carries the key.\n\n| Field | What it is |\n| --- | --- |\n" +
	"| `model` | required |\n| `stream` | *optional* |\n\n- [Streaming](/console/docs/streaming)\n- Errors\n\n" +
	"> Keep keys out of pages.\n\n## Next\n\nRead on."

func exampleDocs() []docpages.Group {
	return []docpages.Group{
		{Name: "Start", Pages: []docpages.Link{
			{Title: "Quickstart", Text: "From nothing to the first answer in a minute.", Path: "/console/docs/quickstart"},
			{Title: "Authentication", Text: "Keys, what they may do, and how errors reach your program.", Path: "/console/docs/authentication"},
		}},
		{Name: "Text", Pages: []docpages.Link{
			{Title: "Streaming", Text: "What a stream looks like in each style.", Path: "/console/docs/streaming"},
		}},
	}
}

func exampleGuide() []docpages.Group {
	return []docpages.Group{{Name: "Run", Pages: []docpages.Link{
		{Title: "Configuration", Text: "Every setting with its flag, variable and default.", Path: "/console/operator/help/configuration"},
		{Title: "Commands", Text: "What each command of the gateway does.", Path: "/console/operator/help/commands"},
	}}}
}

func exampleDocument(s views.Shell) docpages.Document {
	html, headings := markdown.Manual(docsExample)
	d := docpages.Document{
		Shell: s, Title: "Quickstart", Description: "From nothing to the first answer in a minute.", Group: "Start",
		Path: "/console/docs/quickstart", Markdown: docsExample, Language: "python", Try: "/console/playground?model=" + Model,
		Groups: exampleDocs(), Headings: headings,
		Blocks: []docpages.Block{{HTML: html}, {Code: []ui.Sample{
			docpages.Sample("curl", "", "curl "+BaseURL+"/models \\\n  -H \"Authorization: Bearer $UMG_API_KEY\""),
			docpages.Sample("python", "", "import os\nprint(os.environ[\"UMG_API_KEY\"])"),
		}}},
		After: &docpages.Link{Title: "Authentication", Path: "/console/docs/authentication"},
	}
	return d
}

func docs() []Story {
	index := func(query string, hits ...docpages.Link) func(views.Shell) templ.Component {
		return func(s views.Shell) templ.Component {
			return docpages.IndexPage(docpages.Index{Shell: s, Query: query, Hits: hits, Groups: exampleDocs()})
		}
	}
	page := func(s views.Shell) templ.Component { return docpages.DocumentPage(exampleDocument(s)) }
	guide := func(s views.Shell) templ.Component {
		d := exampleDocument(s)
		d.IsOperatorGuide, d.Title, d.Description, d.Group = true, "Configuration", "Every setting with its flag, variable and default.", "Run"
		d.Path, d.Try, d.Groups, d.After = "/console/operator/help/configuration", "", exampleGuide(), &exampleGuide()[0].Pages[1]
		return docpages.DocumentPage(d)
	}
	guides := func(query string) func(views.Shell) templ.Component {
		return func(s views.Shell) templ.Component {
			return docpages.IndexPage(docpages.Index{Shell: s, IsOperatorGuide: true, Query: query, Groups: exampleGuide()})
		}
	}
	hit := docpages.Link{
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
