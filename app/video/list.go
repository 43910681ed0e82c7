package video

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lib/pq"

	"umg/app"
)

const (
	pageStandard    = 20
	pageMax         = 100
	searchRunesMax  = 200
	filterBytesMax  = 256
	paramAfter      = "after"
	statusesAllowed = "queued, in_progress, completed, failed"
)

// Query says which jobs of an account are listed, and from where on. Zero values do not filter.
type Query struct {
	After                       string // After is the id of the last job of the previous page.
	Limit                       int    // Limit is from 1 to 100. Zero means 20.
	Ascending                   bool   // Ascending lists the oldest jobs first.
	Status                      string // Status is a status that clients know.
	Model                       string
	Search                      string // Search finds text in prompts, regardless of case.
	RemixedFrom                 string // RemixedFrom is the id of a source.
	CreatedAfter, CreatedBefore time.Time
}

// Page is a stretch of a list.
type Page struct {
	Jobs []Job
	More bool // More reports whether jobs follow this page.
}

// List is a page of an account's jobs. A cursor is a place between ids, so that pages stay right while jobs come and go:
// the job that it names may have been deleted, or never have been there.
func (s *Service) List(ctx context.Context, accountID string, q Query) (Page, error) {
	if q.Limit == 0 {
		q.Limit = pageStandard
	}
	states, err := q.check()
	if err != nil {
		return Page{}, err
	}
	rows, err := selectJobs(ctx, s.db, accountID, q, states, q.Limit+1)
	if err != nil {
		return Page{}, err
	}
	page := Page{More: len(rows) > q.Limit, Jobs: make([]Job, 0, min(len(rows), q.Limit))}
	for i := range rows[:min(len(rows), q.Limit)] {
		job, err := rows[i].job()
		if err != nil {
			return Page{}, err
		}
		page.Jobs = append(page.Jobs, job)
	}
	return page, nil
}

// check refuses what cannot be meant, and says which states a status stands for.
func (q *Query) check() (states []string, err error) {
	switch {
	case q.Limit < 1 || q.Limit > pageMax:
		return nil, invalid("limit", "limit must be a whole number from 1 to %d.", pageMax)
	case q.After != "" && !app.IsID(idPrefix, q.After):
		return nil, invalid(paramAfter, "after must be the id of a video, such as the last_id of the page before.")
	case q.RemixedFrom != "" && !wellFormed(q.RemixedFrom):
		return nil, invalid("remixed_from_video_id", "remixed_from_video_id must be the id of a video.")
	case len(q.Model) > filterBytesMax || !app.Storable(q.Model):
		return nil, invalid("model", "model must be the id of a model.")
	case utf8.RuneCountInString(q.Search) > searchRunesMax || !app.Storable(q.Search):
		return nil, invalid("search", "search must be a text of at most %d characters.", searchRunesMax)
	}
	if q.Status == "" {
		return nil, nil
	}
	for _, state := range [...]State{Creating, Uncertain, Queued, InProgress, Storing, Completed, Failed} {
		if state.Status() == q.Status {
			states = append(states, string(state))
		}
	}
	if states == nil {
		return nil, invalid("status", "status must be one of %s.", statusesAllowed)
	}
	return states, nil
}

// conditions are the filters of a query as SQL, with their arguments behind the given ones.
func (q *Query) conditions(states []string, args []any) (where string, all []any) {
	var b strings.Builder
	add := func(format string, value any) {
		args = append(args, value)
		fmt.Fprintf(&b, " and "+format, len(args))
	}
	if q.After != "" && q.Ascending {
		add("id > $%d", q.After)
	} else if q.After != "" {
		add("id < $%d", q.After)
	}
	if states != nil {
		add("state = any($%d)", pq.Array(states))
	}
	if q.Model != "" {
		add("model = $%d", q.Model)
	}
	if q.RemixedFrom != "" {
		add("remixed_from = $%d", q.RemixedFrom)
	}
	if q.Search != "" {
		add(`prompt ilike $%d escape '\'`, "%"+strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(q.Search)+"%")
	}
	if !q.CreatedAfter.IsZero() {
		add("created_at > $%d", q.CreatedAfter.UTC())
	}
	if !q.CreatedBefore.IsZero() {
		add("created_at < $%d", q.CreatedBefore.UTC())
	}
	return b.String(), args
}
