// Package account manages who may use the gateway: users and how they sign in, the accounts that own credit, their members and
// browser sessions. Make a Service with New and keep its Run running.
package account

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/mail"
	"umg/app/postgres"
	"umg/app/trial"
	"umg/billing"
)

// User is a person who signs in, seen as a member of an account. One who is a member of none has no AccountID, no role and no right.
type User struct {
	ID        string   `db:"id"`
	Email     string   `db:"email"`
	AccountID string   `db:"account_id"`
	Role      app.Role `db:"role"`
	// Account is the display name of the account.
	Account    string    `db:"account_name"`
	Operator   bool      `db:"operator"`
	SecondStep bool      `db:"second_step"` // SecondStep means that a sign-in needs a code in addition to the password.
	CreatedAt  time.Time `db:"created_at"`
	Verified   bool      `db:"verified"` // Verified means that the user has verified the e-mail address.

	// PasswordAt is when the password that the user was read with was set. It is nil since sign-up. A session starts only while the
	// password is the same.
	PasswordAt *time.Time `db:"password_changed_at"`

	LimitFactor  int    `db:"limit_factor"` // LimitFactor multiplies the account's default limits.
	Frozen       bool   `db:"frozen"`       // Members can read a frozen account, but nothing may cost it anything.
	FrozenReason string `db:"frozen_reason"`
	// Uncharged accounts need no credit. Their calls are recorded and not charged.
	Uncharged   bool `db:"uncharged"`
	KeepContent bool `db:"keep_content"` // KeepContent stores the content of playground calls.

	Preferences
}

// Principal returns the user as a principal of the account. A frozen account is refused where credit is held, so it asks for credit.
func (u User) Principal() app.Principal {
	return app.Principal{AccountID: u.AccountID, UserID: u.ID, Rights: u.Role.Rights(), Uncharged: u.Uncharged && !u.Frozen}
}

// Options of the service. Now, IDs, Random and Log must be set, and with Mail the BaseURL.
type Options struct {
	Now        app.Clock
	IDs        app.IDs
	Random     io.Reader
	Log        *slog.Logger
	Trial      trial.Policy
	SignUpsMax int         // SignUpsMax is the number of sign-ups per hour and address without a wait; zero means the default.
	Mail       mail.Sender // Without Mail, e-mail addresses are not verified.
	BaseURL    string      // BaseURL is the scheme and host of links in mails.
	// PasswordMemoryKiB is the memory of a password hash. Zero means hashMemoryKiB, and only tests take less.
	PasswordMemoryKiB uint32
	Key               [32]byte // Key is the server's secret; it may be zero in commands that neither sign users in nor encrypt.
}

// Service makes users and accounts.
type Service struct {
	db        *sqlx.DB
	repeated  *postgres.Repeated
	ledger    *billing.Ledger
	o         Options
	passwords *passwords
	throttle  throttle
	audit     *audit.Log
	vault     *secretBox
	trials    *trial.Service
}

// New returns the service. It panics when a required option is missing.
func New(db *sqlx.DB, ledger *billing.Ledger, o Options) *Service {
	app.RequireOptions("account.New", map[string]bool{
		"db": db != nil, "ledger": ledger != nil, "Options.Now": o.Now != nil, "Options.IDs.Now": o.IDs.Now != nil,
		"Options.IDs.Random": o.IDs.Random != nil, "Options.Random": o.Random != nil, "Options.Log": o.Log != nil,
	})
	if o.Mail != nil && o.BaseURL == "" {
		panic("account.New: Options.BaseURL is required with Options.Mail")
	}
	if o.SignUpsMax == 0 {
		o.SignUpsMax = signUpsMax
	}
	return &Service{
		db: db, repeated: postgres.Repeat(db), ledger: ledger, o: o,
		passwords: newPasswords(cmp.Or(o.PasswordMemoryKiB, hashMemoryKiB)), throttle: throttle{db: db, now: o.Now},
		audit: audit.New(db, o.Now, o.IDs), vault: newVault(o.Key),
		trials: trial.New(db, ledger, trial.Options{Policy: o.Trial, Now: o.Now, Mails: o.Mail != nil}),
	}
}

// User returns the user with the account they joined first.
func (s *Service) User(ctx context.Context, id string) (User, error) { return s.UserIn(ctx, id, "") }

// UserIn returns the user as a member of an account. Where they are no member of it, or it is closed, it is the account they joined first.
func (s *Service) UserIn(ctx context.Context, id, accountID string) (User, error) {
	if !app.ValidID(accountID) {
		accountID = ""
	}
	u, err := userIn(ctx, s.db, id, accountID)
	if errors.Is(err, sql.ErrNoRows) {
		return User{}, app.Errorf(app.NotFound, "user_not_found", "There is no such user.")
	}
	return u, postgres.StoreError("account: read user", err)
}
