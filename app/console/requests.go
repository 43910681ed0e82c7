package console

import (
	"encoding/csv"
	"errors"
	"net/http"
	"slices"
	"time"

	"umg/app"
	"umg/billing"
	"umg/views"
)

const (
	requestsPageMax = 50
	entriesNearMax  = 200         // charges that are looked through for the one of a call
	settledWithin   = time.Minute // after a call's end, usually
	clockSlack      = time.Second
)

func (c *Console) requests(p *page) error {
	l := views.RequestLog{Shell: c.shell(p), Query: views.ParseRequestQuery(p.QueryParams())}
	if forScript(p.Request()) {
		p.Response().Header().Set("HX-Replace-Url", l.Query.Path())
	}
	status, err := http.StatusOK, c.fillRequests(p, &l)
	if l.Failure, err = missing(p, err); err != nil {
		if app.KindOf(err) != app.Invalid {
			return err
		}
		l.Problem, status = app.AsError(err).Message, http.StatusUnprocessableEntity
	}
	return c.render(p, status, views.RequestsPage(l))
}

func (c *Console) fillRequests(p *page, l *views.RequestLog) error {
	names, err := c.keyNames(p)
	if err != nil {
		return err
	}
	if l.Choices, err = c.usageChoices(p, names); err != nil {
		return err
	}
	found, err := c.o.Ledger.Records(p.Request().Context(), recordQuery(p, l.Query, requestsPageMax))
	if err != nil {
		return err
	}
	l.Next = found.Next
	for i := range found.Records {
		l.Requests = append(l.Requests, loggedRequest(&found.Records[i], names))
	}
	return nil
}

func recordQuery(p *page, q views.RequestQuery, limit int) billing.RecordQuery {
	return billing.RecordQuery{
		AccountID: p.user.AccountID, From: q.From, To: q.To, Model: q.Model, KeyID: q.KeyID, Style: q.Style, Reason: q.Reason,
		Outcome: q.Outcome, EndUser: q.EndUser, Transaction: q.Transaction, Search: q.Search, After: q.After, Limit: limit,
	}
}

func loggedRequest(r *billing.UsageRecord, keyNames map[string]string) views.LoggedRequest {
	return views.LoggedRequest{
		Request: viewRequest(*r, keyNames), KeyID: r.KeyID, Provider: r.Provider, Upstream: r.UpstreamModel, Finish: r.FinishReason,
		Reason: r.Reason, EndUser: r.EndUser,
	}
}

// requestsCSV streams every call of the query, like the export of the ledger.
func (c *Console) requestsCSV(p *page) error {
	names, err := c.keyNames(p)
	if err != nil {
		return err
	}
	query := views.ParseRequestQuery(p.QueryParams())
	q := recordQuery(p, query, exportPageMax)
	q.After = ""
	found, err := c.o.Ledger.Records(p.Request().Context(), q)
	if err != nil {
		return err
	}
	c.attachment(p, kindCSV, "requests")
	out, flush := csv.NewWriter(p.Response()), c.stalled(p)
	_ = out.Write(recordHeads) // what goes wrong shows when it is flushed
	for range exportPagesMax {
		for i := range found.Records {
			_ = out.Write(recordCells(&found.Records[i], names))
		}
		out.Flush()
		if err := out.Error(); err != nil || found.Next == "" {
			return err
		}
		_ = flush()
		q.After = found.Next
		if found, err = c.o.Ledger.Records(p.Request().Context(), q); err != nil {
			break
		}
	}
	panic(http.ErrAbortHandler) // nothing else tells a reader that lines are missing
}

func (c *Console) request(p *page) error {
	ctx := p.Request().Context()
	record, err := c.o.Ledger.Record(ctx, p.user.AccountID, p.Param("id"))
	if err != nil {
		return err
	}
	names, err := c.keyNames(p)
	if err != nil {
		return err
	}
	d := views.RequestDetail{
		Shell: c.shell(p), Request: loggedRequest(&record, names), Rule: ruleOf(record.Reason), RateCard: record.RateCardID,
		Reserved: record.Reserved, Overrun: record.Overrun, Attempts: record.Attempts, Charge: record.TransactionID,
		Reasoning: record.Usage[billing.ReasoningTokens],
	}
	if err = c.priceAgain(p, &d, record); err != nil {
		return err
	}
	if d.Entry, err = c.chargeEntry(p, record); err != nil {
		return err
	}
	return c.render(p, http.StatusOK, views.RequestPage(d))
}

// ruleOf is the row of the settlement table. Records of old may name a reason that has none.
func ruleOf(reason string) views.Rule {
	i := slices.IndexFunc(billing.Rules(), func(r billing.Rule) bool { return string(r.Reason) == reason })
	if i < 0 {
		return views.Rule{}
	}
	r := billing.Rules()[i]
	return views.Rule{
		Reason: string(r.Reason), Outcome: r.Outcome, When: r.When, Charge: string(r.Charge), Text: r.Text, Estimated: r.Estimated,
		Recorded: r.Recorded,
	}
}

// priceAgain prices the record once more by the version of the prices that it names.
func (c *Console) priceAgain(p *page, d *views.RequestDetail, r billing.UsageRecord) error {
	if r.RateCardID == "" {
		return nil
	}
	cards, err := c.o.Catalog.Cards(p.Request().Context(), r.RateCardID)
	if err != nil {
		if app.KindOf(err) == app.NotFound {
			return nil
		}
		return err
	}
	card, cost, err := cardOf(cards, r)
	if err != nil {
		return err
	}
	d.Known, d.Computed = true, cost
	for m := range billing.MeterCount {
		rate, priced := card.Rate(m)
		if r.Usage[m] == 0 || m == billing.Requests && !priced {
			continue
		}
		line := views.PriceLine{Meter: m.String(), Quantity: r.Usage[m]}
		if priced {
			line.Price = &views.Price{Meter: m.String(), Amount: rate.Amount, Per: rate.Per}
			if m == billing.Seconds {
				line.Price.Per = max(rate.Per/millisPerSecond, 1)
			}
		}
		d.Lines = append(d.Lines, line)
	}
	return nil
}

// cardOf is the card that comes to what the record says. A version has one for each size that is priced apart, and records
// do not say the size.
func cardOf(cards []billing.RateCard, r billing.UsageRecord) (card billing.RateCard, cost app.Amount, err error) {
	for i := range cards {
		sum, failed := cards[i].Cost(r.Usage)
		if failed == nil && (card.ID == "" || sum == r.Cost+r.Overrun) {
			card, cost = cards[i], sum
			if sum == r.Cost+r.Overrun {
				return card, cost, nil
			}
		}
		err = errors.Join(err, failed)
	}
	if card.ID != "" {
		err = nil
	}
	return card, cost, err
}

// chargeEntry is the ledger entry with the charge of a call, zero where it is not among those of about that time.
func (c *Console) chargeEntry(p *page, r billing.UsageRecord) (int64, error) {
	if r.TransactionID == "" {
		return 0, nil
	}
	end := r.StartedAt.Add(r.Duration)
	found, err := c.o.Ledger.EntryList(p.Request().Context(), billing.EntryQuery{
		AccountID: p.user.AccountID, Kinds: []string{"charge"}, From: end.Add(-clockSlack), To: end.Add(settledWithin), Limit: entriesNearMax,
	})
	if err != nil {
		return 0, err
	}
	for i := range found.Entries {
		if found.Entries[i].TransactionID == r.TransactionID {
			return found.Entries[i].ID, nil
		}
	}
	return 0, nil
}
