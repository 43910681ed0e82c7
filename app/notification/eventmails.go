package notification

import (
	"context"
	"log/slog"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/catalog"
	"umg/app/mail"
	"umg/app/postgres"
)

const (
	eventsCheckedEvery = time.Minute
	expiresWithin      = 7 * 24 * time.Hour  // A mail is sent this long before a key expires.
	eventsMailedFor    = 24 * time.Hour      // An older event is not mailed.
	mailMarksKept      = 60 * 24 * time.Hour // No event needs an older mark.
	dayWithTime        = "2 January 2006, 15:04 UTC"
	dayAlone           = "2 January 2006"
	mailedFooter       = "Settings, Notifications says which mails you get."
)

// dueMail is an event of an account that no mail was sent about.
type dueMail struct {
	AccountID string    `db:"account_id"`
	Subject   string    `db:"subject"` // Subject identifies the event among those of the account.
	ID        string    `db:"id"`      // ID is the id of the object.
	Name      string    `db:"name"`
	Detail    string    `db:"detail"`
	At        time.Time `db:"at"`
}

// mailedEvent is an event that is found in the database.
type mailedEvent struct {
	event Event
	// Due selects the events between two times, $1 and $2, that have no mark yet, $3 at most.
	due    string
	from   time.Duration // From and to are the two times, relative to now.
	to     time.Duration
	letter func(dueMail) mail.Template
	path   func(dueMail) string
}

// mailedEvents are found by indexes, however many rows there are.
var mailedEvents = []mailedEvent{
	{
		event: KeyExpiry, to: expiresWithin,
		due: `select k.account_id, k.id || '/' || extract(epoch from k.expires_at)::bigint as subject, k.id, k.name, '' as detail,
				k.expires_at as at
			from api_keys k where k.expires_at > $1 and k.expires_at <= $2 and k.deleted_at is null and k.disabled_at is null
				and not exists (select from notification_mails m where m.account_id = k.account_id and m.event = 'key_expiry'
					and m.subject = k.id || '/' || extract(epoch from k.expires_at)::bigint)
			order by k.expires_at, k.id limit $3`,
		letter: func(d dueMail) mail.Template {
			return mail.Template{
				Title: "The key “" + d.Name + "” expires soon",
				Paragraphs: []string{"It works until " + d.At.UTC().Format(dayWithTime) + ". Calls with it are refused afterwards. Give it a later " +
					"day, or use another key."},
				Action: mail.Action{Label: "Open the key"},
			}
		},
		path: keyPath,
	},
	{
		event: KeyNetwork, from: -eventsMailedFor, to: time.Minute,
		due: `select n.account_id, n.key_id || '/' || n.network || '/' || extract(epoch from n.since)::bigint as subject, k.id, k.name,
				n.network::text as detail, n.since as at
			from key_networks n join api_keys k on k.id = n.key_id
			where n.is_new and n.since > $1 and n.since <= $2 and k.deleted_at is null and k.disabled_at is null
				and not exists (select from notification_mails m where m.account_id = n.account_id and m.event = 'key_network'
					and m.subject = n.key_id || '/' || n.network || '/' || extract(epoch from n.since)::bigint)
			order by n.since, n.key_id, n.network limit $3`,
		letter: func(d dueMail) mail.Template {
			return mail.Template{
				Title: "The key “" + d.Name + "” is used from a new network",
				Paragraphs: []string{"Since " + d.At.UTC().Format(dayWithTime) + " calls come from " + d.Detail + ". The key was not used from " +
					"there in the 30 days before. If you do not know this network, rotate the key."},
				Action: mail.Action{Label: "Open the key"},
			}
		},
		path: keyPath,
	},
	{
		event: Video, from: -eventsMailedFor, to: time.Minute,
		due: `select v.account_id, to_char(v.completed_at at time zone 'utc', 'YYYY-MM-DD') as subject, min(v.id) as id, '' as name,
				'' as detail, min(v.completed_at) as at
			from video_jobs v where v.completed_at > $1 and v.completed_at <= $2 and v.state = 'failed' and v.deleted_at is null
				and not exists (select from notification_mails m where m.account_id = v.account_id and m.event = 'video'
					and m.subject = to_char(v.completed_at at time zone 'utc', 'YYYY-MM-DD'))
			group by 1, 2 order by 1, 2 limit $3`,
		letter: func(d dueMail) mail.Template {
			return mail.Template{
				Title: "A video could not be made",
				Paragraphs: []string{"It failed on " + d.At.UTC().Format(dayWithTime) + ". Its page says why. If more videos fail on the same day, " +
					"no further mail is sent."},
				Action: mail.Action{Label: "Open the video"},
			}
		},
		path: func(d dueMail) string { return "/console/videos/" + d.ID },
	},
}

func keyPath(d dueMail) string { return "/console/keys/" + d.ID }

// NotifyEvents sends the mails that are due about keys, videos and models that end. Each is sent once. The next call continues where a
// call stopped early.
func (s *PriceChanges) NotifyEvents(ctx context.Context) error {
	if s.o.Mail == nil {
		return nil
	}
	defer postgres.TakeTurn(ctx)()
	for i := range mailedEvents {
		for range batchesMax {
			n, err := s.notifyEvents(ctx, &mailedEvents[i])
			if err != nil {
				return err
			}
			if n < batchMax {
				break
			}
		}
	}
	if err := s.notifyEndings(ctx); err != nil {
		return err
	}
	return postgres.StoreError("notification: delete old marks", postgres.Exec(ctx, s.db, `
		delete from notification_mails where sent_at < $1`, s.o.Now().UTC().Add(-mailMarksKept)))
}

// notifyEvents marks events as mailed and queues their mails in the same transaction.
func (s *PriceChanges) notifyEvents(ctx context.Context, e *mailedEvent) (n int, err error) {
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		now := s.o.Now().UTC()
		list, err := postgres.Select[dueMail](ctx, tx, `
			with due as materialized (`+e.due+`),
			marked as (
				insert into notification_mails (account_id, event, subject, sent_at) select account_id, $4::text, subject, $5::timestamptz from due
				on conflict do nothing returning account_id, subject)
			select d.* from due d join marked m using (account_id, subject)`,
			now.Add(e.from), now.Add(e.to), batchMax, string(e.event), now)
		if err != nil {
			return err
		}
		n = len(list)
		for _, d := range list {
			l := e.letter(d)
			l.Action.URL = s.o.BaseURL + e.path(d)
			if err := s.sendEvent(ctx, tx, e.event, d.AccountID, l); err != nil {
				return err
			}
		}
		return nil
	})
	return n, postgres.StoreError("notification: mail events", err)
}

// notifyEndings sends mails about models that are deprecated or shut down, to accounts that called them lately.
func (s *PriceChanges) notifyEndings(ctx context.Context) error {
	now := s.o.Now().UTC()
	for _, m := range s.o.Catalog().Models() {
		if m.ShutdownAt == nil && m.DeprecatedAt == nil || m.ShutdownAt != nil && m.ShutdownAt.Before(now) {
			continue
		}
		l, change := endingLetter(m)
		l.Action.URL = s.o.BaseURL + pathOfModel + m.ID
		err := postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
			accounts, err := markNotified(ctx, tx, m.ID, change, now.Add(-usedWithin), now)
			if err != nil {
				return err
			}
			for _, id := range accounts {
				if !m.IsVisibleTo(id) { // The account called the model while it could see it.
					continue
				}
				if err := s.sendEvent(ctx, tx, Model, id, l); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return postgres.StoreError("notification: mail the end of a model", err)
		}
	}
	return nil
}

// endingLetter is the mail about a model that ends, and the mark that keeps it from being sent twice.
func endingLetter(m *catalog.Model) (l mail.Template, change string) {
	l = mail.Template{
		Title: m.Name + " is deprecated", Action: mail.Action{Label: "Open the model"},
		Paragraphs: []string{"You called " + m.ID + " in the last 30 days. Look for a model to take its place."},
	}
	if m.ShutdownAt == nil {
		return l, "deprecated"
	}
	day := m.ShutdownAt.UTC().Format(dayAlone)
	l.Title = m.Name + " is shut down on " + day
	return l, "shutdown " + m.ShutdownAt.UTC().Format(time.DateOnly)
}

// sendEvent queues a mail to the members who manage keys and call models.
func (s *PriceChanges) sendEvent(ctx context.Context, q postgres.Queryer, event Event, accountID string, l mail.Template) error {
	to, err := s.o.Accounts.Recipients(ctx, q, accountID, string(event), app.RoleOwner, app.RoleAdmin, app.RoleDeveloper)
	if err != nil {
		return err
	}
	l.Footer = "You get this mail as a member of the account. " + mailedFooter
	return mail.SendAll(ctx, q, s.o.Mail, s.o.Log, mail.Broadcast{
		Letter: l, Subject: l.Title, Kind: string(event), To: to, About: slog.String("account_id", accountID),
	})
}
