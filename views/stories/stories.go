// Package stories is every view of the console in every state, with made-up data. The storybook shows them and the
// tests of the views compare them with golden files. It uses no service, and all of its data is made up.
package stories

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/a-h/templ"

	"umg/app"
	"umg/views"
	signinpages "umg/views/signin"
	"umg/views/ui"
)

// Story is one view in one state.
type Story struct {
	Name   string // Name is stable, and names the golden file.
	Group  string
	Title  string
	Status int
	View   func(s views.Shell) templ.Component
	Out    bool // Out is set for visitors who are not signed in.
	Path   string
	Adjust func(s *views.Shell)
	// Opens has the ids of the menus that the reader opened.
	Opens []string
}

// Now is the moment at which all stories happen.
func Now() time.Time { return time.Date(2026, 11, 21, 9, 41, 7, 0, time.UTC) }

// Email is the made-up reader.
const Email = "ada@example.com"

// BaseURL is the made-up address of the API.
const BaseURL = "https://models.example.com/v1"

// Secret is a made-up key; its checksum is wrong on purpose.
const Secret = "sk-umg-7Hq2LmVx0RtYw9KdBn4ZsEaJcPu5GfTi8Oe1f3Qk" //nolint:gosec // not a real secret

// Model is a made-up cheap model.
const Model = "aurora-mini"

// Render draws the story.
func (s Story) Render(theme ui.Theme, still bool) templ.Component {
	shell := views.Shell{
		Path: s.Path, Theme: theme, Now: Now(), BaseURL: BaseURL, Still: still,
		Balance: views.Balance{Known: true, Available: 4_998_731_450, LowAt: app.Dollar},
	}
	if !s.Out {
		shell.Viewer = &views.Viewer{Email: Email, Rights: app.AllRights}
	}
	if s.Adjust != nil {
		s.Adjust(&shell)
	}
	page := shell.Region.Component(s.View(shell))
	if len(s.Opens) == 0 {
		return page
	}
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		text, err := templ.ToGoHTML(ctx, page)
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, opened(string(text), s.Opens))
		return err
	})
}

// opened is a page after its reader opened menus: each is a details element, or a check box that shows one.
func opened(page string, ids []string) string {
	for _, id := range ids {
		page = strings.Replace(page, `<details id="`+id+`"`, `<details open id="`+id+`"`, 1)
		page = strings.Replace(page, `<input id="`+id+`"`, `<input checked id="`+id+`"`, 1)
	}
	return page
}

// view draws a page from an example that change alters.
func view[T any](page func(T) templ.Component, example func(views.Shell) T, change func(*T)) func(views.Shell) templ.Component {
	return func(s views.Shell) templ.Component {
		model := example(s)
		change(&model)
		return page(model)
	}
}

// All is every story, in the order of the storybook.
func All() []Story {
	var all []Story
	for _, group := range [][]Story{
		entry(), overview(), recipes(), limits(), models(), playground(), videos(), assets(), assetPlays(), keys(), roles(), webhooks(),
		prompts(), billing(), usage(), signIn(), setup(), profile(), security(), people(), auditPages(), operatorPages(), outbox(),
		shell(), docs(), trouble(), parts(),
	} {
		all = append(all, group...)
	}
	return all
}

// Find is the story of that name.
func Find(name string) (Story, bool) {
	for _, s := range All() {
		if s.Name == name {
			return s, true
		}
	}
	return Story{}, false
}

func at(ago time.Duration) time.Time { return Now().Add(-ago) }

func ago(d time.Duration) *time.Time {
	t := at(d)
	return &t
}

func entry() []Story {
	trial := &views.Trial{Amount: 5 * app.Dollar, Days: 30}
	signUp := func(name, title string, status int, change func(*signinpages.Entry)) Story {
		return Story{Name: name, Group: "Sign-up and sign-in", Title: title, Status: status, Out: true, Path: "/console/sign-up",
			View: view(signinpages.SignUpPage, func(s views.Shell) signinpages.Entry {
				return signinpages.Entry{Shell: s, Trial: trial}
			}, change)}
	}
	signIn := func(name, title string, status int, change func(*signinpages.Entry)) Story {
		return Story{Name: name, Group: "Sign-up and sign-in", Title: title, Status: status, Out: true, Path: "/console/sign-in",
			View: view(signinpages.Page, func(s views.Shell) signinpages.Entry {
				return signinpages.Entry{Shell: s}
			}, change)}
	}
	return []Story{
		signUp("sign-up", "Sign up, with trial credit", 200, func(*signinpages.Entry) {}),
		signUp("sign-up-no-trial", "Sign up, without trial credit", 200, func(e *signinpages.Entry) { e.Trial = nil }),
		signUp("sign-up-errors", "Sign up, both fields refused", 422, func(e *signinpages.Entry) {
			e.Email, e.EmailError = "ada@example", "Enter a complete e-mail address, such as you@company.com."
			e.PasswordError = "A password has at least 12 characters."
		}),
		signUp("sign-up-taken", "Sign up, address already in use", 422, func(e *signinpages.Entry) {
			e.Email, e.FormError = Email, "We could not create this account. If you have one already, sign in instead."
		}),
		signIn("sign-in", "Sign in", 200, func(*signinpages.Entry) {}),
		signIn("sign-in-setup", "Sign in, a gateway without an operator", 200, func(e *signinpages.Entry) { e.Setup = true }),
		signIn("sign-in-wrong", "Sign in, wrong password", 422, func(e *signinpages.Entry) {
			e.Email, e.FormError, e.Next = Email, "E-mail or password is wrong.", "/console/keys"
		}),
		signIn("sign-in-throttled", "Sign in, throttled", 429, func(e *signinpages.Entry) { e.Email, e.Wait = Email, 45*time.Second }),
	}
}

func trouble() []Story {
	return []Story{
		{Name: "not-found", Group: "Errors", Title: "404 inside the shell", Status: 404, Path: "/console/nowhere",
			View: notFound},
		{Name: "not-found-near", Group: "Errors", Title: "404 with suggestions", Status: 404, Path: "/console/models/aurora-lrge/limits",
			View: notFoundNear},
		{Name: "not-found-out", Group: "Errors", Title: "404 outside the shell", Status: 404, Path: "/nowhere", Out: true,
			View: notFound},
		{Name: "error", Group: "Errors", Title: "A fault on our side", Status: 500, Path: "/console/keys",
			View: func(s views.Shell) templ.Component {
				return views.ErrorPage(views.Failure{
					Shell: s, Status: 500, Title: "Something went wrong", RequestID: "req_01kb4a7m9x3v5d2c8n6q1w0zpr",
					Message: "The fault is on our side and has been recorded. Nothing was charged.",
				})
			}},
		{Name: "error-address-out", Group: "Errors", Title: "Too many pages from one address", Status: 429, Path: "/console/docs", Out: true,
			View: func(s views.Shell) templ.Component {
				return views.ErrorPage(views.Failure{
					Shell: s, Status: 429, Title: "Too many requests", RequestID: "req_01kb4a7m9x3v5d2c8n6q1w0zpr",
					Message: "More than 600 pages a minute came from your network address. Try again in 7 seconds.", Wait: 7 * time.Second,
				})
			}},
		{Name: "error-address-forms", Group: "Errors", Title: "Too many forms from one address", Status: 429, Path: "/console/sign-in",
			Out: true, View: func(s views.Shell) templ.Component {
				return views.ErrorPage(views.Failure{
					Shell: s, Status: 429, Title: "Too many requests", RequestID: "req_01kb4a7m9x3v5d2c8n6q1w0zpr",
					Message: "More than 120 forms a minute came from your network address. Try again in 7 seconds.", Wait: 7 * time.Second,
				})
			}},
		{Name: "error-store-out", Group: "Errors", Title: "The store is away, outside the shell", Status: 503, Path: "/console", Out: true,
			View: func(s views.Shell) templ.Component {
				return views.ErrorPage(views.Failure{
					Shell: s, Status: 503, Title: "The console is briefly unavailable", RequestID: "req_01kb4a7m9x3v5d2c8n6q1w0zpr",
					Message: "It cannot reach its store right now. Your keys, credit and records are safe.", Wait: 2 * time.Second,
				})
			}},
	}
}

// notFound is the page of a path that fits nothing.
func notFound(s views.Shell) templ.Component { return views.NotFoundPage(views.NotFound{Shell: s}) }

// notFoundNear is the page of a path whose words fit pages, models and documents.
func notFoundNear(s views.Shell) templ.Component {
	return views.NotFoundPage(views.NotFound{Shell: s, Near: []views.SearchHit{
		{Icon: ui.IconLayers, Title: "Models", Href: views.ModelsPath},
		{Icon: ui.IconLayers, Title: "Aurora Large", Note: "aurora-large", Href: views.ModelPath("aurora-large")},
		{Icon: ui.IconBook, Title: "Rate limits", Href: "/console/docs/limits"},
	}})
}
