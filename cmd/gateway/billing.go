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

	"github.com/jmoiron/sqlx"

	operatorpages "umg/app/console/operator"
	"umg/app/mail"
	"umg/app/postgres"
	"umg/billing"
	"umg/billing/journal"
	"umg/billing/lease"
	"umg/billing/stripe"
	"umg/billing/usage"
)

// billingLayer is what moves credit and money: the ledger with the reports of usage, this replica's leases of
// credit, and payments, which send mail.
type billingLayer struct {
	ledger     *billing.Ledger
	reports    *usage.Reports
	replica    string             // The id distinguishes this replica from others.
	folder     *journal.Directory // The folder and the journal are nil when settlements are kept in the database.
	journal    *journal.Log
	applier    *sqlx.DB // The applier's pool runs batches of the journal.
	reads      *sqlx.DB // Reports have a pool of their own.
	leaseStore *lease.SQLStore
	leases     *lease.Manager
	mail       *mail.Service
	payments   *stripe.Service
}

// openBilling opens the ledger, the lease manager, mail and payments.
func (g *gatewayServer) openBilling(ctx context.Context) error {
	b, s := &g.billing, &g.stores
	b.ledger = billing.NewLedger(s.database.db, billing.Options{Now: s.clock.Now, IDs: s.ids, Log: g.log})
	var (
		server *mail.SMTP
		err    error
	)
	b.reads, err = postgres.Open(ctx, s.database.dsn, postgres.Options{
		Name: "gateway reports", Connections: usage.ReadConnections, StatementMax: usage.ReadStatementMax, OneCore: true,
	})
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	b.reports = usage.NewReports(s.database.db, usage.Options{
		Now: s.clock.Now, Log: g.log, RecordsKept: g.cfg.UsageRetention, Reads: b.reads,
	})
	if err := g.openLeases(ctx); err != nil {
		return err
	}
	if g.cfg.SMTP != "" {
		if server, err = mail.ParseSMTP(g.cfg.SMTP); err != nil {
			return err
		}
	}
	b.mail, err = mail.New(s.database.db, mail.Options{
		Key: s.key, SMTP: server, From: g.cfg.MailFrom, Now: s.clock.Now, IDs: s.ids, Log: g.log,
	})
	if err != nil {
		return err
	}
	b.payments, err = stripe.New(s.database.db, stripe.Options{
		Key: g.cfg.StripeKey, WebhookSecret: g.cfg.StripeWebhookSecret, APIBase: g.cfg.StripeURL, BaseURL: g.cfg.BaseURL,
		Ledger: b.ledger, Mail: b.mail, Now: s.clock.Now, IDs: s.ids, Log: g.log, Settled: b.leases.Applied,
	})
	return err
}

// openLeases opens the journal and recovers what an earlier run of this replica left in it.
func (g *gatewayServer) openLeases(ctx context.Context) (err error) {
	b, s := &g.billing, &g.stores
	o := lease.Options{
		ReplicaID: s.ids.New("rep"), Listener: s.listener, Now: time.Now, Log: g.log, Balance: b.ledger.Balance,
	}
	b.leaseStore = lease.OpenBank(s.database.db, time.Now, s.ids)
	b.applier, err = postgres.Open(ctx, s.database.dsn, postgres.Options{
		Name: "gateway applier", Connections: 1, StatementMax: lease.ApplyStatementMax,
	})
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	b.leaseStore.SetApplier(b.applier)
	o.Bank, o.Registry = b.leaseStore, b.leaseStore
	if g.cfg.Journal != journalInDatabase {
		if o.ReplicaID, err = g.openJournal(o.ReplicaID); err != nil {
			return err
		}
		o.Journal = b.journal
	}
	b.replica = o.ReplicaID
	if b.leases, err = lease.New(o); err != nil {
		return err
	}
	if err := b.leases.Recover(ctx); err != nil {
		return fmt.Errorf("recover settlements: %w", err)
	}
	return nil
}

// openJournal opens the journal of a folder, and returns the id of the replica that owns it.
func (g *gatewayServer) openJournal(newReplicaID string) (id string, err error) {
	b, folder := &g.billing, g.cfg.Journal
	if folder == "" {
		folder = filepath.Join(g.cfg.Data, "journal")
	}
	if b.folder, err = journal.Folder(folder); err != nil {
		return "", err
	}
	if id, err = replicaID(folder, newReplicaID); err != nil {
		return "", err
	}
	b.journal, err = journal.Open(b.folder, journal.Options{
		Owner: id, FreeBytesMin: g.cfg.JournalMinFree << 20, Now: time.Now, Log: g.log,
	})
	return id, err
}

// replicaID is the id of the replica that owns the journal in a folder. It is random, made once and stored beside the journal.
func replicaID(folder, newID string) (string, error) {
	path := filepath.Join(folder, "replica.id")
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
		return strings.TrimSpace(string(text)), nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	return newID, writeFileOnce(path, []byte(newID+"\n"))
}

func (b *billingLayer) workers() []worker {
	all := []worker{b.leases.Run, b.ledger.Run, b.reports.Run, b.mail.Run}
	if b.payments.Enabled() {
		all = append(all, b.payments.Run)
	}
	return all
}

// settling is the state of this replica's settlements, for operators.
func (b *billingLayer) settling() operatorpages.SettlementStatus {
	s := b.leases.Stats()
	return operatorpages.SettlementStatus{Behind: s.Unapplied, Kept: int64(s.Kept), Refused: s.Quarantined, Running: s.Running}
}

// closeBilling releases the journal's folder and closes the connections of the applier and of reports.
func (g *gatewayServer) closeBilling() error {
	b := &g.billing
	for _, pool := range []*sqlx.DB{b.applier, b.reads} {
		if pool != nil {
			closePool(pool, g.log)
		}
	}
	var err error
	if b.journal != nil {
		err = errors.Join(err, b.journal.Close())
	}
	if b.folder != nil {
		err = errors.Join(err, b.folder.Close())
	}
	return err
}
