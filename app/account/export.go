package account

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"umg/app"
	"umg/app/audit"
	"umg/app/meter"
	"umg/app/postgres"
	"umg/billing"
)

// Limits of an export.
const (
	exportTimeMax  = 15 * time.Minute
	exportRowsPage = 500
)

// exportTable is one list of an export: which columns of which table, and in what order. Columns are named one by one, so that
// a secret that a table gets one day is not part of it by accident.
type exportTable struct {
	name    string
	table   string
	columns string
	keys    []string // columns of the order, unique together in an account
	types   []string // types of the keys
	where   string   // a further condition on the rows; empty for all rows of the account
	page    int      // rows per query of a table with large rows; zero for the default
}

// chapters are everything that is kept about an account and is not a secret. It is the one place that knows of the tables
// of all rooms, because what belongs to an account is exactly what names it.
var chapters = []exportTable{
	{name: "members", table: "memberships t join users u on u.id = t.user_id", keys: []string{"t.user_id"}, types: []string{"text"},
		columns: "t.user_id, u.email, u.name, t.role, t.created_at"},
	{name: "invitations", table: "invitations t", keys: []string{"id"}, types: []string{"text"},
		columns: "id, email, role, created_at, expires_at, ended, ended_at"},
	{name: "api_keys", table: "api_keys t", keys: []string{"id"}, types: []string{"text"},
		columns: `id, name, prefix, last_four, env as environment, error_mode, scopes, models, addresses, requests_per_minute,
			tokens_per_minute, concurrency, log_content, strict, created_at, expires_at, disabled_at, deleted_at, last_used_at, last_used_ip,
			rotated_at, leaked_at, budget_alerts`},
	{name: "key_budgets", table: "key_budgets t", keys: []string{"key_id"}, types: []string{"text"},
		columns: "key_id, limit_nanos, period, period_start, spent_nanos"},
	{name: "key_networks", table: "key_networks t", keys: []string{"key_id", "network"}, types: []string{"text", "cidr"},
		columns: "key_id, network, since, last_at"},
	{name: "videos", table: "video_jobs t", keys: []string{"id"}, types: []string{"text"}, where: "deleted_at is null",
		columns: `id, key_id, user_id, model, prompt, size, seconds, end_user, remixed_from, asset_ids, state, progress, error_code,
			error_message, cost_nanos, created_at, completed_at, expires_at`},
	{name: "assets", table: "assets t", keys: []string{"id"}, types: []string{"text"}, where: "deleted_at is null and pending_at is null",
		columns: `id as asset_id, kind as asset_type, name, url, state as status, media_type, bytes, width, height, extra, created_at,
			updated_at`},
	{name: "prompts", table: "prompts t", keys: []string{"id"}, types: []string{"text"}, columns: "id, name, latest, created_at, updated_at"},
	{name: "prompt_versions", table: "prompt_versions t", keys: []string{"prompt_id", "number"}, types: []string{"text", "integer"},
		columns: "prompt_id, number, model, variables, author as author_id, restored_from_version as restored, created_at, content::json"},
	{name: "prompt_links", table: "prompt_shares t", keys: []string{"id"}, types: []string{"text"},
		columns: "id, prompt_id, number, author as author_id, created_at, expires_at, viewed_at, revoked_at"},
	{name: "content_settings", table: "content_log_settings t", keys: []string{"account_id"}, types: []string{"text"},
		columns: "keep, days, cleared_at, changed_at"},
	{name: "content", table: "content_logs t", keys: []string{"at", "request_id"}, types: []string{"timestamptz", "text"}, page: 50,
		where: `t.deleted_at is null and exists (select from content_log_settings s where s.account_id = t.account_id
			and t.at > greatest(coalesce(s.cleared_at, '-infinity'), now() - make_interval(days => s.days)))`,
		columns: `request_id, key_id, style, at, request, request_bytes, request_cut, answer, answer_bytes, answer_cut, streamed, redacted`},
	{name: "playground_runs", table: "playground_runs t", keys: []string{"at", "run_id", "pane"},
		types: []string{"timestamptz", "text", "smallint"}, page: 50,
		where: `exists (select from content_log_settings s where s.account_id = t.account_id
			and t.at > greatest(coalesce(s.cleared_at, '-infinity'), now() - make_interval(days => s.days)))`,
		columns: `run_id, pane, request_id, user_id, at, model, title, content::json`},
	{name: "limit_requests", table: "limit_requests t", keys: []string{"id"}, types: []string{"text"},
		columns: "id, email, model, factor_then, factor, reason, state, answer, created_at, answered_at"},
	{name: "notification_choices", table: "notification_preferences t", keys: []string{"user_id", "event"}, types: []string{"text", "text"},
		columns: "user_id, event, by_mail, in_console"},
	{name: "notifications_read", table: "notification_reads t", keys: []string{"user_id"}, types: []string{"text"},
		columns: "user_id, seen, read_at"},
	{name: "saved_views", table: "saved_views t", keys: []string{"user_id", "page", "name"}, types: []string{"text", "text", "text"},
		columns: "user_id, page, name, query, saved_at"},
	{name: "spend_limit", table: "spend_limits t", keys: []string{"account_id"}, types: []string{"text"},
		columns: "limit_nanos, period, period_start, spent_nanos"},
	{name: "promotion_codes", table: "promo_redemptions t", keys: []string{"code"}, types: []string{"text"},
		columns: "code, user_id, redeemed_at"},
	{name: "webhook_endpoints", table: "webhook_endpoints t", keys: []string{"id"}, types: []string{"text"}, where: "deleted_at is null",
		columns: "id, name, url, event_types, status, disabled_reason, created_at, updated_at"},
	{name: "top_ups", table: "topups t", keys: []string{"id"}, types: []string{"text"},
		columns: `id, cents, state, auto, email, receipt_url, credited_cents, refunded_cents, disputed_cents, created_at, paid_at`},
	{name: "ledger_entries", table: "ledger_entries t join ledger_transactions x on x.id = t.transaction_id", keys: []string{"t.id"},
		types: []string{"bigint"}, columns: "t.id, x.at, x.kind, t.amount_nanos, t.posted_after, t.transaction_id"},
	{name: "audit_log", table: "audit_entries t", keys: []string{"id"}, types: []string{"text"},
		columns: "id, at, actor, actor_id, actor_name, action, object_id, object_name, changes, ip, agent, request_id"},
	{name: "requests", table: "usage_records t", keys: []string{"started_at", "request_id"}, types: []string{"timestamptz", "text"},
		columns: `request_id, started_at, key_id, model, style, end_user, finish_reason, error_code, outcome, reason, streamed, estimated,
			` + meterColumns + `, terms, cost_nanos, duration_micros`},
	{name: "refused_requests", table: "refusals t", keys: []string{"at", "request_id"}, types: []string{"timestamptz", "text"},
		columns: `request_id, at, key_id, method, route, style, model, status, code, param, message, duration_micros, represents`},
}

// meterColumns are the counts of a usage record: the first meters with a column each, and the others by name, without zeros.
var meterColumns = func() string {
	var columns, further []string
	for m := range meter.Count {
		switch {
		case m == meter.Requests: // The list has a row for each request.
		case m == meter.Seconds:
			columns = append(columns, billing.MeterColumn(m)+" as milliseconds")
		case m < meter.FirstFurther:
			columns = append(columns, billing.MeterColumn(m)+" as "+m.String())
		default:
			further = append(further, fmt.Sprintf("(%d, '%s', %d.0)", m+1, m, m.Info().Unit.Scale()))
		}
	}
	return strings.Join(columns, ", ") + `, (select coalesce(json_object_agg(m.name, trim_scale(c.n / m.scale) order by m.place), '{}')
		from unnest(meters) with ordinality c (n, place) join (values ` + strings.Join(further, ", ") + `) m (place, name, scale)
		on m.place = c.place where c.n <> 0) as meters`
}()

// Export is everything about an account as one JSON document, read while it is written.
type Export struct {
	Name    string // name of the file
	db      *sqlx.DB
	account Account
	at      time.Time
}

// Export begins an export for a user who manages the account, and writes an audit entry.
func (s *Service) Export(ctx context.Context, p app.Principal) (*Export, error) {
	now := s.o.Now().UTC()
	e := &Export{Name: "account-" + now.Format("2006-01-02") + ".json", db: s.db, at: now}
	err := s.manage(ctx, p, app.ManageAccount, func(d memberChange) error {
		return s.audit.Write(ctx, d.tx, p, audit.Event{Action: "account.exported", Name: d.name})
	})
	if err == nil {
		e.account, err = accountByID(ctx, s.db, p.AccountID)
	}
	return e, postgres.StoreError("account: export", err)
}

// WriteTo writes the document, a page of rows at a time. An error leaves it without its end, which no reader takes for whole.
func (e *Export) WriteTo(ctx context.Context, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, exportTimeMax)
	defer cancel()
	head, err := json.Marshal(struct {
		ID        string    `json:"id"`
		Name      string    `json:"name"`
		CreatedAt time.Time `json:"created_at"`
	}{e.account.ID, e.account.Name, e.account.CreatedAt})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, `{"object":"account_export","exported_at":%q,"account":%s`, e.at.Format(time.RFC3339), head); err != nil {
		return err
	}
	for _, c := range chapters {
		if err := e.write(ctx, w, c); err != nil {
			return fmt.Errorf("account: export %s: %w", c.name, err)
		}
	}
	_, err = io.WriteString(w, "}\n")
	return err
}

// exportRow is one row as JSON, and its place in the order.
type exportRow struct {
	At  pq.StringArray `db:"at"`
	Row string         `db:"row"`
}

func (e *Export) write(ctx context.Context, w io.Writer, c exportTable) error {
	if _, err := fmt.Fprintf(w, ",\n%q:[", c.name); err != nil {
		return err
	}
	var after []string
	for comma := ""; ; {
		var rows []exportRow
		if err := e.db.SelectContext(ctx, &rows, c.query(after), exportArgs(e.account.ID, after)...); err != nil {
			return err
		}
		for _, r := range rows {
			if _, err := io.WriteString(w, comma+"\n"+r.Row); err != nil {
				return err
			}
			comma, after = ",", r.At
		}
		if len(rows) < c.rows() {
			_, err := io.WriteString(w, "]")
			return err
		}
	}
}

// rows is how many are read at once.
func (c exportTable) rows() int { return cmp.Or(c.page, exportRowsPage) }

// query reads the page of a chapter that begins behind a place, whose parts are arguments from $2 on.
func (c exportTable) query(after []string) string {
	where := "t.account_id = $1"
	if c.where != "" {
		where += " and " + c.where
	}
	if after != nil {
		places := make([]string, len(c.keys))
		for i, kind := range c.types {
			places[i] = fmt.Sprintf("$%d::%s", i+2, kind)
		}
		where += " and (" + strings.Join(c.keys, ", ") + ") > (" + strings.Join(places, ", ") + ")"
	}
	return fmt.Sprintf(`select array[%s] as at, (select row_to_json(r) from (select %s) r)::text as row from %s where %s order by %s limit %d`,
		strings.Join(c.keys, "::text, ")+"::text", c.columns, c.table, where, strings.Join(c.keys, ", "), c.rows())
}

func exportArgs(accountID string, after []string) []any {
	args := []any{accountID}
	for _, place := range after {
		args = append(args, place)
	}
	return args
}
