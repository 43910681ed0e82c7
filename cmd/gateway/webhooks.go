package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"umg/app/webhook"
	"umg/app/webhook/listen"
)

type webhookCommands struct {
	Listen webhookListen `cmd:"" help:"Forward an account's webhook events to an address on this machine, until Ctrl-C."`
}

// webhookListen needs no database: developers use it with any gateway that they have a key for.
type webhookListen struct {
	Gateway string        `default:"http://localhost:8080" env:"UMG_GATEWAY" help:"URL of the gateway." placeholder:"URL"`
	Key     string        `env:"UMG_API_KEY" secret:"local" help:"API key with the scope webhooks." placeholder:"KEY"`
	Forward string        `required:"" help:"URL that receives the events, such as http://localhost:3000/hook." placeholder:"URL"`
	Events  []string      `help:"Event types to forward; default: all." placeholder:"TYPE"`
	Since   time.Duration `default:"0s" help:"Start with events of this age, at most 24h."`
	Secret  string        `env:"UMG_WEBHOOK_SECRET" secret:"local" help:"Secret to sign with; default: a new one." placeholder:"SECRET"`
}

// Run forwards until a signal ends ctx.
func (c *webhookListen) Run(ctx context.Context) error {
	secret, err := webhook.NewSecret(rand.Reader)
	if c.Secret != "" {
		secret, err = webhook.ParseSecret(c.Secret)
	}
	if err != nil {
		return fmt.Errorf("--secret: %w", err)
	}
	r, err := listen.New(listen.Options{
		Gateway: c.Gateway, Key: c.Key, Forward: c.Forward, Types: c.Events, Since: c.Since, Secret: secret, Now: time.Now, Out: os.Stdout,
	})
	if err != nil {
		return err
	}
	return r.Run(ctx)
}
