package billing

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
)

// UsageRecord is what one request was and cost. It can be priced again at any time: the readings and the version of
// the rate card are in it. Cost, Reserved and Overrun are the ledger's to fill: what the account paid, what was held,
// and what the call cost beyond that and the platform bore.
type UsageRecord struct {
	RequestID, AccountID, KeyID           string
	Model, Provider, UpstreamModel, Style string
	RateCardID                            string
	EndUser, FinishReason, ErrorCode      string
	Streamed, Estimated                   bool
	Outcome                               string // succeeded, failed, client_left, cut, timed_out and so on
	Reason                                string // the row of the settlement table that decided the cost
	TransactionID                         string // of the ledger, filled where a record is read; empty for no charge
	Usage                                 Usage
	Cost, Reserved, Overrun               app.Amount
	Attempts                              int
	StartedAt                             time.Time
	FirstByte, Duration                   time.Duration
}

// usageRow is a usage record as its table has it, on the way out by column. On the way in it is JSON.
type usageRow struct {
	RequestID        string     `db:"request_id"`
	AccountID        string     `db:"account_id"`
	KeyID            string     `db:"key_id"`
	Model            string     `db:"model"`
	Provider         string     `db:"provider"`
	UpstreamModel    string     `db:"upstream_model"`
	Style            string     `db:"style"`
	RateCardID       string     `db:"rate_card_id"`
	EndUser          string     `db:"end_user"`
	FinishReason     string     `db:"finish_reason"`
	ErrorCode        string     `db:"error_code"`
	Outcome          string     `db:"outcome"`
	Streamed         bool       `db:"streamed"`
	Estimated        bool       `db:"estimated"`
	Attempts         int32      `db:"attempts"`
	InputTokens      int64      `db:"input_tokens"`
	CacheReadTokens  int64      `db:"cache_read_tokens"`
	CacheWriteTokens int64      `db:"cache_write_tokens"`
	OutputTokens     int64      `db:"output_tokens"`
	ReasoningTokens  int64      `db:"reasoning_tokens"`
	Images           int64      `db:"images"`
	Milliseconds     int64      `db:"milliseconds"`
	Characters       int64      `db:"characters"`
	Requests         int64      `db:"requests"`
	Reserved         app.Amount `db:"reserved_nanos"`
	Cost             app.Amount `db:"cost_nanos"`
	Overrun          app.Amount `db:"overrun_nanos"`
	StartedAt        time.Time  `db:"started_at"`
	FirstByteMicros  int64      `db:"first_byte_micros"`
	DurationMicros   int64      `db:"duration_micros"`
}

// recordBytes is room for the JSON of nearly every record.
const recordBytes = 1 << 10

// encode renders the facts as JSON for the store, whose members are the columns of their table. What callers and
// upstreams wrote into them is made fit first: a settlement that the store refuses for a strange character would be a
// free answer. It runs with every request, so it is written out rather than left to reflection.
func (r UsageRecord) encode(now time.Time) string {
	if r.StartedAt.IsZero() {
		r.StartedAt = now
	}
	b := append(make([]byte, 0, recordBytes), `{"started_at":"`...)
	b = append(r.StartedAt.UTC().AppendFormat(b, time.RFC3339Nano), '"')
	for _, f := range [...]struct{ column, text string }{
		{"key_id", r.KeyID}, {"model", r.Model}, {"provider", r.Provider}, {"upstream_model", r.UpstreamModel},
		{"style", r.Style}, {"rate_card_id", r.RateCardID}, {"end_user", r.EndUser}, {"finish_reason", r.FinishReason},
		{"error_code", r.ErrorCode}, {"outcome", r.Outcome},
	} {
		b = append(append(append(b, `,"`...), f.column...), `":`...)
		b, _ = jsontext.AppendQuote(b, clean(f.text)) // it fails on invalid text only
	}
	for _, f := range [...]struct {
		column string
		number int64
	}{
		{"attempts", min(int64(r.Attempts), 1<<30)},
		{"input_tokens", r.Usage[InputTokens]}, {"cache_read_tokens", r.Usage[CacheReadTokens]},
		{"cache_write_tokens", r.Usage[CacheWriteTokens]}, {"output_tokens", r.Usage[OutputTokens]},
		{"reasoning_tokens", r.Usage[ReasoningTokens]}, {"images", r.Usage[Images]}, {"milliseconds", r.Usage[Seconds]},
		{"characters", r.Usage[Characters]}, {"requests", r.Usage[Requests]},
		{"first_byte_micros", r.FirstByte.Microseconds()}, {"duration_micros", r.Duration.Microseconds()},
	} {
		b = append(append(append(b, `,"`...), f.column...), `":`...)
		b = strconv.AppendInt(b, count(f.number), 10)
	}
	b = strconv.AppendBool(append(b, `,"streamed":`...), r.Streamed)
	b = strconv.AppendBool(append(b, `,"estimated":`...), r.Estimated)
	return string(append(b, '}'))
}

func (r usageRow) record() UsageRecord {
	return UsageRecord{
		RequestID: r.RequestID, AccountID: r.AccountID, KeyID: r.KeyID, Model: r.Model, Provider: r.Provider,
		UpstreamModel: r.UpstreamModel, Style: r.Style, RateCardID: r.RateCardID, EndUser: r.EndUser,
		FinishReason: r.FinishReason, ErrorCode: r.ErrorCode, Streamed: r.Streamed, Estimated: r.Estimated, Outcome: r.Outcome,
		Usage: Usage{
			InputTokens: r.InputTokens, CacheReadTokens: r.CacheReadTokens, CacheWriteTokens: r.CacheWriteTokens,
			OutputTokens: r.OutputTokens, ReasoningTokens: r.ReasoningTokens, Images: r.Images, Seconds: r.Milliseconds,
			Characters: r.Characters, Requests: r.Requests,
		},
		Cost: r.Cost, Reserved: r.Reserved, Overrun: r.Overrun, Attempts: int(r.Attempts), StartedAt: r.StartedAt.UTC(),
		FirstByte: time.Duration(r.FirstByteMicros) * time.Microsecond, Duration: time.Duration(r.DurationMicros) * time.Microsecond,
	}
}

// clean makes a text storable: valid, without zero bytes and of bounded length.
func clean(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
	if len(s) <= textBytesMax {
		return s
	}
	end := textBytesMax
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// count is a reading that the table takes: a clock set back or a broken upstream can make one negative.
func count(n int64) int64 { return max(n, 0) }
