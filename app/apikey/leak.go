package apikey

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/mail"
	"umg/app/postgres"
	"umg/app/seal"
)

// LeaksMax is how many secrets one report may name.
const LeaksMax = 100

// LeakReport is a secret that was found in a public place.
type LeakReport struct {
	Secret string
	URL    string // URL is where it was found. It is empty when the report does not say.
	Source string // Source is the kind of place, as the reporter names it.
}

// ReportLeaks switches off the keys whose secrets were found in public, and notifies their people. It reports for each leak whether
// it was a secret of a key. Reports of signed partners are not rate limited. An anonymous reporter only needs the secret, because
// its holder could do worse with it.
func (s *Service) ReportLeaks(ctx context.Context, leaks []LeakReport, from app.Origin, signed bool) ([]bool, error) {
	if !signed {
		if err := s.o.Accounts.AdmitLeakReports(ctx, from.IP, len(leaks)); err != nil {
			return nil, err
		}
	}
	ours := make([]bool, len(leaks))
	for i, l := range leaks {
		if !wellFormed(l.Secret) {
			continue
		}
		var err error
		if ours[i], err = s.reportLeak(ctx, l, from, signed); err != nil {
			return nil, postgres.StoreError("apikey: report a leak", err)
		}
	}
	return ours, nil
}

// reportLeak switches off one key, once: a repeated report finds the key off and sends no second mail.
func (s *Service) reportLeak(ctx context.Context, l LeakReport, from app.Origin, signed bool) (ours bool, err error) {
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		k, err := lockLeakedKey(ctx, tx, seal.FingerprintOf(l.Secret), s.o.Now().UTC())
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		ours = err == nil
		if err != nil || k.Secret.LeakedAt != nil && k.Disabled {
			return err
		}
		if err := postgres.Exec(ctx, tx, `
			update api_keys set disabled_at = coalesce(disabled_at, $3), leaked_at = coalesce(leaked_at, $3)
			where account_id = $1 and id = $2 and deleted_at is null`, k.AccountID, k.ID, s.o.Now().UTC()); err != nil {
			return err
		}
		err = s.audit.Write(ctx, tx, app.Principal{AccountID: k.AccountID, From: from}, audit.Event{
			Action: "key.leaked", Object: k.ID, Name: k.Name,
			Changes: audit.Changed(audit.Change{Field: "found at", To: l.URL}, audit.Change{Field: "source", To: l.Source}),
		})
		if err != nil || s.o.Mail == nil {
			return err
		}
		place := "The audit log of the account has what the report says of the place."
		if at, ok := l.address(); signed && ok {
			place = "It was found at " + mail.Quote(at) + "; the audit log has the whole address."
		}
		return s.notifyLeak(ctx, tx, k, place)
	})
	return ours, err
}

// address is where a leak was found, if that is an address on the web and nothing else. It is in a mail that is ours.
func (l LeakReport) address() (string, bool) {
	u, err := url.Parse(l.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return "", false
	}
	return u.String(), !strings.ContainsFunc(u.String(), func(r rune) bool { return r <= ' ' || r > '~' })
}

// notifyLeak writes to owners and admins, and to the user who made the key if they are still a member. An address that cannot
// receive mail must not keep the key on.
func (s *Service) notifyLeak(ctx context.Context, tx *sqlx.Tx, k Key, place string) error {
	people, err := s.o.Accounts.Recipients(ctx, tx, k.AccountID, "", app.RoleOwner, app.RoleAdmin)
	if err != nil {
		return err
	}
	if k.CreatedBy != "" && !slices.Contains(people, k.CreatedBy) {
		still, err := postgres.Get[bool](ctx, tx, `
			select exists(select from memberships m join users u on u.id = m.user_id where m.account_id = $1 and u.email = $2)`,
			k.AccountID, k.CreatedBy)
		if err != nil {
			return err
		}
		if still {
			people = append(people, k.CreatedBy)
		}
	}
	return mail.SendAll(ctx, tx, s.o.Mail, s.o.Log, mail.Broadcast{
		Letter: leakLetter(k, s.o.BaseURL, place), Subject: leakSubject, Kind: "key_leaked", To: people, About: slog.String("key_id", k.ID),
	})
}

const leakSubject = "A key was found in public and is switched off"

func leakLetter(k Key, baseURL, place string) mail.Template {
	return mail.Template{
		Title: leakSubject,
		Paragraphs: []string{
			fmt.Sprintf("A secret of the key %s (it ends in %s) was reported to us. %s", mail.Quote(k.Name), k.Secret.LastFour, place),
			"The key is refused from now on. Look at its requests of the last days, then rotate it and enable it again.",
			mail.WrittenBy("members of the account, or by the reporter of the secret"),
		},
		Action: mail.Action{Label: "Open the key", URL: baseURL + "/console/keys/" + k.ID},
		Footer: "You get this message as an owner or admin of the account, or because you made the key.",
	}
}

// lockLeakedKey finds the key that a secret still opens, also when it is the one of before a rotation, and keeps it as it is.
func lockLeakedKey(ctx context.Context, q postgres.Queryer, f seal.Fingerprint, now time.Time) (Key, error) {
	var r keyRow
	err := q.GetContext(ctx, &r, `
		select `+keyColumns+keyBudget+keyMaker+keyFromMaker+`
		where (k.secret_hash = $1 or k.previous_hash = $1 and k.previous_until > $2) and k.deleted_at is null
		for no key update of k`, f[:], now)
	return r.key(), err
}
