package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"crypto/rand"

	"gopkg.in/yaml.v3"

	"umg/app"
	"umg/app/account"
	"umg/app/catalog"
	"umg/app/postgres"
	"umg/app/simulator"
	"umg/billing"
)

type simulatorCommand struct {
	Listen    string        `default:"127.0.0.1:9090" help:"Address; port 0 takes a free one." placeholder:"HOST:PORT"`
	Pace      time.Duration `help:"Pause between two tokens of a stream."`
	Render    time.Duration `default:"8s" help:"Time that a simulated video takes."`
	Key       string        `env:"UMG_SIMULATOR_KEY" secret:"local" help:"API key that callers must send; default: any." placeholder:"KEY"`
	ReadyFile string        `help:"File to write the address to once it listens." placeholder:"FILE"`
}

// Run serves the simulated upstream until a signal ends ctx.
func (c *simulatorCommand) Run(ctx context.Context) error {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	url := "http://" + ln.Addr().String()
	if err := writeReady(c.ReadyFile, ready{SimulatorURL: url, PID: os.Getpid()}); err != nil {
		return err
	}
	fmt.Println("simulator", url)
	return simulator.New(simulator.Options{Now: time.Now, Pace: c.Pace, Render: c.Render, Key: c.Key, Control: true}).Serve(ctx, ln)
}

type migrateCommand struct {
	storeFlags
}

// Run migrates the database to this version.
func (c *migrateCommand) Run(ctx context.Context, log *slog.Logger) error {
	s, err := commandStore(ctx, c.storeFlags, log)
	if err != nil {
		return err
	}
	return errors.Join(migrate(ctx, s), s.close())
}

type catalogCommands struct {
	Check  catalogCheck  `cmd:"" help:"List every mistake in a catalog file, and warn of what it says without effect."`
	Diff   catalogDiff   `cmd:"" help:"Say what applying a file would change."`
	Apply  catalogApply  `cmd:"" help:"Put a file in force; it ends when all running servers serve it."`
	Export catalogExport `cmd:"" help:"Print the catalog in force as a file."`
}

type catalogFile struct {
	File       string `arg:"" help:"Catalog file (YAML)." type:"existingfile"`
	AllowUnset bool   `help:"Only warn of variables that are not set here, as the servers have them."`
}

// read parses and checks the file and reports every mistake at once. An unset variable is a mistake unless allowUnset is
// true. It returns the number of warnings, which it prints.
func (f catalogFile) read(allowUnset bool) (catalog.File, int, error) {
	text, err := os.ReadFile(f.File)
	if err != nil {
		return catalog.File{}, 0, err
	}
	file, err := catalog.ParseFile(text)
	if err != nil {
		return catalog.File{}, 0, fmt.Errorf("%s: %w", f.File, err)
	}
	if mistakes := catalog.Check(file); len(mistakes) > 0 {
		return catalog.File{}, 0, fmt.Errorf("%s has %d mistakes:\n%w", f.File, len(mistakes), errors.Join(mistakes...))
	}
	unset := catalog.Unset(file, os.LookupEnv)
	if len(unset) > 0 && !allowUnset {
		return catalog.File{}, 0, fmt.Errorf("%s names variables that are not set here:\n%s\nSet them, write disabled: true at the "+
			"provider, or say --allow-unset when the servers have them", f.File, strings.Join(unset, "\n"))
	}
	warnings := slices.Concat(unset, catalog.Warnings(file))
	for _, warning := range warnings {
		fmt.Fprintf(os.Stderr, "warning: %s: %s\n", f.File, warning)
	}
	return file, len(warnings), nil
}

type catalogCheck struct {
	catalogFile
}

// Run checks a file without a database.
func (c *catalogCheck) Run() error {
	file, warnings, err := c.read(c.AllowUnset)
	switch {
	case err != nil:
		return err
	case warnings > 0:
		fmt.Printf("%s can be applied, with %d warnings: %d providers, %d models\n", c.File, warnings, len(file.Providers), len(file.Models))
	default:
		fmt.Printf("%s is right: %d providers, %d models\n", c.File, len(file.Providers), len(file.Models))
	}
	return nil
}

type catalogDiff struct {
	storeFlags
	catalogFile
}

// Run prints a line for each change.
func (c *catalogDiff) Run(ctx context.Context, log *slog.Logger) error {
	return withStore(ctx, c.storeFlags, log, func(s *store) error {
		_, err := c.compare(ctx, s, true)
		return err
	})
}

func (c *catalogDiff) compare(ctx context.Context, s *store, allowUnset bool) (catalog.File, error) {
	next, _, err := c.read(allowUnset)
	if err != nil {
		return next, err
	}
	old, err := catalog.Export(ctx, s.db)
	if err != nil {
		return next, err
	}
	lines, err := catalog.Diff(old, next)
	if len(lines) == 0 && err == nil {
		lines = []string{"no change"}
	}
	fmt.Println(strings.Join(lines, "\n"))
	return next, err
}

// inForceMax bounds the wait for running servers to serve a catalog. A catalog of 557 models takes them less than a second.
const inForceMax = 30 * time.Second

type catalogApply struct {
	catalogDiff
	By   string `help:"Who applies it, for the history; default: the user and the machine." placeholder:"NAME"`
	Note string `help:"Why it is applied, for the history." placeholder:"TEXT"`
}

// Run prints the changes and applies them.
func (c *catalogApply) Run(ctx context.Context, log *slog.Logger) error {
	return withStore(ctx, c.storeFlags, log, func(s *store) error {
		next, err := c.compare(ctx, s, c.AllowUnset)
		if err != nil {
			return err
		}
		if err := catalog.ApplyAs(ctx, s.db, next, catalog.HistoryAction{By: cmp.Or(c.By, whoAmI()), Note: c.Note}); err != nil {
			return err
		}
		waiting, cancel := context.WithTimeout(ctx, inForceMax)
		defer cancel()
		behind, err := catalog.AwaitReplicas(waiting, s.db)
		if len(behind) > 0 {
			return fmt.Errorf("the catalog is stored, but after %s these servers still serve the one before; see their logs: %s",
				inForceMax, strings.Join(behind, ", "))
		}
		return err
	})
}

// whoAmI is the user of the machine, for the record of who applied a catalog.
func whoAmI() string {
	name := "somebody"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}

type catalogExport struct {
	storeFlags
}

// Run prints the present catalog.
func (c *catalogExport) Run(ctx context.Context, log *slog.Logger) error {
	return withStore(ctx, c.storeFlags, log, func(s *store) error {
		file, err := catalog.Export(ctx, s.db)
		if err != nil {
			return err
		}
		return yaml.NewEncoder(os.Stdout).Encode(file)
	})
}

type operatorCommands struct {
	Add       operatorAdd   `cmd:"" help:"Let a user run the gateway."`
	ResetLink operatorReset `cmd:"" help:"Print a link with which a user sets a new password, for a server that sends no mail."`
	TOTPOff   operatorTOTP  `cmd:"" name:"totp-off" help:"Turn off the sign-in codes of a user who lost their device and all recovery codes."`
}

type operatorAdd struct {
	storeFlags
	Email string `arg:"" help:"E-mail address the user signed up with."`
}

// Run sets the flag.
func (c *operatorAdd) Run(ctx context.Context, log *slog.Logger) error {
	return withServices(ctx, c.storeFlags, log, func(_ *store, accounts *account.Service, _ *billing.Ledger) error {
		if err := accounts.MakeOperator(ctx, commandPrincipal("", "operator add").From, c.Email); err != nil {
			return err
		}
		fmt.Println(c.Email, "is an operator")
		return nil
	})
}

type operatorReset struct {
	storeFlags
	BaseURL string `env:"UMG_BASE_URL" default:"http://localhost:8080" help:"Address the server is reached at." placeholder:"URL"`
	Email   string `arg:"" help:"E-mail address the user signed up with."`
}

// Run prints the link, which works once, for one hour. Its holder takes over the account, unless the account requires sign-in
// codes.
func (c *operatorReset) Run(ctx context.Context, log *slog.Logger) error {
	return withServices(ctx, c.storeFlags, log, func(_ *store, accounts *account.Service, _ *billing.Ledger) error {
		path, err := accounts.MakeResetLink(ctx, c.Email)
		if err != nil {
			return err
		}
		fmt.Println(strings.TrimSuffix(c.BaseURL, "/") + path)
		return nil
	})
}

type operatorTOTP struct {
	storeFlags
	Email string `arg:"" help:"E-mail address the user signed up with."`
}

// Run removes the second step of signing in.
func (c *operatorTOTP) Run(ctx context.Context, log *slog.Logger) error {
	return withServices(ctx, c.storeFlags, log, func(_ *store, accounts *account.Service, _ *billing.Ledger) error {
		if err := accounts.RemoveTOTP(ctx, c.Email); err != nil {
			return err
		}
		fmt.Println(c.Email, "signs in with the password alone")
		return nil
	})
}

type limitsCommand struct {
	storeFlags
	Account string `arg:"" help:"Account id, or the e-mail address of its owner."`
	Factor  int    `arg:"" help:"How many times the usual limits of calls at once and of models the account has."`
}

// Run sets the factor; running servers follow within a second.
func (c *limitsCommand) Run(ctx context.Context, log *slog.Logger) error {
	return withServices(ctx, c.storeFlags, log, func(_ *store, accounts *account.Service, _ *billing.Ledger) error {
		id, err := accounts.Resolve(ctx, c.Account)
		if err != nil {
			return err
		}
		return accounts.SetLimitFactor(ctx, commandPrincipal(id, "limits"), c.Factor)
	})
}

type booksCommand struct {
	storeFlags
}

// Run prints each invariant and whether it holds.
func (c *booksCommand) Run(ctx context.Context, log *slog.Logger) error {
	return withStore(ctx, c.storeFlags, log, func(s *store) error {
		checks, err := billing.Books(ctx, s.db)
		if err != nil {
			return err
		}
		broken := 0
		for _, check := range checks {
			verdict := "holds "
			if !check.Holds {
				verdict = "BROKEN"
				broken++
			}
			fmt.Println(verdict, check.Name, check.Detail)
		}
		if broken > 0 {
			return fmt.Errorf("%d of %d invariants do not hold", broken, len(checks))
		}
		fmt.Println("the books balance")
		return nil
	})
}

func withStore(ctx context.Context, flags storeFlags, log *slog.Logger, work func(*store) error) error {
	s, err := commandStore(ctx, flags, log)
	if err != nil {
		return err
	}
	return errors.Join(work(s), s.close())
}

func withServices(
	ctx context.Context, flags storeFlags, log *slog.Logger, work func(*store, *account.Service, *billing.Ledger) error,
) error {
	return withStore(ctx, flags, log, func(s *store) error {
		clock, err := postgres.NewClock(ctx, s.db, time.Now, log)
		if err != nil {
			return err
		}
		ids := app.IDs{Now: clock.Now, Random: rand.Reader}
		ledger := billing.NewLedger(s.db, billing.Options{Now: clock.Now, IDs: ids, Log: log})
		return work(s, account.New(s.db, ledger, account.Options{
			Now: clock.Now, IDs: ids, Random: rand.Reader, Log: log,
		}), ledger)
	})
}
