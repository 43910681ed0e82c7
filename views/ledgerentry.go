package views

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/views/format"
	"umg/views/ui"
)

// LedgerEntry is one movement, and the balance after it.
type LedgerEntry struct {
	ID          int64
	Transaction string
	Kind        string
	Ref         string
	Reason      string
	Amount      app.Amount
	After       app.Amount
	Requests    int64  // number of requests in a charge
	TopUp       string // id of the top-up it belongs to, empty without one
	At          time.Time
}

// The kinds of movements.
const (
	EntryGrant      = "grant"
	EntryCharge     = "charge"
	EntryReversal   = "reversal"
	EntryRefund     = "refund"
	EntryDispute    = "dispute"
	EntryExpiry     = "expiry"
	EntryAdjustment = "adjustment"
)

// EntryKind is how a kind is called and filtered by.
type EntryKind struct {
	Kind, Label string
	Icon        ui.IconName
}

// EntryKinds are the kinds of movements in the order of the filter, with their label and icon.
var EntryKinds = []EntryKind{
	{EntryGrant, "Credit added", ui.IconPlus},
	{EntryCharge, "Charge", ui.IconActivity},
	{EntryReversal, "Reversal", ui.IconRefresh},
	{EntryRefund, "Refund", ui.IconArrowLeft},
	{EntryDispute, "Dispute", ui.IconTriangleAlert},
	{EntryExpiry, "Expiry", ui.IconClock},
	{EntryAdjustment, "Adjustment", ui.IconPencil},
}

// grantWords call credit by where it came from, which the beginning of its reference says.
var grantWords = []struct{ prefix, label string }{
	{"trial:", "Trial credit"}, {"stripe:", "Top-up"}, {"operator:", "Given by the operator"}, {"demo:", "Promotional credit"},
}

// Words is what the entry is called.
func (e LedgerEntry) Words() EntryKind {
	for _, k := range EntryKinds {
		if k.Kind != e.Kind {
			continue
		}
		for _, w := range grantWords {
			if e.Kind == EntryGrant && strings.HasPrefix(e.Ref, w.prefix) {
				k.Label = w.label
			}
		}
		return k
	}
	return EntryKind{Kind: e.Kind, Label: e.Kind, Icon: ui.IconReceipt}
}

// RequestsPath lists the requests of a charge.
func (e LedgerEntry) RequestsPath() string {
	return "/console/requests?" + url.Values{"transaction": {e.Transaction}}.Encode()
}

// RequestWords are the text of the link to the requests of a charge.
func (e LedgerEntry) RequestWords() string {
	if e.Requests == 0 {
		return "Its requests"
	}
	return format.CountOf(e.Requests, "request", "requests")
}

// Tone is plus for credit that was added, and minus for all else.
func (e LedgerEntry) Tone() string {
	if e.Amount > 0 {
		return "plus"
	}
	return "minus"
}

// LedgerQuery says which movements are listed. It is the address of the page.
type LedgerQuery struct {
	Kinds    []string
	From, To string // days in UTC, both included; empty for no bound
	Before   int64  // the page begins after this entry
}

// ParseLedgerQuery reads an address; what cannot be meant is left out.
func ParseLedgerQuery(values url.Values) LedgerQuery {
	var q LedgerQuery
	for _, k := range EntryKinds {
		if slices.Contains(values["kind"], k.Kind) {
			q.Kinds = append(q.Kinds, k.Kind)
		}
	}
	q.From, q.To = format.ValidDay(values.Get("from")), format.ValidDay(values.Get("to"))
	if n, err := strconv.ParseInt(values.Get("before"), 10, 64); err == nil && n > 0 {
		q.Before = n
	}
	return q
}

// Span is the moments of the query: from the first day's beginning to the end of the last.
func (q LedgerQuery) Span() (from, to time.Time) { return format.DaySpan(q.From, q.To) }

// Backwards reports whether no day can be in the span.
func (q LedgerQuery) Backwards() bool { return q.From != "" && q.To != "" && q.From > q.To }

// Path is the address of the list.
func (q LedgerQuery) Path() string { return q.at(LedgerPath) }

// Export is the address of a download of all that is listed.
func (q LedgerQuery) Export(ending string) string {
	q.Before = 0
	return q.at(LedgerPath + ending)
}

func (q LedgerQuery) at(path string) string {
	values := url.Values{}
	for _, k := range q.Kinds {
		values.Add("kind", k)
	}
	for name, value := range map[string]string{"from": q.From, "to": q.To} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if q.Before > 0 {
		values.Set("before", strconv.FormatInt(q.Before, 10))
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// PageBefore is the page of the list that begins after an entry.
func (q LedgerQuery) PageBefore(id int64) LedgerQuery {
	q.Before = id
	return q
}

// Narrowed reports whether entries are left out.
func (q LedgerQuery) Narrowed() bool { return len(q.Kinds) > 0 || q.From != "" || q.To != "" }
