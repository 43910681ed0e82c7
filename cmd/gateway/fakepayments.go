package main

import (
	"context"
	"crypto/rand"
	"net"
	"time"

	"golang.org/x/sync/errgroup"

	"umg/app/simulator/payments"
)

// payService is the demo's simulated Stripe. Its key and secret are random for each start.
type payService struct {
	listener net.Listener
	key      string
	secret   string
}

// openPayService opens a port for the simulated Stripe, whose address must be known before the server starts.
func openPayService(ctx context.Context) (*payService, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &payService{listener: listener, key: "sk_test_" + rand.Text(), secret: "whsec_" + rand.Text()}, nil
}

func (p *payService) url() string { return "http://" + p.listener.Addr().String() }

// serve answers until ctx ends, and sends payment events to the gateway at the given address.
func (p *payService) serve(ctx context.Context, running *errgroup.Group, gatewayURL string) {
	sim := payments.New(payments.Options{
		Now: time.Now, Random: rand.Reader, Key: p.key, Secret: p.secret, WebhookURL: gatewayURL + "/webhooks/payments", Control: true,
	})
	// goroutine: the caller owns the group and waits for it; it ends when ctx ends.
	running.Go(func() error { return sim.Serve(ctx, p.listener) })
}
