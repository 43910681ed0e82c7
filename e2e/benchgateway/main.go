// Command benchgateway is the gateway with its books closed: the same rooms over the database of a gateway that runs,
// but no call is held or settled. It exists to be measured beside the real one, which has no such switch. It knows
// the wiring and nothing else.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"umg/api"
	"umg/app"
	"umg/app/admission"
	"umg/app/apikey"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/gateway"
	"umg/app/logwriter"
	"umg/app/postgres"
	"umg/app/process"
	"umg/app/provider"
	"umg/app/ratelimit"
	"umg/app/server"
	"umg/billing"
)

const drainMax = 5 * time.Second

func main() {
	process.RelaxTimers() // The gateway does the same.
	_ = process.UseHugePages(admission.LimitMemory(0))
	dsn := flag.String("database-url", "", "the database of the gateway whose keys and catalog are used")
	upstream := flag.String("simulator-url", "", "the simulated provider of that catalog")
	logFile := flag.String("log", os.DevNull, "file for the request log")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *dsn, *upstream, *logFile)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchgateway:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends. It prints the addresses of the API and of the operator's listener, one a line.
func run(ctx context.Context, dsn, upstream, logFile string) (err error) {
	file, err := os.Create(logFile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	handler := logwriter.NewHandler(file, time.Now)
	defer func() { err = errors.Join(handler.Lines().Flush(), err) }()
	log := slog.New(handler)
	db, err := postgres.Open(ctx, dsn, postgres.Options{Name: "benchgateway"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	keys := apikey.NewCache(db, apikey.CacheOptions{Now: time.Now, Log: log})
	models, err := catalog.Open(ctx, db, catalog.Options{
		Now: time.Now, Secrets: secrets(upstream), Log: log, Traits: dialect.Traits,
	})
	if err != nil {
		return err
	}
	providers := provider.New(provider.Options{})
	defer providers.Close()
	texts := gateway.New(gateway.Options{
		CreditManager: closedBooks{}, Snapshot: models.Snapshot, Limits: ratelimit.New(ratelimit.Options{Now: time.Now}), Providers: providers,
		Now: time.Now, Random: mathrand.IntN,
	})
	srv := server.New(server.Options{
		API: api.New(api.Options{Keys: keys, Catalog: models, Gateway: texts, Now: time.Now}),
		IDs: app.IDs{Now: time.Now, Random: rand.Reader}, Now: time.Now, Log: log, DrainTimeout: drainMax,
	})
	listener := postgres.NewListener(dsn)
	return serve(ctx, srv, func(ctx context.Context) error { return keys.Run(ctx, listener) },
		func(ctx context.Context) error { return models.Run(ctx, listener) })
}

func serve(ctx context.Context, srv *server.Server, workers ...func(context.Context) error) error {
	var listeners [2]net.Listener
	for i := range listeners {
		var err error
		if listeners[i], err = (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
			return err
		}
		fmt.Println(listeners[i].Addr())
	}
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	var running errgroup.Group
	for _, worker := range workers {
		// goroutine: the program owns it and waits for it; it ends when the server has stopped.
		running.Go(func() error {
			if err := worker(work); work.Err() == nil {
				return err
			}
			return nil
		})
	}
	err := srv.Run(ctx, listeners[0], listeners[1])
	stopWork()
	return errors.Join(err, running.Wait())
}

func secrets(upstream string) catalog.SecretLookup {
	return func(name string) (string, bool) {
		switch name {
		case "UMG_SIMULATOR_URL":
			return upstream, true
		case "UMG_SIMULATOR_KEY":
			return "simulated", true
		}
		return "", false
	}
}

// closedBooks grants every hold in full and forgets what became of it.
type closedBooks struct{}

// Hold grants all that is wanted.
func (closedBooks) Hold(_ context.Context, q billing.HoldRequest) (billing.Hold, error) {
	return billing.Hold{ID: q.ID, AccountID: q.AccountID, Amount: q.Want}, nil
}

// Settle forgets.
func (closedBooks) Settle(context.Context, billing.Hold, billing.Settlement) error { return nil }

// Extend grants all that is wanted, too.
func (closedBooks) Extend(_ context.Context, h *billing.Hold, more app.Amount) error {
	h.Amount += more
	return nil
}

// ExtendUpTo grants all of it.
func (b closedBooks) ExtendUpTo(ctx context.Context, h *billing.Hold, more app.Amount) error {
	return b.Extend(ctx, h, more)
}

// Progress forgets.
func (closedBooks) Progress(billing.Hold, billing.Settlement) {}
