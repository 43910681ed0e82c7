package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/catalog"
	"umg/billing/reconcile"
	"umg/billing/usage"
)

// unreadableStatus is the exit status when there was nothing to compare, such as a file that cannot be read.
const unreadableStatus = 2

type ledgerReconcile struct {
	databaseFlags

	Provider string           `arg:"" help:"Provider, by its id in the catalog."`
	File     string           `arg:"" help:"The provider's export, or - for standard input." placeholder:"FILE"`
	Format   reconcile.Format `help:"Format of the export; default: recognised from its content." enum:",openai-costs,openai-usage,anthropic-usage,anthropic-cost,openrouter-activity" default:"" placeholder:"FORMAT"`
	From     string           `help:"First day to compare, UTC; default: the first of the export." placeholder:"YYYY-MM-DD"`
	To       string           `help:"Last day to compare, UTC; default: the last of the export." placeholder:"YYYY-MM-DD"`
	JSON     bool             `name:"json" help:"Print the result as JSON."`
}

// Help is the text below the flags.
func (c *ledgerReconcile) Help() string {
	return `Every difference by day (UTC) and model is in one of four classes: missing here, missing there, other price, other count. The exit
status is 0 when all agree, 1 when there are differences and 2 when the file cannot be read.

Formats, and the members or columns that are read:

  openai-usage         GET /v1/organization/usage/completions?bucket_width=1d&group_by=model
    {"object":"page","data":[{"object":"bucket","start_time":1730419200,"end_time":1730505600,"results":[{
      "object":"organization.usage.completions.result","model":"gpt-4o-2024-08-06","input_tokens":1000,"output_tokens":500,
      "input_cached_tokens":800,"input_audio_tokens":0,"output_audio_tokens":0,"num_model_requests":5}]}],"has_more":false}

  openai-costs         GET /v1/organization/costs?bucket_width=1d&group_by=line_item
    {"object":"page","data":[{"object":"bucket","start_time":1730419200,"end_time":1730505600,"results":[{
      "object":"organization.costs.result","amount":{"value":0.06,"currency":"usd"},"line_item":"gpt-4o-2024-08-06, input"}]}]}

  anthropic-usage      GET /v1/organizations/usage_report/messages?bucket_width=1d&group_by[]=model
    {"data":[{"starting_at":"2025-08-01T00:00:00Z","ending_at":"2025-08-02T00:00:00Z","results":[{
      "model":"claude-sonnet-4-20250514","uncached_input_tokens":1500,"cache_read_input_tokens":200,"output_tokens":500,
      "cache_creation":{"ephemeral_1h_input_tokens":1000,"ephemeral_5m_input_tokens":500},
      "server_tool_use":{"web_search_requests":10}}]}],"has_more":false}

  anthropic-cost       GET /v1/organizations/cost_report?group_by[]=description; the amount is in cents
    {"data":[{"starting_at":"2025-08-01T00:00:00Z","ending_at":"2025-08-02T00:00:00Z","results":[{"amount":"123.78912",
      "currency":"USD","cost_type":"tokens","description":"Claude Sonnet 4 Usage - Input Tokens","model":"claude-sonnet-4-20250514"}]}]}

  openrouter-activity  CSV export of the activity page, or GET /api/v1/activity
    date,model,usage,requests,prompt_tokens,completion_tokens,reasoning_tokens
    2025-08-24,openai/gpt-4.1,0.015,5,50,125,25

A JSON file may have several pages, one after the other. A file has at most 64 MiB.`
}

// Run prints the differences.
func (c *ledgerReconcile) Run(ctx context.Context, log *slog.Logger) error {
	return c.compare(ctx, os.Stdout, log)
}

// compare writes the result of the comparison. It returns an error with the exit status of the command when there are differences.
func (c *ledgerReconcile) compare(ctx context.Context, out io.Writer, log *slog.Logger) error {
	export, period, err := c.read()
	if err != nil {
		return statusError{error: err, status: unreadableStatus}
	}
	var result reconcile.Result
	err = withDatabase(ctx, c.databaseFlags, log, func(s *database) error {
		records, err := providerDays(ctx, s, log, c.Provider, period)
		if err == nil {
			result = reconcile.Compare(&export, records, period)
		}
		return err
	})
	if err == nil {
		err = c.print(out, export.Format, &result)
	}
	if err != nil {
		return statusError{error: err, status: unreadableStatus}
	}
	if n := len(result.Differences); n > 0 {
		return fmt.Errorf("the export and the records differ in %d places", n)
	}
	return nil
}

// read parses the export and finds the days to compare.
func (c *ledgerReconcile) read() (export reconcile.Export, period reconcile.Period, err error) {
	file := os.Stdin
	if c.File != "-" {
		if file, err = os.Open(c.File); err != nil {
			return export, period, err
		}
		defer file.Close()
	}
	if export, err = reconcile.Parse(file, c.Format); err != nil {
		return export, period, fmt.Errorf("%s: %w", c.File, err)
	}
	period = export.Period
	for _, bound := range []struct {
		flag, value string
		day         *reconcile.Day
	}{{"--from", c.From, &period.First}, {"--to", c.To, &period.Last}} {
		if bound.value == "" {
			continue
		}
		if *bound.day, err = reconcile.ParseDay(bound.value); err != nil {
			return export, period, fmt.Errorf("%s: %w", bound.flag, err)
		}
	}
	switch {
	case period.First == "" || period.Last == "":
		return export, period, fmt.Errorf("%s covers no day; name the days with --from and --to", c.File)
	case period.First > period.Last:
		return export, period, fmt.Errorf("the first day, %s, is after the last, %s", period.First, period.Last)
	}
	return export, period, nil
}

// providerDays reads the records of the provider. It fails when there is no such provider, so that a typing error does not look like
// missing records.
func providerDays(
	ctx context.Context, s *database, log *slog.Logger, provider string, p reconcile.Period,
) ([]usage.ProviderDay, error) {
	reports := usage.NewReports(s.db, usage.Options{Now: time.Now, Log: log})
	days, err := reports.ProviderDays(ctx, provider, p.First.Time(), p.Last.Time())
	if err != nil || len(days) > 0 {
		return days, err
	}
	file, err := catalog.Export(ctx, s.db)
	if err != nil {
		return nil, err
	}
	var ids []string
	for i := range file.Providers {
		ids = append(ids, file.Providers[i].ID)
	}
	if !slices.Contains(ids, provider) {
		return nil, fmt.Errorf("the catalog has no provider %q; it has %s", provider, strings.Join(ids, ", "))
	}
	return nil, nil
}

// print writes the result for people or as JSON.
func (c *ledgerReconcile) print(w io.Writer, f reconcile.Format, r *reconcile.Result) error {
	if c.JSON {
		return json.MarshalWrite(w, newReconcileReport(c.Provider, f, r), jsontext.Multiline(true))
	}
	return errors.Join(printDifferences(w, r), printTotals(w, r))
}

func printDifferences(w io.Writer, r *reconcile.Result) error {
	for _, note := range r.Notes {
		fmt.Fprintln(w, "note:", note)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := range r.Differences {
		d := &r.Differences[i]
		var values []string
		for _, v := range d.Values {
			values = append(values, describeValue(v))
		}
		if d.Note != "" {
			values = append(values, "("+d.Note+")")
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", d.Day, d.Class, d.Model, strings.Join(values, "; "))
	}
	return table.Flush()
}

// describeValue says what both sides have, such as "input tokens 1000 here, 900 there (+100)".
func describeValue(v reconcile.Value) string {
	switch {
	case v.Here == nil && v.There == nil:
		return v.Name + " unknown"
	case v.Here == nil && v.IsCost:
		return v.Name + " unknown here, " + valueText(v, *v.There) + " there"
	case v.Here == nil:
		return v.Name + " " + valueText(v, *v.There) + " there"
	case v.There == nil:
		return v.Name + " " + valueText(v, *v.Here) + " here"
	}
	return fmt.Sprintf("%s %s here, %s there (%s)", v.Name, valueText(v, *v.Here), valueText(v, *v.There), excessText(v))
}

// valueText is a count, or dollars.
func valueText(v reconcile.Value, n int64) string {
	if v.IsCost {
		return "$" + app.Amount(n).String()
	}
	return strconv.FormatInt(n, 10)
}

// excessText is how much more there is here than there, with its sign. It is empty when a side is unknown.
func excessText(v reconcile.Value) string {
	if v.Here == nil || v.There == nil {
		return ""
	}
	difference := *v.Here - *v.There
	if difference < 0 {
		return "-" + valueText(v, -difference)
	}
	return "+" + valueText(v, difference)
}

func printTotals(w io.Writer, r *reconcile.Result) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\n%s to %s\there\tthere\tdifference\n", r.Period.First, r.Period.Last)
	for _, v := range r.Totals {
		here := "unknown"
		if v.Here != nil {
			here = valueText(v, *v.Here)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", v.Name, here, valueText(v, *v.There), excessText(v))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	var classes []string
	counts := r.ByClass()
	for _, class := range reconcile.Classes {
		if n := counts[class]; n > 0 {
			classes = append(classes, fmt.Sprintf("%d %s", n, class))
		}
	}
	line := fmt.Sprintf("%d of %d days and models agree", r.Agreeing, r.Compared)
	if len(classes) > 0 {
		line += "; differences: " + strings.Join(classes, ", ")
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

// reconcileReport is the result as JSON.
type reconcileReport struct {
	Provider string           `json:"provider"`
	Format   reconcile.Format `json:"format"`
	reconcile.Period
	Compared    int                     `json:"compared"`
	Agreeing    int                     `json:"agreeing"`
	Counts      map[reconcile.Class]int `json:"counts"`
	Differences []reportedDifference    `json:"differences"`
	Totals      []reportedValue         `json:"totals"`
	Notes       []string                `json:"notes"`
}

type reportedDifference struct {
	Class  reconcile.Class `json:"class"`
	Day    reconcile.Day   `json:"day"`
	Model  string          `json:"model"`
	Values []reportedValue `json:"values"`
	Note   string          `json:"note,omitempty"`
}

// reportedValue is a number of both sides: a count, or dollars. It is null where a side is unknown or has none.
type reportedValue struct {
	Name  string `json:"name"`
	Here  any    `json:"here"`
	There any    `json:"there"`
}

func newReconcileReport(provider string, f reconcile.Format, r *reconcile.Result) reconcileReport {
	report := reconcileReport{
		Provider: provider, Format: f, Period: r.Period, Compared: r.Compared, Agreeing: r.Agreeing, Counts: r.ByClass(),
		Differences: []reportedDifference{}, Totals: reportedValues(r.Totals), Notes: r.Notes,
	}
	for i := range r.Differences {
		d := &r.Differences[i]
		report.Differences = append(report.Differences, reportedDifference{
			Class: d.Class, Day: d.Day, Model: d.Model, Values: reportedValues(d.Values), Note: d.Note,
		})
	}
	return report
}

func reportedValues(values []reconcile.Value) []reportedValue {
	list := make([]reportedValue, len(values))
	for i, v := range values {
		list[i].Name = v.Name
		for _, side := range []struct {
			from *int64
			to   *any
		}{{v.Here, &list[i].Here}, {v.There, &list[i].There}} {
			switch {
			case side.from == nil:
			case v.IsCost:
				*side.to = app.Amount(*side.from)
			default:
				*side.to = *side.from
			}
		}
	}
	return list
}
