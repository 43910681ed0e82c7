package page

import (
	"context"
	"net/http"
	"strings"
	"time"

	"umg/app"
	"umg/app/account"
	"umg/app/console/notices"
	"umg/billing"
	"umg/views/format"
	"umg/views/ui"
)

const (
	preferenceAgeMax = 365 * 24 * time.Hour
	lowBalanceAt     = app.Dollar
	// A page waits at most bookedMax until the balance contains the cost of a call.
	bookedMax = 500 * time.Millisecond
)

// Options are what pages of all areas need.
type Options struct {
	Accounts *account.Service
	Sessions *account.SessionStore
	Ledger   *billing.Ledger
	Now      app.Clock
	BaseURL  string // BaseURL is scheme and host of the server.
	Secure   bool   // Secure gives cookies of preferences the Secure attribute.
	// Booked waits until charges show in the balance. It is nil where they always do.
	Booked func(context.Context) error
	// OperatorsNeedNoCode lets operators without multi-factor authentication reach their pages. It is for demos.
	OperatorsNeedNoCode bool
	// Notices counts unread notices and lists degraded models for the shell of a page of an account.
	Notices *notices.Service
}

// Renderer opens requests as pages and renders answers to them inside the shell of the console. It is safe for concurrent use.
type Renderer struct {
	o       Options
	streams *eventStreams
}

// New returns a renderer.
func New(o Options) *Renderer { return &Renderer{o: o, streams: newEventStreams()} }

// Open reads the session and the user behind a request. The session of a deleted user is that of a visitor.
func (r *Renderer) Open(in RoutedRequest) (*Page, error) {
	session, err := r.o.Sessions.Current(in.Request)
	if err != nil {
		return nil, err
	}
	p := &Page{Session: session, in: in}
	id := account.UserID(session)
	if id == "" {
		return p, nil
	}
	current, err := r.o.Sessions.Renew(in.Response, in.Request)
	if err != nil || !current {
		return p, err
	}
	chosen, _ := session.Values[AccountValue].(string)
	user, err := r.o.Accounts.UserIn(in.Request.Context(), id, chosen)
	if err != nil && app.KindOf(err) != app.NotFound {
		return nil, err
	}
	p.User, p.MustEnrol = r.Reader(user)
	p.in.Request = in.Request.WithContext(format.WithClock(in.Request.Context(), p.clock()))
	return p, nil
}

// Reader returns a user with the rights that pages grant. An operator without multi-factor authentication has no operator rights
// until they have set it up: no page, action, stream or menu entry for operators is theirs before.
func (r *Renderer) Reader(u account.User) (_ account.User, mustEnrol bool) {
	if u.Operator && !u.SecondStep && !r.o.OperatorsNeedNoCode {
		u.Operator = false
		return u, true
	}
	return u, false
}

// AwaitBooked waits until the cost of the reader's last call shows in the balance. When the wait times out, the page shows the
// balance before that call.
func (r *Renderer) AwaitBooked(p *Page) {
	if r.o.Booked == nil {
		return
	}
	ctx, cancel := context.WithTimeout(p.Request().Context(), bookedMax)
	defer cancel()
	_ = r.o.Booked(ctx)
}

// APIURL returns the base URL of the API, for code samples.
func (r *Renderer) APIURL() string { return r.o.BaseURL + "/v1" }

// BaseURL returns scheme and host of the server.
func (r *Renderer) BaseURL() string { return r.o.BaseURL }

// ThemeOf returns the theme that the reader chose.
func ThemeOf(r *http.Request) ui.Theme { return ui.ParseTheme(cookieOf(r, themeCookie)) }

// OnMac reports whether the browser runs on a Mac, whose shortcuts use another key.
func OnMac(r *http.Request) bool { return strings.Contains(r.UserAgent(), "Mac OS") }

// RedirectWithToast stores one sentence for the next page and leads to that page.
func (r *Renderer) RedirectWithToast(p *Page, tone ui.Tone, text, next string) error {
	p.SetToast(tone, text)
	if err := r.SaveSession(p); err != nil {
		return err
	}
	return p.Redirect(http.StatusSeeOther, next)
}

// Done leads to the next page with a sentence that says what was changed, or returns the error that prevented the change.
func (r *Renderer) Done(p *Page, err error, text, next string) error {
	if err != nil {
		return err
	}
	return r.RedirectWithToast(p, ui.Success, text, next)
}

// Preference is a cookie with a choice of the reader, so that the next page is rendered accordingly.
type Preference struct {
	Name, Value string
	HTTPOnly    bool // HTTPOnly hides the cookie from scripts.
}

// SetPreference stores a choice of the reader in a cookie for a year.
func (r *Renderer) SetPreference(p *Page, c Preference) {
	//nolint:gosec // a preference is no secret: scripts read it, and plain http may be intended
	http.SetCookie(p.Response(), &http.Cookie{
		Name: c.Name, Value: c.Value, Path: ConsolePath, MaxAge: int(preferenceAgeMax / time.Second), Secure: r.o.Secure,
		HttpOnly: c.HTTPOnly, SameSite: http.SameSiteLaxMode,
	})
}

// SetTheme stores the theme that the reader chose and leads back to the page where they chose it.
func (r *Renderer) SetTheme(p *Page) error {
	r.SetPreference(p, Preference{Name: themeCookie, Value: string(ui.ParseTheme(p.FormValue("theme")))})
	return p.Redirect(http.StatusSeeOther, SafeNext(p.FormValue("next")))
}
