package account

import (
	"context"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
	"umg/app/trial"
)

// Trials is the service that gives the users of this one their trial credit.
func (s *Service) Trials() *trial.Service { return s.trials }

// TrialOpen reports whether a user may still get trial credit.
func (s *Service) TrialOpen(ctx context.Context, u User) (bool, error) {
	return s.trials.Open(ctx, u.trialPerson())
}

func (u User) trialPerson() trial.Person {
	return trial.Person{UserID: u.ID, AccountID: u.AccountID, Email: u.Email}
}

// ClaimTrial gives a user the trial credit that a limit of the day had refused. It gives nothing twice.
func (s *Service) ClaimTrial(ctx context.Context, userID, ip string) (r trial.Result, err error) {
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		u, err := userByID(ctx, tx, userID)
		if err != nil {
			return err
		}
		if s.o.Trial.RequireVerified && !u.Verified {
			return app.Errorf(app.Forbidden, "email_unverified",
				"Trial credit is for users whose e-mail address is verified. Open the link we sent to %s first.", u.Email)
		}
		r, err = s.trials.Grant(ctx, tx, u.trialPerson(), ip)
		return err
	})
	return r, postgres.StoreError("account: claim trial", err)
}
