package console

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"umg/app"
	"umg/app/account"
	"umg/app/catalog"
	"umg/app/console/page"
	"umg/app/docs"
	"umg/app/meter"
	"umg/app/provider"
	"umg/billing"
	"umg/billing/usage"
	"umg/views"
	"umg/views/format"
	requestpages "umg/views/requests"
)

const (
	tailEvery      = 2 * time.Second
	entriesNearMax = 200         // The charge of a call is searched among this many charges.
	settledWithin  = time.Minute // A charge usually follows the end of its call within this time.
	clockSlack     = time.Second
)

func (c *Console) requests(p *page.Page) error {
	l := requestpages.Log{Shell: c.Shell(p), Query: logQuery(p)}
	p.ReplaceURL(l.Query.Path())
	status, err := http.StatusOK, c.fillRequests(p, &l)
	if l.Failure, err = page.Unavailable(p, err); err != nil {
		if app.KindOf(err) != app.Invalid {
			return err
		}
		l.Problem, status = app.AsError(err).Message, http.StatusUnprocessableEntity
	}
	if l.Views, err = c.savedViews(p, account.RequestViews, l.Query.Path()); err != nil {
		return err
	}
	return c.Render(p, status, requestpages.ListPage(l))
}

// zonedParams returns the query of the address, with the reader's time zone unless it names one.
func zonedParams(p *page.Page) url.Values {
	values := maps.Clone(p.QueryParams())
	if values == nil {
		values = url.Values{}
	}
	if values.Get("tz") == "" {
		values.Set("tz", p.ZoneName())
	}
	return values
}

// logQuery returns which requests the address lists, in the reader's time zone and with their own columns.
func logQuery(p *page.Page) requestpages.Query {
	return requestpages.ParseQuery(zonedParams(p)).WithColumns(strings.Split(p.User.LogHidden, ","))
}

// chooseColumns stores which columns of the log the reader sees.
func (c *Console) chooseColumns(p *page.Page) error {
	form, err := p.FormParams()
	if err != nil {
		return err
	}
	query, _ := requestpages.SavedQuery(string(account.RequestViews), form.Get("query"))
	err = c.o.Accounts.SetLogHidden(p.Request().Context(), p.User.ID, requestpages.HiddenColumns(form["show"]))
	return c.Done(p, err, "Your columns are saved.", requestpages.SavedPath(string(account.RequestViews), query))
}

func (c *Console) fillRequests(p *page.Page, l *requestpages.Log) error {
	keys, err := c.logKeys(p)
	if err != nil {
		return err
	}
	if l.Choices, err = c.usageChoices(p, keys.names); err != nil {
		return err
	}
	l.Choices.Tags = keys.tags
	q := c.recordQuery(p, l.Query, keys)
	found, err := c.o.Reports.RequestLog(p.Request().Context(), q)
	if err != nil {
		return err
	}
	l.Next = found.Next
	for i := range found.Requests {
		l.Requests = append(l.Requests, viewLogged(&found.Requests[i], keys.names))
	}
	if l.Query.To.IsZero() && l.Query.After == "" && l.Query.Transaction == "" {
		l.Tail = c.o.Reports.TailStart()
	}
	l.Picture, err = c.callPicture(p, l.Query, q)
	return err
}

// callPicture counts the calls of a list by time. A list without a span has no picture.
func (c *Console) callPicture(p *page.Page, view requestpages.Query, q usage.RecordQuery) (*requestpages.CallPicture, error) {
	from, to, step := view.PictureSpan(c.o.Now())
	if step == 0 {
		return nil, nil
	}
	q.From, q.To, q.After = from, to, ""
	h, err := c.o.Reports.Histogram(p.Request().Context(), q, step)
	if err != nil {
		return nil, err
	}
	picture := &requestpages.CallPicture{From: from, To: to, Step: step, Since: h.Since}
	for _, b := range h.Bars {
		picture.Bars = append(picture.Bars, requestpages.CallBar{Start: b.Start, Requests: b.Requests, Errors: b.Failed})
	}
	return picture, nil
}

func (c *Console) recordQuery(p *page.Page, q requestpages.Query, keys logKeys) usage.RecordQuery {
	r := usage.RecordQuery{
		AccountID: p.User.AccountID, Model: q.Model, KeyID: q.KeyID, Style: q.Style, Reason: q.Reason, Outcome: q.Outcome, EndUser: q.EndUser,
		Transaction: q.Transaction, Provider: q.Provider, Used: q.Used, ErrorCode: q.Error, Finish: q.Finish, Keys: keys.ofTag(q.Tag),
		Streamed: chosen(q.Streamed, requestpages.FilterYes), Played: chosen(q.Source, requestpages.SourcePlayground), Slower: q.SlowerThan(),
		Search: q.Search, After: q.After, Limit: q.PageRows(),
	}
	r.From, r.To = q.Span(c.o.Now())
	r.CostFrom, r.CostTo = q.Cost()
	return r
}

// chosen reports which of two values was chosen, or returns nil if none was.
func chosen(value, yes string) *bool {
	if value == "" {
		return nil
	}
	return new(value == yes)
}

func loggedRequest(r *billing.UsageRecord, keyNames map[string]string) requestpages.LoggedRequest {
	return requestpages.LoggedRequest{
		Request: viewRequest(*r, keyNames), KeyID: r.KeyID, Provider: r.Provider, Upstream: r.UpstreamModel, Finish: r.FinishReason,
		Reason: r.Reason, EndUser: r.EndUser,
	}
}

// requestsLive sends calls that are settled while the log is open, as new rows.
func (c *Console) requestsLive(p *page.Page) error {
	query := logQuery(p)
	keys, err := c.logKeys(p)
	if err != nil {
		return err
	}
	q, place := c.recordQuery(p, query, keys), p.LastEventID()
	if place == "" {
		place = c.o.Reports.TailStart()
	}
	// An error can still be shown here, because nothing was written yet.
	if _, _, err = c.o.Reports.Tail(p.Request().Context(), q, place); err != nil {
		return err
	}
	return c.StreamEvents(p, tailEvery, func(ctx context.Context) (views.LiveEvent, bool, error) {
		records, next, err := c.o.Reports.Tail(ctx, q, place)
		if err != nil || len(records) == 0 {
			return views.LiveEvent{}, false, err
		}
		place = next
		rows := make([]requestpages.LoggedRequest, len(records))
		for i := range records {
			rows[len(records)-1-i] = viewLogged(&records[i], keys.names) // The newest record comes first.
		}
		return views.LiveEvent{ID: place, HTML: requestpages.LogRows(rows, query, views.Shell{Now: c.o.Now()})}, true, nil
	})
}

func (c *Console) request(p *page.Page) error {
	ctx := p.Request().Context()
	found, err := c.o.Reports.Request(ctx, p.User.AccountID, p.Param("id"))
	if err != nil {
		return err
	}
	keys, err := c.logKeys(p)
	if err != nil {
		return err
	}
	if found.Refusal != nil {
		return c.refusal(p, &found, keys)
	}
	record := found.UsageRecord
	d := requestpages.Detail{
		Shell: c.Shell(p), Request: loggedRequest(&record, keys.names), RateCard: record.RateCardID,
		Reserved: record.Reserved, Overrun: record.Overrun, Attempts: record.Attempts, Charge: record.TransactionID,
		Reasoning: record.Usage[meter.ReasoningTokens], Query: logQuery(p),
	}
	// The settlement table has no row for some reasons of old records.
	for _, rule := range billing.Rules() {
		if string(rule.Reason) == record.Reason {
			d.Rule = viewRule(rule)
		}
	}
	if record.ErrorCode != "" {
		d.ErrorDocs = docs.ErrorPath(record.ErrorCode)
	}
	t := record.Trail
	d.Trail = requestpages.Trail{Door: t.Door, Body: t.Body, Checked: t.Checked, Admitted: t.Admitted, Funded: t.Funded}
	for _, a := range t.Attempts {
		d.Trail.Attempts = append(d.Trail.Attempts, requestpages.TrailAttempt(a))
	}
	d.Query.After = ""
	if d.Newer, d.Older, err = c.o.Reports.Neighbours(ctx, c.recordQuery(p, d.Query, keys), record); err != nil {
		return err
	}
	if err = c.priceAgain(p, &d, record); err != nil {
		return err
	}
	if d.Entry, err = c.chargeEntry(p, record); err != nil {
		return err
	}
	if d.Content, err = c.callContent(p, &record); err != nil {
		return err
	}
	d.Message = clientMessage(&record, d.Content)
	return c.Render(p, http.StatusOK, requestpages.DetailPage(d))
}

// clientMessage returns the error message that the client of a failed call was sent. The stored answer has it. Otherwise it follows from
// the attempts, if all that failed with the error of the call have the same message. It is empty when the message is not known.
func clientMessage(r *billing.UsageRecord, stored requestpages.CallContent) string {
	if r.ErrorCode == "" {
		return ""
	}
	var answer struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if stored.State == requestpages.ContentKept && json.Unmarshal([]byte(stored.Answer.Text), &answer) == nil && answer.Error.Message != "" {
		return answer.Error.Message
	}
	message := ""
	for _, a := range r.Trail.Attempts {
		code, text := provider.ClientError(provider.Class(a.Cause))
		if code != r.ErrorCode {
			continue
		}
		if text == "" || message != "" && message != text {
			return ""
		}
		message = text
	}
	return message
}

// priceAgain computes the cost of the record from the version of the prices that the record names.
func (c *Console) priceAgain(p *page.Page, d *requestpages.Detail, r billing.UsageRecord) error {
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
	for _, part := range card.Lines(r.Usage, r.Terms) {
		line := requestpages.PriceLine{Meter: part.Meter.String(), Quantity: part.Quantity}
		if part.Rate.Per > 0 {
			price := catalog.PriceOf(part.Rate)
			line.Price = &views.Price{Meter: line.Meter, Amount: price.Amount, Per: max(price.Per, 1)}
		} else if part.Meter == meter.Requests {
			continue // Every call is one request, which has a price at few models.
		}
		for _, condition := range part.Conditions {
			line.Conditions = append(line.Conditions, format.Marked(catalog.ConditionCalls(condition)))
		}
		d.Lines = append(d.Lines, line)
	}
	return nil
}

// cardOf returns the rate card by which the record was charged, and the cost by it. A version of the prices has one card for each size
// with its own price, and records do not contain the size. If no card gives the recorded cost, cardOf returns the first one.
func cardOf(cards []billing.RateCard, r billing.UsageRecord) (card billing.RateCard, cost app.Amount, err error) {
	for i := range cards {
		sum, failed := cards[i].Cost(r.Usage, r.Terms)
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

// chargeEntry returns the id of the ledger entry with the charge of a call. It is zero if no entry near the end of the call has it.
func (c *Console) chargeEntry(p *page.Page, r billing.UsageRecord) (int64, error) {
	if r.TransactionID == "" {
		return 0, nil
	}
	end := r.StartedAt.Add(r.Duration)
	found, err := c.o.Ledger.EntryList(p.Request().Context(), billing.EntryQuery{
		AccountID: p.User.AccountID, Kinds: []string{"charge"}, From: end.Add(-clockSlack), To: end.Add(settledWithin), Limit: entriesNearMax,
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
