package prompt

import (
	"context"
	"time"

	"github.com/lib/pq"

	"umg/app/postgres"
)

// promptRow is a prompt with its newest version, without that version's content.
type promptRow struct {
	ID        string         `db:"id"`
	Name      string         `db:"name"`
	Latest    int            `db:"latest"`
	Model     string         `db:"model"`
	Variables pq.StringArray `db:"variables"`
	Author    string         `db:"author"`
	CreatedAt time.Time      `db:"created_at"`
	UpdatedAt time.Time      `db:"updated_at"`
}

const promptColumns = `p.id, p.name, p.latest, v.model, v.variables, coalesce(nullif(u.name, ''), u.email, '') as author, p.created_at,
	p.updated_at from prompts p join prompt_versions v on v.prompt_id = p.id and v.number = p.latest
	left join users u on u.id = v.author `

func promptByID(ctx context.Context, q postgres.Queryer, accountID, id string) (promptRow, error) {
	return postgres.Get[promptRow](ctx, q, `select `+promptColumns+`where p.account_id = $1 and p.id = $2`, accountID, id)
}

// lockAccount lets one change of an account's prompts go ahead at a time, so that no two pass a limit together, and says how much is kept.
func lockAccount(ctx context.Context, tx postgres.Queryer, accountID string) (prompts int, bytes int64, err error) {
	if _, err := tx.ExecContext(ctx, `select 1 from accounts where id = $1 for no key update`, accountID); err != nil {
		return 0, 0, err
	}
	var kept struct {
		Prompts int   `db:"prompts"`
		Bytes   int64 `db:"bytes"`
	}
	err = tx.GetContext(ctx, &kept, `
		select (select count(*) from prompts where account_id = $1) as prompts,
			(select coalesce(sum(bytes), 0) from prompt_versions where account_id = $1) as bytes`, accountID)
	return kept.Prompts, kept.Bytes, err
}

// versionRow is a version as the table holds it. Lists leave its document out.
type versionRow struct {
	PromptID  string         `db:"prompt_id"`
	Number    int            `db:"number"`
	Document  string         `db:"content"`
	Bytes     int64          `db:"bytes"`
	Model     string         `db:"model"`
	Variables pq.StringArray `db:"variables"`
	AuthorID  string         `db:"author_id"`
	Author    string         `db:"author"`
	Restored  *int           `db:"restored_from_version"`
	CreatedAt time.Time      `db:"created_at"`
}

func insertVersion(ctx context.Context, q postgres.Queryer, accountID string, v versionRow) error {
	return postgres.Exec(ctx, q, `
		insert into prompt_versions (prompt_id, account_id, number, content, bytes, model, variables, author, restored_from_version, created_at)
		values ($1, $2, $3, $4, octet_length($4), $5, $6, $7, $8, $9)`,
		v.PromptID, accountID, v.Number, v.Document, v.Model, v.Variables, v.AuthorID, v.Restored, v.CreatedAt)
}

// latestOf reads the newest version of a prompt and keeps others from adding one in this transaction.
func latestOf(ctx context.Context, tx postgres.Queryer, accountID, id string) (v versionRow, err error) {
	var latest int
	err = tx.GetContext(ctx, &latest, `select latest from prompts where account_id = $1 and id = $2 for no key update`, accountID, id)
	if err != nil {
		return v, err
	}
	return versionByNumber(ctx, tx, accountID, id, latest)
}

const versionColumns = `v.prompt_id, v.number, v.bytes, v.model, v.variables, v.author as author_id, v.restored_from_version, v.created_at,
	coalesce(nullif(u.name, ''), u.email, '') as author`

func versionByNumber(ctx context.Context, q postgres.Queryer, accountID, id string, number int) (versionRow, error) {
	return postgres.Get[versionRow](ctx, q, `
		select `+versionColumns+`, v.content from prompt_versions v left join users u on u.id = v.author
		where v.account_id = $1 and v.prompt_id = $2 and v.number = $3`, accountID, id, number)
}
