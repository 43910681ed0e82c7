package account

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"umg/app"
	"umg/app/postgres"
)

// begin starts a session as the sign-in page does, and returns the result.
func (s sessionBundle) begin(t *testing.T, u User) error {
	t.Helper()
	return s.Start(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), u)
}

// TestASignInThatAnotherPasswordOvertakesStartsNoSession replaces the password between a sign-in and the start of its session.
func TestASignInThatAnotherPasswordOvertakesStartsNoSession(t *testing.T) {
	t.Parallel()
	b, post, u := proving(t, "ada@example.com")
	s := newSessions(t, b)
	in, err := b.SignIn(t.Context(), u.Email, goodPassword, "192.0.2.1")
	must(t, err)
	must(t, b.AskReset(t.Context(), u.Email, "192.0.2.9"))
	_, token := mailed(t, post, "reset_password", u.Email)
	must(t, b.ResetPassword(t.Context(), token, nextPassword, app.Origin{}))
	wantError(t, s.begin(t, in.User), app.Unauthenticated, "password_changed")
	again, err := b.SignIn(t.Context(), u.Email, nextPassword, "192.0.2.1")
	must(t, err)
	must(t, s.begin(t, again.User))
	if n := count(t, b.db, `select count(*) from sessions where user_id = $1`, u.ID); n != 1 {
		t.Errorf("%d sessions, want the one of the new password", n)
	}
}

func TestASecondStepThatAnotherPasswordOvertakesStartsNoSession(t *testing.T) {
	t.Parallel()
	b, _, u := proving(t, "ada@example.com")
	s := newSessions(t, b)
	d, _ := enrolled(t, b, u)
	b.clock.Advance(time.Minute)
	in, err := b.FinishSignIn(t.Context(), half(t, b, u), d.code(t), app.Origin{})
	must(t, err)
	must(t, b.ChangePassword(t.Context(), u.Principal(), goodPassword, nextPassword, ""))
	wantError(t, s.begin(t, in), app.Unauthenticated, "password_changed")
}

func TestASignInThatTheEndOfTheAccountOvertakesStartsNoSession(t *testing.T) {
	t.Parallel()
	b, _, u := proving(t, "ada@example.com")
	s := newSessions(t, b)
	in, err := b.SignIn(t.Context(), u.Email, goodPassword, "192.0.2.1")
	must(t, err)
	must(t, b.CloseAccount(t.Context(), u.Principal(), CloseRequest{Password: goodPassword, Name: u.Account}))
	wantError(t, s.begin(t, in.User), app.Unauthenticated, "password_changed")
}

func TestASessionWaitsForAChangeOfThePasswordThatIsUnderWay(t *testing.T) {
	t.Parallel()
	b, _, u := proving(t, "ada@example.com")
	s := newSessions(t, b)
	changing, err := b.db.BeginTxx(t.Context(), nil)
	must(t, err)
	who, err := lockPerson(t.Context(), changing, u.ID)
	must(t, err)
	must(t, setPassword(t.Context(), changing, who.ID, "another", b.clock.Now()))
	_, err = deleteOtherSessions(t.Context(), changing, who.ID, "")
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- s.begin(t, u) }()
	eventually(t, 10*time.Second, "the session waits", func() bool {
		return waiting(t, b.db) == 1
	})
	must(t, changing.Commit())
	wantError(t, <-ended, app.Unauthenticated, "password_changed")
}

// waiting is how many statements wait for a lock that another one has.
func waiting(t *testing.T, q postgres.Queryer) (n int) {
	t.Helper()
	must(t, q.GetContext(t.Context(), &n,
		`select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`))
	return n
}
