package console

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/app/console/page"
	"umg/app/meter"
	requestpages "umg/views/requests"
)

const (
	exportFlushRows = 500
	millisDigits    = 3
)

// exported is a report as a file has it: every figure of every line, also those that the page does not show.
type exported struct {
	query requestpages.UsageQuery
	now   time.Time
	lines []requestpages.UsageLine
	total requestpages.UsageLine
}

func (c *Console) readExport(p *page.Page) (exported, error) {
	e := exported{query: requestpages.ParseUsageQuery(zonedParams(p)), now: c.o.Now()}
	if problem := e.query.Problem(); problem != "" {
		return e, app.Errorf(app.Unprocessable, "invalid_request_error", "%s", problem).At("from")
	}
	keys, err := c.logKeys(p)
	if err != nil {
		return e, err
	}
	report, err := c.o.Reports.Report(p.Request().Context(), usageQuery(p, e.query, e.now, keys))
	if err != nil {
		return e, err
	}
	for _, line := range report.Lines {
		e.lines = append(e.lines, usageLine(e.query.By, line, keys))
	}
	if e.query.By == requestpages.UsageByTag {
		e.lines = folded(e.lines)
	}
	e.total = usageLine("", report.Total, logKeys{})
	return e, nil
}

// folded adds up lines of the same step and group. There are several where several keys have one tag.
func folded(lines []requestpages.UsageLine) []requestpages.UsageLine {
	type place struct {
		start int64
		id    string
	}
	at := map[place]int{}
	var out []requestpages.UsageLine
	for _, l := range lines {
		i, known := at[place{l.Start.Unix(), l.ID}]
		if !known {
			at[place{l.Start.Unix(), l.ID}] = len(out)
			out = append(out, l)
			continue
		}
		out[i] = out[i].Plus(l)
	}
	return out
}

// attachment begins a download.
func (c *Console) attachment(p *page.Page, kind, name string) {
	h := p.Response().Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", `attachment; filename="`+name+"-"+c.o.Now().UTC().Format(time.DateOnly)+fileEnds[kind]+`"`)
	p.Response().WriteHeader(http.StatusOK)
}

const (
	kindCSV  = "text/csv; charset=utf-8"
	kindJSON = "application/json; charset=utf-8"
)

var fileEnds = map[string]string{kindCSV: ".csv", kindJSON: ".json"}

// stalled returns a flush that sets a new write deadline for each piece of an export.
func (c *Console) stalled(p *page.Page) func() error {
	controller := http.NewResponseController(p.Response())
	return func() error {
		_ = controller.SetWriteDeadline(c.o.Now().Add(exportStallMax))
		return controller.Flush()
	}
}

// pages returns a function that gives the lines in pieces, so that a slow reader has time for each.
func (e *exported) pages() nextPage[requestpages.UsageLine] {
	rest := e.lines
	return func() ([]requestpages.UsageLine, bool, error) {
		piece := rest[:min(len(rest), exportFlushRows)]
		rest = rest[len(piece):]
		return piece, len(rest) > 0, nil
	}
}

func (c *Console) usageCSV(p *page.Page) error {
	e, err := c.readExport(p)
	if err != nil {
		return err
	}
	zone, step := e.query.Location(), string(stepOf(e.query, e.now))
	heads := []string{
		"start", "time_zone", "step", e.query.By, "name", "requests", "errors", "input_tokens", "cached_tokens", "output_tokens", "images",
		"seconds", "cost_usd", "overrun_usd", "meters", "refused", "rate_limited",
	}
	return exportPages(c, p, kindCSV, "usage", &csvList{csv.NewWriter(p.Response()), heads}, e.pages(), func(l *requestpages.UsageLine) any {
		return []string{
			l.Start.In(zone).Format(time.RFC3339), zone.String(), step, csvText(l.ID), csvText(l.Name), number(l.Requests), number(l.Errors),
			number(l.Input), number(l.Cached), number(l.Output), number(l.Images), seconds(l.Milliseconds), l.Cost.String(), l.Overrun.String(),
			l.Counts.FurtherText(), number(l.Refused), number(l.Own429),
		}
	})
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// seconds writes milliseconds as seconds, without rounding.
func seconds(ms int64) string {
	whole, rest := number(ms/millisPerSecond), ms%millisPerSecond
	if rest == 0 {
		return whole
	}
	text := number(rest)
	return whole + "." + strings.TrimRight(strings.Repeat("0", millisDigits-len(text))+text, "0")
}

// exportedLine is a line of the report in JSON. Amounts are decimal texts of dollars, so that none is rounded by a reader.
type exportedLine struct {
	Start    *time.Time `json:"start,omitempty"`
	Group    *string    `json:"group,omitempty"`
	Name     string     `json:"name,omitempty"`
	Requests int64      `json:"requests"`
	Errors   int64      `json:"errors"`
	Input    int64      `json:"input_tokens"`
	Cached   int64      `json:"cached_tokens"`
	Output   int64      `json:"output_tokens"`
	Images   int64      `json:"images"`
	Seconds  string     `json:"seconds"`
	Cost     string     `json:"cost_usd"`
	Overrun  string     `json:"overrun_usd"`
	Refused  int64      `json:"refused"`
	Own429   int64      `json:"rate_limited"`

	Meters map[string]meter.Quantity `json:"meters,omitempty"`
}

func exportLine(l requestpages.UsageLine) exportedLine {
	return exportedLine{
		Requests: l.Requests, Errors: l.Errors, Input: l.Input, Cached: l.Cached, Output: l.Output, Images: l.Images,
		Seconds: seconds(l.Milliseconds), Cost: l.Cost.String(), Overrun: l.Overrun.String(),
		Refused: l.Refused, Own429: l.Own429, Meters: l.Counts.Further(),
	}
}

func (c *Console) usageJSON(p *page.Page) error {
	e, err := c.readExport(p)
	if err != nil {
		return err
	}
	from, to := e.query.Span(e.now)
	head, err := json.Marshal(map[string]any{
		"from": from.Format(time.RFC3339), "to": to.Format(time.RFC3339), "time_zone": e.query.Location().String(),
		"step": string(stepOf(e.query, e.now)), "group_by": e.query.By, "total": exportLine(e.total),
	})
	if err != nil {
		return err
	}
	list := &jsonList{out: p.Response(), head: head[1 : len(head)-1], name: "lines"}
	return exportPages(c, p, kindJSON, "usage", list, e.pages(), func(l *requestpages.UsageLine) any {
		line, start := exportLine(*l), l.Start.In(e.query.Location())
		line.Start, line.Group, line.Name = &start, &l.ID, l.Name
		return line
	})
}
