package contentlog

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/postgres"
)

// Bounds of the runs of the playground that are kept.
const (
	RunAnswerBytesMax = 256 << 10 // bytes of one answer with its conversation and settings

	runAnswersMax    = 1000 // answers of one account; beyond it the oldest are deleted
	runAnswerTimeMax = 2 * time.Second
	sweepRunRowsMax  = 500
)

// RunAnswer is one model's answer in a run of the playground. A run is one message that was sent to one or more models.
type RunAnswer struct {
	AccountID string    `db:"account_id"`
	RunID     string    `db:"run_id"`
	Pane      int       `db:"pane"` // Pane is the place of the model among those of the run, from 0 to 3.
	RequestID string    `db:"request_id"`
	UserID    string    `db:"user_id"`
	At        time.Time `db:"at"` // At is when the call began.
	Model     string    `db:"model"`
	Title     string    `db:"title"`
	Content   string    `db:"content"` // Content is JSON that only the playground reads.
	Email     string    `db:"email"`   // Email is that of the user, empty for one who is gone. It is only read.
}

// KeepRunAnswer stores an answer of the playground, without the secrets that it contains, if the account keeps the content of all calls. It
// returns false where nothing was stored: the account keeps nothing, the answer is too large, or the run is another user's.
func (s *Service) KeepRunAnswer(ctx context.Context, a RunAnswer) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, runAnswerTimeMax)
	defer cancel()
	content, _ := Redact(a.Content)
	title, _ := Redact(a.Title)
	if len(content) > RunAnswerBytesMax || !json.Valid([]byte(content)) {
		return false, nil
	}
	kept := false
	err := postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		done, err := tx.ExecContext(ctx, `
			insert into playground_runs (account_id, run_id, pane, request_id, user_id, at, model, title, content)
			select s.account_id, $2, $3, $4, $5, $6, $7, $8, $9 from content_log_settings s join accounts a on a.id = s.account_id
			where s.account_id = $1 and s.keep = 'all' and a.closed_at is null
				and not exists (select from playground_runs r where r.account_id = $1 and r.run_id = $2 and r.user_id <> $5)
			on conflict do nothing`,
			a.AccountID, a.RunID, a.Pane, a.RequestID, a.UserID, a.At.UTC(), a.Model, app.MakeStorable(title, runTitleBytesMax), content)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		if kept = n > 0; err != nil || !kept {
			return err
		}
		return postgres.Exec(ctx, tx, `
			delete from playground_runs r using (
				select run_id, pane from playground_runs where account_id = $1 order by at desc, run_id, pane offset $2) old
			where r.account_id = $1 and r.run_id = old.run_id and r.pane = old.pane`, a.AccountID, runAnswersMax)
	})
	return kept, postgres.StoreError("content: keep an answer of the playground", err)
}

const (
	runTitleBytesMax = 200
	runColumns       = `r.account_id, r.run_id, r.pane, r.request_id, r.user_id, r.at, r.model, r.title, coalesce(u.email, '') as email`
	runTables        = `playground_runs r join content_log_settings s on s.account_id = r.account_id left join users u on u.id = r.user_id`
)

// RunAnswers returns the newest answers of an account without their content, those of one run together. They are of whole runs only when
// there are fewer than the limit.
func (s *Service) RunAnswers(ctx context.Context, accountID string, limit int) ([]RunAnswer, error) {
	list, err := postgres.Select[RunAnswer](ctx, s.db, `
		select `+runColumns+`, '' as content from `+runTables+`
		where r.account_id = $2 and r.at > `+since+`
		order by max(r.at) over (partition by r.run_id) desc, r.run_id, r.pane limit $3`, s.now(), accountID, limit)
	return list, postgres.StoreError("content: list runs", err)
}

// RunAnswersOf returns the answers of one run. The error is of kind NotFound when the account has no such run.
func (s *Service) RunAnswersOf(ctx context.Context, accountID, runID string) ([]RunAnswer, error) {
	list, err := postgres.Select[RunAnswer](ctx, s.db, `
		select `+runColumns+`, r.content from `+runTables+`
		where r.account_id = $2 and r.run_id = $3 and r.at > `+since+` order by r.pane`, s.now(), accountID, runID)
	if err == nil && len(list) == 0 {
		return nil, errNoRun()
	}
	return list, postgres.StoreError("content: read a run", err)
}

// DeleteRun deletes what is kept of a run. The content of its calls stays.
func (s *Service) DeleteRun(ctx context.Context, p app.Principal, runID string) error {
	return postgres.StoreError("content: delete a run", postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		done, err := tx.ExecContext(ctx, `delete from playground_runs where account_id = $1 and run_id = $2`, p.AccountID, runID)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errNoRun()
		}
		return s.o.Audit.Write(ctx, tx, p, audit.Event{Action: "content.run_deleted", Object: runID})
	}))
}

func errNoRun() error {
	return app.Errorf(app.NotFound, "run_not_found", "There is no such run of the playground.")
}

// sweepRuns deletes a batch of runs whose time is over.
func (s *Service) sweepRuns(ctx context.Context) error {
	return postgres.Exec(ctx, s.db, `
		delete from playground_runs d using (
			select r.account_id, r.run_id, r.pane from playground_runs r join content_log_settings s on s.account_id = r.account_id
			where r.at <= `+since+` limit $2) over
		where d.account_id = over.account_id and d.run_id = over.run_id and d.pane = over.pane`, s.now(), sweepRunRowsMax)
}
