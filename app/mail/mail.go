// Package mail tells people things by e-mail: a message is written in the transaction that makes it true and delivered
// later, at least once. It knows addresses, the queue, the schedule of retries and one mail server. It does not know what
// a message means, nor whom an address belongs to.
package mail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	netmail "net/mail"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
	"umg/app/seal"
)

const (
	addressBytesMax = 254
	subjectRunesMax = 200
	kindBytesMax    = 40
	textBytesMax    = 64 << 10
	htmlBytesMax    = 256 << 10
	outboxMax       = 200 // The page shows this many mails.
)

// Message is the content of a mail. HTML is optional; where it is shown it replaces the text.
type Message struct {
	To      string // To is an address, without a name.
	Subject string
	Text    string
	HTML    string
	Kind    string // Kind is for example verify_email.
}

// State is what became of a mail.
type State string

// These are the states of a mail.
const (
	Queued State = "queued" // The mail waits for an attempt.
	Sent   State = "sent"   // A mail server has accepted the mail.
	Failed State = "failed" // A mail server rejected the mail permanently, or attempts failed for a day.
	Kept   State = "kept"   // Without a mail server, the mail is shown only in the outbox.
)

// Mail is a message and what became of it.
type Mail struct {
	ID        string     `db:"id"`
	Kind      string     `db:"kind"`
	To        string     `db:"recipient"`
	Subject   string     `db:"subject"`
	Text      string     `db:"body_text"` // Text may hold a sign-in link, so it is empty once the mail was sent or given up.
	HTML      string     `db:"body_html"`
	Sealed    []byte     `db:"body_sealed"` // Sealed is the encrypted text and HTML in the database. Service decrypts it and returns nil here.
	State     State      `db:"state"`
	Attempts  int        `db:"attempts"`
	DueAt     *time.Time `db:"due_at"`
	LastError string     `db:"last_error"`
	CreatedAt time.Time  `db:"created_at"`
	EndedAt   *time.Time `db:"ended_at"`
}

// Options of the service. All but SMTP are required; From is not without SMTP.
type Options struct {
	Key  [seal.KeyBytes]byte // Key is the server's secret, which encrypts the bodies of mails in the database.
	SMTP *SMTP               // Without SMTP, mails are stored and not sent.
	From string              // From is "Name <address>", or an address.
	Now  app.Clock
	IDs  app.IDs
	Log  *slog.Logger
}

// Service keeps mails and delivers them. It is safe for concurrent use.
type Service struct {
	db     *sqlx.DB
	o      Options
	bodies *seal.Sealer
	from   *netmail.Address
}

// New makes the service.
func New(db *sqlx.DB, o Options) (*Service, error) {
	err := app.MissingOption("mail.New", map[string]bool{
		"db": db != nil, "Options.Now": o.Now != nil, "Options.IDs.Now": o.IDs.Now != nil, "Options.IDs.Random": o.IDs.Random != nil,
		"Options.Log": o.Log != nil, "Options.Key": o.Key != [seal.KeyBytes]byte{},
	})
	if err != nil {
		return nil, err
	}
	s := &Service{db: db, o: o, bodies: seal.New(o.Key, "umg mail bodies")}
	if o.SMTP == nil {
		return s, nil
	}
	if err := o.SMTP.check(); err != nil {
		return nil, err
	}
	from, err := netmail.ParseAddress(o.From)
	if err != nil || strings.ContainsAny(o.From, "\r\n\x00") {
		return nil, fmt.Errorf("mail: the sender %q is not an address such as Name <name@example.com>", o.From)
	}
	s.from = from
	return s, nil
}

// Send queues a message in the caller's transaction: it goes out when that commits, and never if it does not.
func (s *Service) Send(ctx context.Context, q postgres.Queryer, m Message) error {
	if err := m.check(); err != nil {
		return err
	}
	now := s.now()
	one := Mail{ID: s.o.IDs.New("mail"), Kind: m.Kind, To: m.To, Subject: m.Subject, Text: m.Text, HTML: m.HTML, State: Queued,
		DueAt: &now, CreatedAt: now}
	if s.o.SMTP == nil {
		one.State, one.DueAt, one.EndedAt = Kept, nil, &now
	}
	if err := s.sealBody(&one); err != nil {
		return err
	}
	return postgres.StoreError("mail: queue a mail", postgres.Exec(ctx, q, `
		insert into mails (`+columns+`) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		one.ID, one.Kind, one.To, one.Subject, one.Text, one.HTML, one.Sealed, one.State, one.Attempts,
		one.DueAt, one.LastError, one.CreatedAt, one.EndedAt))
}

// Outbox are the latest mails, newest first.
func (s *Service) Outbox(ctx context.Context, limit int) ([]Mail, error) {
	list, err := postgres.Select[Mail](ctx, s.db, `
		select `+columns+` from mails order by created_at desc, id desc limit $1`, min(max(limit, 1), outboxMax))
	for i := range list {
		err = errors.Join(err, s.openBody(&list[i]))
	}
	return list, postgres.StoreError("mail: list mails", err)
}

// Get is one mail.
func (s *Service) Get(ctx context.Context, id string) (Mail, error) {
	m, found, err := byID(ctx, s.db, id)
	if err == nil && !found {
		return Mail{}, app.Errorf(app.NotFound, "mail_not_found", "There is no such mail; mails are removed after 7 days.")
	}
	if err == nil {
		err = s.openBody(&m)
	}
	return m, postgres.StoreError("mail: read a mail", err)
}

// check refuses what could not be delivered, or would write headers of its own.
func (m Message) check() error {
	address, err := netmail.ParseAddress(m.To)
	switch {
	case err != nil || address.Address != m.To || len(m.To) > addressBytesMax || !plain(m.To):
		return app.Errorf(app.Invalid, "invalid_email", "Enter a complete e-mail address, such as you@company.com.").At("email")
	case m.Subject == "" || utf8.RuneCountInString(m.Subject) > subjectRunesMax || !plain(m.Subject):
		return fmt.Errorf("mail: a subject has 1 to %d characters on one line", subjectRunesMax)
	case m.Kind == "" || len(m.Kind) > kindBytesMax || strings.Trim(m.Kind, "abcdefghijklmnopqrstuvwxyz_.0123456789") != "":
		return fmt.Errorf("mail: the kind %q is not a word of at most %d small letters", m.Kind, kindBytesMax)
	case strings.TrimSpace(m.Text) == "" || len(m.Text) > textBytesMax || len(m.HTML) > htmlBytesMax:
		return fmt.Errorf("mail: a text has 1 to %d bytes, and its other form at most %d", textBytesMax, htmlBytesMax)
	case !utf8.ValidString(m.Text+m.HTML) || strings.ContainsRune(m.Text+m.HTML, 0):
		return errors.New("mail: a text is not UTF-8, or has a zero byte")
	}
	return nil
}

// plain reports whether s can stand in a header: UTF-8 on one line, and no control character.
func plain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || r >= 0x7f && r <= 0x9f || r == '\u2028' || r == '\u2029'
	})
}

// now is the clock's time with the precision of the store.
func (s *Service) now() time.Time { return s.o.Now().UTC().Truncate(time.Microsecond) }
