package billing

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/lib/pq"

	"umg/app"
	"umg/app/meter"
)

// These limits apply to a record.
const (
	readingMax = 1 << 45 // The limit lets a quarter of a million readings be added up without overflow.
	firstYear  = 2000    // No call is older than this year.
	termMax    = 64      // A word of the terms has at most this many bytes.
)

// These are words of the flags of a record.
const (
	// FlagUnpriced marks a call whose provider reported something that no reader or no price knows.
	FlagUnpriced = "unpriced"
	// FlagProviderPrice marks a call whose price is the cost that the provider stated, and not that of its rate card.
	FlagProviderPrice = "provider_price"
	// FlagUncharged marks a call of an account that needs no credit. Its cost to the account is zero, whatever its price.
	FlagUncharged = "uncharged"
	// FlagRequestedFault marks a call that asked a simulated provider for a fault. It says nothing about the model.
	FlagRequestedFault = "requested_fault"
)

// UsageRecord is what one request was and cost. It contains the readings and the version of the rate card, so the cost can be
// computed again at any time. The ledger fills Cost, Reserved and Overrun.
type UsageRecord struct {
	RequestID, AccountID, KeyID           string
	Model, Provider, UpstreamModel, Style string
	RateCardID                            string
	EndUser, FinishReason, ErrorCode      string
	Streamed, Estimated                   bool
	Outcome                               string // Outcome is succeeded, failed, client_left, cut, timed_out or another result.
	Reason                                string // Reason is the row of the settlement table that decided the cost.
	TransactionID                         string // TransactionID is filled when a record is read; it is empty without a charge.
	Usage                                 meter.Counts
	Terms                                 meter.Terms // Terms are those on which the call was served, at StartedAt.
	Flags                                 string      // Flags are words with spaces between them, such as FlagUnpriced.
	Attempts                              int
	StartedAt                             time.Time
	FirstByte, Duration                   time.Duration
	Trail                                 RequestTiming

	Costs
}

// Costs are what a call cost the account and the operator.
type Costs struct {
	// Cost is what the account paid, Reserved what was held, and Overrun what the platform bore beyond the hold.
	Cost, Reserved, Overrun app.Amount
	// ProviderCost is what the provider said that it takes. It is nil when it did not say.
	ProviderCost *app.Amount
	// UpstreamCost is what the call cost the operator by the cost card CostCardID. It is nil when that is not known.
	UpstreamCost *app.Amount
	CostCardID   string
	// Credential is the id of the provider's credential that the call used, which is its reference in the catalog. It may be empty.
	Credential string
}

// HasFlag reports whether a word is among the flags of the record.
func (r *UsageRecord) HasFlag(word string) bool {
	return slices.Contains(strings.Fields(r.Flags), word)
}

// AddFlag puts a word before the other flags unless they have it.
func (r *UsageRecord) AddFlag(word string) {
	if !r.HasFlag(word) {
		r.Flags = strings.TrimSpace(word + " " + r.Flags)
	}
}

// UsageRow is a usage record as a row of its table. It is read by column and written as JSON.
type UsageRow struct {
	RequestID       string        `db:"request_id" json:"request_id"`
	AccountID       string        `db:"account_id" json:"account_id"`
	BudgetID        string        `db:"budget_id" json:"budget_id"`
	ReplicaID       string        `db:"replica_id" json:"replica_id"`
	Epoch           int64         `db:"epoch" json:"epoch"`
	KeyID           string        `db:"key_id" json:"key_id"`
	Model           string        `db:"model" json:"model"`
	Provider        string        `db:"provider" json:"provider"`
	UpstreamModel   string        `db:"upstream_model" json:"upstream_model"`
	Style           string        `db:"style" json:"style"`
	RateCardID      string        `db:"rate_card_id" json:"rate_card_id"`
	EndUser         string        `db:"end_user" json:"end_user"`
	FinishReason    string        `db:"finish_reason" json:"finish_reason"`
	ErrorCode       string        `db:"error_code" json:"error_code"`
	Outcome         string        `db:"outcome" json:"outcome"`
	Reason          string        `db:"reason" json:"reason"`
	TransactionID   string        `db:"transaction_id" json:"-"`
	Streamed        bool          `db:"streamed" json:"streamed"`
	Estimated       bool          `db:"estimated" json:"estimated"`
	Attempts        int32         `db:"attempts" json:"attempts"`
	Meters          pq.Int64Array `db:"meters" json:"meters"` // Meters has no zeros at its end.
	Terms           string        `db:"terms" json:"terms"`
	Reserved        int64         `db:"reserved_nanos" json:"reserved_nanos"`
	Cost            int64         `db:"cost_nanos" json:"cost_nanos"`
	Overrun         int64         `db:"overrun_nanos" json:"overrun_nanos"`
	ProviderCost    *int64        `db:"provider_cost_nanos" json:"provider_cost_nanos"`
	UpstreamCost    *int64        `db:"upstream_cost_nanos" json:"upstream_cost_nanos"`
	CostCardID      string        `db:"cost_card_id" json:"cost_card_id"`
	Credential      string        `db:"credential" json:"credential"`
	Flags           string        `db:"flags" json:"flags"`
	StartedAt       time.Time     `db:"started_at" json:"started_at"`
	FirstByteMicros int64         `db:"first_byte_micros" json:"first_byte_micros"`
	DurationMicros  int64         `db:"duration_micros" json:"duration_micros"`
	Trail           string        `db:"trail" json:"trail"` // Journals from before timings were recorded have none.
}

// UsageColumns are the columns of a UsageRow.
const UsageColumns = `request_id, account_id, budget_id, replica_id, epoch, key_id, model, provider, upstream_model, style,
	rate_card_id, end_user, finish_reason, error_code, outcome, reason, transaction_id, streamed, estimated, attempts, meters, terms,
	reserved_nanos, cost_nanos, overrun_nanos, provider_cost_nanos, upstream_cost_nanos, coalesce(cost_card_id, '') as cost_card_id,
	coalesce(credential, '') as credential,
	flags, started_at, first_byte_micros, duration_micros, coalesce(trail, '') as trail`

// MeterColumn is the count of one meter in a query for usage records or their sums.
func MeterColumn(m meter.Meter) string {
	return fmt.Sprintf("coalesce(meters[%d], 0)", m+1)
}

// recordBytes is enough for the JSON of nearly every record.
const recordBytes = 1<<10 + 1<<8

// Encode renders a settlement as JSON for a journal and the store: the members are the columns of usage_records. It first
// cleans what callers and upstreams wrote, because a settlement that the store rejects for a strange character would be a
// free answer. The account pays at most the hold, the platform what the call cost beyond it. An uncharged call costs
// neither of them anything, and its record has a flag. Encode runs with every request, so it avoids reflection.
func (s Settlement) Encode(h Hold, replicaID string, now time.Time) []byte {
	return s.AppendEncoded(make([]byte, 0, recordBytes), h, replicaID, now)
}

// AppendEncoded is Encode into a buffer of the caller.
func (s Settlement) AppendEncoded(b []byte, h Hold, replicaID string, now time.Time) []byte {
	r, start := &s.Record, s.Record.StartedAt
	if start.IsZero() {
		start = now
	}
	// The store keeps microseconds, and the record's day must be that of the stored time.
	start = start.UTC().Truncate(time.Microsecond)
	if h.Uncharged {
		h.Amount, s.Cost = 0, 0
		s.Record.AddFlag(FlagUncharged)
	}
	held := max(h.Amount, 0)
	paid := min(max(s.Cost, 0), held)
	b = append(b, `{"started_at":"`...)
	day := len(b)
	b = start.AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","day":"`...)
	b = append(append(b, b[day:day+len(time.DateOnly)]...), '"')
	for _, f := range [...]struct{ member, text string }{
		{`,"request_id":`, h.ID}, {`,"account_id":`, h.AccountID}, {`,"budget_id":`, h.BudgetID}, {`,"replica_id":`, replicaID},
		{`,"key_id":`, r.KeyID}, {`,"model":`, r.Model}, {`,"provider":`, r.Provider}, {`,"upstream_model":`, r.UpstreamModel},
		{`,"style":`, r.Style}, {`,"rate_card_id":`, r.RateCardID}, {`,"end_user":`, r.EndUser}, {`,"finish_reason":`, r.FinishReason},
		{`,"error_code":`, r.ErrorCode}, {`,"outcome":`, r.Outcome}, {`,"reason":`, r.Reason},
	} {
		b = appendText(append(b, f.member...), f.text)
	}
	for _, f := range [...]struct {
		member string
		number int64
	}{
		{`,"epoch":`, h.Epoch}, {`,"reserved_nanos":`, int64(held)}, {`,"cost_nanos":`, int64(paid)},
		{`,"overrun_nanos":`, int64(max(s.Cost, 0) - paid)},
		{`,"attempts":`, min(count(int64(r.Attempts)), 1<<30)},
		{`,"first_byte_micros":`, count(r.FirstByte.Microseconds())}, {`,"duration_micros":`, count(r.Duration.Microseconds())},
	} {
		b = strconv.AppendInt(append(b, f.member...), f.number, 10)
	}
	b = strconv.AppendBool(append(b, `,"streamed":`...), r.Streamed)
	b = strconv.AppendBool(append(b, `,"estimated":`...), r.Estimated)
	b = appendMeters(append(b, `,"meters":`...), &r.Usage)
	b = appendCosts(b, r)
	if !r.Trail.isZero() {
		b = append(r.Trail.append(append(b, `,"trail":"`...)), '"')
	}
	return append(b, '}')
}

// appendMeters writes counts as an array without zeros at its end.
func appendMeters(b []byte, counts *meter.Counts) []byte {
	length := len(counts)
	for length > 0 && counts[length-1] <= 0 {
		length--
	}
	b = append(b, '[')
	for i := range length {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, count(counts[i]), 10)
	}
	return append(b, ']')
}

// appendCosts writes the members that few records have.
func appendCosts(b []byte, r *UsageRecord) []byte {
	for _, f := range [...]struct {
		member string
		cost   *app.Amount
	}{{`,"provider_cost_nanos":`, r.ProviderCost}, {`,"upstream_cost_nanos":`, r.UpstreamCost}} {
		if f.cost != nil {
			b = strconv.AppendInt(append(b, f.member...), count(int64(*f.cost)), 10)
		}
	}
	terms := ""
	if t := r.Terms; t != (meter.Terms{At: t.At}) {
		t.ServiceTier, t.Region, t.Speed = termWord(t.ServiceTier), termWord(t.Region), termWord(t.Speed)
		t.Size, t.Quality = termWord(t.Size), termWord(t.Quality)
		terms = t.String()
	}
	for _, f := range [...]struct{ member, text string }{
		{`,"terms":`, terms}, {`,"cost_card_id":`, r.CostCardID}, {`,"credential":`, r.Credential}, {`,"flags":`, r.Flags},
	} {
		if f.text == "" { // As nearly all are.
			continue
		}
		if text := app.MakeStorable(f.text, textBytesMax); text != "" {
			b = appendText(append(b, f.member...), text)
		}
	}
	return b
}

// termWord is a word of the terms without the characters that separate words.
func termWord(s string) string {
	return strings.Map(func(c rune) rune {
		if c <= ' ' || c > '~' {
			return '_'
		}
		return c
	}, s[:min(len(s), termMax)])
}

// JournaledSettlement is a settlement read back from a journal, with its hold and the replica that held it. Encoding it again gives the
// same bytes.
type JournaledSettlement struct {
	Hold       Hold
	ReplicaID  string
	Settlement Settlement
}

// journaledRow is a settlement of a journal. Those of releases before there was an array of meters have the members beside UsageRow.
type journaledRow struct {
	UsageRow

	InputTokens      int64 `json:"input_tokens"`
	CacheReadTokens  int64 `json:"cache_read_tokens"`
	CacheWriteTokens int64 `json:"cache_write_tokens"`
	OutputTokens     int64 `json:"output_tokens"`
	ReasoningTokens  int64 `json:"reasoning_tokens"`
	Images           int64 `json:"images"`
	Milliseconds     int64 `json:"milliseconds"`
	Characters       int64 `json:"characters"`
	Requests         int64 `json:"requests"`
}

// DecodeSettlement parses what Encode wrote, in this release or an earlier one, which lets recovery settle an interrupted call at its
// last mark.
func DecodeSettlement(data []byte) (JournaledSettlement, error) {
	var read journaledRow
	if err := json.Unmarshal(data, &read); err != nil {
		return JournaledSettlement{}, fmt.Errorf("billing: a settlement cannot be read: %w", err)
	}
	row := read.UsageRow
	if row.Meters == nil {
		row.Meters = pq.Int64Array{
			read.InputTokens, read.CacheReadTokens, read.CacheWriteTokens, read.OutputTokens, read.ReasoningTokens, read.Images,
			read.Milliseconds, read.Characters, read.Requests,
		}
	}
	switch {
	case row.RequestID == "" || row.AccountID == "":
		return JournaledSettlement{}, errors.New("billing: a settlement cannot be read: it names no request or no account")
	case row.Cost < 0 || row.Cost > row.Reserved || row.Overrun < 0 || row.Overrun > math.MaxInt64-row.Cost || row.Epoch < 0:
		return JournaledSettlement{}, fmt.Errorf("billing: the settlement of %s cannot be read: cost %d of %d, overrun %d, epoch %d",
			row.RequestID, row.Cost, row.Reserved, row.Overrun, row.Epoch)
	case row.StartedAt.Year() < firstYear:
		return JournaledSettlement{}, fmt.Errorf("billing: the settlement of %s cannot be read: it started %s", row.RequestID, row.StartedAt)
	}
	record := row.Record()
	return JournaledSettlement{
		Hold: Hold{
			ID: row.RequestID, AccountID: row.AccountID, BudgetID: row.BudgetID, Amount: app.Amount(row.Reserved), Epoch: row.Epoch,
			Uncharged: record.HasFlag(FlagUncharged),
		},
		ReplicaID:  row.ReplicaID,
		Settlement: Settlement{Cost: record.Cost + record.Overrun, Record: record, Delivered: true},
	}, nil
}

// Record is the usage record of the row. Terms that this release does not know are left out, because a page must not fail for them.
func (r UsageRow) Record() UsageRecord {
	record := UsageRecord{
		RequestID: r.RequestID, AccountID: r.AccountID, KeyID: r.KeyID, Model: r.Model, Provider: r.Provider,
		UpstreamModel: r.UpstreamModel, Style: r.Style, RateCardID: r.RateCardID, EndUser: r.EndUser,
		FinishReason: r.FinishReason, ErrorCode: r.ErrorCode, Streamed: r.Streamed, Estimated: r.Estimated, Outcome: r.Outcome,
		Reason: r.Reason, TransactionID: r.TransactionID,
		Costs: Costs{
			Cost: app.Amount(r.Cost), Reserved: app.Amount(r.Reserved), Overrun: app.Amount(r.Overrun),
			ProviderCost: (*app.Amount)(r.ProviderCost), UpstreamCost: (*app.Amount)(r.UpstreamCost), CostCardID: r.CostCardID,
			Credential: r.Credential,
		},
		Flags:    r.Flags,
		Attempts: int(r.Attempts), StartedAt: r.StartedAt.UTC(), Trail: parseTiming(r.Trail),
		FirstByte: time.Duration(r.FirstByteMicros) * time.Microsecond, Duration: time.Duration(r.DurationMicros) * time.Microsecond,
	}
	copy(record.Usage[:], r.Meters)
	record.Terms, _ = meter.ParseTerms(r.Terms, record.StartedAt)
	return record
}

// appendText appends a text as JSON. Nearly all texts are plain and need no escaping.
func appendText(b []byte, s string) []byte {
	plain := len(s) <= textBytesMax
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] >= ' ' && s[i] <= '~' && s[i] != '"' && s[i] != '\\'
	}
	if plain {
		return append(append(append(b, '"'), s...), '"')
	}
	b, _ = jsontext.AppendQuote(b, app.MakeStorable(s, textBytesMax)) // AppendQuote fails only on invalid text.
	return b
}

// count bounds a reading so that the table and its sums accept it. A clock set back or a broken upstream can make a reading
// negative or absurd.
func count(n int64) int64 { return min(max(n, 0), readingMax) }

// These limits apply to the timing of a call.
const (
	AttemptsKept  = 8 // The timing of one call has at most this many attempts; further ones are only counted.
	timingWordMax = 64
	timingSteps   = 5
	attemptParts  = 6
)

// RequestTiming is the timing of one call: how long each step took, and its attempts at providers. Door and Body come before the call
// begins. Checked, Admitted and Funded are counted from its beginning, and are zero for a step that the call did not reach or
// that was not measured.
type RequestTiming struct {
	Door     time.Duration // Door is the time until the key was authenticated.
	Body     time.Duration // Body is the time in which the caller sent the request.
	Checked  time.Duration // Checked is when the request had been validated, priced and routed.
	Admitted time.Duration // Admitted is when the request had passed all limits.
	Funded   time.Duration // Funded is when its maximum cost had been reserved.
	Attempts []Attempt     // Attempts are the first ones, in no order.
}

// Attempt is one request to a provider, with what the account may know of it. Times are counted from the beginning of the call.
type Attempt struct {
	Provider string
	Status   int           // Status is the provider's response status; zero means none.
	Cause    string        // Cause is why the attempt failed. It is empty for a success.
	Start    time.Duration // Start is when the request was sent.
	First    time.Duration // First is the time until the first content. It is zero when there was none.
	Took     time.Duration // Took is the time until the failure. It is zero for a success, which lasted until the call's end.
}

// isZero reports whether nothing was recorded about the call.
func (t *RequestTiming) isZero() bool {
	return len(t.Attempts) == 0 && t.Door|t.Body|t.Checked|t.Admitted|t.Funded == 0
}

// append writes the timing in the format of its column: the steps in microseconds, then each attempt after a space.
func (t *RequestTiming) append(b []byte) []byte {
	for i, step := range [timingSteps]time.Duration{t.Door, t.Body, t.Checked, t.Admitted, t.Funded} {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendMicros(b, step)
	}
	for i := range t.Attempts[:min(len(t.Attempts), AttemptsKept)] {
		a := &t.Attempts[i]
		b = appendWord(append(b, ' '), a.Provider)
		b = strconv.AppendInt(append(b, ':'), count(int64(a.Status)), 10)
		b = appendWord(append(b, ':'), a.Cause)
		for _, d := range [...]time.Duration{a.Start, a.First, a.Took} {
			b = appendMicros(append(b, ':'), d)
		}
	}
	return b
}

func appendMicros(b []byte, d time.Duration) []byte {
	return strconv.AppendInt(b, count(d.Microseconds()), 10)
}

// appendWord writes a name without the characters that separate fields of a timing or need escaping in JSON.
func appendWord(b []byte, s string) []byte {
	for i := range min(len(s), timingWordMax) {
		c := s[i]
		if c <= ' ' || c > '~' || c == ':' || c == '"' || c == '\\' {
			c = '_'
		}
		b = append(b, c)
	}
	return b
}

// parseTiming parses what append wrote. It treats what it cannot parse as unknown, because a page must not fail for it.
func parseTiming(s string) (t RequestTiming) {
	words := strings.Fields(s)
	if len(words) == 0 || len(words) > 1+AttemptsKept {
		return RequestTiming{}
	}
	steps := [timingSteps]*time.Duration{&t.Door, &t.Body, &t.Checked, &t.Admitted, &t.Funded}
	parts := strings.Split(words[0], ",")
	if len(parts) != timingSteps {
		return RequestTiming{}
	}
	for i, part := range parts {
		if !readMicros(part, steps[i]) {
			return RequestTiming{}
		}
	}
	for _, word := range words[1:] {
		a, ok := parseAttempt(word)
		if !ok {
			return RequestTiming{}
		}
		t.Attempts = append(t.Attempts, a)
	}
	return t
}

func parseAttempt(word string) (a Attempt, ok bool) {
	parts := strings.Split(word, ":")
	if len(parts) != attemptParts {
		return a, false
	}
	status, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil {
		return a, false
	}
	a.Provider, a.Status, a.Cause = parts[0], int(status), parts[2]
	ok = readMicros(parts[3], &a.Start) && readMicros(parts[4], &a.First) && readMicros(parts[5], &a.Took)
	return a, ok
}

func readMicros(s string, d *time.Duration) bool {
	n, err := strconv.ParseInt(s, 10, 64)
	*d = time.Duration(count(n)) * time.Microsecond
	return err == nil
}
