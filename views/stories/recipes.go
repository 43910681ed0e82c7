package stories

import (
	"time"

	"github.com/a-h/templ"

	"umg/views"
	homepages "umg/views/home"
)

func recipes() []Story {
	story := func(name, title, tool string, change func(*homepages.RecipeDetail)) Story {
		return Story{Name: name, Group: "Recipes", Title: title, Status: 200, Path: "/console/recipes/" + tool,
			View: func(s views.Shell) templ.Component {
				r, _ := homepages.RecipeOf(tool)
				d := homepages.RecipeDetail{Shell: s, Recipe: r, KeyHint: "sk-umg-7H…f3Qk", MayKey: true, Models: recipeModels(),
					Others: recipeOthers()}
				d.Model = d.Models[0]
				change(&d)
				return homepages.RecipePage(d)
			}}
	}
	waits := func(d *homepages.RecipeDetail) { d.Since = at(20 * time.Second) }
	list := []Story{
		{Name: "recipes", Group: "Recipes", Title: "All recipes", Status: 200, Path: "/console/recipes",
			View: func(s views.Shell) templ.Component { return homepages.RecipesPage(homepages.RecipeList{Shell: s}) }},
		story("recipe-waiting", "The test waits", "codex", waits),
		story("recipe-late", "The test has waited for a minute", "open-webui", func(d *homepages.RecipeDetail) {
			waits(d)
			d.Late = true
		}),
		story("recipe-arrived", "A call arrived after a look at the models", "langchain", func(d *homepages.RecipeDetail) {
			waits(d)
			row := exampleRequests()[0]
			d.Arrived = []homepages.Arrival{
				{At: row.At, ID: row.ID, Logged: &row},
				{At: at(9 * time.Second), ID: "req_01kb4a7k2f8s4j6h1d9a3g5b7t", Method: "GET", Route: "/v1/models", KeyName: "LangChain", Status: 200},
			}
		}),
		story("recipe-refused", "A call was refused", "aider", func(d *homepages.RecipeDetail) {
			waits(d)
			d.Arrived = []homepages.Arrival{{
				At: at(4 * time.Second), ID: "req_01kb4a7k2f8s4j6h1d9a3g5b7t", Method: "POST", Route: "/v1/chat/completions", KeyName: "aider",
				Style: "chat", Status: 404, Code: "model_not_found",
			}}
		}),
		story("recipe-no-key", "A reader who may not make keys", "n8n", func(d *homepages.RecipeDetail) { d.MayKey, d.KeyHint = false, "" }),
		story("recipe-key-error", "No key could be made", "cline", func(d *homepages.RecipeDetail) {
			d.KeyError = "An account has at most 200 keys. Delete one that is not used."
		}),
		story("recipe-no-model", "No model can do the work", "codex", func(d *homepages.RecipeDetail) {
			d.Model, d.Models = homepages.RecipeModel{}, nil
		}),
		story("recipe-wrong-model", "A model was asked for that cannot do the work", "claude-code", func(d *homepages.RecipeDetail) {
			d.ModelError = "The model meridian/atlas-nano cannot be used with Claude Code: it takes no tools."
		}),
		story("recipe-key-created", "A key was made for the tool", "claude-code", func(d *homepages.RecipeDetail) {
			d.Fresh = &views.FreshKey{Key: exampleKeys()[0], Secret: Secret}
		}),
	}
	for _, r := range homepages.Recipes() {
		list = append(list, story("recipe-"+r.ID, r.Name, r.ID, func(*homepages.RecipeDetail) {}))
	}
	return list
}

func recipeModels() []homepages.RecipeModel {
	return []homepages.RecipeModel{
		{ID: Model, Context: 200_000, MaxOutput: 32_000, Price: "$4.00"},
		{ID: "quillon/marginalia", Context: 400_000, MaxOutput: 64_000, Price: "$8.00"},
	}
}

func recipeOthers() []homepages.RecipeModel {
	return []homepages.RecipeModel{
		{ID: "meridian/atlas-nano", Reasons: []string{
			"takes no tools", "has a context of 32,000 tokens instead of 128,000", "writes at most 4,096 tokens instead of 32,000",
		}},
		{ID: "tessera/mosaic", Reasons: []string{"does not answer in the messages style"}},
	}
}
