package console

import (
	"net/http"

	"umg/app"
	"umg/app/account"
	"umg/app/console/page"
	settingpages "umg/views/settings"
	"umg/views/ui"
)

const (
	securityPath = settingsPath + "/security"
	totpPath     = securityPath + "/codes"

	// afterCodesValue is the session value with the page to open after an operator has set up the second step.
	afterCodesValue = "after_codes"
)

// securityRoutes are the pages about the second step of signing in, and about the user's sessions.
func (c *Console) securityRoutes() []page.Route {
	const base = "/settings/security"
	return []page.Route{
		{Method: http.MethodGet, Path: base, Serve: c.security},
		{Method: http.MethodGet, Path: base + "/codes", Serve: c.totpPage},
		{Method: http.MethodPost, Path: base + "/codes", Serve: c.beginTOTP},
		{Method: http.MethodPost, Path: base + "/codes/confirm", Serve: c.confirmTOTP},
		{Method: http.MethodGet, Path: base + "/codes/off", Serve: c.askTOTPOff},
		{Method: http.MethodPost, Path: base + "/codes/off", Serve: c.disableTOTP},
		{Method: http.MethodGet, Path: base + "/recovery", Serve: c.askRecovery},
		{Method: http.MethodPost, Path: base + "/recovery", Serve: c.renewRecovery},
		{Method: http.MethodPost, Path: base + "/sessions/end", Serve: c.endOtherSessions},
		{Method: http.MethodPost, Path: base + "/sessions/:id/end", Serve: c.endSession},
	}
}

// toEnrolment leads an operator to the page on which the second step is set up, and stores the requested page in the session.
func (c *Console) toEnrolment(p *page.Page) error {
	p.Session.Values[afterCodesValue] = page.RequestedPage(p.Request())
	if err := c.SaveSession(p); err != nil {
		return err
	}
	return p.Navigate(securityPath)
}

func (c *Console) security(p *page.Page) error { return c.renderSecurity(p, http.StatusOK, "", "") }

// renderSecurity shows the page, and why setting up the second step was refused.
func (c *Console) renderSecurity(p *page.Page, status int, problem, passwordProblem string) error {
	ctx := p.Request().Context()
	found, err := c.o.Accounts.Security(ctx, p.User.ID)
	if err != nil {
		return err
	}
	list, err := c.o.Sessions.Sessions(ctx, p.User.ID)
	if err != nil {
		return err
	}
	v := settingpages.Security{
		Shell: c.Shell(p), EnabledAt: found.EnabledAt, CodesLeft: found.CodesLeft, FormError: problem, PasswordError: passwordProblem,
		Operator: p.MustEnrol,
	}
	for _, s := range list {
		v.Sessions = append(v.Sessions, settingpages.Session{
			ID: s.ID, Agent: s.UserAgent, IP: s.IP, CreatedAt: s.CreatedAt, SeenAt: s.SeenAt, Current: s.ID == account.SessionID(p.Session),
		})
	}
	return c.Render(p, status, settingpages.SecurityPage(v))
}

// totpPage shows the secret for the device while the second step is being set up.
func (c *Console) totpPage(p *page.Page) error { return c.enrol(p, http.StatusOK, "", 0) }

func (c *Console) enrol(p *page.Page, status int, problem string, wait int) error {
	found, pending, err := c.o.Accounts.PendingTOTP(p.Request().Context(), p.User)
	if err != nil {
		return err
	}
	if !pending {
		return p.Redirect(http.StatusSeeOther, securityPath)
	}
	picture, err := settingpages.QRCode(found.URL)
	if err != nil {
		return err
	}
	v := settingpages.TOTPSetup{
		Shell: c.Shell(p), Secret: found.Secret, Picture: picture, CodeError: problem, Throttled: wait > 0, Operator: p.MustEnrol,
	}
	return c.Render(p, status, settingpages.TOTPSetupPage(v))
}

func (c *Console) beginTOTP(p *page.Page) error {
	err := c.o.Accounts.BeginTOTP(p.Request().Context(), p.Principal(), p.FormValue("current_password"))
	refusal := app.AsError(err)
	switch {
	case err == nil:
		return p.Redirect(http.StatusSeeOther, totpPath)
	case refusal.Kind == app.Exhausted:
		return c.renderSecurity(p, http.StatusTooManyRequests, refusal.Message, "")
	case refusal.Code == "email_unverified":
		return c.renderSecurity(p, http.StatusForbidden, refusal.Message, "")
	case refusal.Param == "current_password":
		return c.renderSecurity(p, http.StatusUnprocessableEntity, "", refusal.Message)
	}
	return c.backToSecurity(p, err)
}

// backToSecurity leads to the page with the reason for which a change was rejected. It returns all other errors.
func (c *Console) backToSecurity(p *page.Page, err error) error {
	if refusal := app.AsError(err); refusal.Kind == app.Conflict {
		return c.RedirectWithToast(p, ui.Warning, refusal.Message, securityPath)
	}
	return err
}

func (c *Console) confirmTOTP(p *page.Page) error {
	codes, err := c.o.Accounts.ConfirmTOTP(p.Request().Context(), p.Principal(), p.FormValue("code"))
	refusal := app.AsError(err)
	switch {
	case err == nil:
		v := settingpages.RecoveryCodes{Shell: c.Shell(p), Codes: codes, Enabled: true}
		if next, ok := p.Session.Values[afterCodesValue].(string); ok {
			v.Next = page.SafeNext(next)
			delete(p.Session.Values, afterCodesValue)
		}
		return c.Render(p, http.StatusOK, settingpages.RecoveryCodesPage(v))
	case refusal.Kind == app.Exhausted:
		return c.enrol(p, http.StatusTooManyRequests, refusal.Message, 1)
	case refusal.Param == "code":
		return c.enrol(p, http.StatusUnprocessableEntity, refusal.Message, 0)
	}
	return c.backToSecurity(p, err)
}

func (c *Console) askTOTPOff(p *page.Page) error { return c.askProof(p, settingpages.TurnOff) }

func (c *Console) askRecovery(p *page.Page) error { return c.askProof(p, settingpages.Renew) }

// askProof shows a form that asks for the password again. It is for users with a second step.
func (c *Console) askProof(p *page.Page, what settingpages.ProofOf) error {
	found, err := c.o.Accounts.Security(p.Request().Context(), p.User.ID)
	if err != nil {
		return err
	}
	if found.EnabledAt == nil {
		return p.Redirect(http.StatusSeeOther, securityPath)
	}
	proof := settingpages.SecurityProof{Shell: c.Shell(p), What: what, CodesLeft: found.CodesLeft}
	return c.Render(p, http.StatusOK, settingpages.SecurityProofPage(proof))
}

// refuseProof shows such a form again.
func (c *Console) refuseProof(p *page.Page, what settingpages.ProofOf, err error) error {
	v, refusal := settingpages.SecurityProof{Shell: c.Shell(p), What: what}, app.AsError(err)
	switch {
	case refusal.Kind == app.Exhausted:
		v.FormError = refusal.Message
		return c.Render(p, http.StatusTooManyRequests, settingpages.SecurityProofPage(v))
	case refusal.Param == "current_password":
		v.PasswordError = refusal.Message
	case refusal.Param == "code":
		v.CodeError = refusal.Message
	default:
		return c.backToSecurity(p, err)
	}
	return c.Render(p, http.StatusUnprocessableEntity, settingpages.SecurityProofPage(v))
}

func (c *Console) disableTOTP(p *page.Page) error {
	err := c.o.Accounts.DisableTOTP(p.Request().Context(), p.Principal(), p.FormValue("current_password"), p.FormValue("code"))
	if err != nil {
		return c.refuseProof(p, settingpages.TurnOff, err)
	}
	return c.RedirectWithToast(p, ui.Success, "Sign-in codes were turned off.", securityPath)
}

func (c *Console) renewRecovery(p *page.Page) error {
	codes, err := c.o.Accounts.RenewCodes(p.Request().Context(), p.Principal(), p.FormValue("current_password"))
	if err != nil {
		return c.refuseProof(p, settingpages.Renew, err)
	}
	return c.Render(p, http.StatusOK, settingpages.RecoveryCodesPage(settingpages.RecoveryCodes{Shell: c.Shell(p), Codes: codes}))
}

func (c *Console) endSession(p *page.Page) error {
	if p.Param("id") == account.SessionID(p.Session) {
		return c.signOut(p)
	}
	err := c.o.Accounts.EndSession(p.Request().Context(), p.Principal(), p.Param("id"))
	return c.Done(p, err, "That session was ended.", securityPath)
}

func (c *Console) endOtherSessions(p *page.Page) error {
	n, err := c.o.Accounts.EndOtherSessions(p.Request().Context(), p.Principal(), account.SessionID(p.Session))
	if err != nil {
		return err
	}
	if n == 0 {
		return c.RedirectWithToast(p, ui.Info, "There was no other session.", securityPath)
	}
	return c.RedirectWithToast(p, ui.Success, "All other sessions were ended.", securityPath)
}
