package stories

import (
	"net/url"
	"slices"
	"time"

	"github.com/a-h/templ"

	"umg/app"
	"umg/views"
	"umg/views/codesample"
	keypages "umg/views/keys"
	"umg/views/ui"
)

const oneDay = 24 * time.Hour

// usualScopes are what keys may usually do.
func usualScopes() []string {
	return []string{"inference:text", "inference:video", "videos", "assets", "models:read", "usage:read", "webhooks"}
}

// exampleKeySpend is what the first keys cost: one is busy, and one made a single cheap call.
func exampleKeySpend() map[string]views.KeySpend {
	laptop := views.KeySpend{Today: 41_204_500, Month: 3_204_117_500, Model: Model}
	copy(laptop.ByDay[:], month())
	once := views.KeySpend{Month: 43, Model: "sage-reasoning-long-context-preview"}
	once.ByDay[12] = 43
	keys := exampleKeys()
	return map[string]views.KeySpend{keys[0].ID: laptop, keys[1].ID: once}
}

func exampleKeys() []views.Key {
	in := func(d time.Duration) *time.Time { return ago(-d) }
	resets := at(0).AddDate(0, 0, 9)
	return []views.Key{
		{
			ID: "key_01kb4a00000000000000000001", Name: "Laptop", Masked: "sk-umg-7H…f3Qk", Env: "development", ErrorMode: views.ModeStandard,
			CreatedAt: at(2 * oneDay), CreatedBy: Email, LastUsed: ago(4 * time.Second), LastFrom: "203.0.113.7", Scopes: usualScopes(),
			Budget: &views.KeyBudget{Limit: 25 * app.Dollar, Spent: 3_204_117_500, Left: 21_795_882_500, Period: "month", ResetsAt: &resets},
			Alerts: []int{50, 80, 100}, Network: &views.KeyNetwork{Network: "203.0.113.0/24", Since: at(9 * oneDay)},
		},
		{
			ID: "key_01kb4a00000000000000000002", Name: "Support assistant, production", Masked: "sk-umg-Qe…9Zt2", Env: "production",
			ErrorMode: views.ModeStandard, CreatedAt: at(31 * oneDay), CreatedBy: Email, LastUsed: ago(3 * time.Hour),
			LastFrom: "2001:db8:51::c0de:7",
			Scopes:   []string{"inference:text", "models:read"}, Models: []string{Model, "aurora-large"},
			Addresses: []string{"203.0.113.0/24", "2001:db8:51::/48"},
			Requests:  600, Tokens: 1_500_000, Concurrency: 20, Strict: true, ExpiresAt: in(200 * oneDay),
			Budget: &views.KeyBudget{Limit: 100 * app.Dollar, Spent: 91_400_000_000, Left: 8_600_000_000, Period: "week", ResetsAt: &resets},
		},
		{
			ID: "key_01kb4a00000000000000000003", Name: "Batch nightly", Masked: "sk-umg-b0…Lw7a", ErrorMode: views.ModeDocumented,
			CreatedAt: at(64 * oneDay), CreatedBy: Email, LastUsed: ago(9 * oneDay), Scopes: usualScopes(), ExpiresAt: in(6 * oneDay),
			Budget: &views.KeyBudget{Limit: app.Dollar, Spent: app.Dollar, Period: "total"},
		},
		{
			ID: "key_01kb4a00000000000000000004", Name: "Old laptop", Masked: "sk-umg-Xc…p1R8", Env: "development", ErrorMode: views.ModeStandard,
			CreatedAt: at(400 * oneDay), CreatedBy: Email, LastUsed: ago(120 * oneDay), Disabled: true, Scopes: usualScopes(),
		},
		{
			ID: "key_01kb4a00000000000000000005", Name: "Contractor", Masked: "sk-umg-m5…0Yc3", Env: "staging", ErrorMode: views.ModeDocumented,
			CreatedAt: at(90 * oneDay), CreatedBy: Email, ExpiresAt: ago(oneDay), Scopes: []string{"inference:video", "videos"},
		},
		{
			ID: "key_01kb4a00000000000000000006", Name: "Render farm", Masked: "sk-umg-aT…2nWq", Env: "production", ErrorMode: views.ModeStandard,
			CreatedAt: at(130 * oneDay), ByKey: "Key maker", LastUsed: ago(40 * time.Minute),
			Scopes: []string{"inference:video", "videos", "assets"}, Concurrency: 4,
			Previous: &views.PreviousSecret{LastFour: "…0aZ1", Until: at(-19 * time.Hour), LastUsed: ago(2 * time.Minute)},
		},
		{
			ID: "key_01kb4a00000000000000000007", Name: "Key maker", Masked: "sk-umg-Ur…7Hh0", ErrorMode: views.ModeDocumented,
			CreatedAt: at(200 * oneDay), CreatedBy: "grace@example.com", LastUsed: ago(95 * oneDay),
			Scopes: []string{views.ScopeManagement, "usage:read"},
		},
		{
			ID: "key_01kb4a00000000000000000008", Name: "Notebook of the workshop", Masked: "sk-umg-1c…vv3B", ErrorMode: views.ModeStandard,
			CreatedAt: at(12 * oneDay), CreatedBy: Email, LastUsed: ago(20 * time.Hour), Scopes: usualScopes(),
			Disabled: true, Leaked: ago(20 * time.Hour),
		},
	}
}

func keyChoices() keypages.Choices {
	c := keypages.Choices{
		Content: views.ContentChoice{Keep: views.KeepAsked, Days: 30},
		Models:  []string{Model, "aurora-large", "cobalt-code", "quarry/reel", "quarry/reel:pro", "sage-reasoning-long-context-preview"},
		Scopes: []keypages.ScopeChoice{
			{Value: "inference:text", Text: "Generate text", Spends: true},
			{Value: "inference:video", Text: "Create and remix videos", Spends: true},
			{Value: "videos", Text: "View, download and delete videos", Spends: true},
			{Value: "assets", Text: "Create, view and delete assets", Spends: true},
			{Value: "models:read", Text: "View models and their contracts"},
			{Value: "usage:read", Text: "View usage, cost and credit"},
			{Value: "webhooks", Text: "Manage webhook endpoints"},
		},
		Address: "198.51.100.23", Management: true,
	}
	return c
}

func keyStory(name, title string, status int, path string, view func(s views.Shell) templ.Component) Story {
	return Story{Name: name, Group: "API keys", Title: title, Status: status, Path: path, View: view}
}

func keys() []Story {
	return slices.Concat(keyLists(), keyForms(), keyPages(), keySecrets(), verify())
}

func keyLists() []Story {
	list := func(values url.Values) func(s views.Shell) templ.Component {
		return func(s views.Shell) templ.Component {
			return keypages.ListPage(keypages.List{Shell: s, Keys: exampleKeys(), Query: keypages.ParseQuery(values), Spend: exampleKeySpend()})
		}
	}
	flash := keyStory("keys-flash", "After disabling one", 200, "/console/keys", list(nil))
	flash.Adjust = func(s *views.Shell) {
		s.Toasts = []ui.Toast{{Tone: ui.Success, Text: "Old laptop is disabled. Programs that use it are refused."}}
	}
	return []Story{
		keyStory("keys-empty", "No keys yet", 200, "/console/keys", func(s views.Shell) templ.Component {
			return keypages.ListPage(keypages.List{Shell: s})
		}),
		keyStory("keys", "Keys in every state", 200, "/console/keys", list(nil)),
		keyStory("keys-filtered", "Keys of production, by what is spent", 200, "/console/keys",
			list(url.Values{"env": {"production"}, "sort": {"spent"}, "q": {"r"}})),
		keyStory("keys-none", "No key matches", 200, "/console/keys", list(url.Values{"q": {"nothing of this name"}, "status": {"expired"}})),
		flash,
	}
}

func keyForms() []Story {
	story := func(name, title string, status int, change func(*keypages.Form)) Story {
		return keyStory(name, title, status, "/console/keys/new", func(s views.Shell) templ.Component {
			f := keypages.NewForm(keyChoices())
			change(&f)
			return keypages.NewPage(keypages.NewKey{Shell: s, Form: f})
		})
	}
	asked := func(f *keypages.Form) {
		f.Name, f.Env, f.Scopes, f.Models = "Support assistant", "production", []string{"inference:text"}, []string{Model, "gone-model"}
		f.Limits.Requests, f.Limits.Tokens, f.Limits.Concurrency, f.Networks.Lines = "600", "1500000", "20", "203.0.113.0/24\n2001:db8:51::/48"
		f.Expiry.Choice, f.Expiry.Day, f.LogContent, f.Strict, f.Budget.Limit = keypages.ExpiryOn, "2027-03-31", true, true, "100"
	}
	return []Story{
		story("key-new", "Create a key", 200, func(*keypages.Form) {}),
		story("key-new-developer", "Create a key, as a developer", 200, func(f *keypages.Form) { f.Choices.Management = false }),
		story("key-new-management", "Create a key that manages the account", 200, func(f *keypages.Form) { f.Kind = views.ScopeManagement }),
		story("key-new-full", "Create a key with every restriction", 200, asked),
		story("key-new-address", "Create a key, after adding one's address", 200, func(f *keypages.Form) {
			f.Name, f.Networks.Lines, f.Networks.Added = "Office", "198.51.100.23", true
		}),
		story("key-new-errors", "Create a key, refused", 422, func(f *keypages.Form) {
			asked(f)
			f.Name, f.NameError = "", "A name has between 1 and 80 printable characters."
			f.Mode, f.ModeError = "", "Choose who will use this key."
			f.Scopes, f.ScopesError = nil, "Choose at least one, or the key can do nothing."
			f.Limits.Requests, f.Limits.RequestsError = "many", "Write a whole number, such as 600, or leave the field empty."
			f.Networks.Lines = "203.0.113.0/24\noffice"
			f.Networks.Error = "Line 2: “office” is no address. Write one such as 203.0.113.7 or 2001:db8::/32."
			f.Expiry.Day, f.Expiry.Error = "2020-01-01", "Choose a day that is not over."
			f.Budget.Limit = "2,50"
			f.Budget.LimitError = "Write dollars with a point and at most 9 decimals, such as 25 or 0.5, or leave the field empty."
		}),
		story("key-new-limit", "Create a key, too many keys", 422, func(f *keypages.Form) {
			f.Name, f.Mode = "One more", views.ModeDocumented
			f.FormError = "An account has at most 200 keys. Delete one that is not used."
		}),
	}
}

func keyPages() []Story {
	story := func(name, title string, status, i int, change func(*keypages.Detail)) Story {
		key := exampleKeys()[i]
		return keyStory(name, title, status, "/console/keys/"+key.ID, view(keypages.DetailPage, func(s views.Shell) keypages.Detail {
			return keypages.Detail{Shell: s, Key: key, Form: keypages.FormOf(key, keyChoices())}
		}, change))
	}
	fixed := story("key-fixed", "A management key, for a developer", 200, 6, func(e *keypages.Detail) { e.Fixed = true })
	fixed.Adjust = func(s *views.Shell) {
		s.Viewer.Role, s.Viewer.Rights = "developer", app.Spend|app.UseVideos|app.ManageKeys
	}
	return []Story{
		story("key", "A key with few settings", 200, 0, func(*keypages.Detail) {}),
		story("key-bounded", "A key with every restriction", 200, 1, func(*keypages.Detail) {}),
		story("key-expiring", "A key that ends soon", 200, 2, func(*keypages.Detail) {}),
		story("key-off", "A disabled key", 200, 3, func(*keypages.Detail) {}),
		story("key-rotating", "A key with two secrets", 200, 5, func(*keypages.Detail) {}),
		story("key-managing", "A key that manages the account", 200, 6, func(*keypages.Detail) {}),
		story("key-leaked", "A key whose secret was found in public", 200, 7, func(*keypages.Detail) {}),
		fixed,
		story("key-errors", "A change refused", 422, 1, func(e *keypages.Detail) {
			e.Form.Name, e.Form.NameError = "", "A name has between 1 and 80 printable characters."
			e.Form.Limits.Concurrency, e.Form.Limits.ConcurrencyError = "-1", "Write a whole number, such as 20, or leave the field empty."
		}),
	}
}

func keySecrets() []Story {
	created := func(i int, mode string) func(s views.Shell) templ.Component {
		return func(s views.Shell) templ.Component {
			key := exampleKeys()[i]
			key.ErrorMode = mode
			return keypages.CreatedPage(keypages.Created{
				Shell: s, Fresh: views.FreshKey{Key: key, Secret: Secret}, Keys: exampleKeys(),
				Call: codesample.Call{BaseURL: BaseURL, Key: Secret, Model: Model},
			})
		}
	}
	rotate := func(i int, wrong string) func(s views.Shell) templ.Component {
		return func(s views.Shell) templ.Component {
			return keypages.RotatePage(keypages.Rotate{Shell: s, Key: exampleKeys()[i], Overlap: keypages.DefaultOverlap, OverlapError: wrong})
		}
	}
	rotated := func(i int) func(s views.Shell) templ.Component {
		return func(s views.Shell) templ.Component {
			return keypages.RotatedPage(keypages.Rotated{
				Shell: s, Fresh: views.FreshKey{Key: exampleKeys()[i], Secret: Secret}, Call: codesample.Call{BaseURL: BaseURL, Key: Secret},
			})
		}
	}
	ask := func(i int) func(s views.Shell) templ.Component {
		return func(s views.Shell) templ.Component {
			return keypages.EndOldPage(keypages.Question{Shell: s, Key: exampleKeys()[i]})
		}
	}
	remove := func(i int, typeName bool, wrong string) func(s views.Shell) templ.Component {
		return func(s views.Shell) templ.Component {
			return keypages.DeletePage(keypages.Delete{Shell: s, Key: exampleKeys()[i], TypeName: typeName, NameError: wrong})
		}
	}
	const all = "/console/keys"
	return []Story{
		keyStory("key-created", "Key created, for an SDK", 200, all, created(0, views.ModeStandard)),
		keyStory("key-created-documented", "Key created, for a program", 200, all, created(0, views.ModeDocumented)),
		keyStory("key-created-video", "Key created, for videos only", 200, all, created(5, views.ModeStandard)),
		keyStory("key-created-management", "Key created, for managing", 200, all, created(6, views.ModeDocumented)),
		keyStory("key-rotate", "Rotate a key", 200, all, rotate(0, "")),
		keyStory("key-rotate-again", "Rotate a key that has two secrets", 200, all, rotate(5, "")),
		keyStory("key-rotate-leaked", "Rotate a key whose secret was found", 200, all, rotate(7, "")),
		keyStory("key-rotate-wrong", "Rotate a key, refused", 422, all, rotate(0, "Choose one of these.")),
		keyStory("key-rotated", "Key rotated with overlap", 200, all, rotated(5)),
		keyStory("key-rotated-at-once", "Key rotated, the old secret over", 200, all, rotated(0)),
		keyStory("key-end-old", "End the old secret", 200, all, ask(5)),
		keyStory("key-end-old-none", "End the old secret, already over", 200, all, ask(0)),
		keyStory("key-delete", "Delete an unused key", 200, all, remove(2, false, "")),
		keyStory("key-delete-used", "Delete a key in use", 200, all, remove(0, true, "")),
		keyStory("key-delete-wrong", "Delete a key in use, wrong name", 422, all, remove(0, true, "That is not the key's name.")),
	}
}
