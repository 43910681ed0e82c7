package contentlog

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/postgres"
	"umg/app/sse"
)

// Bounds of what is kept.
const (
	BytesMax     = 64 << 10 // stored bytes of one request, and of one answer
	DaysMax      = 90
	DaysStandard = 30

	accountBytesMax = 1_000_000_000 // bytes of one account; above it the oldest content is deleted first
	memoryBytesMax  = 64 << 20      // bytes of running and queued calls on one replica
	queueCallsMax   = 1024          // calls that wait to be written
)

// Policy is which calls of an account have their content kept.
type Policy string

// The choices. An account decides; a key can only ask, and that is heard where the account says so.
const (
	Never Policy = "never"
	Asked Policy = "asked" // calls of keys that ask for it
	All   Policy = "all"   // calls of every key, and of the playground
)

// Settings are what an account has decided. Without a decision nothing is kept.
type Settings struct {
	Keep      Policy
	Days      int        // days after which content is deleted
	ClearedAt *time.Time // content of calls that began before was deleted by hand
	KeptBytes int64
	ChangedAt time.Time // zero before the first decision
}

// BytesAccountMax is how much is kept of one account.
const BytesAccountMax int64 = accountBytesMax

// Options are what the service works with.
type Options struct {
	Audit *audit.Log
	Now   app.Clock
	Log   *slog.Logger
}

// Service keeps content. It is safe for concurrent use.
type Service struct {
	db      *sqlx.DB
	o       Options
	memory  *sse.Budget
	queue   chan *Recorder
	queued  chan struct{} // The worker waits for it: a call waits to be written.
	kept    atomic.Int64
	dropped atomic.Int64
	most    int64 // maximum bytes of one account
}

// New opens the service. It panics when a required option is missing.
func New(db *sqlx.DB, o Options) *Service {
	app.RequireOptions("contentlog.New", map[string]bool{
		"db": db != nil, "Options.Audit": o.Audit != nil, "Options.Now": o.Now != nil, "Options.Log": o.Log != nil,
	})
	return &Service{
		db: db, o: o, memory: sse.NewBudget(memoryBytesMax), queue: make(chan *Recorder, queueCallsMax),
		queued: make(chan struct{}, 1), most: accountBytesMax,
	}
}

// Stats are what became of the content of calls on this replica.
type Stats struct {
	Kept    int64
	Dropped int64 // calls whose content was lost because memory, the queue or the database was full or failed
}

// Stats returns them.
func (s *Service) Stats() Stats { return Stats{Kept: s.kept.Load(), Dropped: s.dropped.Load()} }

// Settings returns what an account has decided.
func (s *Service) Settings(ctx context.Context, accountID string) (Settings, error) {
	r, err := settingsOf(ctx, s.db, accountID)
	return r, postgres.StoreError("content: read settings", err)
}

// Change decides for an account. What is kept already stays until its days are over, which are those of the new decision.
func (s *Service) Change(ctx context.Context, p app.Principal, keep Policy, days int) error {
	if keep != Never && keep != Asked && keep != All {
		return app.Errorf(app.Invalid, "invalid_value", "Content is kept %q, %q or %q; %.40q is none of these.", Never, Asked, All, keep).
			At("keep")
	}
	if days < 1 || days > DaysMax {
		return app.Errorf(app.Invalid, "invalid_value", "Content is kept for 1 to %d days.", DaysMax).At("days")
	}
	return postgres.StoreError("content: change settings", postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		before, name, err := lockSettings(ctx, tx, p.AccountID, s.now())
		if err != nil {
			return err
		}
		changes := audit.Changed(
			audit.Change{Field: "content_kept", From: string(before.Keep), To: string(keep)},
			audit.Change{Field: "content_days", From: strconv.Itoa(before.Days), To: strconv.Itoa(days)})
		if len(changes) == 0 {
			return nil
		}
		if err := postgres.Exec(ctx, tx, `update content_log_settings set keep = $2, days = $3, changed_at = $4 where account_id = $1`,
			p.AccountID, keep, days, s.now()); err != nil {
			return err
		}
		return s.o.Audit.Write(ctx, tx, p, audit.Event{Action: "account.content_changed", Name: name, Changes: changes})
	}))
}

// Clear deletes all content of an account. It is hidden at once; rows beyond the first batch are deleted within minutes. The
// content of calls that run now is not stored either.
func (s *Service) Clear(ctx context.Context, p app.Principal) error {
	err := postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		_, name, err := lockSettings(ctx, tx, p.AccountID, s.now())
		if err != nil {
			return err
		}
		if err := postgres.Exec(ctx, tx, `
			update content_log_settings set cleared_at = $2 where account_id = $1`, p.AccountID, s.now()); err != nil {
			return err
		}
		if err := postgres.Exec(ctx, tx, `delete from playground_runs where account_id = $1`, p.AccountID); err != nil {
			return err
		}
		return s.o.Audit.Write(ctx, tx, p, audit.Event{Action: "account.content_deleted", Name: name})
	})
	if err == nil {
		err = s.sweepAccount(ctx, p.AccountID)
	}
	return postgres.StoreError("content: delete all content", err)
}

// Record is the content of one call.
type Record struct {
	RequestID    string     `db:"request_id"`
	KeyID        string     `db:"key_id"`
	Style        string     `db:"style"`
	At           time.Time  `db:"at"`
	Request      string     `db:"request"`
	RequestBytes int64      `db:"request_bytes"` // size as the client sent it
	RequestCut   bool       `db:"request_cut"`   // only the beginning is stored
	Answer       string     `db:"answer"`
	AnswerBytes  int64      `db:"answer_bytes"` // size as sent to the client, with all frames of a stream
	AnswerCut    bool       `db:"answer_cut"`
	Streamed     bool       `db:"streamed"` // Answer is the message assembled from the events of a stream
	Redacted     int        `db:"redacted"` // number of secrets that were removed
	DeletedAt    *time.Time `db:"deleted_at"`
	ExpiresAt    time.Time  `db:"expires_at"`
}

// Of returns what is kept of a call, and false where nothing is.
func (s *Service) Of(ctx context.Context, accountID, requestID string) (Record, bool, error) {
	k, err := contentOf(ctx, s.db, accountID, requestID, s.now())
	if errors.Is(err, sql.ErrNoRows) {
		return Record{}, false, nil
	}
	return k, err == nil, postgres.StoreError("content: read content", err)
}

// Delete takes away what is kept of one call. That there was something is still known until its days are over.
func (s *Service) Delete(ctx context.Context, p app.Principal, requestID string) error {
	return postgres.StoreError("content: delete content", postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		if _, _, err := lockSettings(ctx, tx, p.AccountID, s.now()); err != nil {
			return err
		}
		k, err := contentOf(ctx, tx, p.AccountID, requestID, s.now())
		if errors.Is(err, sql.ErrNoRows) || err == nil && k.DeletedAt != nil {
			return app.Errorf(app.NotFound, "content_not_found", "The content of this call is not stored.")
		}
		if err != nil {
			return err
		}
		if err := postgres.Exec(ctx, tx, `
			with gone as (
				select c.account_id, `+rowBytes+` as bytes from content_logs c where c.account_id = $1 and c.request_id = $2),
			less as (
				update content_log_settings s set kept_bytes = greatest(0, s.kept_bytes - g.bytes) from gone g where s.account_id = g.account_id)
			update content_logs set request = '', answer = '', redacted = 0, deleted_at = $3, deleted_by = $4
			where account_id = $1 and request_id = $2`, p.AccountID, requestID, s.now(), p.UserID); err != nil {
			return err
		}
		if err := postgres.Exec(ctx, tx, `delete from playground_runs where account_id = $1 and request_id = $2`,
			p.AccountID, requestID); err != nil {
			return err
		}
		return s.o.Audit.Write(ctx, tx, p, audit.Event{Action: "content.deleted", Object: requestID})
	}))
}

func (s *Service) now() time.Time { return s.o.Now().UTC() }
