package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"

	"umg/app/catalog"
)

// gatewayServer is the server with all its services, by layer. Each layer uses those before it.
type gatewayServer struct {
	cfg      Config
	log      *slog.Logger
	stores   storeLayer
	billing  billingLayer
	services serviceLayer
	http     httpLayer
}

type serveCommand struct {
	Config
}

// Run serves until a signal ends ctx.
func (c *serveCommand) Run(ctx context.Context, log *slog.Logger) error {
	g, err := build(ctx, c.Config, credentials(log), log)
	if err != nil {
		return err
	}
	if err := g.begin(ctx, os.Stdout); err != nil {
		return errors.Join(err, g.close())
	}
	if len(g.services.catalog.Snapshot().Models()) == 0 {
		log.Warn("catalog empty, no model can be called", "remedy", "gateway provider add PRESET, or gateway catalog apply FILE")
	}
	log.Info("serving", "console", g.cfg.BaseURL+"/console", "api", g.cfg.BaseURL+"/v1", "ops", g.http.ops.Addr().String())
	return errors.Join(g.run(ctx), g.close())
}

// build opens the layers of the server on a migrated database. The server answers only when run starts it.
func build(ctx context.Context, cfg Config, secrets catalog.SecretLookup, log *slog.Logger) (*gatewayServer, error) {
	g := &gatewayServer{cfg: cfg, log: log}
	if err := g.open(ctx, secrets); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

func (g *gatewayServer) open(ctx context.Context, secrets catalog.SecretLookup) error {
	if err := g.openStores(ctx); err != nil {
		return err
	}
	if err := g.listen(ctx); err != nil {
		return err
	}
	if err := g.openBilling(ctx); err != nil {
		return err
	}
	if err := g.openServices(ctx, secrets); err != nil {
		return err
	}
	return g.openHTTP()
}

// worker is a task that runs until ctx ends.
type worker func(ctx context.Context) error

// run serves until ctx ends or the journal is dead. The workers outlive the server, because the last answers still settle through them.
func (g *gatewayServer) run(ctx context.Context) error {
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	var workers errgroup.Group
	var writing errgroup.Group
	write, stopWriting := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWriting()
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	if g.billing.journal != nil {
		// goroutine: run owns it and waits for it; it ends last, when all workers have ended, or when the journal fails.
		writing.Go(func() error {
			defer leave()
			err := g.billing.journal.Run(write)
			if err != nil {
				// The content of a failed disk is unknown. The process takes no more calls, settles running ones in the database, and ends.
				g.log.Error("journal failed, shutting down", "error", err)
			}
			return err
		})
	}
	for _, run := range slices.Concat(g.services.workers(g.stores.listener), g.billing.workers(), g.stores.workers()) {
		// goroutine: run owns it and waits for it; it ends when the server has stopped, or with an error.
		workers.Go(func() error {
			if err := run(work); err != nil && work.Err() == nil {
				g.log.Error("worker failed", "error", err)
				return err
			}
			return nil
		})
	}
	err := g.http.server.Run(ctx, g.http.public, g.http.ops)
	stopWork()
	err = errors.Join(err, workers.Wait())
	stopWriting() // The last settlements are in the ledger, or in the journal.
	return errors.Join(err, writing.Wait())
}

// close closes the layers, the last one first. It also closes what an interrupted build has opened.
func (g *gatewayServer) close() error {
	g.http.close()
	g.services.close()
	return errors.Join(g.closeBilling(), g.stores.close())
}
