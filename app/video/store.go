package video

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lib/pq"

	"umg/app"
	"umg/app/catalog"
	"umg/app/llm"
	"umg/app/postgres"
	"umg/app/provider/videoapi"
	"umg/billing"
)

// jobRow is a job as its table has it.
type jobRow struct {
	ID            string         `db:"id"`
	AccountID     string         `db:"account_id"`
	KeyID         string         `db:"key_id"`
	UserID        string         `db:"user_id"`
	Model         string         `db:"model"`
	Prompt        string         `db:"prompt"`
	Size          string         `db:"size"`
	Seconds       int            `db:"seconds"`
	EndUser       string         `db:"end_user"`
	RemixedFrom   *string        `db:"remixed_from"`
	ImageType     string         `db:"image_type"`
	Assets        pq.StringArray `db:"asset_ids"`
	Provider      string         `db:"provider"`
	Style         llm.Style      `db:"style"`
	UpstreamModel string         `db:"upstream_model"`
	UpstreamID    *string        `db:"upstream_id"`
	Upstream      []byte         `db:"upstream"` // Upstream is an upstreamState as JSON.
	Metadata      []byte         `db:"metadata"`
	State         State          `db:"state"`
	Progress      int            `db:"progress"`
	ErrorCode     string         `db:"error_code"`
	ErrorMessage  string         `db:"error_message"`
	Content       []byte         `db:"content"`
	RateCardID    string         `db:"rate_card_id"`
	Hold          app.Amount     `db:"hold_nanos"`

	Cost          *app.Amount `db:"cost_nanos"`
	DueAt         *time.Time  `db:"due_at"`
	ClaimedUntil  *time.Time  `db:"claimed_until"`
	Tries         int         `db:"tries"`
	DeadlineAt    time.Time   `db:"deadline_at"`
	CallbackToken *string     `db:"callback_token"`
	CreatedAt     time.Time   `db:"created_at"`
	StartedAt     *time.Time  `db:"started_at"`
	CompletedAt   *time.Time  `db:"completed_at"`
	ExpiresAt     *time.Time  `db:"expires_at"`
	DeletedAt     *time.Time  `db:"deleted_at"`
	CancelledAt   *time.Time  `db:"cancelled_at"`
	PurgedAt      *time.Time  `db:"purged_at"`
}

// columns are those of jobRow, in its order.
const columns = `id, account_id, key_id, user_id, model, prompt, size, seconds, end_user, remixed_from, image_type, asset_ids,
	provider, style,
	upstream_model, upstream_id, upstream, metadata, state, progress, error_code, error_message, content, rate_card_id, hold_nanos,
	cost_nanos, due_at, claimed_until, tries, deadline_at, callback_token, created_at, started_at, completed_at, expires_at,
	deleted_at, cancelled_at, purged_at`

// hold is the credit that is reserved for the job, under the job's id.
func (r *jobRow) hold() billing.Hold {
	return billing.Hold{ID: r.ID, AccountID: r.AccountID, Amount: r.Hold}
}

// task is the render as the provider knows it.
func (r *jobRow) task() videoapi.Task {
	t := videoapi.Task{State: videoapi.Succeeded, Files: r.heard().Files}
	if r.UpstreamID != nil {
		t.ID = *r.UpstreamID
	}
	return t
}

// record is what the job was, for the settlement that ends it. Cost and readings are the caller's to add.
func (r *jobRow) record(now time.Time, rule billing.Rule) billing.UsageRecord {
	return billing.UsageRecord{
		RequestID: r.ID, AccountID: r.AccountID, KeyID: r.KeyID, Model: r.Model, Provider: r.Provider,
		UpstreamModel: r.UpstreamModel, Style: string(catalog.VideosStyle), RateCardID: r.RateCardID, EndUser: r.EndUser,
		Outcome: rule.Outcome, Reason: string(rule.Reason), ErrorCode: r.ErrorCode, Attempts: 1, StartedAt: r.CreatedAt,
		Duration: now.Sub(r.CreatedAt),
	}
}

// set are columns and what they become. Names come from this package only; JSON is handed over as a string.
type set map[string]any

// move brings a job to a state, together with what else changes. It is the only transition between states. It changes nothing and reports
// false when the job's present state does not allow the move, because another worker or request was first.
func move(ctx context.Context, q postgres.Queryer, id string, to State, with set) (jobRow, bool, error) {
	args := []any{id, string(to), pq.Array(from(to))}
	changes := []string{"state = $2"}
	for _, column := range slices.Sorted(maps.Keys(with)) {
		args = append(args, with[column])
		changes = append(changes, column+" = $"+strconv.Itoa(len(args)))
	}
	return oneRow(ctx, q, "video: move to "+string(to), `update video_jobs set `+strings.Join(changes, ", ")+`
		where id = $1 and state = any($3) returning `+columns, args...)
}

// oneRow reads the job that a query returns, and reports false when it returns none.
func oneRow(ctx context.Context, q postgres.Queryer, step, query string, args ...any) (row jobRow, found bool, err error) {
	err = q.GetContext(ctx, &row, query, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return jobRow{}, false, nil
	}
	return row, err == nil, postgres.StoreError(step, err)
}

// wellFormed reports whether a text can be the id of a job. Only then is the store asked.
func wellFormed(id string) bool {
	return len(id) > len(idPrefix)+1 && len(id) <= idBytesMax && strings.HasPrefix(id, idPrefix+"_") &&
		strings.Trim(id[len(idPrefix)+1:], "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

// find reads a job of an account, whether it can be seen or not.
func find(ctx context.Context, q postgres.Queryer, accountID, id string) (row jobRow, found bool, err error) {
	if !wellFormed(id) {
		return jobRow{}, false, nil
	}
	return oneRow(ctx, q, "video: find", `select `+columns+` from video_jobs where id = $1 and account_id = $2`, id, accountID)
}

// noVideo is the one answer for a video that never existed, was deleted or belongs to another account.
func noVideo() *app.Error {
	return app.Errorf(app.NotFound, codeMissingVideo, "There is no such video. GET /v1/videos lists yours.").At(paramSource)
}

// selectJobs reads the visible jobs of an account that a query asks for.
func selectJobs(
	ctx context.Context, q postgres.Queryer, accountID string, by Query, states []string, limit int,
) (rows []jobRow, err error) {
	where, args := by.conditions(states, []any{accountID, limit})
	order := "desc"
	if by.Ascending {
		order = "asc"
	}
	err = q.SelectContext(ctx, &rows, `select `+columns+` from video_jobs
		where account_id = $1 and deleted_at is null`+where+` order by id `+order+` limit $2`, args...)
	return rows, postgres.StoreError("video: list", err)
}

// hide deletes a job for its owner and wakes the worker. One that is just being made is not due before its creation has ended.
func hide(ctx context.Context, q postgres.Queryer, accountID, id string, now time.Time) (row jobRow, found bool, err error) {
	if !wellFormed(id) {
		return jobRow{}, false, nil
	}
	return oneRow(ctx, q, "video: hide", `
		update video_jobs set deleted_at = $3, due_at = case when state = 'creating' then due_at else $3 end
		where id = $1 and account_id = $2 and deleted_at is null returning `+columns, id, accountID, now)
}

// wakeJob makes the job of a token due, though not sooner after the last look than the gap, and says whether there is
// such a job. A failed job whose render may still turn up is looked at once more.
func wakeJob(ctx context.Context, q postgres.Queryer, token string, now time.Time, gap time.Duration) (known bool, err error) {
	err = q.GetContext(ctx, &known, `
		with known as (
			select id as known_id, case
				when claimed_until > $2 then $3::timestamptz
				else greatest($2, coalesce(claimed_until, created_at) + $4 * interval '1 microsecond') end as wake_at
			from video_jobs where callback_token = $1
		), woken as (
			update video_jobs set due_at = wake_at from known
			where id = known_id and purged_at is null and case
				when state = 'completed' then false
				when state = 'failed' then due_at is null and upstream_id is not null and error_code = any($5)
				when state in ('creating', 'storing') then false -- the one is being asked for, the other has its verdict
				else due_at > wake_at or claimed_until > $2 and due_at <= $2 end
		)
		select exists (select from known)`,
		token, now, now.Add(gap), gap.Microseconds(), pq.Array(lateCodes))
	return known, postgres.StoreError("video: wake", err)
}
