package stories

import (
	"slices"
	"time"

	"github.com/a-h/templ"

	"umg/views"
	"umg/views/ui"
)

func exampleKeys() []views.Key {
	day := 24 * time.Hour
	return []views.Key{
		{
			ID: "key_01kb4a00000000000000000001", Name: "Laptop", Masked: "sk-umg-7H…f3Qk", Env: "development", ErrorMode: views.ModeStandard,
			CreatedAt: at(2 * day), CreatedBy: Email, LastUsed: ago(4 * time.Second),
		},
		{
			ID: "key_01kb4a00000000000000000002", Name: "Support assistant, production", Masked: "sk-umg-Qe…9Zt2", Env: "production",
			ErrorMode: views.ModeStandard, CreatedAt: at(31 * day), CreatedBy: Email, LastUsed: ago(3 * time.Hour),
		},
		{
			ID: "key_01kb4a00000000000000000003", Name: "Batch nightly", Masked: "sk-umg-b0…Lw7a", ErrorMode: views.ModeDocumented,
			CreatedAt: at(64 * day), CreatedBy: Email, LastUsed: ago(9 * day),
		},
		{
			ID: "key_01kb4a00000000000000000004", Name: "Old laptop", Masked: "sk-umg-Xc…p1R8", Env: "development", ErrorMode: views.ModeStandard,
			CreatedAt: at(400 * day), CreatedBy: Email, LastUsed: ago(120 * day), Disabled: true,
		},
		{
			ID: "key_01kb4a00000000000000000005", Name: "Contractor", Masked: "sk-umg-m5…0Yc3", Env: "staging", ErrorMode: views.ModeDocumented,
			CreatedAt: at(90 * day), CreatedBy: Email, ExpiresAt: ago(day),
		},
	}
}

func keys() []Story {
	story := func(name, title string, status int, path string, view func(s views.Shell) templ.Component) Story {
		return Story{Name: name, Group: "API keys", Title: title, Status: status, Path: path, View: view}
	}
	created := func(mode string) func(s views.Shell) templ.Component {
		return func(s views.Shell) templ.Component {
			key := exampleKeys()[0]
			key.ErrorMode = mode
			return views.KeyCreatedPage(views.KeyCreated{
				Shell: s, Fresh: views.FreshKey{Key: key, Secret: Secret}, Keys: exampleKeys(),
				Call: views.Call{BaseURL: BaseURL, Key: Secret, Model: Model},
			})
		}
	}
	remove := func(i int, typeName bool, wrong string) func(s views.Shell) templ.Component {
		return func(s views.Shell) templ.Component {
			return views.KeyDeletePage(views.KeyDelete{Shell: s, Key: exampleKeys()[i], TypeName: typeName, NameError: wrong})
		}
	}
	list := func(s views.Shell) templ.Component { return views.KeysPage(views.Keys{Shell: s, Keys: exampleKeys()}) }
	flash := story("keys-flash", "After disabling one", 200, "/console/keys", list)
	flash.Adjust = func(s *views.Shell) {
		s.Toasts = []ui.Toast{{Tone: ui.Success, Text: "Old laptop is disabled. Programs that use it are refused."}}
	}
	return slices.Concat([]Story{
		story("keys-empty", "No keys yet", 200, "/console/keys", func(s views.Shell) templ.Component {
			return views.KeysPage(views.Keys{Shell: s})
		}),
		story("keys", "Keys in every state", 200, "/console/keys", list),
		flash,
		story("key-new", "Create a key", 200, "/console/keys/new", func(s views.Shell) templ.Component {
			return views.KeyNewPage(views.KeyNew{Shell: s, Form: views.NewKeyForm()})
		}),
		story("key-new-errors", "Create a key, refused", 422, "/console/keys/new", func(s views.Shell) templ.Component {
			return views.KeyNewPage(views.KeyNew{Shell: s, Form: views.KeyForm{
				Name: "", NameError: "Give the key a name of at most 64 characters.", ModeError: "Choose who will use this key.",
				Env: "production",
			}})
		}),
		story("key-new-limit", "Create a key, too many keys", 422, "/console/keys/new", func(s views.Shell) templ.Component {
			return views.KeyNewPage(views.KeyNew{Shell: s, Form: views.KeyForm{
				Name: "One more", Mode: views.ModeDocumented, FormError: "This account has 100 keys, which is the most it can have. Delete one first.",
			}})
		}),
		story("key-created", "Key created, for an SDK", 200, "/console/keys", created(views.ModeStandard)),
		story("key-created-documented", "Key created, for a program", 200, "/console/keys", created(views.ModeDocumented)),
		story("key-delete", "Delete an unused key", 200, "/console/keys", remove(2, false, "")),
		story("key-delete-used", "Delete a key in use", 200, "/console/keys", remove(0, true, "")),
		story("key-delete-wrong", "Delete a key in use, wrong name", 422, "/console/keys", remove(0, true, "That is not the key's name.")),
	}, budgets(), verify())
}
