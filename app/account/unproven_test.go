package account

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/gorilla/sessions"

	"umg/app"
	"umg/app/apikey"
)

// stays are the tables about accounts and users of which the first proof of an address ends nothing, and why.
var stays = map[string]string{
	"accounts": "the account itself", "users": "the user themself", "memberships": "before the proof no one can be invited",
	"recovery_codes": "deleted with the second step, which is in the list of what ends",

	"api_keys": "ended one by one, with their budgets and an entry in the audit log", "key_budgets": "closed with their keys",
	"invitations": "revoked one by one, with an entry in the audit log",

	"key_networks": "where keys were used, for people to look at", "audit_entries": "history",
	"webhook_events": "only endpoints send them on", "webhook_attempts": "history",
	"webhook_deliveries": "those of a deleted endpoint are cancelled by the worker, and nothing claims them",

	"prompts": "read by members only", "prompt_versions": "read by members only", "saved_views": "filters of a page",
	"video_jobs": "read by members only", "assets": "read by members only", "asset_counts": "a number",
	"content_logs": "read by members only", "playground_runs": "read by members only", "content_log_settings": "what is kept is read by members only",
	"idempotency_keys": "an answer is repeated only to who may call", "notification_reads": "what was read", "notification_preferences": "mails to users of the account",
	"price_notices": "what was told", "notification_mails": "what was told", "refusals": "history", "limit_requests": "a question to operators", "operator_actions": "what operators did",
	"promo_redemptions": "history", "trials": "history",

	"credit_accounts": "books", "ledger_entries": "books", "grants": "books", "holds": "books", "usage_records": "books",
	"usage_rollups": "books", "receivables": "books", "leases": "books", "spend_limits": "a limit, which costs no one anything",
	"payment_accounts": "the owner of the card pays", "topups": "the owner of the card pays",
}

// TestEveryTableOfAccountsIsDecidedAboutAtTheFirstProof fails for a table that names accounts or users until it lists whether the
// table's content lets a stranger in.
func TestEveryTableOfAccountsIsDecidedAboutAtTheFirstProof(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var tables []string
	must(t, b.db.Select(&tables, `
		select distinct c.table_name from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
		where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.table_name !~ '^usage_records_'
			and (c.column_name in ('account_id', 'user_id') or c.table_name in ('users', 'accounts', 'credit_accounts', 'leases'))
		order by 1`))
	ended := map[string]bool{}
	for _, e := range slices.Concat(unprovenOfUser, unprovenOfAccount) {
		ended[e.table] = true
	}
	known := map[string]bool{}
	for _, table := range tables {
		known[table] = true
		if ended[table] == (stays[table] != "") {
			t.Errorf("%s: ends at the first proof: %v; stays: %q", table, ended[table], stays[table])
		}
	}
	for table := range stays {
		if !known[table] {
			t.Errorf("%s stays, and is no table about accounts", table)
		}
	}
	for table := range ended {
		if !known[table] {
			t.Errorf("%s ends, and is no table about accounts", table)
		}
	}
}

func TestTheFirstProofEndsEndpointsLinksAndChangesOfAddress(t *testing.T) {
	t.Parallel()
	s := squats(t)
	fill(t, s.db, s.user)
	_, f, err := s.newToken()
	must(t, err)
	who, err := s.person(t.Context(), s.user.ID)
	must(t, err)
	must(t, insertEmailLink(t.Context(), s.db, f, who, "stranger@example.com", s.clock.Now(), s.clock.Now().Add(emailAgeMax)))
	_, err = s.VerifyEmail(t.Context(), at(s.user, "192.0.2.1"), lastToken(t, s.post, s.user.Email), "")
	must(t, err)
	for what, query := range map[string]string{
		"webhook endpoints":            `select count(*) from webhook_endpoints where account_id = $1 and (deleted_at is null or secret <> '')`,
		"links to prompts":             `select count(*) from prompt_shares where account_id = $1 and revoked_at is null`,
		"links that change an address": `select count(*) from change_links l join memberships m using (user_id) where m.account_id = $1 and used_at is null`,
	} {
		if n := count(t, s.db, query, s.user.AccountID); n != 0 {
			t.Errorf("%d %s are left", n, what)
		}
	}
	s.log(t, s.user.AccountID, "webhook.deleted")
}

// TestNoKeyIsMadeAroundTheFirstProof runs the proof of an address and the making of a key by who squatted together, in a session
// that was read before. Whichever comes first, no key is left.
func TestNoKeyIsMadeAroundTheFirstProof(t *testing.T) {
	t.Parallel()
	b, post := verifying(t, func(o *Options) { o.Key = [32]byte{7} })
	store := newSessions(t, b)
	made := 0
	for i := range 25 {
		u, token := b.unverified(t, post, fmt.Sprintf("owner%d@example.com", i))
		p := u.Principal()
		w := newBrowser()
		store.start(t, w, u.ID)
		store.visit(t, w, func(_ http.ResponseWriter, _ *http.Request, session *sessions.Session) {
			p.SessionID = SessionID(session)
		})
		var both sync.WaitGroup
		var makeErr, proofErr error
		both.Go(func() { _, _, makeErr = b.keys.Create(t.Context(), p, apikey.Spec{Name: "mine"}) })
		both.Go(func() { _, proofErr = b.VerifyEmail(t.Context(), at(u, "192.0.2.1"), token, "") })
		both.Wait()
		must(t, proofErr)
		if makeErr == nil {
			made++
		} else if app.AsError(makeErr).Code != "session_ended" {
			t.Fatal(makeErr)
		}
		if n := count(t, b.db, `select count(*) from api_keys where account_id = $1 and deleted_at is null`, u.AccountID); n != 0 {
			t.Fatalf("round %d: %d keys are left (made: %v)", i, n, makeErr == nil)
		}
		_, _, err := b.keys.Create(t.Context(), p, apikey.Spec{Name: "late"})
		wantError(t, err, app.Unauthenticated, "session_ended")
	}
	t.Logf("%d of 25 keys were made before the proof, and ended by it", made)
}

// TestWhoActsIsRefusedOnceTheirSessionOrKeyHasEnded is what keeps requests that are under way from outliving a proof or a reset.
func TestWhoActsIsRefusedOnceTheirSessionOrKeyHasEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.member(t, "ada@example.com")
	store, w := newSessions(t, b), newBrowser()
	store.start(t, w, u.ID)
	inSession := u.Principal()
	store.visit(t, w, func(_ http.ResponseWriter, _ *http.Request, session *sessions.Session) {
		inSession.SessionID = SessionID(session)
	})
	k, _ := b.key(t, u.Principal(), apikey.Spec{Scopes: []app.Scope{app.ScopeManagement}})
	withKey := app.Principal{AccountID: u.AccountID, KeyID: k.ID, Rights: app.ManageKeys}
	must(t, b.LockActor(t.Context(), b.db, inSession))
	must(t, b.LockActor(t.Context(), b.db, withKey))
	// A command acts without a session and without a key.
	must(t, b.LockActor(t.Context(), b.db, u.Principal()))
	_, err := b.EndOtherSessions(t.Context(), u.Principal(), "")
	must(t, err)
	must(t, b.keys.Delete(t.Context(), u.Principal(), k.ID))
	wantError(t, b.LockActor(t.Context(), b.db, inSession), app.Unauthenticated, "session_ended")
	wantError(t, b.LockActor(t.Context(), b.db, withKey), app.Unauthenticated, "key_ended")
	for what, err := range map[string]error{
		"invite":  errOf(b.Invite(t.Context(), inSession, "friend@example.com", app.RoleDeveloper)),
		"rename":  b.RenameAccount(t.Context(), inSession, "mine"),
		"session": b.EndSession(t.Context(), inSession, "ses_1"),
	} {
		if e := (*app.Error)(nil); !errors.As(err, &e) || e.Code != "session_ended" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func errOf[T any](_ T, err error) error { return err }
