package account

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/sessions"
	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
	"umg/app/seal"
)

const (
	sessionAgeMax     = 30 * 24 * time.Hour
	sessionIdleMax    = 14 * 24 * time.Hour
	visitorIdleMax    = time.Hour // A session without a user ends after this time.
	sessionTouchEvery = time.Minute
	sessionsListMax   = 100
	sessionDataMax    = 16 << 10
	userAgentBytesMax = 300
	tokenBytes        = 32
)

// These are the names of the cookie. With the prefix, browsers take it only from us, over a secure connection and for the whole host.
const (
	secureCookie   = "__Host-umg"
	insecureCookie = "umg"
)

// SessionOptions of a store. All but Insecure must be set.
type SessionOptions struct {
	Key      [32]byte // Key encrypts session data in the database.
	Now      app.Clock
	IDs      app.IDs
	Random   io.Reader
	Insecure bool // Insecure serves the console over plain http on an address other than loopback.
	ClientIP func(*http.Request) string
}

// SessionStore keeps browser sessions in the database, where they can be listed and revoked. It is a store as package
// sessions of gorilla defines it. Only values under string keys are kept, in the form JSON gives them, so that strings,
// booleans and lists of them, such as flashes, come back as they were.
type SessionStore struct {
	db   *sqlx.DB
	o    SessionOptions
	seal *seal.Sealer
}

var _ sessions.Store = (*SessionStore)(nil)

// loaded marks, among a session's values, what the row was when it was read. Its type keeps it out of the stored data.
type loaded struct{}

// state is what loaded leads to.
type state struct {
	token  seal.Fingerprint
	id     string
	userID string
	plain  []byte
	renew  bool
}

// NewSessionStore returns a store. It panics when a required option is missing.
func NewSessionStore(db *sqlx.DB, o SessionOptions) *SessionStore {
	app.RequireOptions("account.NewSessionStore", map[string]bool{
		"db": db != nil, "Options.Now": o.Now != nil, "Options.IDs.Now": o.IDs.Now != nil, "Options.IDs.Random": o.IDs.Random != nil,
		"Options.Random": o.Random != nil, "Options.ClientIP": o.ClientIP != nil, "Options.Key": o.Key != [32]byte{},
	})
	return &SessionStore{db: db, o: o, seal: seal.New(o.Key, "umg session data")}
}

// Name is the name of the cookie.
func (s *SessionStore) Name() string {
	if s.o.Insecure {
		return insecureCookie
	}
	return secureCookie
}

// Current returns the session of the request, a new one when it has none. The error is one of the store being away.
func (s *SessionStore) Current(r *http.Request) (*sessions.Session, error) { return s.Get(r, s.Name()) }

// UserID returns the user who is signed in with the session, or an empty string for a visitor.
func UserID(session *sessions.Session) string {
	if st := stateOf(session); st != nil {
		return st.userID
	}
	return ""
}

// SessionID names the session in a list of sessions; it opens nothing. It is empty for a session that is not stored.
func SessionID(session *sessions.Session) string {
	if st := stateOf(session); st != nil {
		return st.id
	}
	return ""
}

func stateOf(session *sessions.Session) *state {
	st, _ := session.Values[loaded{}].(*state)
	return st
}

// Get returns the session of the request, read once a request.
func (s *SessionStore) Get(r *http.Request, name string) (*sessions.Session, error) {
	return sessions.GetRegistry(r).Get(s, name)
}

// New reads the session that the request's cookie names. A cookie that leads nowhere gives a new session.
func (s *SessionStore) New(r *http.Request, name string) (*sessions.Session, error) {
	session := sessions.NewSession(s, name)
	session.Options = &sessions.Options{
		Path: "/", MaxAge: int(seconds(sessionAgeMax)), Secure: !s.o.Insecure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
	session.IsNew = true
	cookie, err := r.Cookie(name)
	if err != nil {
		return session, nil //nolint:nilerr // a request without a cookie comes from a new visitor, and is no error
	}
	token, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || len(token) != tokenBytes {
		return session, nil //nolint:nilerr // a cookie that the server never set starts a new session
	}
	f := seal.Fingerprint(sha256.Sum256(token))
	now := s.o.Now().UTC()
	row, found, err := sessionByToken(r.Context(), s.db, f, now)
	if err != nil || !found {
		return session, postgres.StoreError("account: read session", err)
	}
	plain, err := s.open(row.Data, f)
	if err != nil || decode(plain, session.Values) != nil {
		clear(session.Values)
		return session, nil //nolint:nilerr // the session was encrypted with a key that is gone, so its owner signs in again
	}
	session.ID, session.IsNew = cookie.Value, false
	session.Values[loaded{}] = &state{token: f, id: row.ID, userID: row.UserID.String, plain: plain, renew: row.Renew}
	if now.Sub(row.SeenAt) >= sessionTouchEvery {
		err = postgres.Exec(r.Context(), s.db, `
			update sessions set seen_at = $2, ip = $3, user_agent = $4 where token_hash = $1 and seen_at < $2`,
			f[:], now, s.o.ClientIP(r), userAgent(r))
	}
	return session, postgres.StoreError("account: touch session", err)
}

// Save stores what changed. A new session without values is not stored and sets no cookie, so visitors leave no row. A
// negative MaxAge ends the session.
func (s *SessionStore) Save(r *http.Request, w http.ResponseWriter, session *sessions.Session) error {
	st := stateOf(session)
	if session.Options.MaxAge < 0 {
		return s.end(r.Context(), w, session, st)
	}
	plain, err := encode(session.Values)
	if err != nil {
		return err
	}
	switch {
	case st == nil && plain == nil:
		return nil
	case st == nil:
		return s.create(r, w, session, User{}, plain)
	case bytes.Equal(plain, st.plain):
		return nil
	}
	// A session that was revoked in between is not restored.
	err = postgres.Exec(r.Context(), s.db, `
		update sessions set data = $2 where token_hash = $1`, st.token[:], s.seal.Seal(plain, string(st.token[:])))
	if err != nil {
		return postgres.StoreError("account: save session", err)
	}
	st.plain = plain
	return nil
}

// Start signs the user in. It ends the previous session, which an attacker may have planted, and moves its values to a new one. A
// zero user makes a visitor's session, for a user who still has to prove more. A user whose password was replaced since they proved
// it is refused, because the replacement ends all sessions, also those that are just starting.
func (s *SessionStore) Start(w http.ResponseWriter, r *http.Request, u User) error {
	session, err := s.Current(r)
	if err != nil {
		return err
	}
	if st := stateOf(session); st != nil {
		if err := deleteSession(r.Context(), s.db, st.token); err != nil {
			return postgres.StoreError("account: rotate session", err)
		}
		delete(session.Values, loaded{})
	}
	plain, err := encode(session.Values)
	if err != nil {
		return err
	}
	return s.create(r, w, session, u, plain)
}

// Renew gives the request's session another token where what its user may do has changed: a token that was stolen before then no
// longer works. It reports false when another request has just done so: the caller is a visitor until their browser
// sends the token that one was given.
func (s *SessionStore) Renew(w http.ResponseWriter, r *http.Request) (current bool, err error) {
	session, err := s.Current(r)
	if err != nil {
		return false, err
	}
	st := stateOf(session)
	if st == nil || !st.renew {
		return true, nil
	}
	token, f, err := s.newToken()
	if err != nil {
		return false, err
	}
	// Of several requests at once, one renews the session.
	renewed, err := postgres.Changed(s.db.ExecContext(r.Context(), `
		update sessions set token_hash = $2, data = $3, renew = false where token_hash = $1 and renew`,
		st.token[:], f[:], s.seal.Seal(st.plain, string(f[:]))))
	if err != nil || !renewed {
		return false, postgres.StoreError("account: renew session", err)
	}
	st.token, st.renew, session.ID = f, false, token
	http.SetCookie(w, sessions.NewCookie(session.Name(), session.ID, session.Options))
	return true, nil
}

// newToken draws a token as the cookie carries it, and what is stored of it.
func (s *SessionStore) newToken() (string, seal.Fingerprint, error) {
	token := make([]byte, tokenBytes)
	if _, err := io.ReadFull(s.o.Random, token); err != nil {
		return "", seal.Fingerprint{}, fmt.Errorf("account: draw a session token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(token), sha256.Sum256(token), nil
}

// End signs out: the session is deleted and the cookie taken back.
func (s *SessionStore) End(w http.ResponseWriter, r *http.Request) error {
	session, err := s.Current(r)
	if err != nil {
		return err
	}
	session.Options.MaxAge = -1
	return s.Save(r, w, session)
}

func (s *SessionStore) end(ctx context.Context, w http.ResponseWriter, session *sessions.Session, st *state) error {
	if st != nil {
		if err := deleteSession(ctx, s.db, st.token); err != nil {
			return postgres.StoreError("account: end session", err)
		}
	}
	clear(session.Values)
	session.ID = ""
	http.SetCookie(w, sessions.NewCookie(session.Name(), "", session.Options))
	return nil
}

func deleteSession(ctx context.Context, q postgres.Queryer, f seal.Fingerprint) error {
	return postgres.Exec(ctx, q, `delete from sessions where token_hash = $1`, f[:])
}

// create stores a session under a new random token and sets the cookie.
func (s *SessionStore) create(r *http.Request, w http.ResponseWriter, session *sessions.Session, u User, plain []byte) error {
	token, f, err := s.newToken()
	if err != nil {
		return err
	}
	row := sessionRow{
		ID: s.o.IDs.New("ses"), UserID: sql.NullString{String: u.ID, Valid: u.ID != ""},
		Data: s.seal.Seal(plain, string(f[:])), IP: s.o.ClientIP(r), UserAgent: userAgent(r), CreatedAt: s.o.Now().UTC(),
	}
	// The statement waits for a change of the password that is under way: that either finds the session to end it, or is found here.
	started, err := postgres.Changed(s.db.ExecContext(r.Context(), `
		with proved as (select id from users where id = $3 and password_changed_at is not distinct from $8 for share)
		insert into sessions (id, token_hash, user_id, data, ip, user_agent, created_at, seen_at)
		select $1, $2, $3, $4, $5, $6, $7, $7 where $3::text is null or exists (select from proved)`,
		row.ID, f[:], row.UserID, row.Data, row.IP, row.UserAgent, row.CreatedAt, u.PasswordAt))
	if err != nil {
		return postgres.StoreError("account: start session", err)
	}
	if !started {
		return app.Errorf(app.Unauthenticated, "password_changed", "Your password was changed a moment ago. Sign in with the new one.")
	}
	session.ID, session.IsNew = token, false
	session.Values[loaded{}] = &state{token: f, id: row.ID, userID: u.ID, plain: plain}
	http.SetCookie(w, sessions.NewCookie(session.Name(), session.ID, session.Options))
	return nil
}

func (s *SessionStore) open(sealed []byte, f seal.Fingerprint) ([]byte, error) {
	plain, err := s.seal.Open(sealed, string(f[:]))
	if err != nil {
		return nil, fmt.Errorf("account: unseal session: %w", err)
	}
	return plain, nil
}

func userAgent(r *http.Request) string {
	text := strings.ToValidUTF8(strings.ReplaceAll(r.UserAgent(), "\x00", ""), "")
	if len(text) > userAgentBytesMax {
		text = strings.ToValidUTF8(text[:userAgentBytesMax], "")
	}
	return text
}

// encode returns the stored form of a session's values, nil for none. Equal values have equal forms.
func encode(values map[any]any) ([]byte, error) {
	kept := make(map[string]any, len(values))
	for k, v := range values {
		if name, ok := k.(string); ok {
			kept[name] = v
		}
	}
	if len(kept) == 0 {
		return nil, nil
	}
	plain, err := json.Marshal(kept)
	if err != nil {
		return nil, fmt.Errorf("account: encode session: %w", err)
	}
	if len(plain) > sessionDataMax {
		return nil, errors.New("account: a session holds more than it may")
	}
	return plain, nil
}

func decode(plain []byte, values map[any]any) error {
	if len(plain) == 0 {
		return nil
	}
	var kept map[string]any
	if err := json.Unmarshal(plain, &kept); err != nil {
		return fmt.Errorf("account: decode session: %w", err)
	}
	for k, v := range kept {
		values[k] = v
	}
	return nil
}

// SessionInfo is a session in the list of a user's sessions.
type SessionInfo struct {
	ID        string
	IP        string
	UserAgent string
	CreatedAt time.Time
	SeenAt    time.Time // SeenAt is precise to the minute.
}

// Sessions lists where a user is signed in, last seen first.
func (s *SessionStore) Sessions(ctx context.Context, userID string) ([]SessionInfo, error) {
	rows, err := postgres.Select[sessionRow](ctx, s.db, `
		select id, user_id, data, ip, user_agent, created_at, seen_at from sessions
		where user_id = $5 and `+sessionAlive+` order by seen_at desc, id limit $6`, aliveArgs(s.o.Now().UTC(), userID, sessionsListMax)...)
	list := make([]SessionInfo, len(rows))
	for i, r := range rows {
		list[i] = SessionInfo{ID: r.ID, IP: r.IP, UserAgent: r.UserAgent, CreatedAt: r.CreatedAt, SeenAt: r.SeenAt}
	}
	return list, postgres.StoreError("account: list sessions", err)
}
