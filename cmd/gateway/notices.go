package main

import (
	"context"
	"time"

	"umg/app"
	"umg/app/account"
	"umg/app/mail"
	"umg/app/notice"
	"umg/app/postgres"
	"umg/app/pricenotice"
	"umg/app/webhook"
)

// tellOfEndpoint writes to the owners and admins of an account that one of its webhook endpoints fails or is disabled. An
// address that no mail can be sent to must not keep an endpoint from being disabled.
func (h *house) tellOfEndpoint(ctx context.Context, q postgres.Queryer, n webhook.Notice) error {
	to, err := h.accounts.Recipients(ctx, q, n.AccountID, string(notice.Webhook), account.Owner, account.Admin)
	if err != nil {
		return err
	}
	state, kind := "is failing", "webhook_failing"
	if n.Disabled {
		state, kind = "is disabled", "webhook_disabled"
	}
	letter := mail.Letter{
		Title: "The webhook endpoint “" + n.Name + "” " + state, Paragraphs: []string{n.Text},
		Action: mail.Action{Label: "Open the endpoint", URL: h.cfg.BaseURL + "/console/webhooks/" + n.EndpointID},
		Footer: "You get this mail as an owner or admin of the account. Settings, Notifications says which mails you get.",
	}
	for _, address := range to {
		m, err := letter.To(address, "A webhook endpoint "+state, kind)
		if err == nil {
			err = h.mail.Send(ctx, q, m)
		}
		if err != nil && app.KindOf(err) == app.Invalid {
			h.log.Warn("a notice about a webhook endpoint cannot be sent to an address", "account_id", n.AccountID, "error", err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// priceNotices writes to those whose models change in price.
func (h *house) priceNotices() *pricenotice.Service {
	return pricenotice.New(h.store.db, pricenotice.Options{
		Catalog: h.catalog.Snapshot, Accounts: h.accounts, Mail: h.mail, Now: time.Now, BaseURL: h.cfg.BaseURL, Log: h.log,
	})
}
