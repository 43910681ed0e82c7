package main

import (
	"context"
	"log/slog"

	"umg/app"
	"umg/app/mail"
	"umg/app/notice"
	"umg/app/postgres"
	"umg/app/pricenotice"
	"umg/app/webhook"
)

// tellOfEndpoint sends a mail to the owners and admins of an account when one of its webhook endpoints fails or is disabled.
func (h *gatewayServer) tellOfEndpoint(ctx context.Context, q postgres.Queryer, n webhook.Notice) error {
	to, err := h.accounts.Recipients(ctx, q, n.AccountID, string(notice.Webhook), app.RoleOwner, app.RoleAdmin)
	if err != nil {
		return err
	}
	state, kind := "is failing", "webhook_failing"
	if n.Disabled {
		state, kind = "is disabled", "webhook_disabled"
	}
	return mail.SendAll(ctx, q, h.mail, h.log, mail.Broadcast{
		Letter: endpointLetter(n, state, h.cfg.BaseURL), Subject: "A webhook endpoint " + state, Kind: kind, To: to,
		About: slog.String("account_id", n.AccountID),
	})
}

func endpointLetter(n webhook.Notice, state, baseURL string) mail.Template {
	return mail.Template{
		Title: "A webhook endpoint " + state,
		Paragraphs: []string{
			"This is about the endpoint " + mail.Quote(n.Name) + " at " + mail.Quote(n.Address) + ". " + n.Text,
			mail.WrittenBy("members of the account"),
		},
		Action: mail.Action{Label: "Open the endpoint", URL: baseURL + "/console/webhooks/" + n.EndpointID},
		Footer: "You get this mail as an owner or admin of the account. Settings, Notifications says which mails you get.",
	}
}

// priceNotices sends mails to accounts whose models change in price.
func (h *gatewayServer) priceNotices() *pricenotice.Service {
	return pricenotice.New(h.store.db, pricenotice.Options{
		Catalog: h.catalog.Snapshot, Accounts: h.accounts, Mail: h.mail, Now: h.clock.Now, BaseURL: h.cfg.BaseURL, Log: h.log,
	})
}
