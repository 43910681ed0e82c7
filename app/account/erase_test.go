package account

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/apikey"
	"umg/billing"
)

// fill gives an account one of everything that names people or holds what they wrote.
func fill(t *testing.T, db *sqlx.DB, u User) {
	t.Helper()
	for _, statement := range []string{
		`insert into video_jobs (id, account_id, key_id, user_id, model, prompt, size, seconds, end_user, provider, style, upstream_model,
			state, progress, rate_card_id, hold_nanos, cost_nanos, deadline_at, created_at, completed_at)
		values ('video_' || $1, $1, '', $2, 'm', 'a secret garden', '1x1', 4, 'jane', 'p', 'videos', 'm', 'completed', 100, 'c', 0, 0, now(),
			now(), now())`,
		`insert into video_jobs (id, account_id, key_id, user_id, model, prompt, size, seconds, provider, style, upstream_model, state,
			rate_card_id, hold_nanos, deadline_at, created_at)
		values ('video_run_' || $1, $1, '', $2, 'm', 'still running', '1x1', 4, 'p', 'videos', 'm', 'queued', 'c', 0, now(), now())`,
		`insert into assets (id, account_id, kind, name, url, media_type, bytes, width, height, provider, resource_group, upstream_id,
			created_at, updated_at, due_at)
		select 'asset_' || $1, $1, 'image', 'holiday', 'https://example.com/x', 'image/png', 1, 1, 1, 'p', 'g', 'up', now(), now(), now()
		where $2 <> ''`,
		`insert into prompts (id, account_id, name, latest, created_at, updated_at)
		select 'prompt_' || $1, $1, 'jane''s prompt', 1, now(), now() where $2 <> ''`,
		`insert into prompt_versions (prompt_id, account_id, number, content, bytes, model, variables, author, created_at)
		values ('prompt_' || $1, $1, 1, '{"model":"a secret model"}', 26, 'm', '{}', $2, now())`,
		`insert into prompt_shares (id, account_id, prompt_id, number, token_hash, author, created_at, expires_at)
		values ('share_' || $1, $1, 'prompt_' || $1, 1, sha256($1::bytea), $2, now(), now() + interval '1 day')`,
		`insert into limit_requests (id, account_id, user_id, email, model, factor_then, factor, reason, state, created_at)
		values ('lreq_' || $1, $1, $2, 'jane@example.com', '', 1, 2, 'for jane', 'open', now())`,
		`insert into notification_preferences (user_id, account_id, event, by_mail, in_console) values ($2, $1, 'video', true, false)`,
		`insert into notification_reads (user_id, account_id, seen, read_at) values ($2, $1, '{low/jane}', now())`,
		`insert into notification_mails (account_id, event, subject, sent_at) select $1, 'key_network', 'key/203.0.113.0/24', now() where $2 <> ''`,
		`insert into content_log_settings (account_id, keep, days, changed_at) select $1, 'all', 30, now() where $2 <> ''`,
		`insert into content_logs (account_id, request_id, key_id, style, at, request, request_bytes, request_cut, answer, answer_bytes,
			answer_cut, streamed, redacted)
		select $1, 'req_' || $1, '', 'chat', now(), 'a secret question', 1, false, 'a secret answer', 1, false, false, 0 where $2 <> ''`,
		`insert into playground_runs (account_id, run_id, pane, request_id, user_id, at, model, title, content)
		values ($1, 'run_' || $1, 0, 'req_' || $1, $2, now(), 'm', 'a secret question', '{}')`,
		`insert into saved_views (user_id, account_id, page, name, query, saved_at) values ($2, $1, 'usage', 'jane''s', '', now())`,
		`insert into webhook_endpoints (id, account_id, name, url, event_types, secret, secret_hint, created_at, updated_at)
		select 'whe_' || $1, $1, 'mine', 'https://jane.example/hook', '{video.completed}', 'x', 'x', now(), now() where $2 <> ''`,
		`insert into webhook_events (id, account_id, type, object_id, body, created_at)
		select 'evt_' || $1, $1, 'video.completed', 'video_' || $1, 'a secret garden', now() where $2 <> ''`,
		`insert into webhook_deliveries (id, account_id, event_id, endpoint_id, due_at, created_at, updated_at)
		select 'whd_' || $1, $1, 'evt_' || $1, 'whe_' || $1, now(), now(), now() where $2 <> ''`,
		`insert into usage_records (request_id, day, account_id, key_id, model, provider, upstream_model, style, rate_card_id, end_user,
			finish_reason, error_code, outcome, reason, streamed, estimated, attempts, meters, reserved_nanos, cost_nanos, overrun_nanos,
			started_at, first_byte_micros, duration_micros, settled_at)
		select 'req_' || $1, now()::date, $1, '', 'm', 'p', 'm', 'chat', 'c', 'jane', '', '', 'succeeded', '', false, false, 1,
			'{1,0,0,1,0,0,0,0,1}', 0, 0, 0, now(), 0, 0, now() where $2 <> ''`,
		`insert into refusals (request_id, account_id, key_id, at, method, route, style, model, status, code, param, message, duration_micros,
			represents) select 'req_refused_' || $1, $1, 'key_1', now(), 'POST', '/v1/videos', '', '', 400, 'invalid_value', 'jane', 'jane', 1, 1
			where $2 <> ''`,
		`insert into payment_accounts (account_id, customer_email, payment_method, auto_enabled)
		select $1, 'jane@example.com', 'pm_1', true where $2 <> ''`,
		`insert into idempotency_keys (account_id, key, operation, body_hash, result_id, created_at, claimed_until)
		select $1, 'k', 'o', sha256('x'), 'r', now(), now() where $2 <> ''`,
	} {
		if _, err := db.Exec(statement, u.AccountID, u.ID); err != nil {
			t.Fatalf("%v: %s", err, statement)
		}
	}
}

// personal counts what is left of what fill has made.
func personal(t *testing.T, db *sqlx.DB, accountID string) int {
	t.Helper()
	return count(t, db, `
		select (select count(*) from video_jobs where account_id = $1 and (deleted_at is null
				or state = 'completed' and (prompt <> '' or end_user <> '')))
			+ (select count(*) from assets where account_id = $1 and deleted_at is null)
			+ (select count(*) from prompts where account_id = $1) + (select count(*) from prompt_versions where account_id = $1)
			+ (select count(*) from prompt_shares where account_id = $1) + (select count(*) from limit_requests where account_id = $1)
			+ (select count(*) from notification_preferences where account_id = $1) + (select count(*) from notification_reads where account_id = $1)
			+ (select count(*) from notification_mails where account_id = $1)
			+ (select count(*) from content_logs where account_id = $1) + (select count(*) from content_log_settings where account_id = $1)
			+ (select count(*) from webhook_endpoints where account_id = $1 and (deleted_at is null or url like '%jane%' or secret <> ''))
			+ (select count(*) from playground_runs where account_id = $1)
			+ (select count(*) from saved_views where account_id = $1)
			+ (select count(*) from webhook_events where account_id = $1)
			+ (select count(*) from webhook_deliveries where account_id = $1)
			+ (select count(*) from usage_records where account_id = $1 and end_user <> '')
			+ (select count(*) from refusals where account_id = $1)
			+ (select count(*) from payment_accounts where account_id = $1 and (customer_email <> '' or payment_method <> '' or auto_enabled))
			+ (select count(*) from idempotency_keys where account_id = $1)
			+ (select count(*) from audit_entries where account_id = $1 and (ip <> '' or actor_name <> '' or object_name <> ''))
			+ (select count(*) from invitations where account_id = $1)`, accountID)
}

func TestAClosedAccountLeavesTheBooksAndNothingPersonal(t *testing.T) {
	t.Parallel()
	b, post := verifying(t)
	sign := func(email string) User {
		u, err := b.SignUp(t.Context(), SignUp{Email: email, Password: goodPassword, IP: "192.0.2.1"})
		must(t, err)
		b.clock.Advance(time.Second)
		return u
	}
	owner, other := b.proven(t, sign("jane@example.com")), sign("other@example.com")
	must(t, b.ledger.Grant(t.Context(), b.db, billing.Grant{AccountID: owner.AccountID, Kind: billing.Purchased, Amount: app.Dollar, Source: "s"}))
	must(t, insertMembership(t.Context(), b.db, owner.AccountID, other.ID, app.RoleDeveloper, b.clock.Now()))
	p := owner.Principal()
	p.From = app.Origin{IP: "192.0.2.1", Agent: "browser"}
	k, _ := b.key(t, p, apikey.Spec{Name: "jane's key", Budget: &billing.Allowance{Limit: app.Dollar, Period: billing.InTotal}})
	_, err := b.Invite(t.Context(), p, "new@example.com", app.RoleAdmin)
	must(t, err)
	offer := invited(t, post, "new@example.com")
	fill(t, b.db, owner)
	fill(t, b.db, other)
	untouched := personal(t, b.db, other.AccountID)
	before, err := billing.Books(t.Context(), b.db)
	must(t, err)

	name := "jane's account"
	wantError(t, b.CloseAccount(t.Context(), other.Principal(), CloseRequest{goodPassword, "other's account!"}), app.Invalid, "invalid_value")
	in, err := b.UserIn(t.Context(), other.ID, owner.AccountID)
	must(t, err)
	wantError(t, b.CloseAccount(t.Context(), in.Principal(), CloseRequest{goodPassword, name}), app.Forbidden, "role_not_allowed")
	wantError(t, b.CloseAccount(t.Context(), p, CloseRequest{"not the password", name}), app.Invalid, "wrong_password")
	wantError(t, b.CloseAccount(t.Context(), app.Principal{AccountID: owner.AccountID, KeyID: k.ID, Rights: app.AllRights}, CloseRequest{goodPassword, name}),
		app.Forbidden, "owner_required")
	must(t, b.CloseAccount(t.Context(), p, CloseRequest{goodPassword, " jane's   account"}))

	if n := count(t, b.db, `select count(*) from api_keys where account_id = $1 and (deleted_at is null or name like '%jane%')`, owner.AccountID); n != 0 {
		t.Errorf("%d keys are left", n)
	}
	if u, err := b.UserIn(t.Context(), other.ID, owner.AccountID); err != nil || u.AccountID != other.AccountID {
		t.Errorf("a member of two accounts is in %+v %v", u, err)
	}
	if n := count(t, b.db, `select count(*) from users where email like '%jane%' or id = $1 and (name <> '' or password_hash <> '')`, owner.ID); n != 0 {
		t.Error("the user in no account is still known")
	}
	if _, err := b.SignIn(t.Context(), "jane@example.com", goodPassword, "192.0.2.1"); err == nil {
		t.Error("an erased user signs in")
	}
	_, err = b.Offer(t.Context(), offer)
	wantError(t, err, app.NotFound, "invitation_unknown")
	_, _, err = b.keys.Create(t.Context(), p, apikey.Spec{Name: "late"})
	if err == nil {
		t.Error("a key was made in a closed account")
	}
	must(t, b.eraseRound(t.Context()))
	if n := personal(t, b.db, owner.AccountID); n != 0 {
		t.Errorf("%d personal things are left", n)
	}
	if n := personal(t, b.db, other.AccountID); n != untouched {
		t.Errorf("another account lost %d things", untouched-n)
	}
	if after, err := billing.Books(t.Context(), b.db); err != nil || !slices.Equal(before, after) {
		t.Errorf("the books: %+v %v, before %+v", after, err, before)
	}
	if _, err := b.SignUp(t.Context(), SignUp{Email: "jane@example.com", Password: goodPassword, IP: "192.0.2.1"}); err != nil {
		t.Errorf("the address is not free again: %v", err)
	}
}

func TestErasingGoesOnUntilNothingRuns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u, err := b.SignUp(t.Context(), SignUp{Email: "jane@example.com", Password: goodPassword, IP: "192.0.2.1"})
	must(t, err)
	fill(t, b.db, u)
	must(t, b.CloseAccount(t.Context(), u.Principal(), CloseRequest{goodPassword, "jane's account"}))
	must(t, b.eraseRound(t.Context()))
	prompt := `select count(*) from video_jobs where account_id = $1 and prompt <> ''`
	if n := count(t, b.db, prompt, u.AccountID); n != 1 {
		t.Fatalf("%d prompts: what runs needs its own", n)
	}
	if _, err := b.db.Exec(`update video_jobs set state = 'failed', error_code = 'x', cost_nanos = 0, completed_at = now() where state = 'queued'`); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(eraseAgain)
	must(t, b.eraseRound(t.Context()))
	if n := count(t, b.db, prompt, u.AccountID); n != 0 {
		t.Error("what ended later kept its prompt")
	}
	erased := `select count(*) from accounts where erased_at is not null and erase_due_at is null`
	if count(t, b.db, erased) != 0 {
		t.Error("done while something may still run")
	}
	b.clock.Advance(eraseUntil)
	must(t, b.eraseRound(t.Context()))
	if count(t, b.db, erased) != 1 {
		t.Error("the worker never stops looking")
	}
}

func TestAnExportHasEverythingAndNoSecret(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u, err := b.SignUp(t.Context(), SignUp{Email: "jane@example.com", Password: goodPassword, IP: "192.0.2.1"})
	must(t, err)
	other := b.member(t, "other@example.com")
	k, secret := b.key(t, u.Principal(), apikey.Spec{Name: "mine"})
	fill(t, b.db, u)
	fill(t, b.db, other)
	e, err := b.Export(t.Context(), u.Principal())
	must(t, err)
	var text bytes.Buffer
	must(t, e.WriteTo(t.Context(), &text))
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text.Bytes(), &all); err != nil {
		t.Fatalf("%v: %s", err, text.String())
	}
	for _, c := range chapters {
		var rows []map[string]any
		if err := json.Unmarshal(all[c.name], &rows); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for _, want := range []string{u.Email, k.ID, "a secret garden", "a secret model", "a secret question", "a secret answer", "https://jane.example/hook", "holiday", "jane", "for jane", "low/jane", "in_console"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not part of it", want)
		}
	}
	for _, never := range []string{secret, other.ID, other.Email, "argon2", "secret_hash", "token_hash", "password"} {
		if strings.Contains(text.String(), never) {
			t.Errorf("%q is part of it", never)
		}
	}
	if entry := b.log(t, u.AccountID, "account.exported"); entry.ActorID != u.ID {
		t.Errorf("%+v", entry)
	}
	_, err = b.Export(t.Context(), b.joined(t, u.AccountID, "dev@example.com", app.RoleDeveloper).Principal())
	wantError(t, err, app.Forbidden, "role_not_allowed")
}

func TestErasuresTellWhatIsOverdue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := b.clock.Now().UTC()
	for i, due := range []time.Duration{-time.Hour, -time.Minute, time.Hour} {
		u := b.member(t, fmt.Sprintf("u%d@example.com", i))
		if _, err := b.db.Exec(`update accounts set closed_at = $2, erase_due_at = $3 where id = $1`, u.AccountID, now.Add(-2*time.Hour), now.Add(due)); err != nil {
			t.Fatal(err)
		}
	}
	b.member(t, "open@example.com")
	e, err := b.Erasures(t.Context())
	if err != nil || e.Waiting != 3 || e.DueSince == nil || now.Sub(*e.DueSince) != time.Hour || len(e.Trouble) != 1 {
		t.Errorf("%+v, %v", e, err)
	}
}
