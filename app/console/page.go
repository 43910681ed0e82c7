package console

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/gorilla/sessions"
	"github.com/labstack/echo/v4"

	"umg/app"
	"umg/app/account"
	"umg/app/admission"
	"umg/app/gateway"
	"umg/app/ratelimit"
	"umg/billing"
	"umg/views"
	"umg/views/ui"
)

const (
	consolePath      = "/console"
	signInPath       = consolePath + "/sign-in"
	themeCookie      = "umg_theme"
	languageCookie   = "umg_language"
	onboardingCookie = "umg_onboarding"
	preferenceAgeMax = 365 * 24 * time.Hour
	lowBalanceAt     = app.Dollar
	toastTone        = "toast_tone"
	toastText        = "toast_text"
	accountValue     = "account" // session value of the account that the user chose
	nextBytesMax     = 2000
)

// page is one request for a page: who asks, their session, and what surrounds the answer.
type page struct {
	echo.Context
	session *sessions.Session
	user    account.User // zero for visitors
	place   *admission.Place
	enrols  bool // the reader is an operator without a second step, and so has no operator rights yet
}

func (p *page) signedIn() bool { return p.user.ID != "" }

func (c *Console) handle(r Route) echo.HandlerFunc {
	return func(e echo.Context) error {
		place, err := c.takePlace()
		if err != nil {
			return err
		}
		defer place.Leave()
		p, err := c.open(e)
		if err != nil {
			return err
		}
		p.place = &place
		if err := c.admit(p); err != nil {
			return err
		}
		if !r.Open && !p.signedIn() {
			return p.toSignIn()
		}
		if r.Operator && p.enrols {
			return c.toEnrolment(p)
		}
		if r.Operator && !p.user.Operator {
			return notFound(p)
		}
		if p.signedIn() && p.user.AccountID == "" && !r.Open && !r.Operator && !isUserPage(r.Path) {
			return p.toStart()
		}
		if p.signedIn() && !p.user.Role.Rights().Has(r.Right) {
			return notForRole(p.user.Role)
		}
		return r.serve(c, p)
	}
}

// takePlace takes a place of this replica. Pages are vital: people need them to see what goes on.
func (c *Console) takePlace() (admission.Place, error) {
	if c.o.Gate == nil {
		return admission.Place{}, nil
	}
	return c.o.Gate.Enter(true)
}

// admit counts a request: of a visitor by address, of a person by themselves, so that an office behind one address can work.
func (c *Console) admit(p *page) error {
	reads := p.Request().Method == http.MethodGet || p.Request().Method == http.MethodHead
	switch {
	case !p.signedIn() && reads:
		return c.o.Addresses.Count(p.RealIP(), ratelimit.Pages)
	case !p.signedIn():
		return c.o.Addresses.Count(p.RealIP(), ratelimit.Forms)
	}
	if c.o.Gate != nil {
		if err := p.place.Admit("person:"+p.user.ID, false, true); err != nil {
			return err
		}
	}
	work := gateway.ChangeWork
	if reads {
		work = gateway.ReadWork
	}
	return c.o.Gateway.AdmitPerson(p.user.ID, p.user.LimitFactor, work)
}

// roleNotAllowed is the code of what is for other roles.
const roleNotAllowed = "role_not_allowed"

// notForRole refuses a page that is for other roles.
func notForRole(role app.Role) error {
	return app.Errorf(app.Forbidden, roleNotAllowed,
		"Your role in this account is %s, which does not include this. An owner or admin of the account can change your role.", role)
}

// principal returns the reader as a principal of their account.
func (p *page) principal() app.Principal {
	who := p.user.Principal()
	who.SessionID = account.SessionID(p.session)
	who.From = app.Origin{IP: p.RealIP(), Agent: p.Request().UserAgent(), RequestID: requestID(p)}
	return who
}

// open reads the session and the user behind a request. A session whose user is gone is a visitor's.
func (c *Console) open(e echo.Context) (*page, error) {
	session, err := c.o.Sessions.Current(e.Request())
	if err != nil {
		return nil, err
	}
	p := &page{Context: e, session: session}
	id := account.UserID(session)
	if id == "" {
		return p, nil
	}
	current, err := c.o.Sessions.Renew(e.Response(), e.Request())
	if err != nil || !current {
		return p, err
	}
	chosen, _ := session.Values[accountValue].(string)
	user, err := c.o.Accounts.UserIn(e.Request().Context(), id, chosen)
	if err != nil && app.KindOf(err) != app.NotFound {
		return nil, err
	}
	p.user, p.enrols = c.reader(user)
	return p, nil
}

// reader is a user as the pages know them. An operator without a second step of signing in is none until they have set it up:
// no page, action, stream or entry of a menu is theirs before.
func (c *Console) reader(u account.User) (_ account.User, enrols bool) {
	if u.Operator && !u.SecondStep && !c.o.OperatorsNeedNoCode {
		u.Operator = false
		return u, true
	}
	return u, false
}

// toSignIn leads a visitor to the sign-in page, and back again afterwards. The script that asked for a part of a page is
// told to leave the page: swapped in, the sign-in page would stand in the middle of another.
func (p *page) toSignIn() error {
	target := signInPath
	if next := askedFor(p.Request()); next != consolePath {
		target += "?next=" + url.QueryEscape(next)
	}
	return p.redirect(target)
}

// redirect leads to another page. For a script that asked for a part of a page it sends the header that makes the script leave the
// page.
func (p *page) redirect(target string) error {
	if forScript(p.Request()) {
		p.Response().Header().Set("HX-Redirect", target)
		return p.NoContent(http.StatusNoContent)
	}
	return p.Redirect(http.StatusSeeOther, target)
}

// askedFor is the page that a request is about, with its query: itself, or for a form or a part the one it stood on.
func askedFor(r *http.Request) string {
	if (r.Method == http.MethodGet || r.Method == http.MethodHead) && !forScript(r) {
		return safeNext(r.URL.RequestURI())
	}
	from, err := url.Parse(r.Referer())
	if err != nil {
		return consolePath
	}
	return safeNext(from.RequestURI())
}

// forScript reports whether the script asks on behalf of a page that is already there.
func forScript(r *http.Request) bool { return r.Header.Get("HX-Request") == "true" }

// safeNext returns where a form may lead afterwards: a page of the console with its query, and nothing that a stranger put into a
// link. It encodes the parsed query again, so that the result can only be a query.
func safeNext(next string) string {
	u, err := url.Parse(next)
	if err != nil || len(next) > nextBytesMax || u.Scheme != "" || u.Host != "" || u.User != nil || strings.Contains(next, `\`) ||
		(u.Path != consolePath && !strings.HasPrefix(u.Path, consolePath+"/")) || path.Clean(u.Path) != u.Path {
		return consolePath
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || len(query) == 0 {
		return u.EscapedPath()
	}
	return u.EscapedPath() + "?" + query.Encode()
}

// shell is what surrounds a page. A balance that cannot be read is shown as unknown: the page matters more.
func (c *Console) shell(p *page) views.Shell {
	s := views.Shell{
		Path: p.Request().URL.Path, Theme: themeOf(p.Request()), Now: c.o.Now(), BaseURL: c.apiURL(),
		Toasts: p.takeToast(), Mac: onMac(p.Request()), KeysOff: keysOff(p.Request()),
	}
	if !p.signedIn() {
		return s
	}
	s.Viewer = viewerOf(p)
	if p.user.AccountID == "" {
		return s
	}
	s.Viewer.Account, s.Viewer.Accounts = p.user.Account, c.choices(p)
	s.Balance = c.balanceOf(p)
	s.Unread, s.Status = c.unread(p, s.Balance), c.statusOf(p)
	if p.user.Frozen {
		s.Frozen = &views.Freeze{Reason: p.user.FrozenReason}
	}
	return s
}

func viewerOf(p *page) *views.Viewer {
	return &views.Viewer{Email: p.user.Email, Rights: p.user.Role.Rights(), Role: string(p.user.Role), Operator: p.user.Operator}
}

// balanceOf is the balance of the reader's account, unknown when it cannot be read.
func (c *Console) balanceOf(p *page) views.Balance {
	b, err := c.o.Ledger.Balance(p.Request().Context(), p.user.AccountID)
	if err != nil {
		return views.Balance{}
	}
	shown := views.Balance{Known: true, Available: b.Spendable(), LowAt: lowBalanceAt}
	if shown.Available <= 0 {
		before, err := c.o.Ledger.EntryList(p.Request().Context(), billing.EntryQuery{AccountID: p.user.AccountID, Limit: 1})
		shown.NeverFunded = err == nil && len(before.Entries) == 0
	}
	return shown
}

// bookedMax is how long a page waits for the cost of a call to show in the balance.
const bookedMax = 500 * time.Millisecond

// awaitBooks waits until the cost of the call shows in the balance. A page whose wait times out shows the balance before it.
func (c *Console) awaitBooks(p *page) {
	if c.o.Booked == nil {
		return
	}
	ctx, cancel := context.WithTimeout(p.Request().Context(), bookedMax)
	defer cancel()
	_ = c.o.Booked(ctx)
}

func (c *Console) apiURL() string { return c.o.BaseURL + "/v1" }

func themeOf(r *http.Request) ui.Theme {
	cookie, err := r.Cookie(themeCookie)
	if err != nil {
		return ui.System
	}
	return ui.ParseTheme(cookie.Value)
}

// render draws into memory first: a fault on the way never leaves half a page.
func (c *Console) render(p *page, status int, component templ.Component) error {
	if err := c.o.Sessions.Save(p.Request(), p.Response(), p.session); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := component.Render(p.Request().Context(), &b); err != nil {
		return err
	}
	return p.HTMLBlob(status, b.Bytes())
}

// redirectWithToast leaves one sentence for the next page and leads there.
func (c *Console) redirectWithToast(p *page, tone ui.Tone, text, next string) error {
	p.session.Values[toastTone], p.session.Values[toastText] = string(tone), text
	if err := c.o.Sessions.Save(p.Request(), p.Response(), p.session); err != nil {
		return err
	}
	return p.Redirect(http.StatusSeeOther, next)
}

func (p *page) takeToast() []ui.Toast {
	text, _ := p.session.Values[toastText].(string)
	tone, _ := p.session.Values[toastTone].(string)
	if text == "" {
		return nil
	}
	delete(p.session.Values, toastText)
	delete(p.session.Values, toastTone)
	return []ui.Toast{{Tone: ui.Tone(tone), Text: text}}
}

// setPreference keeps a choice of the person's in a cookie, so that the next page is already drawn that way.
func (c *Console) setPreference(p *page, name, value string) {
	//nolint:gosec // a preference is no secret: scripts read it, and plain http may be intended
	p.SetCookie(&http.Cookie{
		Name: name, Value: value, Path: consolePath, MaxAge: int(preferenceAgeMax / time.Second), Secure: c.o.Secure,
		HttpOnly: name == onboardingCookie, SameSite: http.SameSiteLaxMode,
	})
}

func (c *Console) setTheme(p *page) error {
	c.setPreference(p, themeCookie, string(ui.ParseTheme(p.FormValue("theme"))))
	return p.Redirect(http.StatusSeeOther, safeNext(p.FormValue("next")))
}
