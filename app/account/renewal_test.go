package account

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/sessions"

	"umg/app"
)

// renewal is a user with two sessions, who is also a member of another owner's account.
type renewal struct {
	bundle
	owner, user User
	// p is the user in the first session.
	p app.Principal
}

// rightChange is something that changes what a user may do.
type rightChange struct {
	what string
	// ended says that the change ends the first session. The session is renewed otherwise.
	ended  bool
	before func(renewal)
	change func(renewal) error
}

// password gives the user one that can be proved.
func (s renewal) password(t *testing.T) {
	t.Helper()
	hash, err := s.passwords.hash(t.Context(), goodPassword)
	must(t, err)
	s.db.MustExec(`update users set password_hash = $2 where id = $1`, s.user.ID, hash)
}

func rightChanges(t *testing.T) []rightChange {
	t.Helper()
	return []rightChange{{what: "made an operator", change: func(s renewal) error { return s.MakeOperator(t.Context(), app.Origin{}, s.user.Email) }},
		{what: "another role", change: func(s renewal) error {
			return errOf(s.SetRole(t.Context(), s.owner.Principal(), s.user.ID, app.RoleBilling))
		}},
		{what: "removed from an account", change: func(s renewal) error { return errOf(s.RemoveMember(t.Context(), s.owner.Principal(), s.user.ID)) }},
		{what: "left an account", change: func(s renewal) error {
			p := s.p
			p.AccountID = s.owner.AccountID
			return s.Leave(t.Context(), p)
		}},
		{what: "vouched for", change: func(s renewal) error { return errOf(s.Vouch(t.Context(), s.user.Email)) }},
		{what: "another password", before: func(s renewal) { s.password(t) }, change: func(s renewal) error {
			return s.ChangePassword(t.Context(), s.p, goodPassword, "another good password", s.p.SessionID)
		}},
		{what: "the first proof", ended: true, change: func(s renewal) error {
			tx := s.db.MustBegin()
			_, err := s.prove(t.Context(), tx, s.user.ID, app.Origin{}, s.clock.Now())
			must(t, err)
			return tx.Commit()
		}},
		{what: "codes turned on", before: func(s renewal) { s.password(t) }, change: func(s renewal) error {
			must(t, s.BeginTOTP(t.Context(), s.p, goodPassword))
			e, _, err := s.PendingTOTP(t.Context(), s.user)
			must(t, err)
			return errOf(s.ConfirmTOTP(t.Context(), s.p, deviceOf(s.bundle, e).code(t)))
		}},
		{what: "codes turned off by a command", before: func(s renewal) {
			s.password(t)
			must(t, s.BeginTOTP(t.Context(), s.user.Principal(), goodPassword))
			must(t, enableTOTP(t.Context(), s.db, s.user.ID, 1, s.clock.Now()))
		}, change: func(s renewal) error { return s.RemoveTOTP(t.Context(), s.user.Email) }},
	}
}

// TestEveryChangeOfRightRenewsOrEndsSessions has a user signed in twice, changes what they may do, and expects that neither token
// of before opens anything after its next request.
func TestEveryChangeOfRightRenewsOrEndsSessions(t *testing.T) {
	t.Parallel()
	for _, c := range rightChanges(t) {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(o *Options) { o.Key = [32]byte{7} })
			owner := b.member(t, "owner@example.com")
			s := renewal{bundle: b, owner: owner, user: b.member(t, "ada@example.com")}
			must(t, insertMembership(t.Context(), b.db, owner.AccountID, s.user.ID, app.RoleDeveloper, b.clock.Now()))
			if c.before != nil {
				c.before(s)
			}
			store, first, second := newSessions(t, b), newBrowser(), newBrowser()
			store.start(t, first, s.user.ID)
			store.start(t, second, s.user.ID)
			if c.what == "another password" { // Only a new password sets this column, which the start of a session compares.
				b.db.MustExec(`update users set password_changed_at = null where id = $1`, s.user.ID)
			}
			s.p = s.user.Principal()
			store.visit(t, first, func(_ http.ResponseWriter, _ *http.Request, session *sessions.Session) {
				s.p.SessionID = SessionID(session)
			})
			old := []browser{*first, *second}
			must(t, c.change(s))
			for i, w := range []*browser{first, second} {
				store.visit(t, w, func(answer http.ResponseWriter, r *http.Request, _ *sessions.Session) {
					current, err := store.Renew(answer, r)
					must(t, err)
					if !current {
						t.Error("another request renewed it")
					}
				})
				if store.who(t, &old[i]) != "" {
					t.Errorf("the token %d of before is good", i+1)
				}
			}
			if left := store.who(t, first); (left == "") != c.ended {
				t.Errorf("the session in which it was done is that of %q", left)
			}
		})
	}
}

func TestASessionIsRenewedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u, w := b.member(t, "ada@example.com"), newBrowser()
	store := newSessions(t, b)
	store.start(t, w, u.ID)
	must(t, renewSessions(t.Context(), b.db, u.ID))
	other := *w
	var late bool
	store.visit(t, &other, func(answer http.ResponseWriter, r *http.Request, _ *sessions.Session) {
		store.visit(t, w, func(first http.ResponseWriter, asked *http.Request, _ *sessions.Session) {
			current, err := store.Renew(first, asked)
			must(t, err)
			if !current {
				t.Error("the first request does not renew it")
			}
		})
		var err error
		late, err = store.Renew(answer, r)
		must(t, err)
	})
	if late || store.who(t, w) != u.ID {
		t.Errorf("a second request renewed it as well: %v", late)
	}
}

func deviceOf(b bundle, e Enrolment) device { return device{b, strings.ReplaceAll(e.Secret, " ", "")} }
