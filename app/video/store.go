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

	"github.com/jmoiron/sqlx"
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
	return new(t.UTC())
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

// jobsSince counts the jobs of an account and a model that were made since a moment, and when the first of them was. What
// no provider has taken does not count.
func jobsSince(ctx context.Context, q postgres.Queryer, accountID, model string, since time.Time) (n int64, first time.Time, err error) {
	err = q.QueryRowxContext(ctx, `
		select count(*), coalesce(min(created_at), $3) from video_jobs
		where account_id = $1 and model = $2 and created_at > $3 and (state <> 'failed' or upstream_id is not null)`,
		accountID, model, since).Scan(&n, &first)
	return n, first, postgres.StoreError("video: jobs of a day", err)
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

// claim says what a worker wants to work on.
type claim struct {
	// due is the time until which jobs must be due.
	due time.Time
	now time.Time
	// until is when the claim ends without a renewal.
	until time.Time
	kind  kind
	// busy are providers that get no more calls for now.
	busy []string
	// away are providers that cannot be called from here.
	away  []string
	limit int
}

// othersMax is how long after its deadline a job is left to replicas that can call its provider. Then any replica ends it.
const othersMax = 5 * time.Minute

const claimQuery = `
	with due as (
		select id as due_id from video_jobs
		where due_at <= $1 and (claimed_until is null or claimed_until <= $2)
			and case
				when deleted_at is not null then 'looks'
				when state = 'storing' then 'copies'
				when state = 'completed' and due_at < expires_at then 'pictures'
				else 'looks' end = $3
			and provider <> all($4)
			and (provider <> all($7) or state = 'completed' or deadline_at <= $8)
		order by due_at limit $5 for update skip locked)
	update video_jobs set claimed_until = $6 from due where id = due_id returning ` + columns

// nextDue returns when the first job is due, or nil when none ever is. It reads one entry of an index, and an idle worker asks it
// often: planning a claim costs the database ten times as much.
func nextDue(ctx context.Context, db *sqlx.DB) (next *time.Time, err error) {
	err = postgres.QueryRow(ctx, db, `select min(due_at) from video_jobs`, nil, &next)
	return next, postgres.StoreError("video: look for what is due", err)
}

// claimDue claims jobs that no worker works on. It skips rows that another worker has locked, and does not wait for
// them.
func claimDue(ctx context.Context, q postgres.Queryer, c claim) (rows []jobRow, err error) {
	err = q.SelectContext(ctx, &rows, claimQuery, c.due, c.now, string(c.kind), pq.Array(c.busy), c.limit, c.until,
		pq.Array(c.away), c.now.Add(-othersMax))
	return rows, postgres.StoreError("video: claim", err)
}

// postponed is a claimed job that has nothing new, and when to look at it again.
type postponed struct {
	row   *jobRow
	due   time.Time
	tries int
}

// postpone returns claimed jobs, all in one statement. A job that was woken since it was claimed stays due as it was
// woken. A job that another worker has claimed since is not changed. claimed_until becomes the time of the return.
func postpone(ctx context.Context, q postgres.Queryer, now time.Time, list []postponed) error {
	n := len(list)
	ids, tries := make([]string, n), make([]int64, n)
	was, claimed, due := make([]string, n), make([]string, n), make([]string, n)
	for i, p := range list {
		ids[i], tries[i] = p.row.ID, int64(p.tries)
		was[i], claimed[i], due[i] = stamp(*p.row.DueAt), stamp(*p.row.ClaimedUntil), stamp(p.due)
	}
	_, err := q.ExecContext(ctx, `
		update video_jobs j set tries = p.tries, claimed_until = $6,
			due_at = case when j.due_at = p.was then p.due else least(j.due_at, p.due) end
		from unnest($1::text[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[], $5::integer[]) p (id, was, claimed, due, tries)
		where j.id = p.id and j.claimed_until = p.claimed`,
		pq.Array(ids), pq.Array(was), pq.Array(claimed), pq.Array(due), pq.Array(tries), now)
	return postgres.StoreError("video: postpone", err)
}

// stamp is a moment as the store keeps it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.999999Z07:00") }

// setProgress keeps what a running job has come to, without a change of its state.
func setProgress(ctx context.Context, q postgres.Queryer, r *jobRow, progress int, now, due time.Time) error {
	_, err := q.ExecContext(ctx, `
		update video_jobs set progress = greatest(progress, $3), tries = 0, claimed_until = $4,
			due_at = case when due_at = $5 then $6 else least(due_at, $6) end
		where id = $1 and state = $2 and claimed_until = $7`,
		r.ID, string(r.State), progress, now, r.DueAt, due, r.ClaimedUntil)
	return postgres.StoreError("video: set progress", err)
}

// setUpstream keeps what is known of a job at its provider, and gives the job back.
func setUpstream(ctx context.Context, q postgres.Queryer, r *jobRow, upstream string, now, due time.Time) error {
	_, err := q.ExecContext(ctx, `
		update video_jobs set upstream = $2, claimed_until = $3, due_at = $4, tries = tries + 1
		where id = $1 and claimed_until = $5`,
		r.ID, upstream, now, due, r.ClaimedUntil)
	return postgres.StoreError("video: set upstream", err)
}

// setCancelled notes that the provider was asked to stop.
func setCancelled(ctx context.Context, q postgres.Queryer, r *jobRow, now, due time.Time) error {
	_, err := q.ExecContext(ctx, `
		update video_jobs set cancelled_at = $2, tries = 0, claimed_until = $2, due_at = $3 where id = $1 and cancelled_at is null`,
		r.ID, now, due)
	return postgres.StoreError("video: set cancelled", err)
}

// setPurged notes that the content of an ended job is gone.
func setPurged(ctx context.Context, q postgres.Queryer, id string, now time.Time) error {
	_, err := q.ExecContext(ctx, `
		update video_jobs set purged_at = $2, due_at = null, claimed_until = null, tries = 0
		where id = $1 and state in ('completed', 'failed')`, id, now)
	return postgres.StoreError("video: set purged", err)
}

// setPictures keeps the pictures that were made of a completed job, which rests then until its content expires. It sets nothing when
// the job was deleted or claimed by another worker in between.
func setPictures(ctx context.Context, q postgres.Queryer, r *jobRow, made string) (set bool, err error) {
	result, err := q.ExecContext(ctx, `
		update video_jobs set content = content || $2::jsonb, upstream = $3, due_at = expires_at, claimed_until = null, tries = 0
		where id = $1 and state = 'completed' and deleted_at is null and claimed_until = $4`,
		r.ID, made, upstreamState{Files: r.heard().Files}.encode(), r.ClaimedUntil)
	if err != nil {
		return false, postgres.StoreError("video: set pictures", err)
	}
	rows, err := result.RowsAffected()
	return rows > 0, postgres.StoreError("video: set pictures", err)
}

// setRest makes an ended job due when its content expires, and never when it has none.
func setRest(ctx context.Context, q postgres.Queryer, id string) error {
	_, err := q.ExecContext(ctx, `
		update video_jobs set due_at = case when purged_at is null then expires_at end, claimed_until = null, tries = 0
		where id = $1 and state in ('completed', 'failed') and deleted_at is null`, id)
	return postgres.StoreError("video: set rest", err)
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
