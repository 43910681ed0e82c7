package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"umg/app"
	operatorpages "umg/app/console/operator"
	"umg/app/mail"
	"umg/app/postgres"
	"umg/billing"
	"umg/billing/journal"
	"umg/billing/lease"
	"umg/billing/stripe"
)

// journalInDatabase is the value of the journal flag for a server without a journal on disk.
const journalInDatabase = "postgres"

// moneyFlags configure settlement, payments and mail.
type moneyFlags struct {
	Journal     string        `env:"UMG_JOURNAL" help:"Folder of the settlement journal; postgres for no disk." placeholder:"DIR"`
	JournalFree int64         `default:"1024" env:"UMG_JOURNAL_FREE_MIB" help:"MiB of free disk below which calls are refused."`
	RecordsKept time.Duration `default:"9600h" env:"UMG_RECORDS_KEPT" help:"How long the record of each request is kept, by whole months."`

	StripeKey           string `env:"UMG_STRIPE_KEY" secret:"value" help:"Secret key of the payment service; else no sale." placeholder:"KEY"`
	StripeWebhookSecret string `env:"UMG_STRIPE_WEBHOOK_SECRET" secret:"value" help:"Signs its events; else none." placeholder:"SECRET"`
	StripeURL           string `env:"UMG_STRIPE_URL" help:"Another address of the payment service, for a stand-in." placeholder:"URL"`

	SMTP     string `env:"UMG_SMTP" secret:"address" help:"smtp://USER:PASSWORD@HOST:PORT; else mails are kept." placeholder:"URL"`
	MailFrom string `env:"UMG_MAIL_FROM" help:"Sender of mails." placeholder:"ADDRESS"`
}

// check validates the flags.
func (f *moneyFlags) check() error {
	if f.RecordsKept < 31*24*time.Hour {
		return errors.New("--records-kept must be at least 744h, a month")
	}
	if f.JournalFree < 0 {
		return errors.New("--journal-free must not be negative")
	}
	if f.StripeKey == "" && (f.StripeWebhookSecret != "" || f.StripeURL != "") {
		return errors.New("--stripe-webhook-secret and --stripe-url mean nothing without UMG_STRIPE_KEY")
	}
	if f.SMTP != "" && f.MailFrom == "" {
		return errors.New("UMG_SMTP needs --mail-from, the address that mails come from")
	}
	if f.SMTP == "" {
		return nil
	}
	_, err := mail.ParseSMTP(f.SMTP)
	return err
}

// openMoney opens the ledger, the lease manager, mail and payments.
func (h *gatewayServer) openMoney(ctx context.Context, ids app.IDs, key [secretKeyBytes]byte) error {
	h.ledger = billing.NewLedger(h.store.db, billing.Options{
		Now: h.clock.Now, IDs: ids, Log: h.log, RecordsKept: h.cfg.RecordsKept,
	})
	if err := h.openLeases(ctx, ids); err != nil {
		return err
	}
	var (
		server *mail.SMTP
		err    error
	)
	if h.cfg.SMTP != "" {
		if server, err = mail.ParseSMTP(h.cfg.SMTP); err != nil {
			return err
		}
	}
	h.mail, err = mail.New(h.store.db, mail.Options{Key: key, SMTP: server, From: h.cfg.MailFrom, Now: h.clock.Now, IDs: ids, Log: h.log})
	if err != nil {
		return err
	}
	h.payments, err = stripe.New(h.store.db, stripe.Options{
		Key: h.cfg.StripeKey, WebhookSecret: h.cfg.StripeWebhookSecret, APIBase: h.cfg.StripeURL, BaseURL: h.cfg.BaseURL,
		Ledger: h.ledger, Mail: h.mail, Now: h.clock.Now, IDs: ids, Log: h.log,
	})
	return err
}

// openLeases opens the journal and recovers what an earlier run of this replica left in it.
func (h *gatewayServer) openLeases(ctx context.Context, ids app.IDs) (err error) {
	o := lease.Options{
		ReplicaID: ids.New("rep"), DSN: h.store.dsn, Now: time.Now, Log: h.log, Balance: h.ledger.Balance,
	}
	h.bank = lease.OpenBank(h.store.db, time.Now, ids)
	h.applier, err = postgres.Open(ctx, h.store.dsn, postgres.Options{
		Name: "gateway applier", Connections: 1, StatementMax: lease.ApplyStatementMax,
	})
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	h.bank.SetApplier(h.applier)
	o.Bank, o.Registry = h.bank, h.bank
	if h.cfg.Journal != journalInDatabase {
		folder := h.cfg.Journal
		if folder == "" {
			folder = filepath.Join(h.cfg.Data, "journal")
		}
		if h.folder, err = journal.Folder(folder); err != nil {
			return err
		}
		if o.ReplicaID, err = replicaID(folder, o.ReplicaID); err != nil {
			return err
		}
		h.journal, err = journal.Open(h.folder, journal.Options{
			Owner: o.ReplicaID, FreeBytesMin: h.cfg.JournalFree << 20, Now: time.Now, Log: h.log,
		})
		if err != nil {
			return err
		}
		o.Journal = h.journal
	}
	h.replica = o.ReplicaID
	if h.leases, err = lease.New(o); err != nil {
		return err
	}
	if err := h.leases.Recover(ctx); err != nil {
		return fmt.Errorf("recover settlements: %w", err)
	}
	return nil
}

// replicaID is the id of the replica that owns the journal in a folder. It is random, made once and stored beside the
// journal.
func replicaID(folder, fresh string) (string, error) {
	path := filepath.Join(folder, "replica.id")
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
		return strings.TrimSpace(string(text)), nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	return fresh, writeFileOnce(path, []byte(fresh+"\n"))
}

// closeMoney releases the journal's folder and closes the applier's connection.
func (h *gatewayServer) closeMoney() error {
	if h.applier != nil {
		closeDatabase(h.applier, h.log)
	}
	var err error
	if h.journal != nil {
		err = errors.Join(err, h.journal.Close())
	}
	if h.folder != nil {
		err = errors.Join(err, h.folder.Close())
	}
	return err
}

// settling is the state of this replica's settlements, for operators.
func (h *gatewayServer) settling() operatorpages.SettlementStatus {
	s := h.leases.Stats()
	return operatorpages.SettlementStatus{Behind: s.Unapplied, Kept: int64(s.Kept), Refused: s.Quarantined, Running: s.Running}
}
