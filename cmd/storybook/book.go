package main

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/a-h/templ"

	"umg/static"
	"umg/views"
	homepages "umg/views/home"
	"umg/views/stories"
	"umg/views/ui"
	videopages "umg/views/videos"
)

// policy is the console's own Content-Security-Policy, so a view that violates it fails here first.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; " +
	"connect-src 'self'; media-src 'self' blob:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// formBytesMax limits the size of a submitted form.
const formBytesMax = 64 << 10

// pollsUntilAnswered is how often the waiting page polls before the sample request arrives.
const pollsUntilAnswered = 3

// storybook serves the stories, and under the console's paths the story that fits.
type storybook struct {
	polls atomic.Int64
}

func newStorybook() http.Handler {
	b := &storybook{}
	mux := http.NewServeMux()
	mux.Handle("GET "+static.Prefix, static.Handler())
	mux.HandleFunc("GET /{$}", b.index)
	mux.HandleFunc("GET /stories/{name}", b.story)
	mux.HandleFunc("GET /console", b.named("overview-waiting"))
	mux.HandleFunc("GET /console/sign-up", b.named("sign-up"))
	mux.HandleFunc("GET /console/sign-in", b.named("sign-in"))
	mux.HandleFunc("GET /console/keys", b.named("keys"))
	mux.HandleFunc("GET /console/keys/new", b.named("key-new"))
	mux.HandleFunc("GET /console/keys/{id}/delete", b.named("key-delete-used"))
	mux.HandleFunc("GET /console/first-request", b.firstRequest)
	mux.HandleFunc("GET /console/videos/{id}/content", picture)
	mux.HandleFunc("GET /console/assets/{id}/preview", picture)
	mux.HandleFunc("POST /console/keys", b.createKey)
	mux.HandleFunc("POST /console/keys/{id}/delete", b.deleteKey)
	mux.HandleFunc("POST /console/keys/{id}/{action}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/stories/keys-flash", http.StatusSeeOther)
	})
	mux.HandleFunc("POST /console/theme", b.theme)
	mux.HandleFunc("POST /console/onboarding", b.named("overview-idle"))
	mux.HandleFunc("POST /console/sign-out", b.named("sign-in"))
	mux.HandleFunc("POST /console/sign-up", b.named("sign-up-errors"))
	mux.HandleFunc("POST /console/sign-in", b.named("sign-in-wrong"))
	mux.HandleFunc("GET /", b.named("not-found"))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "same-origin")
		h.Set("X-Content-Type-Options", "nosniff")
		r.Body = http.MaxBytesReader(w, r.Body, formBytesMax)
		mux.ServeHTTP(w, r)
	})
}

func themeOf(r *http.Request) ui.Theme {
	if t := r.URL.Query().Get("theme"); t != "" {
		return ui.ParseTheme(t)
	}
	if c, err := r.Cookie("umg_theme"); err == nil {
		return ui.ParseTheme(c.Value)
	}
	return ui.System
}

// render renders into memory first, because an error must not leave half a page.
func render(w http.ResponseWriter, r *http.Request, status int, view templ.Component) {
	var page bytes.Buffer
	if err := view.Render(r.Context(), &page); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = page.WriteTo(w)
}

func (b *storybook) index(w http.ResponseWriter, r *http.Request) {
	render(w, r, http.StatusOK, stories.Index(themeOf(r)))
}

func (b *storybook) story(w http.ResponseWriter, r *http.Request) {
	b.show(w, r, r.PathValue("name"))
}

func (b *storybook) named(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { b.show(w, r, name) }
}

func (b *storybook) show(w http.ResponseWriter, r *http.Request, name string) {
	s, ok := stories.Find(name)
	if !ok {
		http.NotFound(w, r)
		return
	}
	render(w, r, s.Status, s.Render(themeOf(r), r.URL.Query().Has("still")))
}

// picture serves every thumbnail and preview, so pages show as they do with pictures.
func picture(w http.ResponseWriter, r *http.Request) {
	across, down := 1, 1
	switch r.URL.Query().Get("variant") {
	case videopages.VideoThumbnail, "":
	case videopages.VideoSpritesheet:
		across, down = 5, 2
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	_, _ = fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d"><defs><pattern id="still" width="320" height="180" `+
		`patternUnits="userSpaceOnUse">%s</pattern></defs><rect width="100%%" height="100%%" fill="url(#still)"/></svg>`,
		320*across, 180*down, still)
}

// still is a picture of a paper boat on dark water.
const still = `<rect width="320" height="180" fill="#22324a"/><rect y="112" width="320" height="68" fill="#152236"/>` +
	`<circle cx="246" cy="46" r="17" fill="#e9c88f"/><path d="M92 112h136l-30 28h-76z" fill="#f3f1ea"/>` +
	`<path d="M160 58l42 54h-84z" fill="#dcd8cc"/><path d="M160 58v54h42z" fill="#c7c2b4"/>`

// firstRequest answers a few polls without a request and then one with it, and repeats that.
func (b *storybook) firstRequest(w http.ResponseWriter, r *http.Request) {
	if b.polls.Add(1)%pollsUntilAnswered != 0 {
		render(w, r, http.StatusOK, homepages.FirstRequestPart(homepages.Onboarding{}, true))
		return
	}
	render(w, r, http.StatusOK, homepages.FirstRequestPart(homepages.Onboarding{First: stories.FirstRequest()}, true))
}

func (b *storybook) createKey(w http.ResponseWriter, r *http.Request) {
	named := strings.TrimSpace(r.PostFormValue("name")) != ""
	switch fromOverview := r.PostFormValue("from") == "overview"; {
	case fromOverview && named:
		b.show(w, r, "overview-key-made")
	case fromOverview:
		b.show(w, r, "overview-key-error")
	case named && r.PostFormValue("mode") == views.ModeDocumented:
		b.show(w, r, "key-created-documented")
	case named:
		b.show(w, r, "key-created")
	default:
		b.show(w, r, "key-new-errors")
	}
}

func (b *storybook) deleteKey(w http.ResponseWriter, r *http.Request) {
	if r.PostFormValue("name") != "Laptop" {
		b.show(w, r, "key-delete-wrong")
		return
	}
	http.Redirect(w, r, "/console/keys", http.StatusSeeOther)
}

func (b *storybook) theme(w http.ResponseWriter, r *http.Request) {
	//nolint:gosec // the storybook speaks plain http to its own machine only
	http.SetCookie(w, &http.Cookie{
		Name: "umg_theme", Value: ui.ParseTheme(r.PostFormValue("theme")).Class(), Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
	next := r.PostFormValue("next")
	if !strings.HasPrefix(next, "/console") {
		next = "/"
	}
	http.Redirect(w, r, next, http.StatusSeeOther) //nolint:gosec // the prefix keeps it on this host
}
