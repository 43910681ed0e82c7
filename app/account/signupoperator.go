package account

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/postgres"
)

// claimIP limits how often one address may try a code that claims the gateway.
var claimIP = rule{scope: "claim_ip", free: 10, first: time.Minute, most: time.Hour, window: time.Hour}

// AdmitClaim counts an attempt to claim the gateway from an address, and refuses one that has made too many.
func (s *Service) AdmitClaim(ctx context.Context, ip string) error {
	return postgres.StoreError("account: count claims", s.throttle.admit(ctx, claimIP.of(placeOf(ip))))
}

// SignUpOperator makes a user who runs the gateway, and an account they own. Their address counts as verified. The function runs in the
// same transaction, when the account exists and before the user is an operator; its error undoes all.
func (s *Service) SignUpOperator(
	ctx context.Context, in SignUp, from app.Origin, also func(ctx context.Context, tx *sqlx.Tx, u User) error,
) (User, error) {
	email, err := normaliseEmail(in.Email)
	if err != nil {
		return User{}, err
	}
	if err := checkPassword(in.Password, email); err != nil {
		return User{}, err
	}
	hash, err := s.passwords.hash(ctx, in.Password)
	if err != nil {
		return User{}, err
	}
	u := s.newUser(email)
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		if err := s.insertOwner(ctx, tx, u, hash); err != nil {
			return err
		}
		if err := also(ctx, tx, u); err != nil {
			return err
		}
		if _, err := setVerified(ctx, tx, u.ID, u.CreatedAt); err != nil {
			return err
		}
		if err := postgres.Exec(ctx, tx, `update users set operator = true where id = $1`, u.ID); err != nil {
			return err
		}
		p := app.Principal{AccountID: u.AccountID, UserID: u.ID, From: from}
		err := s.audit.Write(ctx, tx, p, audit.Event{Action: "user.made_operator", Object: u.ID, Name: u.Email, Operator: true})
		if err != nil {
			return err
		}
		return trustPlace(ctx, tx, signInPair.of(email, placeOf(in.IP)), u.CreatedAt)
	})
	if err != nil {
		return User{}, postgres.StoreError("account: sign up operator", err)
	}
	return s.UserIn(ctx, u.ID, "")
}
