package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"gopkg.in/yaml.v3"

	"umg/app/catalog"
	"umg/app/provider/credentialstore"
)

type catalogCommands struct {
	Check  catalogCheck  `cmd:"" help:"List every mistake in a catalog file, and every setting without effect."`
	Diff   catalogDiff   `cmd:"" help:"Print what applying a file would change."`
	Apply  catalogApply  `cmd:"" help:"Apply a catalog file, and wait until all running servers use it."`
	Export catalogExport `cmd:"" help:"Print the current catalog as a file."`
}

type catalogFile struct {
	databaseFlags

	File       string `arg:"" help:"Catalog file (YAML)." type:"existingfile"`
	AllowUnset bool   `help:"Only warn about credentials and variables without a usable value here."`
	SecretKey  string `env:"UMG_SECRET_KEY" secret:"value" help:"Key of the servers; else that of the data folder." placeholder:"BASE64"`
}

// read parses and checks the file and reports every mistake at once. A reference without a usable value is a mistake unless allowUnset is
// true. It returns the number of warnings, which it prints. Sealed reads the sealed credentials; it is only called for a file that names
// some.
func (f *catalogFile) read(
	allowUnset bool, log *slog.Logger, sealed func() (map[string]catalog.SealedCredential, error),
) (catalog.File, int, error) {
	text, err := os.ReadFile(f.File)
	if err != nil {
		return catalog.File{}, 0, err
	}
	file, err := catalog.ParseFile(text)
	if err != nil {
		return catalog.File{}, 0, fmt.Errorf("%s: %w", f.File, err)
	}
	if mistakes := catalog.Check(file); len(mistakes) > 0 {
		catalog.AddLines(text, mistakes)
		return catalog.File{}, 0, fmt.Errorf("%s has %d mistakes:\n%w", f.File, len(mistakes), errors.Join(mistakes...))
	}
	sources := catalog.Sources{Env: credentials(log), CheckValue: checkCredential}
	if len(file.SealedNames()) > 0 {
		if sources.Sealed, err = sealed(); err != nil {
			return catalog.File{}, 0, err
		}
	}
	unset := catalog.CheckReferences(file, sources)
	if len(unset) > 0 && !allowUnset {
		catalog.AddLines(text, unset)
		return catalog.File{}, 0, fmt.Errorf("%s names credentials and variables without a usable value here:\n%w\nSet them, write "+
			"disabled: true at the provider, or add --allow-unset when the servers have them", f.File, errors.Join(unset...))
	}
	warnings := catalog.Warnings(file)
	for _, problem := range unset {
		warnings = append(warnings, problem.Error())
	}
	for _, warning := range warnings {
		fmt.Fprintf(os.Stderr, "warning: %s: %s\n", f.File, warning)
	}
	return file, len(warnings), nil
}

// sealedCredentials reads the sealed credentials. Where this machine does not have the servers' secret key they have no values.
func (f *catalogFile) sealedCredentials(ctx context.Context, s *database, log *slog.Logger) (map[string]catalog.SealedCredential, error) {
	if f.SecretKey == "" {
		if _, err := os.Stat(secretKeyFile(f.Data)); err != nil {
			return credentialstore.Names(ctx, s.db)
		}
	}
	store, err := credentialStore(ctx, s, f.SecretKey, log)
	if err != nil {
		return nil, err
	}
	return store.Values(ctx)
}

type catalogCheck struct {
	catalogFile
}

// Run checks a file. It needs the database only for a file that names sealed credentials.
func (c *catalogCheck) Run(ctx context.Context, log *slog.Logger) error {
	file, warnings, err := c.read(c.AllowUnset, log, func() (all map[string]catalog.SealedCredential, err error) {
		err = withDatabase(ctx, c.databaseFlags, log, func(s *database) error {
			all, err = c.sealedCredentials(ctx, s, log)
			return err
		})
		return all, err
	})
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
	catalogFile
}

// Run prints a line for each change.
func (c *catalogDiff) Run(ctx context.Context, log *slog.Logger) error {
	return withDatabase(ctx, c.databaseFlags, log, func(s *database) error {
		_, err := c.compare(ctx, s, true, log)
		return err
	})
}

func (c *catalogDiff) compare(ctx context.Context, s *database, allowUnset bool, log *slog.Logger) (catalog.File, error) {
	next, _, err := c.read(allowUnset, log, func() (map[string]catalog.SealedCredential, error) { return c.sealedCredentials(ctx, s, log) })
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
	By   string `help:"Name for the history; default: USER@HOST." placeholder:"NAME"`
	Note string `help:"Reason, for the history." placeholder:"TEXT"`

	ConfirmBelowCost bool `help:"Apply prices that are below the cost of a route."`
}

// Run prints the changes and applies them.
func (c *catalogApply) Run(ctx context.Context, log *slog.Logger) error {
	return withDatabase(ctx, c.databaseFlags, log, func(s *database) error {
		next, err := c.compare(ctx, s, c.AllowUnset, log)
		if err != nil {
			return err
		}
		err = catalog.ApplyAs(ctx, s.db, next, catalog.HistoryAction{
			By: cmp.Or(c.By, userAtHost()), Note: c.Note, BelowCost: c.ConfirmBelowCost,
		})
		if errors.Is(err, catalog.ErrBelowCost) {
			return fmt.Errorf("%w\nChange the prices, or add --confirm-below-cost", err)
		}
		if err != nil {
			return err
		}
		return awaitServers(ctx, s.db)
	})
}

// awaitServers waits until all running servers serve the catalog that is stored.
func awaitServers(ctx context.Context, db *sqlx.DB) error {
	waiting, cancel := context.WithTimeout(ctx, inForceMax)
	defer cancel()
	behind, err := catalog.AwaitReplicas(waiting, db)
	if len(behind) > 0 {
		return fmt.Errorf("the catalog is stored, but after %s these servers still serve the one before; see their logs: %s",
			inForceMax, strings.Join(behind, ", "))
	}
	return err
}

// userAtHost names the person who applies a catalog, for its history.
func userAtHost() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}

type catalogExport struct {
	databaseFlags
}

// Run prints the present catalog.
func (c *catalogExport) Run(ctx context.Context, log *slog.Logger) error {
	return withDatabase(ctx, c.databaseFlags, log, func(s *database) error {
		file, err := catalog.Export(ctx, s.db)
		if err != nil {
			return err
		}
		return yaml.NewEncoder(os.Stdout).Encode(file)
	})
}
