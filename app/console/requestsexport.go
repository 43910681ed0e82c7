package console

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	"umg/app/console/page"
	"umg/app/meter"
	"umg/billing"
	"umg/billing/usage"
)

const recordsAtOnceMax = 1000

// nextPage reads the next page of a list, and reports whether more pages follow.
type nextPage[T any] func() (items []T, more bool, err error)

// exportWriter writes the list of a downloaded file.
type exportWriter interface {
	begin() error
	add(item any) error
	end() error
}

// exportPages streams every item of a list. The first page is read before anything is sent, so that most faults are answered with an
// error page. A later fault drops the connection, because nothing else shows the reader that lines are missing.
func exportPages[T any](c *Console, p *page.Page, kind, name string, out exportWriter, next nextPage[T], line func(*T) any) error {
	items, more, err := next()
	if err != nil {
		return err
	}
	c.attachment(p, kind, name)
	flush := c.stalled(p)
	if err = out.begin(); err != nil {
		return err
	}
	for range exportPagesMax {
		for i := range items {
			if err = out.add(line(&items[i])); err != nil {
				return err
			}
		}
		if !more {
			return out.end()
		}
		_ = flush()
		if items, more, err = next(); err != nil {
			break
		}
	}
	panic(http.ErrAbortHandler)
}

// csvList writes a table with a line of heads. Its items are lists of cells.
type csvList struct {
	*csv.Writer

	heads []string
}

func (l *csvList) begin() error { return l.Write(l.heads) }

func (l *csvList) add(item any) error {
	cells, _ := item.([]string)
	return l.Write(cells)
}

func (l *csvList) end() error {
	l.Flush()
	return l.Error()
}

// recordExport is what the exports of requests need apart from the requests.
type recordExport struct {
	keyNames map[string]string
	// zone is the reader's time zone, in which all times are.
	zone *time.Location
}

// recordPages returns a function that reads the calls of the query page by page, and what the lines need of the account and the reader.
func (c *Console) recordPages(p *page.Page) (nextPage[usage.Request], recordExport, error) {
	keys, err := c.logKeys(p)
	listed := logQuery(p)
	q := c.recordQuery(p, listed, keys)
	q.After, q.Limit = "", recordsAtOnceMax
	e := recordExport{keyNames: keys.names, zone: listed.Location()}
	return func() ([]usage.Request, bool, error) {
		found, err := c.o.Reports.RequestLog(p.Request().Context(), q)
		q.After = found.Next
		return found.Requests, found.Next != "", err
	}, e, err
}

func (c *Console) requestsCSV(p *page.Page) error {
	next, e, err := c.recordPages(p)
	if err != nil {
		return err
	}
	return exportPages(c, p, kindCSV, "requests", &csvList{csv.NewWriter(p.Response()), recordHeads}, next,
		func(r *usage.Request) any { return e.requestCells(r) })
}

// requestsJSON exports the same list in JSON, with the names of the table's columns. Amounts are decimal texts, so that no reader rounds
// them.
func (c *Console) requestsJSON(p *page.Page) error {
	next, e, err := c.recordPages(p)
	if err != nil {
		return err
	}
	head, err := json.Marshal(map[string]string{"time_zone": e.zone.String()})
	if err != nil {
		return err
	}
	return exportPages(c, p, kindJSON, "requests", &jsonList{out: p.Response(), head: head[1 : len(head)-1], name: "requests"}, next,
		func(r *usage.Request) any { return e.requestOut(r) })
}

// jsonList writes an object with one list, item by item. Head holds the members before the list.
type jsonList struct {
	out   io.Writer
	head  []byte
	name  string
	begun bool
}

func (l *jsonList) begin() error {
	head := string(l.head)
	if head != "" {
		head += ","
	}
	_, err := io.WriteString(l.out, "{"+head+`"`+l.name+`":[`)
	return err
}

func (l *jsonList) add(item any) error {
	text, err := json.Marshal(item)
	if err != nil {
		return err
	}
	if l.begun {
		text = append([]byte(",\n"), text...)
	}
	l.begun = true
	_, err = l.out.Write(text)
	return err
}

func (l *jsonList) end() error {
	_, err := io.WriteString(l.out, "]}\n")
	return err
}

// exportedRecord is a call in JSON.
type exportedRecord struct {
	Time       time.Time `json:"time"`
	Request    string    `json:"request"`
	Model      string    `json:"model"`
	Provider   string    `json:"provider"`
	Used       string    `json:"provider_model"`
	Key        string    `json:"key"`
	KeyName    string    `json:"key_name"`
	Style      string    `json:"style"`
	Streamed   bool      `json:"streamed"`
	Outcome    string    `json:"outcome"`
	Reason     string    `json:"reason"`
	Finish     string    `json:"finish_reason"`
	Error      string    `json:"error_code"`
	EndUser    string    `json:"end_user"`
	Input      int64     `json:"input_tokens"`
	CacheRead  int64     `json:"cache_read_tokens"`
	CacheWrite int64     `json:"cache_write_tokens"`
	Output     int64     `json:"output_tokens"`
	Reasoning  int64     `json:"reasoning_tokens"`
	Images     int64     `json:"images"`
	Seconds    string    `json:"seconds"`
	Estimated  bool      `json:"estimated"`
	RateCard   string    `json:"rate_card"`
	Reserved   string    `json:"reserved_usd"`
	Cost       string    `json:"cost_usd"`
	Overrun    string    `json:"overrun_usd"`
	Charge     string    `json:"transaction"`
	Attempts   int       `json:"attempts"`
	FirstByte  int64     `json:"first_byte_ms"`
	Duration   int64     `json:"duration_ms"`

	Upstream []exportedAttempt         `json:"upstream_attempts"`
	Meters   map[string]meter.Quantity `json:"meters,omitempty"`
	Terms    string                    `json:"terms,omitempty"`
}

// exportedAttempt is one request to a provider. Times count from the beginning of the call.
type exportedAttempt struct {
	Provider string `json:"provider"`
	Status   int    `json:"status"` // Status is zero if the provider did not answer.
	Cause    string `json:"cause"`  // Cause is the reason of the failure. It is empty for the attempt that answered.
	Started  int64  `json:"started_ms"`
	First    int64  `json:"first_content_ms"` // First counts milliseconds from the start of the attempt. Zero means no content.
	Failed   int64  `json:"failed_ms"`        // Failed counts milliseconds from the start of the attempt. Zero means that it answered.
}

func (e recordExport) recordOut(r *billing.UsageRecord) exportedRecord {
	u, attempts := r.Usage, make([]exportedAttempt, len(r.Trail.Attempts))
	for i, a := range r.Trail.Attempts {
		attempts[i] = exportedAttempt{
			Provider: a.Provider, Status: a.Status, Cause: a.Cause, Started: a.Start.Milliseconds(), First: a.First.Milliseconds(),
			Failed: a.Took.Milliseconds(),
		}
	}
	return exportedRecord{
		Time: r.StartedAt.In(e.zone), Request: r.RequestID, Model: r.Model, Provider: r.Provider, Used: r.UpstreamModel, Key: r.KeyID,
		KeyName: keyName(r.KeyID, e.keyNames), Style: r.Style, Streamed: r.Streamed, Outcome: r.Outcome, Reason: r.Reason, Finish: r.FinishReason,
		Error: r.ErrorCode, EndUser: r.EndUser, Input: u[meter.InputTokens], CacheRead: u[meter.CacheReadTokens],
		CacheWrite: u[meter.CacheWriteTokens], Output: u[meter.OutputTokens], Reasoning: u[meter.ReasoningTokens],
		Images: u[meter.Images], Seconds: seconds(u[meter.Seconds]), Estimated: r.Estimated, RateCard: r.RateCardID,
		Reserved: r.Reserved.String(), Cost: r.Cost.String(), Overrun: r.Overrun.String(), Charge: r.TransactionID, Attempts: r.Attempts,
		FirstByte: r.FirstByte.Milliseconds(), Duration: r.Duration.Milliseconds(), Upstream: attempts,
		Meters: u.Further(), Terms: r.Terms.String(),
	}
}

// recordCells are a record as a line of a table file.
func (e recordExport) recordCells(r *billing.UsageRecord) []string {
	u := r.Usage
	return []string{
		r.StartedAt.In(e.zone).Format(time.RFC3339Nano), e.zone.String(), csvText(r.RequestID), csvText(r.Model),
		csvText(r.Provider), csvText(r.UpstreamModel),
		csvText(r.KeyID), csvText(keyName(r.KeyID, e.keyNames)), csvText(r.Style), strconv.FormatBool(r.Streamed), csvText(r.Outcome),
		csvText(r.Reason), csvText(r.FinishReason), csvText(r.ErrorCode), csvText(r.EndUser), number(u[meter.InputTokens]),
		number(u[meter.CacheReadTokens]), number(u[meter.CacheWriteTokens]), number(u[meter.OutputTokens]),
		number(u[meter.ReasoningTokens]),
		number(u[meter.Images]), seconds(u[meter.Seconds]), strconv.FormatBool(r.Estimated), csvText(r.RateCardID), r.Reserved.String(),
		r.Cost.String(), r.Overrun.String(), r.TransactionID, strconv.Itoa(r.Attempts),
		number(r.FirstByte.Milliseconds()), number(r.Duration.Milliseconds()), u.FurtherText(), csvText(r.Terms.String()),
	}
}

var recordHeads = []string{
	"time", "time_zone", "request", "model", "provider", "provider_model", "key", "key_name", "style", "streamed", "outcome", "reason",
	"finish_reason", "error_code", "end_user", "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens",
	"reasoning_tokens", "images", "seconds",
	"estimated", "rate_card", "reserved_usd", "cost_usd", "overrun_usd", "transaction", "attempts", "first_byte_ms", "duration_ms",
	"meters", "terms", "status", "field", "message", "refusals", "unknown_model",
}
