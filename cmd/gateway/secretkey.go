package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"umg/app/account"
)

type secretKeyCommands struct {
	Replace secretKeyReplace `cmd:"" help:"Use another secret key after the old one was lost."`
}

type secretKeyReplace struct {
	databaseFlags
	SecretKey string `env:"UMG_SECRET_KEY" secret:"value" help:"The new key; else that of the data folder." placeholder:"BASE64"`
	Yes       bool   `help:"Confirm. Secrets encrypted with the lost key stay unreadable."`
}

// Help says what replacing the key makes unreadable.
func (c *secretKeyReplace) Help() string {
	return "Stop all servers of this database first, and start them with the new key afterwards. All users are signed out. " +
		"Webhooks cannot be signed until the secret of each endpoint is rotated. Queued mails are not sent. " +
		"Users with sign-in codes cannot sign in until " +
		"gateway operator disable-mfa disables the codes."
}

// Run registers the key that servers have from now on in the database.
func (c *secretKeyReplace) Run(ctx context.Context, log *slog.Logger) error {
	if !c.Yes {
		return errors.New("secrets encrypted with the old key stay unreadable; see gateway secret-key replace --help, and add --yes")
	}
	return withDatabase(ctx, c.databaseFlags, log, func(s *database) error {
		key, _, err := secretKey(c.SecretKey, c.Data)
		if err != nil {
			return err
		}
		if err := account.ReplaceSecretKey(ctx, s.db, key); err != nil {
			return err
		}
		fmt.Println("the secret key is replaced")
		return nil
	})
}
