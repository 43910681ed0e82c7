package mail

import (
	"context"
	"log/slog"

	"umg/app"
	"umg/app/postgres"
)

// Sender takes a message for delivery, in the transaction of q, so that nothing is sent about what did not happen.
type Sender interface {
	Send(ctx context.Context, q postgres.Queryer, m Message) error
}

// Broadcast is one letter to several people. About is the attribute of a log line when a person cannot be reached.
type Broadcast struct {
	Letter        Template
	Subject, Kind string
	To            []string
	About         slog.Attr
}

// SendAll writes to everybody of a round. An address that no mail can be sent to keeps neither the others from theirs nor the
// caller from what the letter tells of: it is logged.
func SendAll(ctx context.Context, q postgres.Queryer, out Sender, log *slog.Logger, r Broadcast) error {
	for _, address := range r.To {
		m, err := r.Letter.To(address, r.Subject, r.Kind)
		if err == nil {
			err = out.Send(ctx, q, m)
		}
		if err != nil && app.KindOf(err) == app.Invalid {
			log.WarnContext(ctx, "mail recipient rejected", "mail", r.Kind, r.About.Key, r.About.Value, "error", err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}
