package account

import (
	"bytes"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/sessions"

	"umg/app"
)

// browser keeps one cookie between requests.
type browser struct{ cookie *http.Cookie }

func newBrowser() *browser { return &browser{} }

type sessionBundle struct {
	*SessionStore
	b bundle
}

func newSessions(t *testing.T, b bundle, change ...func(*SessionOptions)) sessionBundle {
	t.Helper()
	o := SessionOptions{
		Key: [32]byte{1}, Now: b.clock.Now, IDs: b.o.IDs, Random: rand.Reader,
		ClientIP: func(r *http.Request) string { return strings.TrimSuffix(r.RemoteAddr, ":1234") },
	}
	for _, f := range change {
		f(&o)
	}
	return sessionBundle{NewSessionStore(b.db, o), b}
}

// visit is one request of the browser; do sees its session, which is saved afterwards.
func (s sessionBundle) visit(t *testing.T, w *browser, do func(http.ResponseWriter, *http.Request, *sessions.Session)) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.Header.Set("User-Agent", "Browser/1.0")
	if w.cookie != nil {
		r.AddCookie(w.cookie)
	}
	answer := httptest.NewRecorder()
	session, err := s.Current(r)
	must(t, err)
	do(answer, r, session)
	must(t, sessions.Save(r, answer))
	for _, c := range answer.Result().Cookies() {
		w.cookie = c
		if c.MaxAge < 0 {
			w.cookie = nil
		}
	}
}

func (s sessionBundle) start(t *testing.T, w *browser, userID string) {
	t.Helper()
	s.visit(t, w, func(answer http.ResponseWriter, r *http.Request, _ *sessions.Session) {
		must(t, s.Start(answer, r, User{ID: userID}))
	})
}

// who is the user the browser is signed in as.
func (s sessionBundle) who(t *testing.T, w *browser) (id string) {
	t.Helper()
	s.visit(t, w, func(_ http.ResponseWriter, _ *http.Request, session *sessions.Session) { id = UserID(session) })
	return id
}

func TestSessionCookieIsOpaqueAndClosed(t *testing.T) {
	t.Parallel()
	s := newSessions(t, setup(t))
	u := s.b.member(t, "ada@example.com")
	w := newBrowser()
	s.start(t, w, u.ID)
	c := w.cookie
	if c.Name != "__Host-umg" || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
		t.Fatalf("cookie %+v", c)
	}
	if len(c.Value) != 43 {
		t.Fatalf("the token has %d characters", len(c.Value))
	}
	if n := count(t, s.db, `select count(*) from sessions where position(convert_to($1, 'UTF8') in token_hash || data) > 0`, c.Value); n != 0 {
		t.Fatal("the token itself is stored")
	}
	if s.who(t, w) != u.ID {
		t.Fatal("the user is not signed in")
	}
}

func TestSessionCookieOverPlainHTTP(t *testing.T) {
	t.Parallel()
	s := newSessions(t, setup(t), func(o *SessionOptions) { o.Insecure = true })
	u := s.b.member(t, "ada@example.com")
	w := newBrowser()
	s.start(t, w, u.ID)
	if w.cookie.Name != "umg" || w.cookie.Secure || !w.cookie.HttpOnly || s.who(t, w) != u.ID {
		t.Fatalf("cookie %+v", w.cookie)
	}
}

func TestSessionOfAVisitorLeavesNoRow(t *testing.T) {
	t.Parallel()
	s := newSessions(t, setup(t))
	w := newBrowser()
	if s.who(t, w) != "" || w.cookie != nil || count(t, s.db, "select count(*) from sessions") != 0 {
		t.Fatal("a visit was stored")
	}
	for _, forged := range []string{"x", strings.Repeat("A", 43), strings.Repeat("!", 43), "' or 1=1 --"} {
		if s.who(t, &browser{cookie: &http.Cookie{Name: s.Name(), Value: forged}}) != "" {
			t.Fatalf("the forged cookie %q signs a user in", forged)
		}
	}
}

func TestFlashIsSealedShownOnceAndNotBroughtBack(t *testing.T) {
	t.Parallel()
	s := newSessions(t, setup(t))
	u := s.b.member(t, "ada@example.com")
	w := newBrowser()
	s.start(t, w, u.ID)
	const secret = "sk-umg-the-secret-of-a-new-key"
	s.visit(t, w, func(_ http.ResponseWriter, _ *http.Request, session *sessions.Session) {
		session.AddFlash(secret, "key")
	})
	var stored []byte
	must(t, s.db.Get(&stored, "select data from sessions"))
	if bytes.Contains(stored, []byte(secret)) || bytes.Contains(stored, []byte("key")) {
		t.Fatal("the flash is stored in the clear")
	}
	var first, second []any
	s.visit(t, w, func(_ http.ResponseWriter, _ *http.Request, slow *sessions.Session) {
		s.visit(t, w, func(_ http.ResponseWriter, _ *http.Request, quick *sessions.Session) { first = quick.Flashes("key") })
		_ = slow // The slow page read the flash with the session, did not show it, and is saved last.
	})
	s.visit(t, w, func(_ http.ResponseWriter, _ *http.Request, session *sessions.Session) {
		second = session.Flashes("key")
	})
	if len(first) != 1 || first[0] != secret || len(second) != 0 {
		t.Fatalf("shown %v, then %v", first, second)
	}
}

func TestSessionRotatesAtSignIn(t *testing.T) {
	t.Parallel()
	s := newSessions(t, setup(t))
	u := s.b.member(t, "ada@example.com")
	victim := newBrowser()
	s.visit(t, victim, func(_ http.ResponseWriter, _ *http.Request, session *sessions.Session) {
		session.Values["theme"] = "dark"
	})
	planted := *victim.cookie
	s.start(t, victim, u.ID)
	if victim.cookie.Value == planted.Value {
		t.Fatal("the token of before is kept")
	}
	if s.who(t, &browser{cookie: &planted}) != "" || s.who(t, victim) != u.ID {
		t.Fatal("who planted the session is signed in")
	}
	s.visit(t, victim, func(_ http.ResponseWriter, _ *http.Request, session *sessions.Session) {
		if session.Values["theme"] != "dark" {
			t.Error("the values of before are lost")
		}
	})
	if n := count(t, s.db, "select count(*) from sessions"); n != 1 {
		t.Fatalf("%d rows", n)
	}
}

func TestSessionEndsForGood(t *testing.T) {
	t.Parallel()
	s := newSessions(t, setup(t))
	u := s.b.member(t, "ada@example.com")
	w := newBrowser()
	s.start(t, w, u.ID)
	stolen := *w.cookie
	s.visit(t, w, func(answer http.ResponseWriter, r *http.Request, _ *sessions.Session) { must(t, s.End(answer, r)) })
	if w.cookie != nil || s.who(t, &browser{cookie: &stolen}) != "" {
		t.Fatal("the session outlives the sign-out")
	}
}

func TestSessionExpires(t *testing.T) {
	t.Parallel()
	s := newSessions(t, setup(t))
	u := s.b.member(t, "ada@example.com")
	idle, busy, visitor := newBrowser(), newBrowser(), newBrowser()
	s.start(t, idle, u.ID)
	s.start(t, busy, u.ID)
	s.visit(t, visitor, func(_ http.ResponseWriter, _ *http.Request, session *sessions.Session) { session.AddFlash("hello") })
	s.b.clock.Advance(visitorIdleMax)
	s.visit(t, visitor, func(_ http.ResponseWriter, _ *http.Request, session *sessions.Session) {
		if len(session.Flashes()) != 0 {
			t.Error("a visitor's session lives longer than it should")
		}
	})
	if s.who(t, busy) != u.ID {
		t.Fatal("the user is not signed in")
	}
	for range 2 {
		s.b.clock.Advance(sessionIdleMax - visitorIdleMax)
		if s.who(t, busy) != u.ID {
			t.Fatal("a session in use expired")
		}
	}
	if s.who(t, idle) != "" {
		t.Fatal("an idle session lives on")
	}
	s.b.clock.Advance(sessionAgeMax - 2*sessionIdleMax + visitorIdleMax)
	if s.who(t, busy) != "" {
		t.Fatal("a session lives longer than any may")
	}
}

func TestSessionsAreListedAndRevoked(t *testing.T) {
	t.Parallel()
	s := newSessions(t, setup(t))
	ada, bob := s.b.member(t, "ada@example.com"), s.b.member(t, "bob@example.com")
	one, two, other := newBrowser(), newBrowser(), newBrowser()
	s.start(t, one, ada.ID)
	s.b.clock.Advance(time.Hour)
	s.start(t, two, ada.ID)
	s.start(t, other, bob.ID)
	list, err := s.Sessions(t.Context(), ada.ID)
	must(t, err)
	if len(list) != 2 || !list[0].SeenAt.After(list[1].SeenAt) || list[0].UserAgent != "Browser/1.0" || list[0].IP != "192.0.2.1" {
		t.Fatalf("listed %+v", list)
	}
	wantError(t, s.b.EndSession(t.Context(), bob.Principal(), list[0].ID), app.NotFound, "session_not_found")
	must(t, s.b.EndSession(t.Context(), ada.Principal(), list[0].ID))
	if s.who(t, two) != "" || s.who(t, one) != ada.ID {
		t.Fatal("the wrong session was revoked")
	}
	s.start(t, two, ada.ID)
	var current string
	s.visit(t, two, func(_ http.ResponseWriter, _ *http.Request, session *sessions.Session) { current = SessionID(session) })
	if n, err := s.b.EndOtherSessions(t.Context(), ada.Principal(), current); err != nil || n != 1 {
		t.Fatalf("revoked %d, %v", n, err)
	}
	if s.who(t, one) != "" || s.who(t, two) != ada.ID || s.who(t, other) != bob.ID {
		t.Fatal("the wrong sessions were revoked")
	}
}

func TestSessionRevokedDuringARequestStaysGone(t *testing.T) {
	t.Parallel()
	s := newSessions(t, setup(t))
	u := s.b.member(t, "ada@example.com")
	w := newBrowser()
	s.start(t, w, u.ID)
	s.visit(t, w, func(_ http.ResponseWriter, _ *http.Request, session *sessions.Session) {
		session.AddFlash("late")
		must(t, s.b.EndSession(t.Context(), u.Principal(), SessionID(session)))
	})
	if s.who(t, w) != "" {
		t.Fatal("saving brought a revoked session back")
	}
}

func TestSessionDataBelongsToItsRowAndKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := newSessions(t, b)
	ada, bob := s.b.member(t, "ada@example.com"), s.b.member(t, "bob@example.com")
	one, two := newBrowser(), newBrowser()
	s.start(t, one, ada.ID)
	s.start(t, two, bob.ID)
	otherKey := newSessions(t, b, func(o *SessionOptions) { o.Key = [32]byte{2} })
	if otherKey.who(t, one) != "" {
		t.Fatal("a session sealed with another key opens")
	}
	_, err := s.db.Exec(`update sessions set data = (select data from sessions where user_id = $1) where user_id = $2`, bob.ID, ada.ID)
	must(t, err)
	if s.who(t, one) != "" {
		t.Fatal("data of one session opens in another")
	}
}

func TestSessionRefusesToGrowWithoutLimit(t *testing.T) {
	t.Parallel()
	s := newSessions(t, setup(t))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	session, err := s.Current(r)
	must(t, err)
	session.Values["much"] = strings.Repeat("x", sessionDataMax)
	if err := s.Save(r, httptest.NewRecorder(), session); err == nil {
		t.Fatal("saved")
	}
}
