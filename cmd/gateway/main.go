// Command gateway is the whole product in one binary: the server (serve), the server with everything it needs on one machine
// (demo), and the operator's tools. Run gateway --help for its commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"syscall"
	"time"

	"umg/app/logwriter"
	"umg/app/process"

	"github.com/alecthomas/kong"
)

// commands is the definition of the command line.
type commands struct {
	Serve      serveCommand       `cmd:"" help:"Serve the API and the console."`
	Demo       demoCommand        `cmd:"" help:"Serve with a local database, a simulated provider and a seeded account."`
	Simulator  simulatorCommand   `cmd:"" help:"Serve the simulated provider alone."`
	Migrate    migrateCommand     `cmd:"" help:"Migrate the database to the schema of this version."`
	Catalog    catalogCommands    `cmd:"" help:"Check, compare, apply or export the catalog of providers, models and routes."`
	Library    libraryCommands    `cmd:"" help:"Show and update the library of models, with their limits and costs."`
	Provider   providerCommands   `cmd:"" help:"Add, test, pause and remove providers."`
	Model      modelCommands      `cmd:"" help:"Publish, price and retire models."`
	Credential credentialCommands `cmd:"" help:"Store credentials of providers, encrypted, for catalog files to name."`
	Account    accountCommands    `cmd:"" help:"Freeze and unfreeze accounts, and multiply their limits."`
	Credit     creditCommands     `cmd:"" help:"Grant, debit and refund credit."`
	Promo      promoCommands      `cmd:"" help:"Manage promotion codes that users redeem for credit."`
	Ledger     ledgerCommands     `cmd:"" help:"Verify the ledger, and compare it with the exports of providers."`
	Operator   operatorCommands   `cmd:"" help:"Add operators, and help users who cannot sign in."`
	SecretKey  secretKeyCommands  `cmd:"" name:"secret-key" help:"Manage the key that encrypts secrets in the database."`
	Webhooks   webhookCommands    `cmd:"" help:"Receive webhook events on this machine."`
	Routes     routesCommand      `cmd:"" help:"List every route of the API and the console, and the permission that it needs."`
}

func main() {
	if len(os.Args) > 1 && (os.Args[1] == "serve" || os.Args[1] == "demo") { // The other commands end soon.
		process.RelaxTimers()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	signal.Ignore(syscall.SIGXFSZ) // Without the signal, a write to a file at its size limit returns an error.
	context.AfterFunc(ctx, stop)   // A second signal then ends the process at once.
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "gateway:", err)
		os.Exit(exitStatus(err))
	}
}

// statusError is an error with an exit status of its own.
type statusError struct {
	error

	status int
}

// exitStatus is the exit status of a failed command: 1 unless the error has another.
func exitStatus(err error) int {
	if e, ok := errors.AsType[statusError](err); ok {
		return e.status
	}
	return 1
}

func run(ctx context.Context, args []string) error {
	var line commands
	handler := logwriter.NewHandler(os.Stderr, time.Now)
	defer func() { _ = handler.Lines().Flush() }()
	log := slog.New(handler)
	parser, err := kong.New(&line,
		kong.Name("gateway"),
		kong.Description("One API for many generative models, with a web console."),
		kong.Vars{"default_data": defaultDataDir()},
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(log),
		kong.Resolvers(kong.ResolverFunc(secretFromFile)),
	)
	if err != nil {
		return err
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return err
	}
	warnOfSecrets(parsed, log)
	if err := parsed.Run(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// defaultDataDir is the folder in which the server keeps its own files. A local database started by root runs as another
// user, which cannot enter root's home.
func defaultDataDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/umg"
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "umg-data"
	}
	return filepath.Join(home, ".local", "share", "umg")
}

// configVariables lists the environment names that the fields of Config read, and those of files that contain its secrets.
func configVariables() []string {
	var names []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		if name := field.Tag.Get("env"); name != "" {
			names = append(names, name)
			if field.Tag.Get(secretTag) != "" {
				names = append(names, name+fileSuffix)
			}
		}
	}
	return names
}
