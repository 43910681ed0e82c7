package console

import (
	"net/http"

	"umg/app"
	"umg/app/console/page"
	signinpages "umg/views/signin"
)

// signInRoutes are the pages around signing in: the second step, and the reset of a lost password.
func (c *Console) signInRoutes() []page.Route {
	return []page.Route{
		{Method: http.MethodGet, Path: "/sign-in/code", Open: true, Serve: c.codePage},
		{Method: http.MethodPost, Path: "/sign-in/code", Open: true, Serve: c.signInCode},
		{Method: http.MethodGet, Path: "/forgot", Open: true, Serve: c.forgotPage},
		{Method: http.MethodPost, Path: "/forgot", Open: true, Serve: c.forgot},
		{Method: http.MethodGet, Path: "/reset", Open: true, Serve: c.resetPage},
		{Method: http.MethodPost, Path: "/reset", Open: true, Serve: c.reset},
		{Method: http.MethodGet, Path: "/email", Open: true, Serve: c.emailPage},
		{Method: http.MethodPost, Path: "/email", Open: true, Serve: c.changeEmail},
	}
}

func (c *Console) forgotPage(p *page.Page) error {
	return c.Render(p, http.StatusOK, signinpages.ForgotPage(c.forgotten(p)))
}

func (c *Console) forgotten(p *page.Page) signinpages.Forgot {
	return signinpages.Forgot{Shell: c.Shell(p), Email: p.FormValue("email"), NoMail: !c.o.Accounts.Verifies()}
}

// forgot gives the same answer for known and unknown addresses.
func (c *Console) forgot(p *page.Page) error {
	f := c.forgotten(p)
	if f.NoMail {
		return c.Render(p, http.StatusConflict, signinpages.ForgotPage(f))
	}
	err := c.o.Accounts.AskReset(p.Request().Context(), f.Email, p.RealIP())
	refusal, status := app.AsError(err), http.StatusOK
	switch {
	case err == nil:
		f.Sent = true
	case refusal.Kind == app.Exhausted:
		f.Wait, status = max(refusal.RetryAfter, 1), http.StatusTooManyRequests
	case refusal.Param == "email":
		f.EmailError, status = refusal.Message, http.StatusUnprocessableEntity
	default:
		return err
	}
	return c.Render(p, status, signinpages.ForgotPage(f))
}

// resetPage shows what a link would do and does nothing: programs that read mail open every link.
func (c *Console) resetPage(p *page.Page) error {
	token := p.QueryParam("token")
	email, err := c.o.Accounts.ResetLink(p.Request().Context(), token)
	if err != nil {
		return c.refuseReset(p, err)
	}
	return c.Render(p, http.StatusOK, signinpages.ResetPage(signinpages.Reset{Shell: c.Shell(p), Token: token, Email: email}))
}

func (c *Console) refuseReset(p *page.Page, err error) error {
	refusal := app.AsError(err)
	if refusal.Kind != app.NotFound && refusal.Kind != app.Conflict {
		return err
	}
	r := signinpages.Reset{Shell: c.Shell(p), Problem: refusal.Message}
	return c.Render(p, page.Status(refusal.Kind), signinpages.ResetPage(r))
}

// reset uses a link. It signs the link's user out of this browser.
func (c *Console) reset(p *page.Page) error {
	ctx, token := p.Request().Context(), p.FormValue("token")
	email, err := c.o.Accounts.ResetLink(ctx, token)
	if err != nil {
		return c.refuseReset(p, err)
	}
	err = c.o.Accounts.ResetPassword(ctx, token, p.FormValue("password"), p.Principal().From)
	refusal := app.AsError(err)
	switch {
	case err == nil:
	case refusal.Param == "password":
		r := signinpages.Reset{Shell: c.Shell(p), Token: token, Email: email, PasswordError: refusal.Message}
		return c.Render(p, http.StatusUnprocessableEntity, signinpages.ResetPage(r))
	default:
		return c.refuseReset(p, err)
	}
	if err := c.o.Sessions.End(p.Response(), p.Request()); err != nil {
		return err
	}
	p.User.ID = ""
	return c.Render(p, http.StatusOK, signinpages.ResetPage(signinpages.Reset{Shell: c.Shell(p), Email: email, Done: true}))
}

// emailPage shows what a link to another address would do.
func (c *Console) emailPage(p *page.Page) error {
	e, err := c.openEmail(p, p.QueryParam("token"))
	if err != nil {
		return c.refuseEmail(p, err)
	}
	return c.Render(p, http.StatusOK, signinpages.EmailChangePage(e))
}

// openEmail returns the page of a valid link. The page asks for the password where the reader is not signed in as the user whose
// address the link changes.
func (c *Console) openEmail(p *page.Page, token string) (signinpages.EmailChange, error) {
	from, to, err := c.o.Accounts.EmailLink(p.Request().Context(), token)
	if err != nil {
		return signinpages.EmailChange{}, err
	}
	return signinpages.EmailChange{Shell: c.Shell(p), Token: token, From: from, To: to,
		Password: signinpages.LinkPassword{Asked: p.User.Email != from}}, nil
}

func (c *Console) refuseEmail(p *page.Page, err error) error {
	refusal := app.AsError(err)
	if refusal.Kind != app.NotFound && refusal.Kind != app.Conflict {
		return err
	}
	e := signinpages.EmailChange{Shell: c.Shell(p), Problem: refusal.Message}
	return c.Render(p, page.Status(refusal.Kind), signinpages.EmailChangePage(e))
}

func (c *Console) changeEmail(p *page.Page) error {
	token := p.FormValue("token")
	to, err := c.o.Accounts.ChangeEmail(p.Request().Context(), p.Principal(), token, p.FormValue("password"))
	if wrong, status := refusedPassword(err); status != 0 {
		again, err := c.openEmail(p, token)
		if err != nil {
			return c.refuseEmail(p, err)
		}
		again.Password = wrong
		return c.Render(p, status, signinpages.EmailChangePage(again))
	}
	if err != nil {
		return c.refuseEmail(p, err)
	}
	return c.Render(p, http.StatusOK, signinpages.EmailChangePage(signinpages.EmailChange{Shell: c.Shell(p), To: to, Done: true}))
}
