package console

import (
	"net/http"

	"umg/app"
	"umg/app/account"
	"umg/views"
)

func (c *Console) entry(p *page) views.Entry {
	e := views.Entry{Shell: c.shell(p), Email: p.FormValue("email")}
	if next := safeNext(p.FormValue("next")); next != consolePath {
		e.Next = next
	}
	e.Trial = c.trial()
	return e
}

func (c *Console) signUpPage(p *page) error {
	if p.signedIn() {
		return p.Redirect(http.StatusSeeOther, consolePath)
	}
	return c.render(p, http.StatusOK, views.SignUpPage(c.entry(p)))
}

func (c *Console) signUp(p *page) error {
	user, err := c.o.Accounts.SignUp(p.Request().Context(), account.SignUp{
		Email: p.FormValue("email"), Password: p.FormValue("password"), IP: p.RealIP(),
	})
	if err != nil {
		e := c.entry(p)
		status, err := explain(&e, err)
		if err != nil {
			return err
		}
		return c.render(p, status, views.SignUpPage(e))
	}
	return c.enter(p, user)
}

func (c *Console) signInPage(p *page) error {
	if p.signedIn() {
		return p.Redirect(http.StatusSeeOther, safeNext(p.FormValue("next")))
	}
	return c.render(p, http.StatusOK, views.SignInPage(c.entry(p)))
}

func (c *Console) signIn(p *page) error {
	user, err := c.o.Accounts.SignIn(p.Request().Context(), p.FormValue("email"), p.FormValue("password"), p.RealIP())
	if err != nil {
		e := c.entry(p)
		status, err := explain(&e, err)
		if err != nil {
			return err
		}
		return c.render(p, status, views.SignInPage(e))
	}
	return c.enter(p, user)
}

// enter starts a fresh session, so that one that somebody else planted is worth nothing.
func (c *Console) enter(p *page, user account.User) error {
	if err := c.o.Sessions.Start(p.Response(), p.Request(), user.ID); err != nil {
		return err
	}
	return p.Redirect(http.StatusSeeOther, safeNext(p.FormValue("next")))
}

func (c *Console) signOut(p *page) error {
	if err := c.o.Sessions.End(p.Response(), p.Request()); err != nil {
		return err
	}
	return p.Redirect(http.StatusSeeOther, signInPath)
}

// explain puts a refusal beside the field it concerns and returns the page's status. A fault that is not the person's
// comes back as it is, for the error page.
func explain(e *views.Entry, err error) (int, error) {
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
