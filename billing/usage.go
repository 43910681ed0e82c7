package billing

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

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
	Usage                                 Usage
	Cost, Reserved, Overrun               app.Amount
	Attempts                              int
	StartedAt                             time.Time
	FirstByte, Duration                   time.Duration
}

// usageRow is a usage record as its table has it, on the way in as JSON and on the way out by column.
type usageRow struct {
	RequestID        string     `json:"-"                  db:"request_id"`
	AccountID        string     `json:"-"                  db:"account_id"`
	KeyID            string     `json:"key_id"             db:"key_id"`
	Model            string     `json:"model"              db:"model"`
	Provider         string     `json:"provider"           db:"provider"`
	UpstreamModel    string     `json:"upstream_model"     db:"upstream_model"`
	Style            string     `json:"style"              db:"style"`
	RateCardID       string     `json:"rate_card_id"       db:"rate_card_id"`
	EndUser          string     `json:"end_user"           db:"end_user"`
	FinishReason     string     `json:"finish_reason"      db:"finish_reason"`
	ErrorCode        string     `json:"error_code"         db:"error_code"`
	Outcome          string     `json:"outcome"            db:"outcome"`
	Streamed         bool       `json:"streamed"           db:"streamed"`
	Estimated        bool       `json:"estimated"          db:"estimated"`
	Attempts         int32      `json:"attempts"           db:"attempts"`
	InputTokens      int64      `json:"input_tokens"       db:"input_tokens"`
	CacheReadTokens  int64      `json:"cache_read_tokens"  db:"cache_read_tokens"`
	CacheWriteTokens int64      `json:"cache_write_tokens" db:"cache_write_tokens"`
	OutputTokens     int64      `json:"output_tokens"      db:"output_tokens"`
	ReasoningTokens  int64      `json:"reasoning_tokens"   db:"reasoning_tokens"`
	Images           int64      `json:"images"             db:"images"`
	Milliseconds     int64      `json:"milliseconds"       db:"milliseconds"`
	Characters       int64      `json:"characters"         db:"characters"`
	Requests         int64      `json:"requests"           db:"requests"`
	Reserved         app.Amount `json:"-"                  db:"reserved_nanos"`
	Cost             app.Amount `json:"-"                  db:"cost_nanos"`
	Overrun          app.Amount `json:"-"                  db:"overrun_nanos"`
	StartedAt        time.Time  `json:"started_at"         db:"started_at"`
	FirstByteMicros  int64      `json:"first_byte_micros"  db:"first_byte_micros"`
	DurationMicros   int64      `json:"duration_micros"    db:"duration_micros"`
}

// encode renders the facts for the store. What callers and upstreams wrote into them is made fit first: a settlement
// that the store refuses for a strange character would be a free answer.
func (r UsageRecord) encode(now time.Time) (string, error) {
	if r.StartedAt.IsZero() {
		r.StartedAt = now
	}
	row := usageRow{
		KeyID: clean(r.KeyID), Model: clean(r.Model), Provider: clean(r.Provider), UpstreamModel: clean(r.UpstreamModel),
		Style: clean(r.Style), RateCardID: clean(r.RateCardID), EndUser: clean(r.EndUser), FinishReason: clean(r.FinishReason),
		ErrorCode: clean(r.ErrorCode), Outcome: clean(r.Outcome), Streamed: r.Streamed, Estimated: r.Estimated,
		Attempts:    int32(min(max(r.Attempts, 0), 1<<30)),
		StartedAt:   r.StartedAt.UTC(),
		InputTokens: count(r.Usage[InputTokens]), CacheReadTokens: count(r.Usage[CacheReadTokens]),
		CacheWriteTokens: count(r.Usage[CacheWriteTokens]), OutputTokens: count(r.Usage[OutputTokens]),
		ReasoningTokens: count(r.Usage[ReasoningTokens]), Images: count(r.Usage[Images]), Milliseconds: count(r.Usage[Seconds]),
		Characters: count(r.Usage[Characters]), Requests: count(r.Usage[Requests]),
		FirstByteMicros: count(r.FirstByte.Microseconds()), DurationMicros: count(r.Duration.Microseconds()),
	}
	text, err := json.Marshal(row)
	return string(text), err
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
