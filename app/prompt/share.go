package prompt

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/postgres"
)

// These limits apply to links.
const (
	sharesMax       = 20 // One prompt has at most this many active links.
	shareDaysMax    = 365
	tokenBytes      = 24 // A secret of 24 random bytes is too long to guess.
	tokenChars      = 32 // The secret has this many characters in base64.
	viewedEvery     = time.Minute
	shareRemembered = 30 * 24 * time.Hour // A link is remembered this long after its end.
)

// Share is a link that shows one version of a prompt to every holder of the link.
type Share struct {
	ID        string
	Number    int // Number is the number of the version.
	Author    string
	CreatedAt time.Time
	ExpiresAt time.Time
	ViewedAt  *time.Time // ViewedAt is nil until the first view, and precise to the minute.
}

// Shared is the content of a link: nothing of the account, and no person's name.
type Shared struct {
	Name      string
	Content   Content
	ExpiresAt time.Time
}

// Share makes a link to a version and returns the secret part of its address, which is kept nowhere.
func (s *Service) Share(ctx context.Context, p app.Principal, id string, number int, until time.Time) (Share, string, error) {
	now := s.now()
	if !until.After(now) || until.After(now.AddDate(0, 0, shareDaysMax+1)) {
		return Share{}, "", app.Errorf(app.Invalid, "invalid_value", "The link must end in the future, and within a year.").At("until")
	}
	if !idForm.MatchString(id) {
		return Share{}, "", errNoPrompt()
	}
	raw := make([]byte, tokenBytes)
	if _, err := io.ReadFull(s.o.Random, raw); err != nil {
		return Share{}, "", err
	}
	token := base64.RawURLEncoding.EncodeToString(raw)
	row := shareRow{ID: s.o.IDs.New("share"), Number: number, CreatedAt: now, ExpiresAt: until.UTC()}
	err := postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		if s.o.LockActor != nil {
			if err := s.o.LockActor(ctx, tx, p); err != nil {
				return err
			}
		}
		if _, err := latestOf(ctx, tx, p.AccountID, id); err != nil { // LatestOf locks the prompt.
			return err
		}
		if _, err := versionByNumber(ctx, tx, p.AccountID, id, number); err != nil {
			return err
		}
		if err := postgres.Exec(ctx, tx, `
			delete from prompt_shares where account_id = $1 and prompt_id = $2 and least(expires_at, revoked_at) < $3`,
			p.AccountID, id, now.Add(-shareRemembered)); err != nil {
			return err
		}
		live, err := liveShares(ctx, tx, p.AccountID, id, now)
		if err != nil {
			return err
		}
		if len(live) >= sharesMax {
			return app.Errorf(app.Conflict, "shares_exhausted", "This prompt has %d links, which is the limit. Revoke one first.", sharesMax)
		}
		one, err := promptByID(ctx, tx, p.AccountID, id)
		if err != nil {
			return err
		}
		if err := postgres.Exec(ctx, tx, `
			insert into prompt_shares (id, account_id, prompt_id, number, token_hash, author, created_at, expires_at)
			values ($1, $2, $3, $4, $5, $6, $7, $8)`,
			row.ID, p.AccountID, id, row.Number, hashOf(token), p.UserID, row.CreatedAt, row.ExpiresAt); err != nil {
			return err
		}
		return s.note(ctx, tx, p, "prompt.shared", id, one.Name,
			audit.Change{Field: "version", To: strconv.Itoa(number)}, audit.Change{Field: "expires_at", To: row.ExpiresAt.Format(time.RFC3339)})
	})
	return row.share(), token, found("share a prompt", err)
}

func (r shareRow) share() Share {
	return Share(r)
}

func hashOf(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// Shares lists the links of a prompt that still work, the newest first.
func (s *Service) Shares(ctx context.Context, p app.Principal, id string) ([]Share, error) {
	rows, err := liveShares(ctx, s.db, p.AccountID, id, s.now())
	if err != nil {
		return nil, postgres.StoreError("prompt: list links", err)
	}
	list := make([]Share, len(rows))
	for i, r := range rows {
		list[i] = r.share()
	}
	return list, nil
}

// Revoke ends a link at once.
func (s *Service) Revoke(ctx context.Context, p app.Principal, id, share string) error {
	if !idForm.MatchString(id) || !shareForm.MatchString(share) {
		return errNoPrompt()
	}
	return found("revoke a link", postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		name, err := postgres.Get[string](ctx, tx, `
			update prompt_shares s set revoked_at = $4 from prompts p
			where p.id = s.prompt_id and s.account_id = $1 and s.prompt_id = $2 and s.id = $3 and s.revoked_at is null returning p.name`,
			p.AccountID, id, share, s.now())
		if err != nil {
			return err
		}
		return s.note(ctx, tx, p, "prompt.share_revoked", id, name)
	}))
}

// Open returns what a link shows. One that ended, was revoked or never was is the same to everybody: not there.
func (s *Service) Open(ctx context.Context, token string) (Shared, error) {
	gone := app.Errorf(app.NotFound, "not_found", "There is no such page.")
	if len(token) != tokenChars {
		return Shared{}, gone
	}
	now := s.now()
	// Nothing of accounts that are closed or frozen is shown.
	r, err := postgres.Get[sharedRow](ctx, s.db, `
		select s.id, p.name, v.content, s.expires_at, s.viewed_at
		from prompt_shares s join prompts p on p.id = s.prompt_id
			join prompt_versions v on v.prompt_id = s.prompt_id and v.number = s.number join accounts a on a.id = s.account_id
		where s.token_hash = $1 and s.revoked_at is null and s.expires_at > $2 and a.closed_at is null and a.frozen_at is null`,
		hashOf(token), now)
	if errors.Is(err, sql.ErrNoRows) {
		return Shared{}, gone
	}
	if err != nil {
		return Shared{}, postgres.StoreError("prompt: open a link", err)
	}
	if r.ViewedAt == nil || now.Sub(*r.ViewedAt) >= viewedEvery {
		if err := postgres.Exec(ctx, s.db, `update prompt_shares set viewed_at = greatest(viewed_at, $2) where id = $1`, r.ID, now); err != nil {
			return Shared{}, postgres.StoreError("prompt: note a view", err)
		}
	}
	c, err := parse(r.Document)
	return Shared{Name: r.Name, Content: c, ExpiresAt: r.ExpiresAt}, err
}

// shareRow is a link as the table holds it.
type shareRow struct {
	ID        string     `db:"id"`
	Number    int        `db:"number"`
	Author    string     `db:"author"`
	CreatedAt time.Time  `db:"created_at"`
	ExpiresAt time.Time  `db:"expires_at"`
	ViewedAt  *time.Time `db:"viewed_at"`
}

// liveShares lists the links of a prompt that still work, the newest first.
func liveShares(ctx context.Context, q postgres.Queryer, accountID, promptID string, now time.Time) ([]shareRow, error) {
	return postgres.Select[shareRow](ctx, q, `
		select s.id, s.number, coalesce(nullif(u.name, ''), u.email, '') as author, s.created_at, s.expires_at, s.viewed_at
		from prompt_shares s left join users u on u.id = s.author
		where s.account_id = $1 and s.prompt_id = $2 and s.revoked_at is null and s.expires_at > $3 order by s.id desc limit $4`,
		accountID, promptID, now, sharesMax)
}

// sharedRow is what a link shows.
type sharedRow struct {
	ID        string     `db:"id"`
	Name      string     `db:"name"`
	Document  string     `db:"content"`
	ExpiresAt time.Time  `db:"expires_at"`
	ViewedAt  *time.Time `db:"viewed_at"`
}
