package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"umg/app/catalog"
	"umg/app/library"
	"umg/app/preset"
)

// libraryCommands are about the library of models: what providers serve, and at which cost.
type libraryCommands struct {
	Show   libraryShow   `cmd:"" help:"List the models of the library with the cost of their input and output."`
	Update libraryUpdate `cmd:"" help:"Take newer data of models and prices, and the costs and prices that follow."`
}

type libraryShow struct {
	databaseFlags

	Words  []string `arg:"" optional:"" help:"Words that the ids or names of the models have."`
	Preset string   `help:"Only models of a preset." placeholder:"PRESET"`
}

// Run prints a line for each offer of a model.
func (c *libraryShow) Run(ctx context.Context, log *slog.Logger) error {
	if _, ok := preset.Find(c.Preset); c.Preset != "" && !ok {
		return fmt.Errorf("--preset: %q is not one of %s", c.Preset, strings.Join(preset.IDs(), ", "))
	}
	return withDatabase(ctx, c.databaseFlags, log, func(s *database) error {
		l, err := library.Load(ctx, s.db)
		if err != nil {
			return err
		}
		return showLibrary(os.Stdout, l, c.Preset, c.Words)
	})
}

// showLibrary prints the offers of a preset, or of all, whose models have all of the words.
func showLibrary(out io.Writer, l *library.Library, presetID string, words []string) error {
	if _, err := fmt.Fprintf(out, "Data of %s", l.Date); err != nil {
		return err
	}
	for _, source := range l.Sources {
		_, _ = fmt.Fprintf(out, "; %s %s (%s)", source.Name, source.Version, source.License)
	}
	_, _ = fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "MODEL\tPRESET\tNAME AT THE PROVIDER\tSTYLE\tCONTEXT\tINPUT\tOUTPUT")
	for i := range l.Models {
		m := &l.Models[i]
		text := strings.ToLower(m.ID + " " + m.Name)
		if slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, strings.ToLower(word)) }) {
			continue
		}
		for j := range m.Offers {
			o := &m.Offers[j]
			if presetID != "" && o.Preset != presetID {
				continue
			}
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", m.ID, o.Preset, o.Model, o.Style,
				cmp.Or(o.ContextTokens, m.ContextTokens), costOf(o, "input_tokens"), costOf(o, "output_tokens"))
		}
	}
	return w.Flush()
}

// costOf is the price of a meter as text, or a dash.
func costOf(o *library.Offer, meter string) string {
	if o.Cost == nil {
		return "-"
	}
	price, ok := o.Cost.Rates[meter]
	if !ok {
		return "-"
	}
	return "$" + price.String()
}

type libraryUpdate struct {
	databaseFlags

	File string `arg:"" help:"File api.json of models.dev or data.json of genai-prices." type:"existingfile"`
	Day  string `help:"Day of the data, such as 2026-12-01; default: today." placeholder:"DAY"`
	Yes  bool   `help:"Store the data and put the new costs in force. Without it, the changes are only printed."`
	By   string `help:"Name for the history; default: USER@HOST." placeholder:"NAME"`
}

// Run prints what changes, and makes the changes when they are confirmed.
func (c *libraryUpdate) Run(ctx context.Context, log *slog.Logger) error {
	file, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	return withDatabase(ctx, c.databaseFlags, log, func(s *database) error {
		now := time.Now()
		return c.update(ctx, s, os.Stdout, file, now)
	})
}

func (c *libraryUpdate) update(ctx context.Context, s *database, out io.Writer, file []byte, now time.Time) error {
	current, err := library.Load(ctx, s.db)
	if err != nil {
		return err
	}
	next, changes, err := library.Update(current, file, cmp.Or(c.Day, now.UTC().Format(time.DateOnly)))
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	inForce, version, err := catalog.ExportVersion(ctx, s.db)
	if err != nil {
		return err
	}
	followed, lines, err := library.Follow(inForce, current, next, now)
	if err != nil {
		return err
	}
	known := catalog.BelowCost(inForce)
	belowCost := slices.DeleteFunc(catalog.BelowCost(followed), func(line string) bool { return slices.Contains(known, line) })
	printUpdate(out, changes, lines, belowCost)
	if !c.Yes {
		_, err := fmt.Fprintln(out, "Nothing was changed. Add --yes to store the data and to put the costs and prices in force.")
		return err
	}
	by := cmp.Or(c.By, userAtHost())
	if len(lines) > 0 {
		action := catalog.HistoryAction{By: by, Note: "Costs of the model library of " + next.Date + ".", BelowCost: true}
		_, err := catalog.Edit(ctx, s.db, action, version, func(catalog.File) (catalog.File, error) { return followed, nil })
		if err != nil {
			return err
		}
	}
	if err := library.Store(ctx, s.db, next, by); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "The library has the data of %s.\n", next.Date)
	return err
}

// printUpdate prints the differences of the library, and what follows for the catalog.
func printUpdate(out io.Writer, changes []library.Change, lines, belowCost []string) {
	section := func(title, none string, all []string) {
		if len(all) == 0 {
			_, _ = fmt.Fprintln(out, none)
			return
		}
		_, _ = fmt.Fprintln(out, title)
		for _, line := range all {
			_, _ = fmt.Fprintln(out, "  "+line)
		}
	}
	texts := make([]string, len(changes))
	for i, change := range changes {
		texts[i] = change.String()
	}
	section("Changes of the library:", "The library does not change.", texts)
	section("Changes of the catalog:", "No route has a cost of the library that changes.", lines)
	if len(belowCost) > 0 {
		section("Prices that will be below cost until then:", "", belowCost)
	}
}
