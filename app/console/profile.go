package console

import (
	"net/http"
	"strings"

	"umg/app"
	"umg/app/account"
	"umg/app/console/page"
	"umg/views/format"
	settingpages "umg/views/settings"
	"umg/views/ui"
	videopages "umg/views/videos"
)

// profileRoutes are what a user changes about themself.
func (c *Console) profileRoutes() []page.Route {
	return []page.Route{
		{Method: http.MethodGet, Path: "/settings", Serve: c.profile},
		{Method: http.MethodPost, Path: "/settings/name", Serve: c.rename},
		{Method: http.MethodPost, Path: "/settings/email", Serve: c.askEmail},
		{Method: http.MethodPost, Path: "/settings/password", Serve: c.changePassword},
		{Method: http.MethodPost, Path: "/settings/videos", Serve: c.setVideoAsk},
		{Method: http.MethodPost, Path: "/settings/times", Serve: c.setTimes},
	}
}

func (c *Console) profile(p *page.Page) error {
	v, err := c.profileOf(p)
	return page.Show(c.Renderer, p, http.StatusOK, settingpages.ProfilePage, v, err)
}

func (c *Console) profileOf(p *page.Page) (settingpages.Profile, error) {
	found, err := c.o.Accounts.Profile(p.Request().Context(), p.User.ID)
	if err != nil {
		return settingpages.Profile{}, err
	}
	above, err := c.o.Accounts.VideoAskAbove(p.Request().Context(), p.User.ID)
	return settingpages.Profile{
		Shell: c.Shell(p), Name: found.Name, Email: found.Email, Pending: found.Pending, PasswordAt: found.ChangedAt,
		NoMail: !c.o.Accounts.Verifies(), VideoAsk: above.String(), TimeZone: p.User.TimeZone, TimeClock: p.User.Clock, Region: p.User.Region,
	}, err
}

// setVideoAsk sets above which price the playground asks before it makes videos.
func (c *Console) setVideoAsk(p *page.Page) error {
	written := strings.TrimPrefix(strings.TrimSpace(p.FormValue("video_ask_above")), "$")
	above, err := app.ParseAmount(written)
	if err != nil {
		err = app.Errorf(app.Invalid, "invalid_request_error", "Write an amount in dollars, such as 5 or 2.50; 0 asks each time.").
			At("video_ask_above").Because(err)
	} else {
		err = c.o.Accounts.SetVideoAskAbove(p.Request().Context(), p.User.ID, above)
	}
	if err != nil {
		return c.refuseProfile(p, err, func(v *settingpages.Profile, e *app.Error) bool {
			v.VideoAsk, v.VideoAskError = written, e.Message
			return e.Param == "video_ask_above"
		})
	}
	return c.RedirectWithToast(p, ui.Success, "You are asked "+videopages.AskWords(above)+".", settingsPath)
}

// setTimes sets in which zone and with which clock the reader sees times, and how numbers and days are written.
func (c *Console) setTimes(p *page.Page) error {
	zone, clock, region := strings.TrimSpace(p.FormValue("time_zone")), p.FormValue("clock"), p.FormValue("region")
	var err error
	if known, _ := format.FindRegion(region); known.ID != region {
		err = app.InvalidRequest("region", "The region is not known. Choose one of the list.")
	} else {
		err = c.o.Accounts.SetFormats(p.Request().Context(), p.User.ID, zone, clock, region)
	}
	if err != nil {
		return c.refuseProfile(p, err, func(v *settingpages.Profile, e *app.Error) bool {
			v.TimeZone, v.TimeClock, v.Region, v.ZoneError = zone, clock, region, e.Message
			return e.Param == "time_zone" || e.Param == "clock" || e.Param == "region"
		})
	}
	return c.RedirectWithToast(p, ui.Success, "Dates and numbers are saved.", settingsPath)
}

// refuseProfile shows the page again with what was wrong. Put places a message that belongs to a field, and says whether it knows it.
func (c *Console) refuseProfile(p *page.Page, err error, put func(*settingpages.Profile, *app.Error) bool) error {
	refusal := app.AsError(err)
	v, readErr := c.profileOf(p)
	if readErr != nil {
		return readErr
	}
	known := put(&v, refusal)
	switch {
	case refusal.Kind == app.Exhausted:
		return c.Render(p, http.StatusTooManyRequests, settingpages.ProfilePage(v))
	case known:
		return c.Render(p, http.StatusUnprocessableEntity, settingpages.ProfilePage(v))
	}
	return err
}

func (c *Console) rename(p *page.Page) error {
	name := p.FormValue("name")
	if err := c.o.Accounts.Rename(p.Request().Context(), p.Principal(), name); err != nil {
		return c.refuseProfile(p, err, func(v *settingpages.Profile, e *app.Error) bool {
			v.Name, v.NameError = name, e.Message
			return e.Param == "name"
		})
	}
	return c.RedirectWithToast(p, ui.Success, "Your name was saved.", settingsPath)
}

func (c *Console) askEmail(p *page.Page) error {
	email := p.FormValue("email")
	to, err := c.o.Accounts.AskEmail(p.Request().Context(), p.Principal(), p.FormValue("current_password"), email)
	if err != nil {
		return c.refuseProfile(p, err, func(v *settingpages.Profile, e *app.Error) bool {
			v.NewEmail = email
			fields := map[string]*string{"email": &v.NewEmailError, "current_password": &v.EmailPasswordError}
			page.PlaceRefusal(e, &v.EmailFormError, fields)
			return fields[e.Param] != nil || e.Kind == app.Conflict
		})
	}
	return c.RedirectWithToast(p, ui.Success, "A link is on its way to "+to+". Open it within 24 hours.", settingsPath)
}

func (c *Console) changePassword(p *page.Page) error {
	err := c.o.Accounts.ChangePassword(p.Request().Context(), p.Principal(), p.FormValue("current_password"), p.FormValue("password"),
		account.SessionID(p.Session))
	if err != nil {
		return c.refuseProfile(p, err, func(v *settingpages.Profile, e *app.Error) bool {
			fields := map[string]*string{"password": &v.PasswordError, "current_password": &v.CurrentError}
			page.PlaceRefusal(e, &v.PasswordFormError, fields)
			return fields[e.Param] != nil || e.Kind == app.Conflict
		})
	}
	return c.RedirectWithToast(p, ui.Success, "Your password was changed, and all other sessions were ended.", settingsPath)
}
