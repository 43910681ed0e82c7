package usage

import (
	"cmp"
	"context"
	"slices"
	"time"

	"umg/app"
	"umg/app/postgres"
	"umg/billing"
)

// OutcomeRefused is the outcome of a request that was refused before any provider was called. It has no usage record.
const OutcomeRefused = "refused"

// Refusal is what a refusal has in addition to the fields of a usage record.
type Refusal struct {
	Status        int
	Param         string
	Message       string // Message is empty when a provider wrote it.
	Method, Route string
	Represents    int64 // Represents is how many refusals the row stands for.
}

// Request is one row of the request log: a usage record, or a refusal, whose usage and cost are zero.
type Request struct {
	billing.UsageRecord
	Refusal *Refusal // Refusal is nil for a usage record.
}

// RequestPage is one page of the request log. Next is empty on the last.
type RequestPage struct {
	Requests []Request
	Next     string
}

// RequestLog lists usage records and refusals, newest first.
func (r *Reports) RequestLog(ctx context.Context, q RecordQuery) (RequestPage, error) {
	after, err := readCursor(q.After)
	if err != nil {
		return RequestPage{}, err
	}
	limit := min(max(q.Limit, 1), recordsMax)
	rows, err := r.searchRequests(ctx, q, after, limit+1)
	if err != nil {
		return RequestPage{}, err
	}
	page := RequestPage{Requests: rows}
	if len(rows) > limit {
		page.Requests = rows[:limit]
		page.Next = placeOf(&rows[limit-1]).String()
	}
	return page, nil
}

// searchRequests merges the newest records and refusals of a query.
func (r *Reports) searchRequests(ctx context.Context, q RecordQuery, after cursor, limit int) ([]Request, error) {
	var list []Request
	if q.Outcome != OutcomeRefused { // No usage record has this outcome.
		rows, err := searchRecords(ctx, r.reads, q, after, limit)
		if err != nil {
			return nil, postgres.StoreError("usage: records", err)
		}
		list = requestsOf(recordsOf(rows))
	}
	refused, err := searchRefusals(ctx, r.reads, q, after, limit)
	if err != nil {
		return nil, postgres.StoreError("usage: refusals", err)
	}
	if len(refused) == 0 {
		return list, nil
	}
	for i := range refused {
		list = append(list, refused[i].request())
	}
	slices.SortStableFunc(list, func(a, b Request) int { return placeOf(&b).compare(placeOf(&a)) })
	return list[:min(len(list), limit)], nil
}

func requestsOf(records []billing.UsageRecord) []Request {
	list := make([]Request, len(records))
	for i := range records {
		list[i].UsageRecord = records[i]
	}
	return list
}

func placeOf(r *Request) cursor { return cursor{at: r.StartedAt, id: r.RequestID} }

func (c cursor) compare(other cursor) int {
	return cmp.Or(c.at.Compare(other.at), cmp.Compare(c.id, other.id))
}

// Request returns one row of the request log of an account, or app.NotFound.
func (r *Reports) Request(ctx context.Context, accountID, requestID string) (Request, error) {
	record, err := r.Record(ctx, accountID, requestID)
	if err == nil || app.KindOf(err) != app.NotFound {
		return Request{UsageRecord: record}, err
	}
	found, storeErr := searchRefusals(ctx, r.db, RecordQuery{AccountID: accountID, wholeID: requestID}, cursor{}, 1)
	if storeErr != nil {
		return Request{}, postgres.StoreError("usage: refusal", storeErr)
	}
	if len(found) == 0 {
		return Request{}, err
	}
	return found[0].request(), nil
}

// LatestRequests returns the newest rows of the request log of an account.
func (r *Reports) LatestRequests(ctx context.Context, accountID string, limit int) ([]Request, error) {
	page, err := r.RequestLog(ctx, RecordQuery{AccountID: accountID, Limit: min(limit, pageSizeMax)})
	return page.Requests, err
}

// FailedRequests are the latest failures and refusals of an account since a given time, the newest first. At most half of a full list
// are refusals, so that a flood of these does not hide the failures.
func (r *Reports) FailedRequests(ctx context.Context, accountID string, since time.Time, limit int) ([]Request, error) {
	failed, err := r.Failures(ctx, accountID, since, limit)
	if err != nil {
		return nil, err
	}
	refused, err := searchRefusals(ctx, r.db, RecordQuery{AccountID: accountID, From: since}, cursor{}, limit)
	if err != nil {
		return nil, postgres.StoreError("usage: refusals", err)
	}
	list := requestsOf(failed)
	for i := range refused[:min(len(refused), max(limit-len(failed), limit/2))] {
		list = append(list, refused[i].request())
	}
	slices.SortStableFunc(list, func(a, b Request) int { return placeOf(&b).compare(placeOf(&a)) })
	return list[:min(len(list), limit)], nil
}

// Tail lists what was settled or refused after a position of the tail, oldest first, and returns the new position. It reads only the
// calls that began last, so it costs the same on busy and quiet accounts.
func (r *Reports) Tail(ctx context.Context, q RecordQuery, after string) ([]Request, string, error) {
	from, err := readCursor(after)
	if err != nil {
		return nil, "", err
	}
	now := r.o.Now().UTC()
	q.From, q.To = now.Add(-tailAgeMax), time.Time{}
	type settled struct {
		Request

		place cursor
	}
	var list []settled
	if q.Outcome != OutcomeRefused {
		rows, err := q.selectTail(ctx, r.reads, from, now.Add(-tailSettling))
		if err != nil {
			return nil, "", postgres.StoreError("usage: tail", err)
		}
		for _, row := range rows {
			list = append(list, settled{Request{UsageRecord: row.Record()}, cursor{at: row.SettledAt, id: row.RequestID}})
		}
	}
	refused, err := q.selectRefusalTail(ctx, r.reads, from, now.Add(-tailSettling))
	if err != nil {
		return nil, "", postgres.StoreError("usage: tail of refusals", err)
	}
	for i := range refused {
		list = append(list, settled{refused[i].request(), cursor{at: refused[i].WrittenAt, id: refused[i].RequestID}})
	}
	slices.SortStableFunc(list, func(a, b settled) int { return a.place.compare(b.place) })
	list = list[:min(len(list), tailRowsMax)]
	requests := make([]Request, len(list))
	for i := range list {
		requests[i], after = list[i].Request, list[i].place.String()
	}
	return requests, after, nil
}

// Neighbours are the ids of the requests of a query next to a given one: the one that began after it and the one that began before it.
func (r *Reports) Neighbours(ctx context.Context, q RecordQuery, record billing.UsageRecord) (newer, older string, err error) {
	at := cursor{at: record.StartedAt.UTC(), id: record.RequestID}
	before, err := r.searchRequests(ctx, q, at, 1)
	if err != nil {
		return "", "", err
	}
	if len(before) > 0 {
		older = before[0].RequestID
	}
	var next []nearRow
	if q.Outcome != OutcomeRefused {
		if next, err = q.selectNextRecord(ctx, r.reads, at); err != nil {
			return "", "", postgres.StoreError("usage: neighbours", err)
		}
	}
	refused, err := q.selectNextRefusal(ctx, r.reads, at)
	if err != nil {
		return "", "", postgres.StoreError("usage: neighbours of refusals", err)
	}
	if next = append(next, refused...); len(next) > 0 {
		newer = slices.MinFunc(next, func(a, b nearRow) int {
			return cursor{at: a.At, id: a.ID}.compare(cursor{at: b.At, id: b.ID})
		}).ID
	}
	return newer, older, nil
}
