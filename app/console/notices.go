package console

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"umg/app"
	"umg/app/console/page"
	"umg/app/notification"
	"umg/views"
)

const (
	notificationsPath  = page.ConsolePath + "/notifications"
	notifySettingsPath = settingsPath + "/notifications"

	noteWait      = 2 * time.Second
	notesKept     = 30 * time.Second // how long the count at the bell is cached
	noteShelfMax  = 5000             // readers in the cache
	notesMax      = 100
	keyEndsWithin = 7 * 24 * time.Hour
	newsWithin    = 7 * 24 * time.Hour  // age up to which a top-up or a failed video is shown
	modelUsedIn   = 30 * 24 * time.Hour // a model counts as used within this time
)

// noticeRoutes are the pages of notifications.
func (c *Console) noticeRoutes() []page.Route {
	a := page.Area{Missing: c.o.Notifications == nil}
	return []page.Route{
		a.Get("/notifications", c.notifications), a.Post("/notifications/read", c.readNotifications),
		a.Get("/settings/notifications", c.notifySettings), a.Post("/settings/notifications", c.setNotify),
	}
}

// note is a notice with the event that users can turn off. A notice that is always shown has no event.
type note struct {
	views.Note
	event notification.Event
}

// noteShelf caches the notices of readers, so that the bell of every page costs little.
type noteShelf struct {
	mu   sync.Mutex
	kept map[notification.Reader]shelved
}

type shelved struct {
	until time.Time
	list  []note
	whole bool
}

func (s *noteShelf) get(r notification.Reader, now time.Time) (shelved, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, there := s.kept[r]
	return found, there && now.Before(found.until)
}

func (s *noteShelf) put(r notification.Reader, what shelved) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) >= noteShelfMax {
		clear(s.kept)
	}
	s.kept[r] = what
}

// readerOf returns the reader as package notification knows them.
func readerOf(p *page.Page) notification.Reader {
	return notification.Reader{UserID: p.User.ID, AccountID: p.User.AccountID}
}

// derive makes the notices from the state of the account. A part that cannot be read is left out, and whole is false.
func (c *Console) derive(ctx context.Context, p *page.Page, balance views.Balance) (list []note, whole bool) {
	whole = true
	for _, from := range []struct {
		right app.Rights
		notes func(context.Context, *page.Page) ([]note, error)
	}{
		{app.ReadUsage, c.moneyNotes}, {app.ReadUsage, c.limitNotes}, {app.ManageKeys, c.keyNotes}, {app.UseWebhooks, c.webhookNotes},
		{app.ReadModels | app.ReadUsage, c.modelNotes}, {app.UseVideos, c.videoNotes},
	} {
		if !p.User.Role.Rights().Has(from.right) {
			continue
		}
		found, err := from.notes(ctx, p)
		if err != nil {
			whole = false
			continue
		}
		list = append(list, found...)
	}
	list = append(c.balanceNotes(ctx, p, balance, list), list...)
	return list[:min(len(list), notesMax)], whole
}

// notesFor returns the notices of the reader, without the events that they turned off. Unread notices are first.
func (c *Console) notesFor(p *page.Page, balance views.Balance, fresh bool) (list []views.Note, whole bool, err error) {
	ctx, cancel := context.WithTimeout(p.Request().Context(), noteWait)
	defer cancel()
	reader := readerOf(p)
	now := c.o.Now()
	derived, kept := c.notes.get(reader, now)
	if fresh || !kept {
		derived.list, derived.whole = c.derive(ctx, p, balance)
		derived.until = now.Add(notesKept)
		c.notes.put(reader, derived)
	}
	if len(derived.list) == 0 {
		return nil, derived.whole, nil
	}
	choices, err := c.o.Notifications.Preferences(ctx, reader)
	if err != nil {
		return nil, false, err
	}
	seen, err := c.o.Notifications.ReadIDs(ctx, reader)
	for _, n := range derived.list {
		if n.event == "" || choices[n.event].InConsole {
			n.Unread = !slices.Contains(seen, n.ID)
			list = append(list, n.Note)
		}
	}
	slices.SortStableFunc(list, func(a, b views.Note) int {
		if a.Unread != b.Unread {
			return map[bool]int{true: -1, false: 1}[a.Unread]
		}
		return 0
	})
	return list, derived.whole, err
}

// unread returns the count at the bell. It is zero if the notices cannot be read, because the page matters more.
func (c *Console) unread(p *page.Page, balance views.Balance) (n int) {
	if c.o.Notifications == nil || !balance.Known {
		return 0
	}
	list, _, err := c.notesFor(p, balance, false)
	if err != nil {
		return 0
	}
	for _, one := range list {
		if one.Unread {
			n++
		}
	}
	return n
}

func (c *Console) notifications(p *page.Page) error {
	balance := c.Balance(p)
	list, whole, err := c.notesFor(p, balance, true)
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
	err = c.o.Notifications.MarkRead(p.Request().Context(), readerOf(p), values["id"])
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
	choices, err := c.o.Notifications.Preferences(p.Request().Context(), readerOf(p))
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
	err = c.o.Notifications.SetPreferences(p.Request().Context(), readerOf(p), choices)
	return c.Done(p, err, "Your choice was saved.", notifySettingsPath)
}

// completeShell adds unread notifications and degraded models to the shell of a page of an account.
func (c *Console) completeShell(p *page.Page, s *views.Shell) {
	s.Unread, s.Status = c.unread(p, s.Balance), c.statusOf(p)
}
