package console

import (
	"net/http"

	"umg/app"
	"umg/app/account"
	settingpages "umg/views/settings"
	"umg/views/ui"
)

const (
	securityPath = settingsPath + "/security"
	totpPath     = securityPath + "/codes"

	afterCodesValue = "after_codes" // session value with the page to open after an operator has set up the second step
)

// securityRoutes are the pages about the second step of signing in, and about the user's sessions.
func securityRoutes() []Route {
	const base = "/settings/security"
	return []Route{
		{Method: http.MethodGet, Path: base, serve: (*Console).security},
		{Method: http.MethodGet, Path: base + "/codes", serve: (*Console).totpPage},
		{Method: http.MethodPost, Path: base + "/codes", serve: (*Console).beginTOTP},
		{Method: http.MethodPost, Path: base + "/codes/confirm", serve: (*Console).confirmTOTP},
		{Method: http.MethodGet, Path: base + "/codes/off", serve: (*Console).askTOTPOff},
		{Method: http.MethodPost, Path: base + "/codes/off", serve: (*Console).disableTOTP},
		{Method: http.MethodGet, Path: base + "/recovery", serve: (*Console).askRecovery},
		{Method: http.MethodPost, Path: base + "/recovery", serve: (*Console).renewRecovery},
		{Method: http.MethodPost, Path: base + "/sessions/end", serve: (*Console).endOtherSessions},
		{Method: http.MethodPost, Path: base + "/sessions/:id/end", serve: (*Console).endSession},
	}
}

// toEnrolment leads an operator to where the second step is set up, and remembers where they were going.
func (c *Console) toEnrolment(p *page) error {
	p.session.Values[afterCodesValue] = askedFor(p.Request())
	if err := c.o.Sessions.Save(p.Request(), p.Response(), p.session); err != nil {
		return err
	}
	return p.redirect(securityPath)
}

func (c *Console) security(p *page) error { return c.renderSecurity(p, http.StatusOK, "", "") }

// renderSecurity shows the page, and why setting up the second step was refused.
func (c *Console) renderSecurity(p *page, status int, problem, passwordProblem string) error {
	ctx := p.Request().Context()
	found, err := c.o.Accounts.Security(ctx, p.user.ID)
	if err != nil {
		return err
	}
	list, err := c.o.Sessions.Sessions(ctx, p.user.ID)
	if err != nil {
		return err
	}
	v := settingpages.Security{
		Shell: c.shell(p), EnabledAt: found.EnabledAt, CodesLeft: found.CodesLeft, FormError: problem, PasswordError: passwordProblem,
		Operator: p.enrols,
	}
	for _, s := range list {
		v.Sessions = append(v.Sessions, settingpages.Session{
			ID: s.ID, Agent: s.UserAgent, IP: s.IP, CreatedAt: s.CreatedAt, SeenAt: s.SeenAt, Current: s.ID == account.SessionID(p.session),
		})
	}
	return c.render(p, status, settingpages.SecurityPage(v))
}

// totpPage shows the secret for the device while the second step is being set up.
func (c *Console) totpPage(p *page) error { return c.enrol(p, http.StatusOK, "", 0) }

func (c *Console) enrol(p *page, status int, problem string, wait int) error {
	found, pending, err := c.o.Accounts.PendingTOTP(p.Request().Context(), p.user)
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
		Shell: c.shell(p), Secret: found.Secret, Picture: picture, CodeError: problem, Throttled: wait > 0, Operator: p.enrols,
	}
	return c.render(p, status, settingpages.TOTPSetupPage(v))
}

func (c *Console) beginTOTP(p *page) error {
	err := c.o.Accounts.BeginTOTP(p.Request().Context(), p.principal(), p.FormValue("current_password"))
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

// backToSecurity tells on the page why something was not done, where that is the reader's to know.
func (c *Console) backToSecurity(p *page, err error) error {
	if refusal := app.AsError(err); refusal.Kind == app.Conflict {
		return c.redirectWithToast(p, ui.Warning, refusal.Message, securityPath)
	}
	return err
}

func (c *Console) confirmTOTP(p *page) error {
	codes, err := c.o.Accounts.ConfirmTOTP(p.Request().Context(), p.principal(), p.FormValue("code"))
	refusal := app.AsError(err)
	switch {
	case err == nil:
		v := settingpages.RecoveryCodes{Shell: c.shell(p), Codes: codes, Enabled: true}
		if next, ok := p.session.Values[afterCodesValue].(string); ok {
			v.Next = safeNext(next)
			delete(p.session.Values, afterCodesValue)
		}
		return c.render(p, http.StatusOK, settingpages.RecoveryCodesPage(v))
	case refusal.Kind == app.Exhausted:
		return c.enrol(p, http.StatusTooManyRequests, refusal.Message, 1)
	case refusal.Param == "code":
		return c.enrol(p, http.StatusUnprocessableEntity, refusal.Message, 0)
	}
	return c.backToSecurity(p, err)
}

func (c *Console) askTOTPOff(p *page) error { return c.askProof(p, settingpages.TurnOff) }

func (c *Console) askRecovery(p *page) error { return c.askProof(p, settingpages.Renew) }

// askProof is the form of something that takes the password again. It is for who has a second step.
func (c *Console) askProof(p *page, what settingpages.ProofOf) error {
	found, err := c.o.Accounts.Security(p.Request().Context(), p.user.ID)
	if err != nil {
		return err
	}
	if found.EnabledAt == nil {
		return p.Redirect(http.StatusSeeOther, securityPath)
	}
	return c.render(p, http.StatusOK, settingpages.SecurityProofPage(settingpages.SecurityProof{Shell: c.shell(p), What: what,
		CodesLeft: found.CodesLeft}))
}

// refuseProof shows such a form again.
func (c *Console) refuseProof(p *page, what settingpages.ProofOf, err error) error {
	v, refusal := settingpages.SecurityProof{Shell: c.shell(p), What: what}, app.AsError(err)
	switch {
	case refusal.Kind == app.Exhausted:
		v.FormError = refusal.Message
		return c.render(p, http.StatusTooManyRequests, settingpages.SecurityProofPage(v))
	case refusal.Param == "current_password":
		v.PasswordError = refusal.Message
	case refusal.Param == "code":
		v.CodeError = refusal.Message
	default:
		return c.backToSecurity(p, err)
	}
	return c.render(p, http.StatusUnprocessableEntity, settingpages.SecurityProofPage(v))
}

func (c *Console) disableTOTP(p *page) error {
	err := c.o.Accounts.DisableTOTP(p.Request().Context(), p.principal(), p.FormValue("current_password"), p.FormValue("code"))
	if err != nil {
		return c.refuseProof(p, settingpages.TurnOff, err)
	}
	return c.redirectWithToast(p, ui.Success, "Sign-in codes were turned off.", securityPath)
}

func (c *Console) renewRecovery(p *page) error {
	codes, err := c.o.Accounts.RenewCodes(p.Request().Context(), p.principal(), p.FormValue("current_password"))
	if err != nil {
		return c.refuseProof(p, settingpages.Renew, err)
	}
	return c.render(p, http.StatusOK, settingpages.RecoveryCodesPage(settingpages.RecoveryCodes{Shell: c.shell(p), Codes: codes}))
}

func (c *Console) endSession(p *page) error {
	if p.Param("id") == account.SessionID(p.session) {
		return c.signOut(p)
	}
	if err := c.o.Accounts.EndSession(p.Request().Context(), p.principal(), p.Param("id")); err != nil {
		return err
	}
	return c.redirectWithToast(p, ui.Success, "That session was ended.", securityPath)
}

func (c *Console) endOtherSessions(p *page) error {
	n, err := c.o.Accounts.EndOtherSessions(p.Request().Context(), p.principal(), account.SessionID(p.session))
	if err != nil {
		return err
	}
	if n == 0 {
		return c.redirectWithToast(p, ui.Info, "There was no other session.", securityPath)
	}
	return c.redirectWithToast(p, ui.Success, "All other sessions were ended.", securityPath)
}
