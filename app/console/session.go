package console

import (
	"net/http"
	"net/url"

	"umg/app"
	"umg/app/account"
	"umg/app/console/page"
	signinpages "umg/views/signin"
	"umg/views/ui"
)

const (
	codePath    = page.SignInPath + "/code"
	ticketValue = "ticket" // session value of a user who gave the password but no code yet
)

func (c *Console) entry(p *page.Page) signinpages.Entry {
	e := signinpages.Entry{Shell: c.Shell(p), Email: p.FormValue("email")}
	if next := page.SafeNext(p.FormValue("next")); next != page.ConsolePath {
		e.Next = next
	}
	e.Trial = c.trial()
	return e
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
		e := c.entry(p)
		status, err := explain(&e, err)
		if err != nil {
			return err
		}
		return c.Render(p, status, signinpages.SignUpPage(e))
	}
	return c.enter(p, user)
}

func (c *Console) signInPage(p *page.Page) error {
	if p.SignedIn() {
		return p.Redirect(http.StatusSeeOther, page.SafeNext(p.FormValue("next")))
	}
	return c.Render(p, http.StatusOK, signinpages.Page(c.entry(p)))
}

func (c *Console) signIn(p *page.Page) error {
	in, err := c.o.Accounts.SignIn(p.Request().Context(), p.FormValue("email"), p.FormValue("password"), p.RealIP())
	if err != nil {
		e := c.entry(p)
		status, err := explain(&e, err)
		if err != nil {
			return err
		}
		return c.Render(p, status, signinpages.Page(e))
	}
	if in.Ticket != "" {
		return c.halfway(p, in.Ticket)
	}
	return c.enter(p, in.User)
}

// halfway starts a fresh visitor's session, which remembers that the password was right.
func (c *Console) halfway(p *page.Page, ticket string) error {
	p.Session.Values[ticketValue] = ticket
	if err := c.o.Sessions.Start(p.Response(), p.Request(), account.User{}); err != nil {
		return err
	}
	return p.Redirect(http.StatusSeeOther, withNext(codePath, p.FormValue("next")))
}

// withNext keeps where to go afterwards on the way to another form.
func withNext(path, next string) string {
	if next = page.SafeNext(next); next != page.ConsolePath {
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
		return p.Redirect(http.StatusSeeOther, withNext(page.SignInPath, p.FormValue("next")))
	}
	return c.Render(p, http.StatusOK, signinpages.CodePage(c.secondStep(p)))
}

func (c *Console) secondStep(p *page.Page) signinpages.SecondStep {
	s := signinpages.SecondStep{Shell: c.Shell(p), Recovery: p.FormValue("with") == "recovery"}
	if next := page.SafeNext(p.FormValue("next")); next != page.ConsolePath {
		s.Next = next
	}
	return s
}

// ticketOf is what shows that the password of this session's reader was right.
func ticketOf(p *page.Page) string {
	text, _ := p.Session.Values[ticketValue].(string)
	return text
}

// signInCode takes the second step.
func (c *Console) signInCode(p *page.Page) error {
	if ticketOf(p) == "" {
		return p.Redirect(http.StatusSeeOther, withNext(page.SignInPath, p.FormValue("next")))
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
		return c.RedirectWithToast(p, ui.Warning, refusal.Message, withNext(page.SignInPath, p.FormValue("next")))
	}
	return err
}

// enter starts a fresh session, so that a session that an attacker planted is worth nothing.
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

// explain puts a refusal beside the field it concerns and returns the page's status. A fault that is not the person's
// comes back as it is, for the error page.
func explain(e *signinpages.Entry, err error) (int, error) {
	refusal := app.AsError(err)
	switch {
	case refusal.Kind == app.Exhausted:
		e.Wait = max(refusal.RetryAfter, 1)
		return http.StatusTooManyRequests, nil
	case refusal.Param == "email":
		e.EmailError = refusal.Message
	case refusal.Param == "password":
		e.PasswordError = refusal.Message
	case refusal.Kind == app.Invalid || refusal.Kind == app.Unauthenticated || refusal.Kind == app.Conflict:
		e.FormError = refusal.Message
	default:
		return 0, err
	}
	return http.StatusUnprocessableEntity, nil
}
