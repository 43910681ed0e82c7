package account

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
)

// hashBusyPause is when to come back after too many sign-ins at once.
const hashBusyPause = 2 * time.Second

// SignUp is what a person gives to become a user. IP is the address they come from.
type SignUp struct {
	Email    string
	Password string
	IP       string
}

// SignUp makes a user, an account they own and its credit account, and sends the link that verifies their address: all of
// it or nothing. Trial credit comes with the verified address, or at once where the policy asks for none.
func (s *Service) SignUp(ctx context.Context, in SignUp) (User, error) {
	email, err := normaliseEmail(in.Email)
	if err != nil {
		return User{}, err
	}
	if err := checkPassword(in.Password, email); err != nil {
		return User{}, err
	}
	if err := s.throttle.admit(ctx, signUpIP(s.o.SignUpsMax).of(placeOf(in.IP))); err != nil {
		return User{}, postgres.StoreError("account: count sign-ups", err)
	}
	hash, err := s.passwords.hash(ctx, in.Password)
	if err != nil {
		return User{}, err
	}
	u := s.newUser(email)
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		if err := s.open(ctx, tx, u, hash, in.IP); err != nil {
			return err
		}
		return trustPlace(ctx, tx, signInPair.of(email, placeOf(in.IP)), u.CreatedAt)
	})
	if err != nil {
		return User{}, postgres.StoreError("account: sign up", err)
	}
	return u, nil
}

// newUser is a user with an account of their own, which are not stored yet.
func (s *Service) newUser(email string) User {
	return User{
		ID: s.o.IDs.New("user"), Email: email, AccountID: s.o.IDs.New("acct"), Role: app.RoleOwner,
		Account: accountNameFor(email), LimitFactor: 1,
		CreatedAt: s.o.Now().UTC().Truncate(time.Microsecond), // The database keeps microseconds.
	}
}

// insertOwner stores a new user with their account and its credit account.
func (s *Service) insertOwner(ctx context.Context, tx *sqlx.Tx, u User, hash string) error {
	made, err := insertUser(ctx, tx, u, hash)
	if err != nil {
		return err
	}
	if !made {
		return app.Errorf(app.Conflict, "email_taken", "There is an account with this e-mail address already. Sign in instead.").At("email")
	}
	return s.ledger.OpenAccount(ctx, tx, u.AccountID)
}

// open writes everything a new user consists of.
func (s *Service) open(ctx context.Context, tx *sqlx.Tx, u User, hash, ip string) error {
	if err := s.insertOwner(ctx, tx, u, hash); err != nil {
		return err
	}
	if s.Verifies() {
		if err := s.sendLink(ctx, tx, u); err != nil {
			return err
		}
	}
	if s.o.Trial.RequireVerified {
		return nil
	}
	_, err := s.trials.Grant(ctx, tx, u.trialPerson(), ip) // A refusal of trial credit does not fail the sign-up.
	return err
}

// SignedIn is who gave the right password. With a Ticket they are not signed in yet: FinishSignIn takes it with a code.
type SignedIn struct {
	User
	Ticket string
}

// SignIn returns the user whose e-mail address and password these are.
func (s *Service) SignIn(ctx context.Context, email, password, ip string) (SignedIn, error) {
	address, invalidEmail := normaliseEmail(email)
	if invalidEmail != nil {
		address = ""
	}
	u, hash, err := s.checkCredentials(ctx, address, password, ip)
	if err != nil {
		return SignedIn{}, err
	}
	ticket, err := s.issue(ctx, u.ID, hash)
	return SignedIn{User: u, Ticket: ticket}, err
}

// checkCredentials returns the user of a normalised address and the hash that the password matches. Tries are counted by
// address, by e-mail and by both, where the user has been before only by both; a hash is computed whether or not there is such
// a user. Every way of guessing the password of a user who is not signed in goes through here.
func (s *Service) checkCredentials(ctx context.Context, address, password, ip string) (User, string, error) {
	pair := signInPair.of(address, placeOf(ip))
	trusted, err := trustedPlace(ctx, s.db, pair, s.o.Now().UTC().Add(-trustMax))
	if err != nil {
		return User{}, "", postgres.StoreError("account: count sign-ins", err)
	}
	tries := []try{pair}
	if !trusted {
		tries = []try{signInEmail.of(address), signInIP.of(placeOf(ip)), pair}
	}
	if err := s.throttle.admit(ctx, tries...); err != nil {
		return User{}, "", postgres.StoreError("account: count sign-ins", err)
	}
	u, hash, err := userByEmail(ctx, s.db, address)
	if err != nil {
		return User{}, "", postgres.StoreError("account: read user", err)
	}
	checked := hash
	// No stored password is this long, so the gateway does not hash it.
	if len(password) > passwordBytesMax {
		password, checked = password[:passwordBytesMax], ""
	}
	same, err := s.passwords.matches(ctx, password, checked)
	if err != nil {
		return User{}, "", err
	}
	if !same {
		// An unknown e-mail address and a wrong password get the same answer.
		return User{}, "", app.Errorf(app.Unauthenticated, "invalid_credentials", "The e-mail address or the password is wrong.")
	}
	return u, hash, postgres.StoreError("account: count sign-ins", trustPlace(ctx, s.db, pair, s.o.Now().UTC()))
}
