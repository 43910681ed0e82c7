package console

import (
	"net/http"

	"umg/app"
	"umg/app/apikey"
	"umg/app/console/page"
	"umg/app/trial"
	"umg/views"
	"umg/views/format"
	keypages "umg/views/keys"
	operatorpages "umg/views/operator"
	signinpages "umg/views/signin"
	"umg/views/ui"
)

const (
	verifyPath     = page.ConsolePath + "/verify"
	verifyMailKind = "verify_email"
)

// verifyRoutes take the holder of a link, signed in or not, because users often read mail in another browser.
func (c *Console) verifyRoutes() []page.Route {
	return []page.Route{
		{Method: http.MethodGet, Path: "/verify", Open: true, Serve: c.verifyPage},
		{Method: http.MethodPost, Path: "/verify", Open: true, Serve: c.verify},
		{Method: http.MethodPost, Path: "/verify/resend", Serve: c.resendLink},
		{Method: http.MethodPost, Path: "/verify/trial", Serve: c.claimTrial},
	}
}

// trial returns the trial credit of a new account for pages, or nil on servers without trial credit.
func (c *Console) trial() *views.Trial {
	policy := c.o.Trial
	if policy.Amount <= 0 || policy.RequireVerified && !c.o.Accounts.Verifies() {
		return nil
	}
	return &views.Trial{Amount: policy.Amount, Days: policy.Days, Verified: policy.RequireVerified}
}

// verifyPage shows what a link would do and does nothing, because programs that read mail open every link. Without a link it shows a
// signed-in user the state of their address.
func (c *Console) verifyPage(p *page.Page) error {
	token := p.QueryParam("token")
	if token == "" {
		v, err := c.standing(p)
		if err != nil {
			return err
		}
		return c.Render(p, http.StatusOK, signinpages.VerifyPage(v))
	}
	v, err := c.openLink(p, token)
	if err != nil {
		return c.refuseLink(p, err)
	}
	return c.Render(p, http.StatusOK, signinpages.VerifyPage(v))
}

// openLink returns the page of a valid link. The page asks for the password where the reader is not signed in as the user whose
// address the link verifies.
func (c *Console) openLink(p *page.Page, token string) (signinpages.Verify, error) {
	email, err := c.o.Accounts.Link(p.Request().Context(), token)
	if err != nil {
		return signinpages.Verify{}, err
	}
	v := signinpages.Verify{Shell: c.Shell(p), Token: token, Email: email, Password: signinpages.LinkPassword{Asked: p.User.Email != email}}
	if trial := c.trial(); trial != nil && trial.Verified {
		v.Trial = trial
	}
	return v, nil
}

// standing returns the page without a link.
func (c *Console) standing(p *page.Page) (signinpages.Verify, error) {
	v := signinpages.Verify{Shell: c.Shell(p)}
	if !p.SignedIn() {
		return v, nil
	}
	open, err := c.unverified(p)
	if err != nil {
		return v, err
	}
	v.Email, v.Done = p.User.Email, p.User.Verified || !c.o.Accounts.Verifies()
	v.Resend = !v.Done
	if open != nil {
		v.Trial, v.Claim = open.Trial, open.Claim
	}
	if !c.o.Accounts.Verifies() {
		v.Email = ""
	}
	return v, nil
}

// unverified returns what the user still has to do about their address and their trial credit, or nil.
func (c *Console) unverified(p *page.Page) (*views.Unverified, error) {
	waits := c.o.Accounts.Verifies() && !p.User.Verified
	trial := c.trial()
	if !waits && trial == nil {
		return nil, nil
	}
	u := &views.Unverified{Email: p.User.Email}
	if trial != nil {
		open, err := c.o.Accounts.TrialOpen(p.Request().Context(), p.User)
		if err != nil {
			return nil, err
		}
		if open {
			u.Trial, u.Claim = trial, !waits || !trial.Verified
		}
	}
	if !waits && !u.Claim {
		return nil, nil
	}
	if waits {
		u.Mail = c.keptMail(p)
	}
	return u, nil
}

// keptMail returns the path of the mail with the link in the outbox of a demo. It is empty on servers that send mail.
func (c *Console) keptMail(p *page.Page) string {
	if c.o.Outbox == nil {
		return ""
	}
	found, err := c.o.Outbox.Outbox(p.Request().Context(), outboxShownMax)
	if err != nil {
		return ""
	}
	for _, m := range found {
		if m.To == p.User.Email && m.Kind == verifyMailKind {
			return operatorpages.OutboxMail{ID: m.ID}.Path()
		}
	}
	return ""
}

// verify uses a link.
func (c *Console) verify(p *page.Page) error {
	token := p.FormValue("token")
	before, err := c.unprovenKey(p)
	if err != nil {
		return err
	}
	v, err := c.o.Accounts.VerifyEmail(p.Request().Context(), p.Principal(), token, p.FormValue("password"))
	if wrong, status := refusedPassword(err); status != 0 {
		again, err := c.openLink(p, token)
		if err != nil {
			return c.refuseLink(p, err)
		}
		again.Password = wrong
		return c.Render(p, status, signinpages.VerifyPage(again))
	}
	if err != nil {
		return c.refuseLink(p, err)
	}
	verified := v.User.Email + " is verified."
	if v.First {
		verified += " Keys that were made before have ended: create new ones."
	}
	replaces := v.First && before != nil && p.User.ID == v.User.ID
	if replaces {
		verified = v.User.Email + " is verified."
	}
	said, tone := trialWords(verified, v.Trial)
	// The proof has ended all sessions of the user, who goes on in a new one. A visitor gave the password, and signs in with it: the
	// first proof has ended any second step. A reader who is signed in as another user stays so.
	if p.User.ID == v.User.ID || !p.SignedIn() && v.First {
		delete(p.Session.Values, ticketValue)
		if err := c.o.Sessions.Start(p.Response(), p.Request(), v.User); err != nil {
			return err
		}
		if replaces {
			return c.replaceKey(p, *before, tone, said)
		}
		return c.RedirectWithToast(p, tone, said, page.ConsolePath)
	}
	done := signinpages.Verify{Shell: c.Shell(p), Email: v.User.Email, Title: said, Done: true}
	return c.Render(p, http.StatusOK, signinpages.VerifyPage(done))
}

// unprovenKey returns the key that a user without a verified address has made, or nil. The verification ends it.
func (c *Console) unprovenKey(p *page.Page) (*apikey.Key, error) {
	if !p.SignedIn() || p.User.Verified || !p.Principal().Rights.Has(app.ManageKeys) {
		return nil, nil
	}
	keys, err := c.o.APIKeys.List(p.Request().Context(), p.Principal())
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	return &keys[0], nil
}

// replaceKey makes a key in place of the one that the verification of the address ended, and shows it at once: the reader comes back
// from their mail to a key on the screen. When no key can be made, the first steps offer to make one.
func (c *Console) replaceKey(p *page.Page, ended apikey.Key, tone ui.Tone, said string) error {
	p.User.Verified = true
	key, secret, err := c.o.APIKeys.Create(p.Request().Context(), p.Principal(), apikey.Spec{
		Name: ended.Name, Env: ended.Env, ErrorMode: ended.ErrorMode, Models: ended.Models, Addresses: ended.Addresses, Scopes: ended.Scopes,
	})
	if err != nil {
		return c.RedirectWithToast(p, tone, said+" Keys that were made before have ended: create new ones.", page.ConsolePath)
	}
	return c.renderOverview(p, http.StatusOK, start{
		form: keypages.NewForm(c.keyChoices(p)), fresh: &views.FreshKey{Key: viewKey(key), Secret: secret}, replaced: true, said: said,
	})
}

// refusedPassword is what the form of a mailed link says about the password that was sent with it, and the status of the page. The
// status is 0 where the password was not refused.
func refusedPassword(err error) (signinpages.LinkPassword, int) {
	refusal := app.AsError(err)
	switch {
	case err == nil:
		return signinpages.LinkPassword{}, 0
	case refusal.Kind == app.Exhausted:
		return signinpages.LinkPassword{Asked: true, Wait: max(refusal.RetryAfter, 1)}, http.StatusTooManyRequests
	case refusal.Param == "password":
		return signinpages.LinkPassword{Asked: true, Error: refusal.Message}, http.StatusUnprocessableEntity
	}
	return signinpages.LinkPassword{}, 0
}

// trialWords adds to a sentence whether trial credit was given.
func trialWords(said string, t trial.Result) (string, ui.Tone) {
	switch {
	case t.Amount > 0:
		return said + " " + format.Dollars(t.Amount) + " of trial credit was added to your account.", ui.Success
	case t.Refusal != nil:
		return said + " " + t.Refusal.Message, ui.Warning
	default:
		return said, ui.Success
	}
}

// refuseLink shows why a link does not work, and offers another link to users whose address is not verified.
func (c *Console) refuseLink(p *page.Page, err error) error {
	refusal := app.AsError(err)
	if refusal.Kind != app.NotFound && refusal.Kind != app.Conflict {
		return err
	}
	v, standingErr := c.standing(p)
	if standingErr != nil {
		return standingErr
	}
	v.Problem = refusal.Message
	switch {
	case refusal.Code == "link_used":
		v.Title = "This link was used"
	case v.Done:
	default:
		v.Title = "This link does not work"
	}
	return c.Render(p, page.Status(refusal.Kind), signinpages.VerifyPage(v))
}

func (c *Console) resendLink(p *page.Page) error {
	err := c.o.Accounts.ResendLink(p.Request().Context(), p.User.ID, p.RealIP())
	switch refusal := app.AsError(err); {
	case err == nil:
		return c.RedirectWithToast(p, ui.Success, "Another link is on its way to "+p.User.Email+".", verifyPath)
	case refusal.Kind == app.Exhausted || refusal.Kind == app.Conflict:
		return c.RedirectWithToast(p, ui.Warning, refusal.Message, verifyPath)
	}
	return err
}

func (c *Console) claimTrial(p *page.Page) error {
	t, err := c.o.Accounts.ClaimTrial(p.Request().Context(), p.User.ID, p.RealIP())
	if refusal := app.AsError(err); err != nil && refusal.Kind != app.Forbidden {
		return err
	} else if err != nil {
		t.Refusal = refusal
	}
	switch {
	case t.Amount > 0:
		return c.RedirectWithToast(p, ui.Success, format.Dollars(t.Amount)+" of trial credit was added to your account.", page.ConsolePath)
	case t.Refusal != nil:
		return c.RedirectWithToast(p, ui.Warning, t.Refusal.Message, verifyPath)
	}
	return c.RedirectWithToast(p, ui.Warning, "There is no trial credit on this server.", page.ConsolePath)
}
