package console

import (
	"net/http"
	"strings"

	"umg/app"
	"umg/app/account"
	settingpages "umg/views/settings"
	"umg/views/ui"
	videopages "umg/views/videos"
)

// profileRoutes are what a user changes about themself.
func profileRoutes() []Route {
	return []Route{
		{Method: http.MethodGet, Path: "/settings", serve: (*Console).profile},
		{Method: http.MethodPost, Path: "/settings/name", serve: (*Console).rename},
		{Method: http.MethodPost, Path: "/settings/email", serve: (*Console).askEmail},
		{Method: http.MethodPost, Path: "/settings/password", serve: (*Console).changePassword},
		{Method: http.MethodPost, Path: "/settings/videos", serve: (*Console).setVideoAsk},
	}
}

func (c *Console) profile(p *page) error {
	v, err := c.profileOf(p)
	if err != nil {
		return err
	}
	return c.render(p, http.StatusOK, settingpages.ProfilePage(v))
}

func (c *Console) profileOf(p *page) (settingpages.Profile, error) {
	found, err := c.o.Accounts.Profile(p.Request().Context(), p.user.ID)
	if err != nil {
		return settingpages.Profile{}, err
	}
	above, err := c.o.Accounts.VideoAskAbove(p.Request().Context(), p.user.ID)
	return settingpages.Profile{
		Shell: c.shell(p), Name: found.Name, Email: found.Email, Pending: found.Pending, PasswordAt: found.ChangedAt,
		NoMail: !c.o.Accounts.Verifies(), VideoAsk: above.String(),
	}, err
}

// setVideoAsk sets above which price the playground asks before it makes videos.
func (c *Console) setVideoAsk(p *page) error {
	written := strings.TrimPrefix(strings.TrimSpace(p.FormValue("video_ask_above")), "$")
	above, err := app.ParseAmount(written)
	if err != nil {
		err = app.Errorf(app.Invalid, "invalid_request_error", "Write an amount in dollars, such as 5 or 2.50; 0 asks each time.").
			At("video_ask_above").Because(err)
	} else {
		err = c.o.Accounts.SetVideoAskAbove(p.Request().Context(), p.user.ID, above)
	}
	if err != nil {
		return c.refuseProfile(p, err, func(v *settingpages.Profile, e *app.Error) bool {
			v.VideoAsk, v.VideoAskError = written, e.Message
			return e.Param == "video_ask_above"
		})
	}
	return c.redirectWithToast(p, ui.Success, "You are asked "+videopages.AskWords(above)+".", settingsPath)
}

// refuseProfile shows the page again with what was wrong. Put places a message that belongs to a field, and says whether it
// knows it.
func (c *Console) refuseProfile(p *page, err error, put func(*settingpages.Profile, *app.Error) bool) error {
	refusal := app.AsError(err)
	v, readErr := c.profileOf(p)
	if readErr != nil {
		return readErr
	}
	known := put(&v, refusal)
	switch {
	case refusal.Kind == app.Exhausted:
		return c.render(p, http.StatusTooManyRequests, settingpages.ProfilePage(v))
	case known:
		return c.render(p, http.StatusUnprocessableEntity, settingpages.ProfilePage(v))
	}
	return err
}

func (c *Console) rename(p *page) error {
	name := p.FormValue("name")
	if err := c.o.Accounts.Rename(p.Request().Context(), p.principal(), name); err != nil {
		return c.refuseProfile(p, err, func(v *settingpages.Profile, e *app.Error) bool {
			v.Name, v.NameError = name, e.Message
			return e.Param == "name"
		})
	}
	return c.redirectWithToast(p, ui.Success, "Your name was saved.", settingsPath)
}

func (c *Console) askEmail(p *page) error {
	email := p.FormValue("email")
	to, err := c.o.Accounts.AskEmail(p.Request().Context(), p.principal(), p.FormValue("current_password"), email)
	if err != nil {
		return c.refuseProfile(p, err, func(v *settingpages.Profile, e *app.Error) bool {
			v.NewEmail = email
			switch e.Param {
			case "email":
				v.NewEmailError = e.Message
			case "current_password":
				v.EmailPasswordError = e.Message
			default:
				v.EmailFormError = e.Message
				return e.Kind == app.Conflict
			}
			return true
		})
	}
	return c.redirectWithToast(p, ui.Success, "A link is on its way to "+to+". Open it within 24 hours.", settingsPath)
}

func (c *Console) changePassword(p *page) error {
	err := c.o.Accounts.ChangePassword(p.Request().Context(), p.principal(), p.FormValue("current_password"), p.FormValue("password"),
		account.SessionID(p.session))
	if err != nil {
		return c.refuseProfile(p, err, func(v *settingpages.Profile, e *app.Error) bool {
			switch e.Param {
			case "password":
				v.PasswordError = e.Message
			case "current_password":
				v.CurrentError = e.Message
			default:
				v.PasswordFormError = e.Message
				return e.Kind == app.Conflict
			}
			return true
		})
	}
	return c.redirectWithToast(p, ui.Success, "Your password was changed, and all other sessions were ended.", settingsPath)
}
