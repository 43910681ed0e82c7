package console

import (
	"encoding/csv"
	"net/http"
	"strconv"
	"strings"
	"time"

	"umg/app/console/page"
	"umg/billing"
	"umg/views"
	billingpages "umg/views/billing"
)

const (
	ledgerPageMax  = 50
	exportPageMax  = 200 // One query of an export reads at most this many entries.
	exportPagesMax = 10_000
	exportStallMax = 30 * time.Second // The reader must receive each piece of an export within this time.
	topUpsKnownMax = 200
)

func (c *Console) ledger(p *page.Page) error {
	q := views.ParseLedgerQuery(p.QueryParams())
	p.ReplaceURL(q.Path())
	l := billingpages.Ledger{Shell: c.Shell(p), Query: q}
	found, err := c.o.Ledger.EntryList(p.Request().Context(), entryQuery(p, q, ledgerPageMax))
	if err != nil {
		return err
	}
	sources, err := c.topUpsBySource(p)
	if err != nil {
		return err
	}
	l.More = found.More
	for i := range found.Entries {
		e := &found.Entries[i]
		source, _, _ := strings.Cut(e.Ref, "/")
		l.Entries = append(l.Entries, views.LedgerEntry{
			ID: e.ID, Transaction: e.TransactionID, Kind: e.Kind, Ref: e.Ref, Reason: e.Reason, Amount: e.Amount, After: e.PostedAfter,
			Requests: e.Requests, TopUp: sources[source], At: e.At,
		})
	}
	return c.Render(p, http.StatusOK, billingpages.LedgerPage(l))
}

func entryQuery(p *page.Page, q views.LedgerQuery, limit int) billing.EntryQuery {
	from, to := q.Span()
	return billing.EntryQuery{AccountID: p.User.AccountID, Kinds: q.Kinds, From: from, To: to, Before: q.Before, Limit: limit}
}

// topUpsBySource maps the references of ledger entries to the top-ups of the account.
func (c *Console) topUpsBySource(p *page.Page) (map[string]string, error) {
	if c.o.Payments == nil {
		return nil, nil
	}
	list, err := c.o.Payments.Topups(p.Request().Context(), p.User.AccountID, topUpsKnownMax)
	if err != nil {
		return nil, err
	}
	sources := make(map[string]string, len(list))
	for _, t := range list {
		sources["stripe:"+t.ID] = t.ID // This is the source of the entries that reverse the top-up.
		if t.Source != "" {
			sources[t.Source] = t.ID
		}
	}
	return sources, nil
}

// ledgerPages returns a function that reads the entries of the query page by page.
func (c *Console) ledgerPages(p *page.Page) nextPage[billing.Entry] {
	q := entryQuery(p, views.ParseLedgerQuery(p.QueryParams()), exportPageMax)
	q.Before = 0
	return func() ([]billing.Entry, bool, error) {
		found, err := c.o.Ledger.EntryList(p.Request().Context(), q)
		if n := len(found.Entries); n > 0 {
			q.Before = found.Entries[n-1].ID
		}
		return found.Entries, found.More, err
	}
}

func (c *Console) exportLedger(p *page.Page) error {
	heads := []string{"time", "entry", "transaction", "kind", "reason", "reference", "requests", "amount_usd", "balance_usd"}
	return exportPages(c, p, kindCSV, "ledger", &csvList{csv.NewWriter(p.Response()), heads}, c.ledgerPages(p),
		func(e *billing.Entry) any { return entryCells(e) })
}

// exportedEntry is a ledger entry in JSON. Amounts are decimal texts, so that no reader rounds them.
type exportedEntry struct {
	Time        time.Time `json:"time"`
	Entry       int64     `json:"entry"`
	Transaction string    `json:"transaction"`
	Kind        string    `json:"kind"`
	Reason      string    `json:"reason"`
	Ref         string    `json:"reference"`
	Requests    int64     `json:"requests"`
	Amount      string    `json:"amount_usd"`
	Balance     string    `json:"balance_usd"`
}

func (c *Console) exportLedgerJSON(p *page.Page) error {
	list := &jsonList{out: p.Response(), name: "entries"}
	return exportPages(c, p, kindJSON, "ledger", list, c.ledgerPages(p), func(e *billing.Entry) any {
		return exportedEntry{
			Time: e.At.UTC(), Entry: e.ID, Transaction: e.TransactionID, Kind: e.Kind, Reason: e.Reason, Ref: e.Ref, Requests: e.Requests,
			Amount: e.Amount.String(), Balance: e.PostedAfter.String(),
		}
	})
}

func entryCells(e *billing.Entry) []string {
	requests := ""
	if e.Requests > 0 {
		requests = strconv.FormatInt(e.Requests, 10)
	}
	return []string{
		e.At.UTC().Format(time.RFC3339Nano), strconv.FormatInt(e.ID, 10), e.TransactionID, e.Kind, csvText(e.Reason), csvText(e.Ref), requests,
		e.Amount.String(), e.PostedAfter.String(),
	}
}

// csvText quotes a text that begins like a formula, so that a spreadsheet does not run it. Amounts, which may begin with a minus sign,
// are not passed through csvText.
func csvText(s string) string {
	if strings.IndexAny(strings.TrimLeft(s, " \u00a0"), "=+-@\t\r\n") == 0 {
		return "'" + s
	}
	return s
}
