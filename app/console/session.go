package console

import (
	"net/http"
	"net/url"

	"umg/app"
	"umg/app/account"
	"umg/app/console/page"
	signinpages "umg/views/signin"
	"umg/views/ui"

	"github.com/a-h/templ"
)

const (
	codePath    = page.SignInPath + "/code"
	ticketValue = "ticket" // This session value marks a user who gave the password but no code yet.
)

func (c *Console) entry(p *page.Page) signinpages.Entry {
	return signinpages.Entry{Shell: c.Shell(p), Email: p.FormValue("email"), Next: nextPath(p), Trial: c.trial()}
}

// nextPath is the page to open after signing in. It is empty for the first page of the console.
func nextPath(p *page.Page) string {
	if next := page.SafeNext(p.FormValue("next")); next != page.ConsolePath {
		return next
	}
	return ""
}

func (c *Console) signUpPage(p *page.Page) error {
	if p.SignedIn() {
		return p.Redirect(http.StatusSeeOther, page.ConsolePath)
	}
	return c.Render(p, http.StatusOK, signinpages.SignUpPage(c.entry(p)))
}

func (c *Console) signUp(p *page.Page) error {
	user, err := c.o.Accounts.SignUp(p.Request().Context(), account.SignUp{
		Email: p.FormValue("email"), Password: p.FormValue("password"), IP: p.RealIP(),
	})
	if err != nil {
		return c.refuseEntry(p, signinpages.SignUpPage, err)
	}
	return c.enter(p, user)
}

func (c *Console) signInPage(p *page.Page) error {
	if p.SignedIn() {
		return p.Redirect(http.StatusSeeOther, page.SafeNext(p.FormValue("next")))
	}
	e := c.entry(p)
	if c.o.Setup != nil {
		// A state that cannot be read is that of a gateway in use: the page matters more.
		e.Setup, _ = c.o.Setup.Open(p.Request().Context())
	}
	return c.Render(p, http.StatusOK, signinpages.Page(e))
}

func (c *Console) signIn(p *page.Page) error {
	in, err := c.o.Accounts.SignIn(p.Request().Context(), p.FormValue("email"), p.FormValue("password"), p.RealIP())
	if err != nil {
		return c.refuseEntry(p, signinpages.Page, err)
	}
	if in.Ticket == "" {
		return c.enter(p, in.User)
	}
	// A fresh session of a visitor remembers that the password was right.
	p.Session.Values[ticketValue] = in.Ticket
	if err := c.o.Sessions.Start(p.Response(), p.Request(), account.User{}); err != nil {
		return err
	}
	return p.Redirect(http.StatusSeeOther, withNext(p, codePath))
}

// withNext keeps the page to open after signing in on the way to another form.
func withNext(p *page.Page, path string) string {
	if next := nextPath(p); next != "" {
		path += "?next=" + url.QueryEscape(next)
	}
	return path
}

// codePage asks for the second step of signing in.
func (c *Console) codePage(p *page.Page) error {
	if p.SignedIn() {
		return p.Redirect(http.StatusSeeOther, page.SafeNext(p.FormValue("next")))
	}
	if ticketOf(p) == "" {
		return p.Redirect(http.StatusSeeOther, withNext(p, page.SignInPath))
	}
	return c.Render(p, http.StatusOK, signinpages.CodePage(c.secondStep(p)))
}

func (c *Console) secondStep(p *page.Page) signinpages.SecondStep {
	return signinpages.SecondStep{Shell: c.Shell(p), Recovery: p.FormValue("with") == "recovery", Next: nextPath(p)}
}

// ticketOf returns the ticket that proves that the reader of this session gave the right password.
func ticketOf(p *page.Page) string {
	text, _ := p.Session.Values[ticketValue].(string)
	return text
}

// signInCode takes the second step.
func (c *Console) signInCode(p *page.Page) error {
	if ticketOf(p) == "" {
		return p.Redirect(http.StatusSeeOther, withNext(p, page.SignInPath))
	}
	user, err := c.o.Accounts.FinishSignIn(p.Request().Context(), ticketOf(p), p.FormValue("code"), p.Principal().From)
	if err == nil {
		return c.enter(p, user)
	}
	refusal, s := app.AsError(err), c.secondStep(p)
	switch {
	case refusal.Param == "code":
		s.CodeError = refusal.Message
		return c.Render(p, http.StatusUnprocessableEntity, signinpages.CodePage(s))
	case refusal.Kind == app.Exhausted:
		s.Wait = max(refusal.RetryAfter, 1)
		return c.Render(p, http.StatusTooManyRequests, signinpages.CodePage(s))
	case refusal.Kind == app.Unauthenticated || refusal.Kind == app.Conflict || refusal.Kind == app.NotFound:
		delete(p.Session.Values, ticketValue)
		return c.RedirectWithToast(p, ui.Warning, refusal.Message, withNext(p, page.SignInPath))
	}
	return err
}

// enter starts a new session, so that a session planted by an attacker is useless.
func (c *Console) enter(p *page.Page, user account.User) error {
	delete(p.Session.Values, ticketValue)
	next := page.SafeNext(p.FormValue("next"))
	if _, enrols := c.Reader(user); enrols {
		p.Session.Values[afterCodesValue], next = next, securityPath
	}
	if err := c.o.Sessions.Start(p.Response(), p.Request(), user); err != nil {
		return err
	}
	return p.Redirect(http.StatusSeeOther, next)
}

func (c *Console) signOut(p *page.Page) error {
	if err := c.o.Sessions.End(p.Response(), p.Request()); err != nil {
		return err
	}
	return p.Redirect(http.StatusSeeOther, page.SignInPath)
}

// refuseEntry shows the form again with the refusal beside the field that it is about. It returns errors that are not the person's.
func (c *Console) refuseEntry(p *page.Page, draw func(signinpages.Entry) templ.Component, err error) error {
	e, refusal, status := c.entry(p), app.AsError(err), http.StatusUnprocessableEntity
	switch {
	case refusal.Kind == app.Exhausted:
		e.Wait, status = max(refusal.RetryAfter, 1), http.StatusTooManyRequests
	case refusal.Param == "email":
		e.EmailError = refusal.Message
	case refusal.Param == "password":
		e.PasswordError = refusal.Message
	case refusal.Kind == app.Invalid || refusal.Kind == app.Unauthenticated || refusal.Kind == app.Conflict:
		e.FormError = refusal.Message
	default:
		return err
	}
	return c.Render(p, status, draw(e))
}
