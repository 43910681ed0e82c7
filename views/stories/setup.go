package stories

import (
	"strings"
	"time"

	"github.com/a-h/templ"

	"umg/app"
	"umg/views"
	homepages "umg/views/home"
	setuppages "umg/views/setup"
)

// setup are the steps that take a gateway into operation, and what can go wrong in them.
func setup() []Story {
	long := nastyText + strings.Repeat("averylongwordwithoutanyspace", 12)
	return []Story{
		accountStory("setup-account", "Step 1, your account", 200, setuppages.Account{Credit: 10 * app.Dollar}),
		accountStory("setup-account-no-credit", "Step 1, without credit", 200, setuppages.Account{Code: "ABCD-EFGH-IJKL-MNOP"}),
		accountStory("setup-account-wrong", "Step 1, a wrong code", 422, setuppages.Account{
			Code: "ABCD-EFGH-IJKL-MNOQ", Email: Email, Credit: 10 * app.Dollar,
			CodeError: "The code is wrong, or its server has been restarted. Copy the code from the latest lines of the server's log.",
		}),
		accountStory("setup-account-short", "Step 1, a short password and no address", 422, setuppages.Account{
			Code: "ABCD-EFGH-IJKL-MNOP", Email: "ada@", Credit: 10 * app.Dollar,
			EmailError:    "ada@ is not an e-mail address such as name@example.com.",
			PasswordError: "The password needs at least 10 characters. A few words in a row are fine.",
		}),
		accountStory("setup-account-throttled", "Step 1, too many attempts", 429, setuppages.Account{Wait: 2 * time.Minute}),
		accountStory("setup-account-done", "Step 1, another person has claimed the gateway", 422, setuppages.Account{
			Code: "ABCD-EFGH-IJKL-MNOP", Email: long, FormError: "This gateway has an operator already. Sign in instead.",
		}),
		keysStory("setup-keys", "Step 2, keys are set", 200, setuppages.Keys{Found: foundKeys()}),
		keysStory("setup-keys-none", "Step 2, no key is set", 200, setuppages.Keys{
			Usual: []string{"ANTHROPIC_API_KEY", "AWS_REGION and AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY"},
		}),
		keysStory("setup-keys-refused", "Step 2, nothing was chosen", 422, setuppages.Keys{
			Found: foundKeys(), Error: "Choose a provider, or skip this step.",
		}),
		modelsStory("setup-models", "Step 3, models", 200, setuppages.Models{Markup: "0%", Offers: exampleOffers()}),
		modelsStory("setup-models-failed", "Step 3, a refused key, a provider out of reach, none priced", 200, setuppages.Models{
			Markup: "10%", Offers: failedOffers(),
		}),
		modelsStory("setup-models-markup", "Step 3, a markup that is none", 422, setuppages.Models{
			Markup: "ten", Offers: exampleOffers(),
			MarkupError: "The markup is a percentage from 0% to 9900% with at most two decimals, such as 10%.",
		}),
		modelsStory("setup-models-refused", "Step 3, the catalog refuses it, hostile text", 422, setuppages.Models{
			Markup: long, Error: "models[3].aliases: gpt-5 means another model\n" + long,
			Offers: []setuppages.Offer{{ID: "openai", Name: long, Listed: true, Models: []setuppages.ModelLine{{ID: long, Input: "$1", Output: "–"}},
				Problem: long, ProviderWords: long, Advice: long, Unpriced: 1}},
		}),
		tryStory("setup-try", "Step 4, try it", 200, setuppages.Try{Enrols: true}),
		tryStory("setup-try-answered", "Step 4, answered", 200, setuppages.Try{Enrols: true, Sent: &homepages.SentCall{
			Answer: "Hello! How can I help you today?", Model: "openai/gpt-5-mini", Cost: 9_750, Took: 812 * time.Millisecond,
		}}),
		tryStory("setup-try-failed", "Step 4, not answered", 422, setuppages.Try{Sent: &homepages.SentCall{
			Trouble: "The provider refused the gateway's key. Nothing was charged.",
		}}),
		{Name: "setup-try-empty", Group: setupGroup, Title: "Step 4, without a model", Status: 200, Path: setuppages.TryPath,
			View: func(s views.Shell) templ.Component { return setuppages.TryPage(setuppages.Try{Shell: s, Enrols: true}) }},
	}
}

const setupGroup = "Set-up"

func accountStory(name, title string, status int, v setuppages.Account) Story {
	return Story{Name: name, Group: setupGroup, Title: title, Status: status, Out: true, Path: views.SetupPath,
		View: func(s views.Shell) templ.Component {
			v.Shell = s
			return setuppages.AccountPage(v)
		}}
}

func keysStory(name, title string, status int, v setuppages.Keys) Story {
	return Story{Name: name, Group: setupGroup, Title: title, Status: status, Path: setuppages.KeysPath,
		View: func(s views.Shell) templ.Component {
			v.Shell = s
			return setuppages.KeysPage(v)
		}}
}

func modelsStory(name, title string, status int, v setuppages.Models) Story {
	return Story{Name: name, Group: setupGroup, Title: title, Status: status, Path: setuppages.ModelsPath,
		View: func(s views.Shell) templ.Component {
			v.Shell = s
			return setuppages.ModelsPage(v)
		}}
}

func tryStory(name, title string, status int, v setuppages.Try) Story {
	v.Credit, v.Models, v.Model = 10*app.Dollar, 83, "openai/gpt-5-nano"
	return Story{Name: name, Group: setupGroup, Title: title, Status: status, Path: setuppages.TryPath,
		View: func(s views.Shell) templ.Component {
			v.Shell = s
			return setuppages.TryPage(v)
		}}
}

func foundKeys() []setuppages.FoundKey {
	return []setuppages.FoundKey{
		{ID: "anthropic", Name: "Anthropic", Variables: []string{"ANTHROPIC_API_KEY"}},
		{ID: "bedrock", Name: "Amazon Bedrock", Variables: []string{"AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}, Chosen: true},
		{ID: "openai", Name: "OpenAI", Variables: []string{"OPENAI_API_KEY"}, Published: true},
	}
}

func exampleOffers() []setuppages.Offer {
	return []setuppages.Offer{
		{ID: "anthropic", Name: "Anthropic", Listed: true, Unpriced: 2, Models: []setuppages.ModelLine{
			{ID: "anthropic/claude-haiku-4-5", Input: "$1", Output: "$5"}, {ID: "anthropic/claude-sonnet-4-5", Input: "$3", Output: "$15"},
		}},
		{ID: "azure", Name: "Azure OpenAI", Models: []setuppages.ModelLine{{ID: "openai/gpt-5-mini", Input: "$0.25", Output: "$2"}}},
		{ID: "openai", Name: "OpenAI", Listed: true, Published: true},
	}
}

func failedOffers() []setuppages.Offer {
	lines := []setuppages.ModelLine{{ID: "openai/gpt-5-mini", Input: "$0.25", Output: "$2"}}
	return []setuppages.Offer{
		{ID: "openai", Name: "OpenAI", Models: lines, Problem: "The provider refused the credential.",
			ProviderWords: "Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys.",
			Advice:        "Paste the key again, and check that it was not revoked."},
		{ID: "groq", Name: "Groq", Models: lines, Problem: "The provider could not be reached.",
			Advice: "Check the address, and whether this server may connect to it."},
		{ID: "custom", Name: "A server of one's own", Listed: true, Unpriced: 1},
	}
}
