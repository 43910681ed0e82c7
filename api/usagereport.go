package api

import (
	"bytes"
	"encoding/csv"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/app/meter"
	"umg/billing/usage"
)

// usageFigures are the numbers of a line, in words that programs know from the usage of answers.
type usageFigures struct {
	Requests         int64      `json:"requests"`
	FailedRequests   int64      `json:"failed_requests"`
	StreamedRequests int64      `json:"streamed_requests"`
	RefusedRequests  int64      `json:"refused_requests"`
	RateLimited      int64      `json:"rate_limited_requests"`
	InputTokens      int64      `json:"input_tokens"`
	CacheReadTokens  int64      `json:"cache_read_tokens"`
	CacheWriteTokens int64      `json:"cache_write_tokens"`
	OutputTokens     int64      `json:"output_tokens"`
	ReasoningTokens  int64      `json:"reasoning_tokens"`
	Images           int64      `json:"images"`
	Milliseconds     int64      `json:"milliseconds"`
	Characters       int64      `json:"characters"`
	Cost             app.Amount `json:"cost"`

	Meters map[string]meter.Quantity `json:"meters,omitempty"`
}

func figuresOf(l usage.Line) usageFigures {
	return usageFigures{
		Requests: l.Requests, FailedRequests: l.Failed, StreamedRequests: l.Streamed, RefusedRequests: l.Refused,
		RateLimited: l.RateLimited, InputTokens: l.Usage[meter.InputTokens],
		CacheReadTokens: l.Usage[meter.CacheReadTokens], CacheWriteTokens: l.Usage[meter.CacheWriteTokens],
		OutputTokens: l.Usage[meter.OutputTokens], ReasoningTokens: l.Usage[meter.ReasoningTokens],
		Images: l.Usage[meter.Images], Milliseconds: l.Usage[meter.Seconds], Characters: l.Usage[meter.Characters], Cost: l.Cost,
		Meters: l.Usage.Further(),
	}
}

// usageEntry is one line of a report. Of its names those are there that the report is grouped by.
type usageEntry struct {
	Start   *string `json:"start,omitempty"`
	Model   *string `json:"model,omitempty"`
	KeyID   *string `json:"key_id,omitempty"`
	Style   *string `json:"style,omitempty"`
	EndUser *string `json:"end_user,omitempty"`
	Reason  *string `json:"reason,omitempty"`
	usageFigures
}

// usageAnswer is the whole report.
type usageAnswer struct {
	Object  string       `json:"object"`
	From    string       `json:"from"`
	To      string       `json:"to"`
	Zone    string       `json:"tz"`
	GroupBy []string     `json:"group_by"`
	Data    []usageEntry `json:"data"`
	Total   usageFigures `json:"total"`
}

func usageJSON(u usageRequest, report usage.Report) usageAnswer {
	answer := usageAnswer{
		Object: "usage_report", From: u.moment(u.From), To: u.moment(u.To), Zone: u.Zone.String(), GroupBy: u.groups,
		Data: make([]usageEntry, len(report.Lines)), Total: figuresOf(report.Total),
	}
	if answer.GroupBy == nil {
		answer.GroupBy = []string{}
	}
	for i, l := range report.Lines {
		e := usageEntry{usageFigures: figuresOf(l)}
		if u.Step != usage.NoStep {
			start := u.moment(l.Start)
			e.Start = &start
		}
		switch name := l.Group; u.Group {
		case usage.ByModel:
			e.Model = &name
		case usage.ByKey:
			e.KeyID = &name
		case usage.ByStyle:
			e.Style = &name
		case usage.ByEndUser:
			e.EndUser = &name
		case usage.ByReason:
			e.Reason = &name
		case usage.ByNothing:
		}
		answer.Data[i] = e
	}
	return answer
}

// moment is a time in the zone of the report.
func (u usageRequest) moment(t time.Time) string { return t.In(u.Zone).Format(time.RFC3339) }

// groupNames head the column of a grouping.
var groupNames = map[usage.Grouping]string{
	usage.ByModel: "model", usage.ByKey: "key_id", usage.ByStyle: "style", usage.ByEndUser: "end_user", usage.ByReason: "reason",
}

var figureNames = []string{
	"requests", "failed_requests", "streamed_requests", "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens",
	"reasoning_tokens", "images", "milliseconds", "characters",
}

// lastFigureNames are the columns behind the cost and the further meters.
var lastFigureNames = []string{"refused_requests", "rate_limited_requests"}

// usageCSV is a report for spreadsheets. It has no line for the total, as sums over the column would count it twice.
func usageCSV(u usageRequest, report usage.Report) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	var head []string
	if u.Step != usage.NoStep {
		head = append(head, "start")
	}
	if u.Group != usage.ByNothing {
		head = append(head, groupNames[u.Group])
	}
	// A writer into memory does not fail.
	_ = w.Write(slices.Concat(head, figureNames, []string{"cost", "meters"}, lastFigureNames))
	for _, l := range report.Lines {
		var row []string
		if u.Step != usage.NoStep {
			row = append(row, u.moment(l.Start))
		}
		if u.Group != usage.ByNothing {
			group := l.Group // Callers choose names of end users. A spreadsheet must not run one as a formula.
			if group != "" && strings.ContainsRune("=+-@\t\r\n|%", rune(group[0])) {
				group = "'" + group
			}
			row = append(row, group)
		}
		f := figuresOf(l)
		for _, n := range []int64{
			f.Requests, f.FailedRequests, f.StreamedRequests, f.InputTokens, f.CacheReadTokens, f.CacheWriteTokens, f.OutputTokens,
			f.ReasoningTokens, f.Images, f.Milliseconds, f.Characters,
		} {
			row = append(row, strconv.FormatInt(n, 10))
		}
		_ = w.Write(append(row, f.Cost.String(), l.Usage.FurtherText(), strconv.FormatInt(f.RefusedRequests, 10),
			strconv.FormatInt(f.RateLimited, 10)))
	}
	w.Flush()
	return b.Bytes()
}

// wantsCSV reports whether the caller prefers a table to JSON.
func wantsCSV(h http.Header) bool {
	table, object := 0.0, 0.0
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept"), ","), ",") {
		kind, params, err := mime.ParseMediaType(strings.TrimSpace(part))
		if err != nil {
			continue
		}
		weight := 1.0
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
			weight = q
		}
		switch kind {
		case "text/csv":
			table = max(table, weight)
		case jsonType:
			object = max(object, weight)
		}
	}
	return table > 0 && table >= object
}
