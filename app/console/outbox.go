package console

import (
	"net/http"

	"umg/app/console/page"
	"umg/app/mail"
	operatorpages "umg/views/operator"
)

// outboxShownMax is how many mails the outbox shows.
const outboxShownMax = 100

// outboxRoutes are the pages with the mails of a demo, which has no mail server. They need no session, because the first mail has
// the link that lets a user sign in. They exist only where Options.Outbox is set.
func (c *Console) outboxRoutes() []page.Route {
	a := page.Area{Open: true, Missing: c.o.Outbox == nil}
	return []page.Route{a.Get("/outbox", c.outbox), a.Get("/outbox/:id", c.outboxMail)}
}

func (c *Console) outbox(p *page.Page) error {
	found, err := c.o.Outbox.Outbox(p.Request().Context(), outboxShownMax)
	if err != nil {
		return err
	}
	list := make([]operatorpages.OutboxMail, len(found))
	for i, m := range found {
		list[i] = viewMail(m)
	}
	return c.Render(p, http.StatusOK, operatorpages.OutboxPage(operatorpages.Outbox{Shell: c.Shell(p), List: list}))
}

func (c *Console) outboxMail(p *page.Page) error {
	m, err := c.o.Outbox.Get(p.Request().Context(), p.Param("id"))
	if err != nil {
		return err
	}
	return c.Render(p, http.StatusOK, operatorpages.OutboxMailPage(operatorpages.OutboxDetail{Shell: c.Shell(p), Mail: viewMail(m)}))
}

func viewMail(m mail.Mail) operatorpages.OutboxMail {
	return operatorpages.OutboxMail{
		ID: m.ID, Kind: m.Kind, To: m.To, Subject: m.Subject, Text: m.Text, HTML: m.HTML, State: string(m.State), LastError: m.LastError,
		CreatedAt: m.CreatedAt,
	}
}
