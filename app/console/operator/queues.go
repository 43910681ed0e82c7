package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"umg/app/account"
	"umg/app/asset"
	"umg/app/console/page"
	"umg/app/contentlog"
	"umg/app/mail"
	"umg/app/video"
	"umg/app/webhook"
	"umg/billing"
	"umg/views"
	"umg/views/format"
	operatorpages "umg/views/operator"
)

const (
	queuesPath      = rootPath + "/queues"
	queuesEvery     = 5 * time.Second
	queueItemsMax   = 10
	queueLeftMax    = 10 * time.Minute // Leases of a stopped replica may wait this long to be released.
	queueAssetSlow  = time.Hour
	queueBehindMany = 10_000 // A replica writes fewer settlements in two seconds.
)

// SettlementStatus is the state of the settlements of this replica.
type SettlementStatus struct {
	Behind  int64 // These settlements are in the journal of the replica, but not yet in the ledger.
	Kept    int64 // These settlements are in neither the journal nor the ledger yet.
	Refused int64 // The ledger has rejected these settlements since the process began.
	Running int64 // These calls hold credit.
}

// queues shows the backlog of the background work.
func (c *Console) queues(p *page.Page) error {
	ctx, cancel := context.WithTimeout(p.Request().Context(), queryTimeMax)
	defer cancel()
	q := operatorpages.Queues{Shell: c.Shell(p)}
	err := c.fillQueues(ctx, &q)
	if q.Failure, err = page.Unavailable(p, err); err != nil {
		return err
	}
	return c.Render(p, http.StatusOK, operatorpages.QueuesPage(q))
}

// queuesLive keeps the page up to date by events. Requests that accept no events are redirected to the page.
func (c *Console) queuesLive(p *page.Page) error {
	if !p.AcceptsEvents() {
		return p.Redirect(http.StatusSeeOther, queuesPath)
	}
	return c.StreamEvents(p, queuesEvery, func(ctx context.Context) (views.LiveEvent, bool, error) {
		q := operatorpages.Queues{Shell: views.Shell{Now: c.o.Now(), Path: queuesPath}}
		if err := c.fillQueues(ctx, &q); err != nil {
			return views.LiveEvent{}, false, err
		}
		return views.LiveEvent{HTML: operatorpages.QueuesPart(q)}, true, nil
	})
}

// fillQueues reads the backlog of every service with background work.
func (c *Console) fillQueues(ctx context.Context, q *operatorpages.Queues) error {
	f := queueFiller{q: q, now: q.Now}
	replicas, err := c.o.Ledger.Replicas(ctx)
	err = errors.Join(err,
		addBacklog(ctx, c.o.Videos, (*video.Service).Backlog, f.videos), addBacklog(ctx, c.o.Webhooks, (*webhook.Service).Backlog, f.webhooks),
		addBacklog(ctx, c.o.Assets, (*asset.Service).Backlog, f.assets), addBacklog(ctx, c.o.Mail, (*mail.Service).Backlog, f.mails))
	if err != nil {
		return err
	}
	var own SettlementStatus
	if c.o.Settlements != nil {
		own = c.o.Settlements()
	}
	f.money(replicas, own)
	e, err := c.o.Accounts.Erasures(ctx)
	if err != nil {
		return err
	}
	var kept contentlog.Backlog
	if c.o.Content != nil {
		if kept, err = c.o.Content.Backlog(ctx); err != nil {
			return err
		}
	}
	f.erasures(e, kept)
	if err := c.countJobs(ctx, &f); err != nil {
		return err
	}
	slices.SortStableFunc(q.Items, func(a, b operatorpages.QueueItem) int { return a.Since.Compare(b.Since) })
	q.Items = q.Items[:min(len(q.Items), queueItemsMax)]
	return nil
}

// countJobs adds what is failing to the lines of all queues with jobs, and the lines of queues that have no backlog of their own.
func (c *Console) countJobs(ctx context.Context, f *queueFiller) error {
	queues := c.jobQueues()
	for i := range f.q.Kinds {
		k := &f.q.Kinds[i]
		queue, known := queues[k.ID]
		if k.HasJobs = known; !known || k.Off != "" {
			continue
		}
		counts, err := queue.Count(ctx)
		if err != nil {
			return err
		}
		k.Failing = counts.Failing
	}
	for _, id := range []string{operatorpages.QueuePictures, operatorpages.QueuePayments} {
		queue, known := queues[id]
		if !known {
			continue
		}
		counts, err := queue.Count(ctx)
		if err != nil {
			return err
		}
		f.add(operatorpages.QueueKind{
			ID: id, HasJobs: true, Waiting: counts.Waiting, Working: counts.Working, Failing: counts.Failing, Oldest: counts.Oldest,
			Behind: f.behind(counts.DueSince),
		})
	}
	return nil
}

// addBacklog adds the lines of one service, if the server has that service.
func addBacklog[S, B any](ctx context.Context, s *S, read func(*S, context.Context) (B, error), add func(B)) error {
	if s == nil {
		return nil
	}
	b, err := read(s, ctx)
	if err == nil {
		add(b)
	}
	return err
}

// queueFiller makes the lines of the page from the backlogs of the services.
type queueFiller struct {
	q   *operatorpages.Queues
	now time.Time
}

// behind returns how long something has been due. It is zero for nil.
func (f *queueFiller) behind(since *time.Time) time.Duration {
	if since == nil {
		return 0
	}
	return max(f.now.Sub(*since), 0)
}

func (f *queueFiller) add(k operatorpages.QueueKind, items ...operatorpages.QueueItem) {
	f.q.Kinds = append(f.q.Kinds, k)
	for _, i := range items {
		i.Kind = k.ID
		f.q.Items = append(f.q.Items, i)
	}
}

func (f *queueFiller) videos(b video.Backlog) {
	k := operatorpages.QueueKind{ID: operatorpages.QueueVideos, Behind: f.behind(b.RemovalsSince)}
	var storing, vain int64
	for _, p := range b.Providers {
		one := operatorpages.QueueProvider{
			Name: p.Provider, Queued: p.Queued, Running: p.Running, Storing: p.Storing, Vain: p.Unanswered,
			Oldest: p.Oldest, Behind: f.behind(p.DueSince),
		}
		f.q.Providers = append(f.q.Providers, one)
		k.Waiting, k.Working = k.Waiting+p.Queued, k.Working+p.Running+p.Storing
		storing, vain = storing+p.Storing, vain+p.Unanswered
		k.Behind = max(k.Behind, one.Behind)
		if k.Oldest == nil || p.Oldest.Before(*k.Oldest) {
			k.Oldest = &one.Oldest
		}
	}
	if vain > 0 {
		k.Trouble = "Providers report nothing for " + format.Count(vain) + " of them."
	}
	k.Parts = []operatorpages.QueuePart{{Count: b.Removals, What: "to remove"}}
	k.Done = []operatorpages.QueuePart{{Count: b.Completed, What: "completed"}, {Count: b.Failed, What: "failed"}}
	items := make([]operatorpages.QueueItem, len(b.Trouble))
	for i, j := range b.Trouble {
		why := videoStates[j.State] + " at " + j.Provider + ". No replica polls it, though it is due."
		if j.Unanswered() {
			why = fmt.Sprintf("%s at %s, which gave no answer %d times in a row.", videoStates[j.State], j.Provider, j.Tries)
		}
		items[i] = operatorpages.QueueItem{ID: j.ID, AccountID: j.AccountID, Since: j.CreatedAt, Why: why}
	}
	f.add(k, items...)
}

// videoStates are the states of jobs that have not ended, as operators read them.
var videoStates = map[video.State]string{
	video.Creating: "Handed over", video.Uncertain: "Perhaps taken", video.Queued: "Queued",
	video.InProgress: "Rendering", video.Storing: "Copied",
}

func (f *queueFiller) webhooks(b webhook.Backlog) {
	k := operatorpages.QueueKind{
		ID: operatorpages.QueueWebhooks, Waiting: b.Pending - b.Sending, Working: b.Sending, Oldest: b.Oldest, Behind: f.behind(b.DueSince),
		Parts: []operatorpages.QueuePart{
			{Count: b.Due, What: "due now"}, {Count: b.Retrying, What: "to try again"}, {Count: b.Held, What: "held"},
		},
		Done: []operatorpages.QueuePart{{Count: b.Delivered, What: "delivered"}, {Count: b.Failed, What: "given up in 24 h"}},
	}
	items := make([]operatorpages.QueueItem, len(b.Trouble))
	for i, d := range b.Trouble {
		items[i] = operatorpages.QueueItem{ID: d.ID, AccountID: d.AccountID, Since: d.DueAt, Why: fmt.Sprintf(
			"Due, and not sent to %s. %d attempts so far.", d.Endpoint, d.Attempts)}
	}
	f.add(k, items...)
}

func (f *queueFiller) assets(b asset.Backlog) {
	k := operatorpages.QueueKind{
		ID: operatorpages.QueueAssets, Waiting: max(b.Following+b.Removing-b.Working, 0), Working: b.Working,
		Oldest: b.Oldest, Behind: f.behind(b.DueSince),
		Parts: []operatorpages.QueuePart{{Count: b.Following, What: "not ready"}, {Count: b.Removing, What: "to remove"}},
		Done:  []operatorpages.QueuePart{{Count: b.Settled, What: "settled"}},
	}
	if b.Oldest != nil && f.now.Sub(*b.Oldest) > queueAssetSlow {
		k.Trouble = "Some wait for more than an hour."
	}
	items := make([]operatorpages.QueueItem, len(b.Trouble))
	for i, a := range b.Trouble {
		why := "Not ready at " + a.Provider + ": " + string(a.State) + "."
		if a.Removing {
			why = fmt.Sprintf("To be removed at %s, tried %d times.", a.Provider, a.Tries)
		}
		items[i] = operatorpages.QueueItem{ID: a.ID, AccountID: a.AccountID, Since: a.Since, Why: why}
	}
	f.add(k, items...)
}

func (f *queueFiller) mails(b mail.Backlog) {
	k := operatorpages.QueueKind{
		ID: operatorpages.QueueMails, Waiting: b.Due + b.Retrying, Working: b.Sending, Oldest: b.Oldest, Behind: f.behind(b.Oldest),
		Parts: []operatorpages.QueuePart{{Count: b.Due, What: "due now"}, {Count: b.Retrying, What: "to try again"}},
		Done:  []operatorpages.QueuePart{{Count: b.Sent, What: "sent"}, {Count: b.Failed, What: "given up in 24 h"}},
	}
	if !b.Delivers {
		f.add(operatorpages.QueueKind{ID: operatorpages.QueueMails, Waiting: k.Waiting,
			Off: "There is no mail server; mails are kept and not sent."})
		return
	}
	items := make([]operatorpages.QueueItem, len(b.Trouble))
	for i, m := range b.Trouble {
		items[i] = operatorpages.QueueItem{ID: m.ID, Since: m.CreatedAt,
			Why: fmt.Sprintf("Of the kind %s, %d attempts so far.", m.Kind, m.Attempts)}
	}
	f.add(k, items...)
}

func (f *queueFiller) money(replicas []billing.Replica, own SettlementStatus) {
	k := operatorpages.QueueKind{ID: operatorpages.QueueMoney, Waiting: own.Behind + own.Kept, Working: own.Running,
		Parts: []operatorpages.QueuePart{
			{Count: own.Behind, What: "in the journal of this replica"}, {Count: own.Kept, What: "in its memory alone"},
		}}
	var items []operatorpages.QueueItem
	var words []string
	for _, r := range replicas {
		one := operatorpages.QueueReplica{
			ID: r.ID, Live: r.State == "live", Lost: r.State == "lost", Heard: r.HeartbeatAt, Since: r.StartedAt, Left: r.Left, Leases: r.Leases,
			Marks: r.Marks,
		}
		f.q.Replicas = append(f.q.Replicas, one)
		if one.Live {
			k.Behind = max(k.Behind, f.now.Sub(r.HeartbeatAt))
		}
		if !one.Live && r.Leases+r.Marks > 0 && f.now.Sub(r.HeartbeatAt) > queueLeftMax {
			items = append(items, operatorpages.QueueItem{ID: r.ID, Since: r.HeartbeatAt, Why: fmt.Sprintf(
				"It is over, and left %s in %s and %s to settle.", format.Dollars(r.Left), format.CountOf(r.Leases, "lease", "leases"),
				format.CountOf(r.Marks, "call", "calls"))})
		}
	}
	if len(items) > 0 {
		k.Broken = true
		words = append(words, fmt.Sprintf("Replicas that are over and left something for more than 10 min: %d.", len(items)))
	}
	if own.Refused > 0 {
		k.Broken = true
		words = append(words, "The books refused "+format.Count(own.Refused)+" settlements of this replica; its log has them whole.")
	}
	if own.Behind+own.Kept > queueBehindMany {
		words = append(words, "The books are far behind this replica.")
	}
	k.Trouble = strings.Join(words, " ")
	f.add(k, items...)
}

func (f *queueFiller) erasures(e account.Erasures, kept contentlog.Backlog) {
	items := make([]operatorpages.QueueItem, len(e.Trouble), len(e.Trouble)+len(kept.Trouble))
	for i, one := range e.Trouble {
		items[i] = operatorpages.QueueItem{
			ID: one.AccountID, AccountID: one.AccountID, Since: one.ClosedAt, Why: "Closed, and its next round is overdue.",
		}
	}
	for _, one := range kept.Trouble {
		items = append(items, operatorpages.QueueItem{
			ID: one.AccountID, AccountID: one.AccountID, Since: one.Since, NoJob: true,
			Why: "What it asked and was answered is kept after its time.",
		})
	}
	k := operatorpages.QueueKind{
		ID: operatorpages.QueueErasure, Waiting: e.Waiting + int64(kept.Accounts), Oldest: e.Oldest,
		Behind: max(f.behind(e.DueSince), f.behind(kept.DueSince)),
		Parts:  []operatorpages.QueuePart{{Count: e.Waiting, What: "closed"}, {Count: int64(kept.Accounts), What: "with content to delete"}},
	}
	f.add(k, items...)
}
