package console

import (
	"net/http"
	"slices"

	"umg/app"
	"umg/app/console/page"
	"umg/app/notification"
	"umg/views"
)

const (
	notificationsPath  = page.ConsolePath + "/notifications"
	notifySettingsPath = settingsPath + "/notifications"
)

// noticeRoutes are the pages of notifications.
func (c *Console) noticeRoutes() []page.Route {
	a := page.Area{Missing: c.o.Notifications == nil}
	return []page.Route{
		a.Get("/notifications", c.notifications), a.Post("/notifications/read", c.readNotifications),
		a.Get("/settings/notifications", c.notifySettings), a.Post("/settings/notifications", c.setNotify),
	}
}

func (c *Console) notifications(p *page.Page) error {
	balance := c.Balance(p)
	list, whole, err := c.notices.List(p.Request().Context(), p.NoticeReader(), balance, true)
	if err != nil {
		return err
	}
	return c.Render(p, http.StatusOK, views.NotesPage(views.Notes{Shell: c.Shell(p), List: list, Missing: !whole || !balance.Known}))
}

// readNotifications marks as read what the page showed, and nothing that came since.
func (c *Console) readNotifications(p *page.Page) error {
	values, err := p.FormParams()
	if err != nil {
		return err
	}
	err = c.o.Notifications.MarkRead(p.Request().Context(), p.NoticeReader().ID(), values["id"])
	return c.Done(p, err, "All notifications are read.", notificationsPath)
}

// notifyWords describe each event and name the right of the readers whom it concerns.
var notifyWords = map[notification.Event]views.NotifyEvent{
	notification.LowBalance: {Title: "Low or used-up credit", Text: "Your own threshold is set under Billing.", Need: app.ReadUsage},
	notification.AutoTopUp:  {Title: "Top-ups", Text: "Automatic top-ups that stopped, reached their cap, or were paid.", Need: app.ReadUsage},
	notification.Webhook:    {Title: "Webhook endpoints", Text: "An endpoint fails, or was disabled by its failures.", Need: app.UseWebhooks},
	notification.KeyExpiry:  {Title: "Keys that expire", Text: "Within 7 days, or already.", Need: app.ManageKeys},
	notification.KeyBudget: {Title: "Key budgets", Need: app.ManageKeys,
		Text: "A key passes a share of its budget that was chosen for it. Mails go to owners, admins and its maker."},
	notification.KeyNetwork: {Title: "Keys in new places", Need: app.ManageKeys,
		Text: "A key is used from a network that it was not used from in 30 days."},
	notification.Model: {Title: "Model deprecations", Text: "A model you called in the last 30 days is deprecated.", Need: app.ReadUsage},
	notification.Price: {Title: "Price changes", Need: app.ReadUsage,
		Text: "A model you called in the last 30 days costs more or less from a day within two weeks."},
	notification.Video: {Title: "Failed videos", Text: "A video of the last 7 days could not be made.", Need: app.UseVideos},
}

func (c *Console) notifySettings(p *page.Page) error {
	choices, err := c.o.Notifications.Preferences(p.Request().Context(), p.NoticeReader().ID())
	if err != nil {
		return err
	}
	v := views.NotifySettings{Shell: c.Shell(p), Email: p.User.Email, NoMail: !c.o.Accounts.Verifies()}
	for _, e := range notification.Events() {
		line := notifyWords[e]
		if !p.User.Role.Rights().Has(line.Need) {
			continue
		}
		line.Name, line.Mailed, line.Shown = string(e), true, true
		line.ByMail, line.InConsole = choices[e].ByMail, choices[e].InConsole
		v.Events = append(v.Events, line)
	}
	return c.Render(p, http.StatusOK, views.NotifySettingsPage(v))
}

// setNotify stores the choices about the events that the reader was shown. Browsers do not send boxes that are not ticked.
func (c *Console) setNotify(p *page.Page) error {
	values, err := p.FormParams()
	if err != nil {
		return err
	}
	choices := map[notification.Event]notification.Preference{}
	for _, e := range notification.Events() {
		if p.User.Role.Rights().Has(notifyWords[e].Need) {
			choices[e] = notification.Preference{
				ByMail:    slices.Contains(values["mail"], string(e)),
				InConsole: slices.Contains(values["console"], string(e)),
			}
		}
	}
	err = c.o.Notifications.SetPreferences(p.Request().Context(), p.NoticeReader().ID(), choices)
	return c.Done(p, err, "Your choice was saved.", notifySettingsPath)
}
