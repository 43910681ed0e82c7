package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"umg/app/catalog"
)

type catalogCommands struct {
	Check  catalogCheck  `cmd:"" help:"List every mistake in a catalog file, and every setting without effect."`
	Diff   catalogDiff   `cmd:"" help:"Print what applying a file would change."`
	Apply  catalogApply  `cmd:"" help:"Apply a catalog file, and wait until all running servers use it."`
	Export catalogExport `cmd:"" help:"Print the current catalog as a file."`
}

type catalogFile struct {
	File       string `arg:"" help:"Catalog file (YAML)." type:"existingfile"`
	AllowUnset bool   `help:"Only warn about variables that are not set here."`
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
		catalog.AddLines(text, mistakes)
		return catalog.File{}, 0, fmt.Errorf("%s has %d mistakes:\n%w", f.File, len(mistakes), errors.Join(mistakes...))
	}
	unset := catalog.Unset(file, os.LookupEnv)
	if len(unset) > 0 && !allowUnset {
		return catalog.File{}, 0, fmt.Errorf("%s names variables that are not set here:\n%s\nSet them, write disabled: true at the "+
			"provider, or add --allow-unset when the servers have them", f.File, strings.Join(unset, "\n"))
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
	databaseFlags
	catalogFile
}

// Run prints a line for each change.
func (c *catalogDiff) Run(ctx context.Context, log *slog.Logger) error {
	return withDatabase(ctx, c.databaseFlags, log, func(s *database) error {
		_, err := c.compare(ctx, s, true)
		return err
	})
}

func (c *catalogDiff) compare(ctx context.Context, s *database, allowUnset bool) (catalog.File, error) {
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
	By   string `help:"Name for the history; default: USER@HOST." placeholder:"NAME"`
	Note string `help:"Reason, for the history." placeholder:"TEXT"`

	ConfirmBelowCost bool `help:"Apply prices that are below the cost of a route."`
}

// Run prints the changes and applies them.
func (c *catalogApply) Run(ctx context.Context, log *slog.Logger) error {
	return withDatabase(ctx, c.databaseFlags, log, func(s *database) error {
		next, err := c.compare(ctx, s, c.AllowUnset)
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
