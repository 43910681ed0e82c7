package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"umg/app"
	"umg/app/catalog"
	"umg/app/catalog/change"
	"umg/app/library"
)

// modelCommands change the models of the catalog in force.
type modelCommands struct {
	List    modelList    `cmd:"" help:"List the models with their prices and routes."`
	Publish modelPublish `cmd:"" help:"Publish models of a provider of the catalog."`
	Retire  modelRetire  `cmd:"" help:"Remove a model from the catalog. Its records and prices stay."`
	Price   modelPrice   `cmd:"" help:"Set or announce the price of a model."`
}

// markupAtCost is the markup of prices that equal the cost.
const markupAtCost catalog.Factor = 10_000

const (
	// nanosPerHundredth is a hundredth of a percent in nano-units. It is a ten-thousandth of the cost, the unit of factors.
	nanosPerHundredth = app.Dollar / 100
	percentMax        = 9900
)

// parseMarkup reads a markup in percent, such as 10%, which is the factor 1.1 of catalog files.
func parseMarkup(text string) (catalog.Factor, error) {
	number, isPercent := strings.CutSuffix(text, "%")
	if !isPercent {
		return 0, fmt.Errorf("--markup: %q has no percent sign; write it like 10%%", text)
	}
	// A percentage is parsed as an amount, because a factor is never zero.
	percent, err := app.ParseAmount(number)
	if err != nil || percent < 0 || percent%nanosPerHundredth != 0 || percent > percentMax*app.Dollar {
		return 0, fmt.Errorf("--markup: %q is not a percentage from 0 to %d with at most two decimals, such as 10%%", text, percentMax)
	}
	return markupAtCost + catalog.Factor(percent/nanosPerHundredth), nil
}

// parseRates reads prices by meter, such as input_tokens=2.50 per 1M.
func parseRates(prices map[string]string) (catalog.Rates, error) {
	if len(prices) == 0 {
		return nil, nil
	}
	rates := catalog.Rates{}
	for meter, text := range prices {
		price, err := catalog.ParsePrice(text)
		if err != nil {
			return nil, fmt.Errorf("--rate %s: %w", meter, err)
		}
		rates[meter] = price
	}
	return rates, nil
}

// priceFlags are the two ways to price a model.
type priceFlags struct {
	Markup string            `help:"Prices are the cost of the first route plus this many percent." placeholder:"10%"`
	Rate   map[string]string `help:"Price of a meter, such as input_tokens='2.50 per 1M'." placeholder:"METER=PRICE" mapsep:"none"`
}

// values are the parsed flags, of which at most one may be set.
func (f *priceFlags) values() (markup catalog.Factor, rates catalog.Rates, err error) {
	if f.Markup != "" && len(f.Rate) > 0 {
		return 0, nil, errors.New("--markup and --rate are two ways to set a price; use one of them")
	}
	if f.Markup != "" {
		markup, err = parseMarkup(f.Markup)
		return markup, nil, err
	}
	rates, err = parseRates(f.Rate)
	return 0, rates, err
}

type modelList struct {
	databaseFlags

	Words []string `arg:"" optional:"" help:"Words that the ids or names of the models have."`
}

// Run prints a line for each model.
func (c *modelList) Run(ctx context.Context, log *slog.Logger) error {
	return withDatabase(ctx, c.databaseFlags, log, func(s *database) error {
		f, err := catalog.Export(ctx, s.db)
		if err != nil {
			return err
		}
		return printModels(os.Stdout, f, c.Words)
	})
}

func printModels(out io.Writer, f catalog.File, words []string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "MODEL\tSTATE\tINPUT\tOUTPUT\tMARKUP\tROUTES\tACCOUNTS")
	for i := range f.Models {
		m := &f.Models[i]
		text := strings.ToLower(m.ID + " " + m.Name + " " + strings.Join(m.Aliases, " "))
		if slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, strings.ToLower(word)) }) {
			continue
		}
		changed, err := catalog.PriceDifferences(nil, m)
		if err != nil {
			return err
		}
		price := func(meter string) string {
			for _, d := range changed {
				if d.Meter == meter && d.Size == "" && d.New != nil {
					return "$" + d.New.String()
				}
			}
			return "-"
		}
		state, markup, accounts := string(m.Availability), "-", "all"
		if m.Paused {
			state = "paused"
		}
		if m.Markup > 0 {
			markup = markupText(m.Markup)
		}
		if len(m.Accounts) > 0 {
			accounts = strings.Join(m.Accounts, " ")
		}
		var routes []string
		for _, r := range m.Routes {
			routes = append(routes, r.Provider)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.ID, state, price("input_tokens"), price("output_tokens"), markup,
			strings.Join(routes, " "), accounts)
	}
	return w.Flush()
}

// markupText is a markup in percent.
func markupText(f catalog.Factor) string {
	if f < markupAtCost {
		return "-" + strings.TrimPrefix(((markupAtCost-f)*100).String(), "-") + "%"
	}
	return ((f - markupAtCost) * 100).String() + "%"
}

type modelPublish struct {
	editFlags
	priceFlags

	Provider string   `arg:"" help:"Id of the provider in the catalog."`
	Models   []string `arg:"" help:"Public ids, or the provider's names; all for every model with a known cost. A * matches any text."`
	Accounts []string `help:"Ids of the only accounts that see the models." placeholder:"ACCOUNT"`
}

// Run publishes the models.
func (c *modelPublish) Run(ctx context.Context, log *slog.Logger) error {
	return withDatabase(ctx, c.databaseFlags, log, func(s *database) error { return c.publish(ctx, s, standardTerminal()) })
}

func (c *modelPublish) publish(ctx context.Context, s *database, t *terminal) error {
	markup, rates, err := c.values()
	if err != nil {
		return err
	}
	l, err := library.Load(ctx, s.db)
	if err != nil {
		return err
	}
	return c.edit(ctx, s, t, func(f catalog.File) (catalog.File, error) {
		i := slices.IndexFunc(f.Providers, func(p catalog.FileProvider) bool { return p.ID == c.Provider })
		if i < 0 {
			return f, fmt.Errorf("PROVIDER: the catalog has no provider with the id %q", c.Provider)
		}
		choices, err := l.ChoicesFor(f.Providers[i], nil)
		if err != nil {
			return f, err
		}
		chosen, err := choose(choices, c.Models, f.Providers[i].Preset, len(rates) > 0)
		if err != nil {
			return f, fmt.Errorf("MODELS: %w", err)
		}
		models := fileModels(chosen, c.Provider, markup)
		for i := range models {
			models[i].Accounts = c.Accounts
			if len(rates) > 0 {
				models[i].Markup, models[i].Rates = 0, rates
			}
		}
		return change.AddModels(f, models)
	}, nil, nil)
}

type modelRetire struct {
	editFlags

	Model string `arg:"" help:"Id of the model."`
}

// Run retires the model.
func (c *modelRetire) Run(ctx context.Context, log *slog.Logger) error {
	return withDatabase(ctx, c.databaseFlags, log, func(s *database) error { return c.retire(ctx, s, standardTerminal()) })
}

func (c *modelRetire) retire(ctx context.Context, s *database, t *terminal) error {
	return c.edit(ctx, s, t, func(f catalog.File) (catalog.File, error) { return change.RetireModel(f, c.Model) }, nil, nil)
}

type modelPrice struct {
	editFlags
	priceFlags

	Model string `arg:"" help:"Id of the model."`
	From  string `help:"Announce the rates for this day of UTC, such as 2027-02-01, in place of changing them now." placeholder:"DAY"`
}

// Run sets or announces the price.
func (c *modelPrice) Run(ctx context.Context, log *slog.Logger) error {
	return withDatabase(ctx, c.databaseFlags, log, func(s *database) error { return c.price(ctx, s, standardTerminal()) })
}

func (c *modelPrice) price(ctx context.Context, s *database, t *terminal) error {
	markup, rates, err := c.values()
	if err != nil {
		return err
	}
	p := change.Price{Markup: markup, Rates: rates}
	if markup == 0 && len(rates) == 0 {
		return errors.New("the price is missing: add --markup or --rate")
	}
	if c.From != "" {
		if markup != 0 {
			return errors.New("--from: only rates can be announced; use --rate for each meter")
		}
		var day catalog.Date
		if err := day.UnmarshalText([]byte(c.From)); err != nil {
			return fmt.Errorf("--from: %q is not a day; write it like 2027-02-01", c.From)
		}
		p = change.Price{Announced: &catalog.FileAnnounced{From: day, Rates: rates}}
	}
	return c.edit(ctx, s, t, func(f catalog.File) (catalog.File, error) { return change.SetPrice(f, c.Model, p) }, nil, nil)
}
