package video

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
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
	Upstream      []byte         `db:"upstream"` // render.Files as JSON
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

// job is the row as its owner sees it.
func (r *jobRow) job() (Job, error) {
	j := Job{
		ID: r.ID, AccountID: r.AccountID, KeyID: r.KeyID, UserID: r.UserID, Model: r.Model, Prompt: r.Prompt, Size: r.Size,
		Seconds: r.Seconds, EndUser: r.EndUser, ImageType: r.ImageType, Assets: r.Assets, Provider: r.Provider, UpstreamModel: r.UpstreamModel,
		State: r.State, Progress: r.Progress, Problem: Problem{Code: r.ErrorCode, Message: r.ErrorMessage},
		RateCardID: r.RateCardID, Hold: r.Hold, Cost: r.Cost,
		Times: Times{CreatedAt: r.CreatedAt.UTC(), StartedAt: utc(r.StartedAt), CompletedAt: utc(r.CompletedAt),
			ExpiresAt: utc(r.ExpiresAt), PurgedAt: utc(r.PurgedAt), DeletedAt: utc(r.DeletedAt)},
	}
	if r.RemixedFrom != nil {
		j.RemixedFrom = *r.RemixedFrom
	}
	if len(r.Metadata) > 0 {
		j.Metadata = json.RawMessage(r.Metadata)
	}
	if err := json.Unmarshal(r.Content, &j.Content); err != nil {
		return Job{}, fmt.Errorf("video: the content of %s cannot be read: %w", r.ID, err)
	}
	return j, nil
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	moment := t.UTC()
	return &moment
}

// hold is the credit that is reserved for the job, under the job's id.
func (r *jobRow) hold() billing.Hold {
	return billing.Hold{ID: r.ID, AccountID: r.AccountID, Amount: r.Hold}
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

// insert keeps a new job. Columns that a new job does not have are left to their defaults.
func insert(ctx context.Context, q postgres.Queryer, r *jobRow) error {
	_, err := q.ExecContext(ctx, `
		insert into video_jobs (id, account_id, key_id, user_id, model, prompt, size, seconds, end_user, remixed_from, image_type,
			asset_ids, provider, style, upstream_model, state, rate_card_id, hold_nanos, due_at, deadline_at, callback_token, created_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)`,
		r.ID, r.AccountID, r.KeyID, r.UserID, r.Model, r.Prompt, r.Size, r.Seconds, r.EndUser, r.RemixedFrom, r.ImageType,
		append(pq.StringArray{}, r.Assets...), r.Provider, string(r.Style), r.UpstreamModel, string(r.State), r.RateCardID,
		int64(r.Hold), r.DueAt, r.DeadlineAt, r.CallbackToken, r.CreatedAt)
	return postgres.StoreError("video: insert", err)
}

// set are columns and what they become. Names come from this package only; JSON is handed over as a string.
type set map[string]any

// move brings a job to a state, together with what else changes. It is the only transition between states. It changes
// nothing and reports false when the job's present state does not allow the move, because another worker or request was
// first.
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

// visible reads a job that its owner can see. All others are one and the same error.
func visible(ctx context.Context, q postgres.Queryer, accountID, id string) (jobRow, error) {
	row, found, err := find(ctx, q, accountID, id)
	if err == nil && (!found || row.DeletedAt != nil) {
		return jobRow{}, noVideo()
	}
	return row, err
}

// noVideo is the one answer for a video that never existed, was deleted or belongs to another account.
func noVideo() *app.Error {
	return app.Errorf(app.NotFound, codeMissingVideo, "There is no such video. GET /v1/videos lists yours.").At(paramSource)
}

// runningJobs counts the jobs of an account and a model that have not ended, the hidden ones too.
func runningJobs(ctx context.Context, q postgres.Queryer, accountID, model string) (n int64, err error) {
	err = q.GetContext(ctx, &n, `
		select count(*) from video_jobs where account_id = $1 and model = $2 and state not in ('completed', 'failed')`, accountID, model)
	return n, postgres.StoreError("video: running jobs", err)
}

// jobsSince counts the jobs of an account and a model that were made since a moment, and when the first of them was. What
// no provider has taken does not count.
func jobsSince(ctx context.Context, q postgres.Queryer, accountID, model string, since time.Time) (n int64, first time.Time, err error) {
	err = q.QueryRowxContext(ctx, `
		select count(*), coalesce(min(created_at), $3) from video_jobs
		where account_id = $1 and model = $2 and created_at > $3 and (state <> 'failed' or upstream_id is not null)`,
		accountID, model, since).Scan(&n, &first)
	return n, first, postgres.StoreError("video: jobs of a day", err)
}

// usesOf counts the jobs of an account by model as runningJobs and jobsSince do.
func usesOf(ctx context.Context, q postgres.Queryer, accountID string, since time.Time) (list []useRow, err error) {
	err = q.SelectContext(ctx, &list, `
		select model, count(*) filter (where state not in ('completed', 'failed')) as running,
			count(*) filter (where created_at > $2 and (state <> 'failed' or upstream_id is not null)) as today
		from video_jobs where account_id = $1 and (created_at > $2 or state not in ('completed', 'failed')) group by model`, accountID, since)
	return list, postgres.StoreError("video: uses", err)
}

type useRow struct {
	Model string `db:"model"`
	Use
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

// hide deletes a job for its owner and wakes the worker. One that is just being made is not due before its creation has
// ended.
func hide(ctx context.Context, q postgres.Queryer, accountID, id string, now time.Time) (row jobRow, found bool, err error) {
	if !wellFormed(id) {
		return jobRow{}, false, nil
	}
	return oneRow(ctx, q, "video: hide", `
		update video_jobs set deleted_at = $3, due_at = case when state = 'creating' then due_at else $3 end
		where id = $1 and account_id = $2 and deleted_at is null returning `+columns, id, accountID, now)
}

// sumContent adds up what is kept for an account.
func sumContent(ctx context.Context, q postgres.Queryer, accountID string) (jobs, bytes int64, err error) {
	err = q.QueryRowxContext(ctx, `
		select count(distinct j.id), coalesce(sum((f.value->>'bytes')::bigint), 0)
		from video_jobs j left join lateral jsonb_each(case when j.purged_at is null then j.content else '{}' end) f on true
		where j.account_id = $1 and j.deleted_at is null`, accountID).Scan(&jobs, &bytes)
	return jobs, bytes, postgres.StoreError("video: sum of content", err)
}
