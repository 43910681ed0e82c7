package console

import (
	"net/http"

	"umg/app"
	signinpages "umg/views/signin"
)

// signInRoutes are the pages around signing in: the second step, and the reset of a lost password.
func signInRoutes() []Route {
	return []Route{
		{Method: http.MethodGet, Path: "/sign-in/code", Open: true, serve: (*Console).codePage},
		{Method: http.MethodPost, Path: "/sign-in/code", Open: true, serve: (*Console).signInCode},
		{Method: http.MethodGet, Path: "/forgot", Open: true, serve: (*Console).forgotPage},
		{Method: http.MethodPost, Path: "/forgot", Open: true, serve: (*Console).forgot},
		{Method: http.MethodGet, Path: "/reset", Open: true, serve: (*Console).resetPage},
		{Method: http.MethodPost, Path: "/reset", Open: true, serve: (*Console).reset},
		{Method: http.MethodGet, Path: "/email", Open: true, serve: (*Console).emailPage},
		{Method: http.MethodPost, Path: "/email", Open: true, serve: (*Console).changeEmail},
	}
}

func (c *Console) forgotPage(p *page) error {
	return c.render(p, http.StatusOK, signinpages.ForgotPage(c.forgotten(p)))
}

func (c *Console) forgotten(p *page) signinpages.Forgot {
	return signinpages.Forgot{Shell: c.shell(p), Email: p.FormValue("email"), NoMail: !c.o.Accounts.Verifies()}
}

// forgot gives the same answer for known and unknown addresses.
func (c *Console) forgot(p *page) error {
	f := c.forgotten(p)
	if f.NoMail {
		return c.render(p, http.StatusConflict, signinpages.ForgotPage(f))
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
	return c.render(p, status, signinpages.ForgotPage(f))
}

// resetPage shows what a link would do and does nothing: programs that read mail open every link.
func (c *Console) resetPage(p *page) error {
	token := p.QueryParam("token")
	email, err := c.o.Accounts.ResetLink(p.Request().Context(), token)
	if err != nil {
		return c.refuseReset(p, err)
	}
	return c.render(p, http.StatusOK, signinpages.ResetPage(signinpages.Reset{Shell: c.shell(p), Token: token, Email: email}))
}

func (c *Console) refuseReset(p *page, err error) error {
	refusal := app.AsError(err)
	if refusal.Kind != app.NotFound && refusal.Kind != app.Conflict {
		return err
	}
	r := signinpages.Reset{Shell: c.shell(p), Problem: refusal.Message}
	return c.render(p, statusOf[refusal.Kind], signinpages.ResetPage(r))
}

// reset uses a link. It signs the link's user out of this browser.
func (c *Console) reset(p *page) error {
	ctx, token := p.Request().Context(), p.FormValue("token")
	email, err := c.o.Accounts.ResetLink(ctx, token)
	if err != nil {
		return c.refuseReset(p, err)
	}
	err = c.o.Accounts.ResetPassword(ctx, token, p.FormValue("password"), p.principal().From)
	refusal := app.AsError(err)
	switch {
	case err == nil:
	case refusal.Param == "password":
		r := signinpages.Reset{Shell: c.shell(p), Token: token, Email: email, PasswordError: refusal.Message}
		return c.render(p, http.StatusUnprocessableEntity, signinpages.ResetPage(r))
	default:
		return c.refuseReset(p, err)
	}
	if err := c.o.Sessions.End(p.Response(), p.Request()); err != nil {
		return err
	}
	p.user.ID = ""
	return c.render(p, http.StatusOK, signinpages.ResetPage(signinpages.Reset{Shell: c.shell(p), Email: email, Done: true}))
}

// emailPage shows what a link to another address would do.
func (c *Console) emailPage(p *page) error {
	e, err := c.openEmail(p, p.QueryParam("token"))
	if err != nil {
		return c.refuseEmail(p, err)
	}
	return c.render(p, http.StatusOK, signinpages.EmailChangePage(e))
}

// openEmail is the page of a link that can be used. It asks for the password where the reader is not signed in as the user whose
// address the link changes.
func (c *Console) openEmail(p *page, token string) (signinpages.EmailChange, error) {
	from, to, err := c.o.Accounts.EmailLink(p.Request().Context(), token)
	if err != nil {
		return signinpages.EmailChange{}, err
	}
	return signinpages.EmailChange{Shell: c.shell(p), Token: token, From: from, To: to,
		Password: signinpages.LinkPassword{Asked: p.user.Email != from}}, nil
}

func (c *Console) refuseEmail(p *page, err error) error {
	refusal := app.AsError(err)
	if refusal.Kind != app.NotFound && refusal.Kind != app.Conflict {
		return err
	}
	e := signinpages.EmailChange{Shell: c.shell(p), Problem: refusal.Message}
	return c.render(p, statusOf[refusal.Kind], signinpages.EmailChangePage(e))
}

func (c *Console) changeEmail(p *page) error {
	token := p.FormValue("token")
	to, err := c.o.Accounts.ChangeEmail(p.Request().Context(), p.principal(), token, p.FormValue("password"))
	if wrong, status := refusedPassword(err); status != 0 {
		again, err := c.openEmail(p, token)
		if err != nil {
			return c.refuseEmail(p, err)
		}
		again.Password = wrong
		return c.render(p, status, signinpages.EmailChangePage(again))
	}
	if err != nil {
		return c.refuseEmail(p, err)
	}
	return c.render(p, http.StatusOK, signinpages.EmailChangePage(signinpages.EmailChange{Shell: c.shell(p), To: to, Done: true}))
}
