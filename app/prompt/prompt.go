package prompt

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/postgres"
)

// These limits apply to the prompts of an account.
const (
	promptsMax    = 500
	versionsMax   = 200 // One prompt has at most this many versions.
	keptBytesMax  = 200 << 20
	nameRunesMax  = 80
	wordsRunesMax = 200 // A search text has at most this many characters.
	pageMax       = 100
)

// Options are what the service works with.
type Options struct {
	Audit  *audit.Log
	Now    app.Clock
	IDs    app.IDs
	Random io.Reader // Random is the source of the secrets of links.

	// LockActor refuses who makes a link when their session has ended since the request began, and keeps it from ending before the
	// transaction does; nil refuses no one.
	LockActor func(ctx context.Context, q postgres.Queryer, p app.Principal) error
}

// Service keeps prompts. It is safe for concurrent use.
type Service struct {
	db *sqlx.DB
	o  Options
}

// New opens the service. It panics when a required option is missing.
func New(db *sqlx.DB, o Options) *Service {
	app.RequireOptions("prompt.New", map[string]bool{
		"db": db != nil, "Options.Audit": o.Audit != nil, "Options.Now": o.Now != nil, "Options.IDs.Now": o.IDs.Now != nil,
		"Options.IDs.Random": o.IDs.Random != nil, "Options.Random": o.Random != nil,
	})
	return &Service{db: db, o: o}
}

func (s *Service) now() time.Time { return s.o.Now().UTC() }

// Prompt is a prompt as lists show it: with what is known of its newest version.
type Prompt struct {
	ID        string
	Name      string
	Latest    int // Latest is the number of the newest version.
	Model     string
	Variables []string
	Author    string // Author is the name or e-mail address of the newest version's author, or empty if the user is gone.
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Version is one state of a prompt.
type Version struct {
	Number    int
	Bytes     int64
	Model     string
	Author    string
	Restored  int // Restored is the number of the version that this version restores; zero means none.
	CreatedAt time.Time
	Content   Content // Content is set only in a version that was requested by its number.
}

func (r promptRow) prompt() Prompt {
	return Prompt{
		ID: r.ID, Name: r.Name, Latest: r.Latest, Model: r.Model, Variables: r.Variables, Author: r.Author, CreatedAt: r.CreatedAt,
		UpdatedAt: r.UpdatedAt,
	}
}

func (r versionRow) version() (v Version, err error) {
	v = Version{Number: r.Number, Bytes: r.Bytes, Model: r.Model, Author: r.Author, CreatedAt: r.CreatedAt}
	if r.Restored != nil {
		v.Restored = *r.Restored
	}
	if r.Document != "" {
		v.Content, err = parse(r.Document)
	}
	return v, err
}

// Create keeps a new prompt.
func (s *Service) Create(ctx context.Context, p app.Principal, name string, c Content) (Prompt, error) {
	name, err := cleanName(name)
	if err != nil {
		return Prompt{}, err
	}
	document, err := c.document()
	if err != nil {
		return Prompt{}, err
	}
	id, now := s.o.IDs.New("prompt"), s.now()
	var made promptRow
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		count, kept, err := lockAccount(ctx, tx, p.AccountID)
		if err != nil {
			return err
		}
		if count >= promptsMax {
			return app.Errorf(app.Conflict, "prompts_exhausted",
				"This account has %d prompts, which is the limit. Delete one that is no longer used.", promptsMax)
		}
		if err := room(kept, document); err != nil {
			return err
		}
		if err := postgres.Exec(ctx, tx, `
			insert into prompts (id, account_id, name, latest, created_at, updated_at) values ($1, $2, $3, 1, $4, $4)`,
			id, p.AccountID, name, now); err != nil {
			return err
		}
		if err := insertVersion(ctx, tx, p.AccountID, versionOf(p, id, 1, document, c, now)); err != nil {
			return err
		}
		if err := s.note(ctx, tx, p, "prompt.created", id, name); err != nil {
			return err
		}
		made, err = promptByID(ctx, tx, p.AccountID, id)
		return err
	})
	return made.prompt(), postgres.StoreError("prompt: create a prompt", err)
}

func versionOf(p app.Principal, id string, number int, document string, c Content, now time.Time) versionRow {
	v := versionRow{
		PromptID: id, Number: number, Document: document, Model: c.Model, Variables: c.VariableNames(), AuthorID: p.UserID, CreatedAt: now,
	}
	if v.Variables == nil {
		v.Variables = []string{}
	}
	return v
}

func room(kept int64, document string) error {
	if kept+int64(len(document)) <= keptBytesMax {
		return nil
	}
	return app.Errorf(app.Conflict, "prompts_exhausted",
		"The prompts of this account hold %d MB with all their versions, which is the limit. Delete prompts that are no longer used.",
		keptBytesMax>>20)
}

// ErrNewer is the code of a save that began from a version which is not the newest any more.
const ErrNewer = "prompt_changed"

// Save adds a version to a prompt. It names the version that the author began from: when there is a newer one, nothing is
// saved and the error says so, with the code ErrNewer. A content that is the newest version's makes none, and is no
// error. It returns the number of the version that now holds the content.
func (s *Service) Save(ctx context.Context, p app.Principal, id string, base int, c Content) (number int, err error) {
	return s.add(ctx, p, id, base, nil, func(context.Context, postgres.Queryer) (Content, error) { return c, nil })
}

// Restore makes an old version the newest again, as a version of its own.
func (s *Service) Restore(ctx context.Context, p app.Principal, id string, old int) (number int, err error) {
	return s.add(ctx, p, id, 0, &old, func(ctx context.Context, q postgres.Queryer) (Content, error) {
		v, err := versionByNumber(ctx, q, p.AccountID, id, old)
		if err != nil {
			return Content{}, err
		}
		return parse(v.Document)
	})
}

// add makes the content that read gives the newest version. A base of zero is any.
func (s *Service) add(
	ctx context.Context, p app.Principal, id string, base int, restored *int, read func(context.Context, postgres.Queryer) (Content, error),
) (number int, err error) {
	if !idForm.MatchString(id) {
		return 0, errNoPrompt()
	}
	now := s.now()
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		_, kept, err := lockAccount(ctx, tx, p.AccountID)
		if err != nil {
			return err
		}
		latest, err := latestOf(ctx, tx, p.AccountID, id)
		if err != nil {
			return err
		}
		c, err := read(ctx, tx)
		if err != nil {
			return err
		}
		document, err := c.document()
		if err != nil {
			return err
		}
		if number = latest.Number; latest.Document == document {
			return nil
		}
		if base != 0 && base != latest.Number {
			return app.Errorf(app.Conflict, ErrNewer,
				"Version %d of this prompt was saved in the meantime. Save yours as a further version, or open the newer one.", latest.Number)
		}
		if latest.Number >= versionsMax {
			return app.Errorf(app.Conflict, "prompts_exhausted",
				"This prompt has %d versions, which is the limit. Duplicate it to go on: the copy begins with this version.", versionsMax)
		}
		if err := room(kept, document); err != nil {
			return err
		}
		number = latest.Number + 1
		v := versionOf(p, id, number, document, c, now)
		v.Restored = restored
		if err := insertVersion(ctx, tx, p.AccountID, v); err != nil {
			return err
		}
		return postgres.Exec(ctx, tx, `
			update prompts set latest = $3, updated_at = $4 where account_id = $1 and id = $2`, p.AccountID, id, number, now)
	})
	return number, found("save a version", err)
}

// Page is a part of the list of prompts.
type Page struct {
	Prompts []Prompt
	Total   int // Total counts all prompts that match.
}

// List returns prompts whose name or model has the words in it, the ones changed last first; no words are all prompts.
func (s *Service) List(ctx context.Context, p app.Principal, words string, limit, offset int) (Page, error) {
	words = strings.TrimSpace(words)
	if utf8.RuneCountInString(words) > wordsRunesMax || !app.Storable(words) {
		return Page{}, nil // The search text matches no name.
	}
	total, err := postgres.Get[int](ctx, s.db, `
		select count(*) from prompts p join prompt_versions v on v.prompt_id = p.id and v.number = p.latest
		where p.account_id = $1 and ($2 = '' or position(lower($2) in lower(p.name || ' ' || v.model)) > 0)`, p.AccountID, words)
	if err != nil {
		return Page{}, postgres.StoreError("prompt: count prompts", err)
	}
	rows, err := postgres.Select[promptRow](ctx, s.db, `
		select `+promptColumns+`where p.account_id = $1 and ($2 = '' or position(lower($2) in lower(p.name || ' ' || v.model)) > 0)
		order by p.updated_at desc, p.id desc limit $3 offset $4`,
		p.AccountID, words, min(max(limit, 1), pageMax), min(max(offset, 0), promptsMax))
	if err != nil {
		return Page{}, postgres.StoreError("prompt: list prompts", err)
	}
	page := Page{Total: total}
	for _, r := range rows {
		page.Prompts = append(page.Prompts, r.prompt())
	}
	return page, nil
}

// Get returns one prompt.
func (s *Service) Get(ctx context.Context, p app.Principal, id string) (Prompt, error) {
	if !idForm.MatchString(id) {
		return Prompt{}, errNoPrompt()
	}
	r, err := promptByID(ctx, s.db, p.AccountID, id)
	return r.prompt(), found("read a prompt", err)
}

// Version returns one version with its content.
func (s *Service) Version(ctx context.Context, p app.Principal, id string, number int) (Version, error) {
	if !idForm.MatchString(id) || number < 1 || number > versionsMax {
		return Version{}, errNoPrompt()
	}
	r, err := versionByNumber(ctx, s.db, p.AccountID, id, number)
	if err != nil {
		return Version{}, found("read a version", err)
	}
	return r.version()
}

// Versions lists the versions of a prompt without their contents, the newest first.
func (s *Service) Versions(ctx context.Context, p app.Principal, id string) ([]Version, error) {
	rows, err := postgres.Select[versionRow](ctx, s.db, `
		select `+versionColumns+` from prompt_versions v left join users u on u.id = v.author
		where v.account_id = $1 and v.prompt_id = $2 order by v.number desc limit $3`, p.AccountID, id, versionsMax)
	if err != nil {
		return nil, postgres.StoreError("prompt: list versions", err)
	}
	list := make([]Version, len(rows))
	for i, r := range rows {
		if list[i], err = r.version(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Rename gives a prompt another name.
func (s *Service) Rename(ctx context.Context, p app.Principal, id, name string) error {
	name, err := cleanName(name)
	if err != nil {
		return err
	}
	if !idForm.MatchString(id) {
		return errNoPrompt()
	}
	done, err := postgres.Changed(s.db.ExecContext(ctx, `
		update prompts set name = $3 where account_id = $1 and id = $2`, p.AccountID, id, name))
	if err == nil && !done {
		return errNoPrompt()
	}
	return postgres.StoreError("prompt: rename a prompt", err)
}

// Duplicate makes a prompt of the newest version of another.
func (s *Service) Duplicate(ctx context.Context, p app.Principal, id string) (Prompt, error) {
	one, err := s.Get(ctx, p, id)
	if err != nil {
		return Prompt{}, err
	}
	v, err := s.Version(ctx, p, id, one.Latest)
	if err != nil {
		return Prompt{}, err
	}
	const suffix = " (copy)"
	name := []rune(one.Name)
	return s.Create(ctx, p, string(name[:min(len(name), nameRunesMax-len(suffix))])+suffix, v.Content)
}

// Delete removes a prompt with its versions and its links.
func (s *Service) Delete(ctx context.Context, p app.Principal, id string) error {
	if !idForm.MatchString(id) {
		return errNoPrompt()
	}
	return found("delete a prompt", postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		name, err := postgres.Get[string](ctx, tx, `delete from prompts where account_id = $1 and id = $2 returning name`, p.AccountID, id)
		if err != nil {
			return err
		}
		return s.note(ctx, tx, p, "prompt.deleted", id, name)
	}))
}

func (s *Service) note(
	ctx context.Context, q postgres.Queryer, p app.Principal, action audit.Action, id, name string, c ...audit.Change,
) error {
	return s.o.Audit.Write(ctx, q, p, audit.Event{Action: action, Object: id, Name: name, Changes: c})
}

var (
	idForm    = regexp.MustCompile(`^prompt_[0-9a-z]{26}$`)
	shareForm = regexp.MustCompile(`^share_[0-9a-z]{26}$`)
)

// cleanName is a name in one line, or says what is wrong with it.
func cleanName(name string) (string, error) {
	name = strings.Join(strings.Fields(name), " ")
	bad := func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }
	if n := utf8.RuneCountInString(name); n == 0 || n > nameRunesMax || strings.ContainsFunc(name, bad) {
		return "", app.Errorf(app.Invalid, "invalid_value", "Enter a name (1–%d characters).", nameRunesMax).
			At("name")
	}
	return name, nil
}

func errNoPrompt() error {
	return app.Errorf(app.NotFound, "prompt_not_found", "There is no such prompt.")
}

// found tells what is not there from faults.
func found(doing string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return errNoPrompt()
	}
	return postgres.StoreError("prompt: "+doing, err)
}
