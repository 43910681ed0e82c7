package notices

import (
	"context"
	"slices"
	"sync"
	"time"

	"umg/app"
	"umg/app/account"
	"umg/app/apikey"
	"umg/app/catalog"
	"umg/app/modelstatus"
	"umg/app/notification"
	"umg/app/provider/health"
	"umg/app/video"
	"umg/app/webhook"
	"umg/billing"
	"umg/billing/stripe"
	"umg/billing/usage"
	"umg/views"
)

const (
	deriveMax     = 2 * time.Second
	cachedFor     = 30 * time.Second // CachedFor is how long the notices of a reader are cached.
	readersMax    = 5000             // ReadersMax is the number of readers in the cache.
	noticesMax    = 100
	keyEndsWithin = 7 * 24 * time.Hour
	newsWithin    = 7 * 24 * time.Hour  // NewsWithin is the age up to which a top-up or a failed video is shown.
	modelUsedIn   = 30 * 24 * time.Hour // A model counts as used within this time.
	troubledMax   = 99                  // TroubledMax is how many degraded models the line under the top bar counts.
)

// Options are the services whose state becomes notices. Accounts, APIKeys, Ledger, Reports, Catalog, Status and Now are required.
type Options struct {
	Accounts      *account.Service
	APIKeys       *apikey.Service
	Ledger        *billing.Ledger
	Reports       *usage.Reports
	Catalog       *catalog.Catalog
	Status        *modelstatus.Service
	Health        *health.Monitor       // Health is nil where no page shows degraded models.
	Payments      *stripe.Service       // Payments is nil where credit cannot be bought.
	Webhooks      *webhook.Service      // Webhooks is nil where there are none.
	Videos        *video.Service        // Videos is nil where there are none.
	Notifications *notification.Service // Notifications knows what was read; nothing counts as unread when it is nil.
	Now           app.Clock
}

// Service makes the notices of readers. It is safe for concurrent use.
type Service struct {
	o     Options
	cache cache
}

// New returns a service.
func New(o Options) *Service {
	return &Service{o: o, cache: cache{entries: map[notification.Reader]cached{}}}
}

// Reader is who reads notices.
type Reader struct {
	User      account.User
	Principal app.Principal
}

// ID returns the reader as package notification knows them.
func (r Reader) ID() notification.Reader {
	return notification.Reader{UserID: r.User.ID, AccountID: r.User.AccountID}
}

// note is a notice with the event that users can turn off. A notice that is always shown has no event.
type note struct {
	views.Note
	event notification.Event
}

// cache has the notices of readers, so that the bell of every page costs little.
type cache struct {
	mu      sync.Mutex
	entries map[notification.Reader]cached
}

type cached struct {
	until time.Time
	list  []note
	whole bool
}

func (s *cache) get(r notification.Reader, now time.Time) (cached, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, there := s.entries[r]
	return found, there && now.Before(found.until)
}

func (s *cache) put(r notification.Reader, what cached) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.entries) >= readersMax {
		clear(s.entries)
	}
	s.entries[r] = what
}

// derive makes the notices from the state of the account. A part that cannot be read is left out, and whole is false.
func (s *Service) derive(ctx context.Context, r Reader, balance views.Balance) (list []note, whole bool) {
	whole = true
	for _, from := range []struct {
		right app.Rights
		notes func(context.Context, Reader) ([]note, error)
	}{
		{app.ReadUsage, s.moneyNotes}, {app.ReadUsage, s.limitNotes}, {app.ManageKeys, s.keyNotes}, {app.UseWebhooks, s.webhookNotes},
		{app.ReadModels | app.ReadUsage, s.modelNotes}, {app.UseVideos, s.videoNotes},
	} {
		if !r.User.Role.Rights().Has(from.right) {
			continue
		}
		found, err := from.notes(ctx, r)
		if err != nil {
			whole = false
			continue
		}
		list = append(list, found...)
	}
	list = append(s.balanceNotes(ctx, r, balance, list), list...)
	return list[:min(len(list), noticesMax)], whole
}

// List returns the notices of the reader, without the events that they turned off. Unread notices are first. A fresh list is not from
// the cache. Whole is false when a part of the notices cannot be read.
func (s *Service) List(ctx context.Context, r Reader, balance views.Balance, fresh bool) (list []views.Note, whole bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, deriveMax)
	defer cancel()
	id := r.ID()
	now := s.o.Now()
	derived, kept := s.cache.get(id, now)
	if fresh || !kept {
		derived.list, derived.whole = s.derive(ctx, r, balance)
		derived.until = now.Add(cachedFor)
		s.cache.put(id, derived)
	}
	if len(derived.list) == 0 {
		return nil, derived.whole, nil
	}
	choices, err := s.o.Notifications.Preferences(ctx, id)
	if err != nil {
		return nil, false, err
	}
	seen, err := s.o.Notifications.ReadIDs(ctx, id)
	for _, n := range derived.list {
		if n.event == "" || choices[n.event].InConsole {
			n.Unread = !slices.Contains(seen, n.ID)
			list = append(list, n.Note)
		}
	}
	slices.SortStableFunc(list, func(a, b views.Note) int {
		if a.Unread != b.Unread {
			return map[bool]int{true: -1, false: 1}[a.Unread]
		}
		return 0
	})
	return list, derived.whole, err
}

// Unread returns the count at the bell. It is zero if the notices cannot be read, because the page matters more.
func (s *Service) Unread(ctx context.Context, r Reader, balance views.Balance) (n int) {
	if s.o.Notifications == nil || !balance.Known {
		return 0
	}
	list, _, err := s.List(ctx, r, balance, false)
	if err != nil {
		return 0
	}
	for _, one := range list {
		if one.Unread {
			n++
		}
	}
	return n
}

// catalogOf returns the catalog as the reader's account sees it.
func (s *Service) catalogOf(r Reader) *catalog.Snapshot {
	return s.o.Catalog.Snapshot().For(r.User.AccountID)
}

// TroubledModels returns the models the reader may call that are paused or failing.
func (s *Service) TroubledModels(ctx context.Context, r Reader) (lines []views.StatusLine) {
	if s.o.Health == nil || !r.User.Role.Rights().Has(app.ReadModels) {
		return nil
	}
	for _, one := range s.o.Status.Troubled(ctx, s.catalogOf(r), troubledMax) {
		lines = append(lines, views.StatusLine{Model: one.Model.ID, Name: one.Model.Name, Paused: one.State == modelstatus.Paused})
	}
	return lines
}
