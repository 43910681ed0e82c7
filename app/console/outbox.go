package console

import (
	"net/http"

	"umg/app/mail"
	operatorpages "umg/views/operator"
)

// outboxShownMax is how many mails the outbox shows.
const outboxShownMax = 100

// outboxRoutes are the pages with the mails of a demo, which has no mail server. They need no session, because the first mail has
// the link that lets a user sign in. They exist only where Options.Outbox is set.
func outboxRoutes() []Route {
	return []Route{
		{Method: http.MethodGet, Path: "/outbox", Open: true, serve: withOutbox((*Console).outbox)},
		{Method: http.MethodGet, Path: "/outbox/:id", Open: true, serve: withOutbox((*Console).outboxMail)},
	}
}

// withOutbox keeps the pages unknown where the server has no outbox.
func withOutbox(serve func(*Console, *page) error) func(*Console, *page) error {
	return func(c *Console, p *page) error {
		if c.o.Outbox == nil {
			return notFound(p)
		}
		return serve(c, p)
	}
}

func (c *Console) outbox(p *page) error {
	found, err := c.o.Outbox.Outbox(p.Request().Context(), outboxShownMax)
	if err != nil {
		return err
	}
	list := make([]operatorpages.OutboxMail, len(found))
	for i, m := range found {
		list[i] = viewMail(m)
	}
	return c.render(p, http.StatusOK, operatorpages.OutboxPage(operatorpages.Outbox{Shell: c.shell(p), List: list}))
}

func (c *Console) outboxMail(p *page) error {
	m, err := c.o.Outbox.Get(p.Request().Context(), p.Param("id"))
	if err != nil {
		return err
	}
	return c.render(p, http.StatusOK, operatorpages.OutboxMailPage(operatorpages.OutboxDetail{Shell: c.shell(p), Mail: viewMail(m)}))
}

func viewMail(m mail.Mail) operatorpages.OutboxMail {
	return operatorpages.OutboxMail{
		ID: m.ID, Kind: m.Kind, To: m.To, Subject: m.Subject, Text: m.Text, HTML: m.HTML, State: string(m.State), LastError: m.LastError,
		CreatedAt: m.CreatedAt,
	}
}
