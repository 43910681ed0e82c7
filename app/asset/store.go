package asset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lib/pq"

	"umg/app/postgres"
)

const columns = `a.id, a.account_id, a.kind, a.name, a.url, a.state, a.reason, a.media_type, a.bytes, a.width, a.height, a.provider,
	a.resource_group, a.upstream_id, a.extra, a.pending_at, a.due_at, a.claimed_until, a.tries, a.created_at, a.updated_at, a.deleted_at`

// visible is the condition under which faces see a row.
const visible = `a.deleted_at is null and a.pending_at is null`

// assetRow is an asset as the table holds it.
type assetRow struct {
	ID           string     `db:"id"`
	AccountID    string     `db:"account_id"`
	Kind         Kind       `db:"kind"`
	Name         string     `db:"name"`
	URL          string     `db:"url"`
	State        State      `db:"state"`
	Reason       string     `db:"reason"`
	MediaType    string     `db:"media_type"`
	Bytes        int64      `db:"bytes"`
	Width        int        `db:"width"`
	Height       int        `db:"height"`
	Provider     string     `db:"provider"`
	Group        string     `db:"resource_group"`
	UpstreamID   string     `db:"upstream_id"`
	Extra        []byte     `db:"extra"`
	PendingAt    *time.Time `db:"pending_at"`
	DueAt        *time.Time `db:"due_at"`
	ClaimedUntil *time.Time `db:"claimed_until"`
	Tries        int        `db:"tries"`
	CreatedAt    time.Time  `db:"created_at"`
	UpdatedAt    time.Time  `db:"updated_at"`
	DeletedAt    *time.Time `db:"deleted_at"`
}

func (r *assetRow) asset() Asset {
	return Asset{
		ID: r.ID, Kind: r.Kind, Name: r.Name, URL: r.URL, State: r.State, Reason: r.Reason, MediaType: r.MediaType, Bytes: r.Bytes,
		Width: r.Width, Height: r.Height, Provider: r.Provider, UpstreamID: r.UpstreamID, Extra: json.RawMessage(r.Extra),
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

// With these, the database says that an account has as many assets as it may, and that it is closed.
const (
	limitConstraint = "asset_counts_limit"
	closedCode      = "23001"
)

// An insert fails with these when no further asset is allowed.
var (
	errFull   = errors.New("asset: the account has as many assets as it may")
	errClosed = errors.New("asset: the account is closed")
)

// insert adds a pending row, claimed by the request that creates it. It reports false when the id is taken already.
func insert(ctx context.Context, q postgres.Queryer, r *assetRow) (bool, error) {
	done, err := q.ExecContext(ctx, `
		insert into assets (id, account_id, kind, name, url, state, media_type, bytes, width, height, provider, resource_group,
			pending_at, due_at, claimed_until, created_at, updated_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14, $15, $15)
		on conflict (id) do nothing`,
		r.ID, r.AccountID, r.Kind, r.Name, r.URL, r.State, r.MediaType, r.Bytes, r.Width, r.Height, r.Provider, r.Group,
		r.PendingAt, r.DueAt, r.CreatedAt)
	if refused, ok := errors.AsType[*pq.Error](err); ok {
		switch {
		case refused.Constraint == limitConstraint:
			return false, errFull
		case refused.Code == closedCode:
			return false, errClosed
		}
	}
	return postgres.Changed(done, err)
}

// live is how many assets an account has, pending ones too.
func live(ctx context.Context, q postgres.Queryer, accountID string) (int, error) {
	return postgres.Get[int](ctx, q, `select coalesce((select live from asset_counts where account_id = $1), 0)`, accountID)
}

// settle makes a pending row an asset that its account sees. It reports false when the row is not the caller's any more.
func settle(ctx context.Context, q postgres.Queryer, r *assetRow, upstreamID string, extra []byte, due, now time.Time) (bool, error) {
	return postgres.Changed(q.ExecContext(ctx, `
		update assets set pending_at = null, upstream_id = $3, extra = $4, due_at = $5, claimed_until = null, tries = 0, updated_at = $6
		where id = $1 and claimed_until = $2 and pending_at is not null and deleted_at is null`,
		r.ID, r.ClaimedUntil, upstreamID, object(extra), due, now))
}

// leave gives a row back, to be looked at again then.
func leave(ctx context.Context, q postgres.Queryer, r *assetRow, due *time.Time, tries int) error {
	return postgres.Exec(ctx, q, `
		update assets set claimed_until = null, due_at = $3, tries = $4 where id = $1 and claimed_until = $2`,
		r.ID, r.ClaimedUntil, due, tries)
}

// remove forgets a row, which ends its place in the count if it still had one.
func remove(ctx context.Context, q postgres.Queryer, r *assetRow) error {
	return postgres.Exec(ctx, q, `delete from assets where id = $1 and claimed_until = $2`, r.ID, r.ClaimedUntil)
}

func byID(ctx context.Context, q postgres.Queryer, accountID, id string) (assetRow, error) {
	return postgres.Get[assetRow](ctx, q, `select `+columns+` from assets a where a.account_id = $1 and a.id = $2 and `+visible, accountID, id)
}

// list reads a page, newest first, and how many there are in all.
func list(ctx context.Context, q postgres.Queryer, accountID string, f Filter) (rows []assetRow, total int, err error) {
	where, args := []string{"a.account_id = $1", visible}, []any{accountID}
	narrow := func(condition string, value any) {
		args = append(args, value)
		where = append(where, fmt.Sprintf(condition, len(args)))
	}
	if f.Kind != "" {
		narrow("a.kind = $%d", f.Kind)
	}
	if f.State != "" {
		narrow("a.state = $%d", f.State)
	}
	if f.Text != "" {
		narrow("(strpos(lower(a.name), lower($%[1]d)) > 0 or strpos(lower(a.url), lower($%[1]d)) > 0)", f.Text)
	}
	from := ` from assets a where ` + strings.Join(where, " and ")
	if err = q.GetContext(ctx, &total, `select count(*)`+from, args...); err != nil {
		return nil, 0, err
	}
	if f.Page-1 > total/f.Size { // The offset of a page far behind the end would overflow.
		return nil, total, nil
	}
	args = append(args, f.Size, (f.Page-1)*f.Size)
	err = q.SelectContext(ctx, &rows, `select `+columns+from+
		fmt.Sprintf(` order by a.id desc limit $%d offset $%d`, len(args)-1, len(args)), args...)
	return rows, total, err
}

// claimDue claims unclaimed rows that are due. It leaves rows of the providers in away, which this replica cannot call,
// to other replicas, except removals that began before old and are therefore given up.
func claimDue(
	ctx context.Context, q postgres.Queryer, now, until time.Time, limit int, away []string, old time.Time,
) ([]assetRow, error) {
	return postgres.Select[assetRow](ctx, q, `
		update assets a set claimed_until = $2
		where a.id in (select d.id from assets d
			where d.due_at <= $1 and (d.claimed_until is null or d.claimed_until <= $1)
				and (d.provider <> all($4) or coalesce(d.pending_at, d.deleted_at) <= $5)
			order by d.due_at limit $3 for update skip locked)
		returning `+columns, now, until, limit, pq.StringArray(away), old)
}

// object is a JSON object for the store, an empty one for none.
func object(raw []byte) string {
	if len(raw) == 0 {
		return "{}"
	}
	return string(raw)
}
