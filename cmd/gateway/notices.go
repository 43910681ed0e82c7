package main

import (
	"context"
	"log/slog"

	"umg/app"
	"umg/app/mail"
	"umg/app/notification"
	"umg/app/postgres"
	"umg/app/webhook"
)

// notifyEndpointFailure sends a mail to the owners and admins of an account when one of its webhook endpoints fails or is disabled.
func (g *gatewayServer) notifyEndpointFailure(ctx context.Context, q postgres.Queryer, n webhook.Notice) error {
	to, err := g.services.accounts.Recipients(ctx, q, n.AccountID, string(notification.Webhook), app.RoleOwner, app.RoleAdmin)
	if err != nil {
		return err
	}
	state, kind := "is failing", "webhook_failing"
	if n.Disabled {
		state, kind = "is disabled", "webhook_disabled"
	}
	return mail.SendAll(ctx, q, g.billing.mail, g.log, mail.Broadcast{
		Letter: endpointLetter(n, state, g.cfg.BaseURL), Subject: "A webhook endpoint " + state, Kind: kind, To: to,
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
