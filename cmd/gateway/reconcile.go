package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

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
	Format   reconcile.Format `help:"Format of the export; default: recognised from its content." placeholder:"FORMAT"`
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
		records, err := c.records(ctx, s, log, period)
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

// records reads the sums of the provider's records. It fails when there is no such provider, so that a typing error does not look like
// missing records.
func (c *ledgerReconcile) records(ctx context.Context, s *database, log *slog.Logger, p reconcile.Period) ([]usage.ProviderDay, error) {
	reports := usage.NewReports(s.db, usage.Options{Now: time.Now, Log: log})
	days, err := reports.ProviderDays(ctx, c.Provider, p.First.Time(), p.Last.Time())
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
	if !slices.Contains(ids, c.Provider) {
		return nil, fmt.Errorf("the catalog has no provider %q; it has %s", c.Provider, strings.Join(ids, ", "))
	}
	return nil, nil
}

// print writes the result for people or as JSON.
func (c *ledgerReconcile) print(w io.Writer, f reconcile.Format, r *reconcile.Result) error {
	if c.JSON {
		report := reconcileReport{
			Provider: c.Provider, Format: f, Period: r.Period, Compared: r.Compared, Agreeing: r.Agreeing, Counts: r.ByClass(),
			Differences: []reportedDifference{}, Totals: reportedValues(r.Totals), Notes: r.Notes,
		}
		for i := range r.Differences {
			d := &r.Differences[i]
			report.Differences = append(report.Differences, reportedDifference{
				Class: d.Class, Day: d.Day, Model: d.Model, Values: reportedValues(d.Values), Note: d.Note,
			})
		}
		return json.MarshalWrite(w, report, jsontext.Multiline(true))
	}
	return reconcileText{w, r}.print()
}
