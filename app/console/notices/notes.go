package notices

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/app/apikey"
	"umg/app/catalog"
	"umg/app/notification"
	"umg/app/video"
	"umg/app/webhook"
	"umg/billing"
	"umg/billing/stripe"
	"umg/billing/usage"
	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

const (
	topupsLooked  = 5
	videosLooked  = 5
	endpointsMax  = 100 // EndpointsMax is more than an account can have.
	centsInDollar = 100
	budgetNear    = 5 // A notice appears when less than a fifth of the budget is left.
	dayLayout     = format.DayForm
	billingLink   = "Open billing"
)

// idOf returns the id of a notice: its kind, the object and the time of its reason. The id stays the same while the reason lasts.
func idOf(kind, about string, since *time.Time) string {
	id := kind + "/" + about
	if since != nil {
		id += "/" + since.UTC().Format("20060102150405")
	}
	return id
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

// balanceNotes returns notices about a frozen account and about low or missing credit. If the payment service has reported low credit,
// it is not reported a second time.
func (s *Service) balanceNotes(ctx context.Context, r Reader, b views.Balance, others []note) (list []note) {
	if r.User.Frozen {
		text := "Billable requests are blocked until this is resolved."
		if r.User.FrozenReason != "" {
			text = r.User.FrozenReason + " " + text
		}
		list = append(list, note{Note: views.Note{
			ID: idOf("frozen", r.User.AccountID, nil), Tone: ui.Danger, Icon: ui.IconTriangleAlert, Title: "The account is frozen", Text: text,
			Href: views.BillingPath, Link: billingLink,
		}})
	}
	for _, o := range others {
		if o.event == notification.LowBalance {
			return list
		}
	}
	n := views.Note{Tone: b.Tone(), Icon: ui.IconWallet, Href: views.BillingPath, Link: billingLink}
	kind := "low"
	switch b.Tone() {
	case ui.Danger:
		kind, n.Title, n.Text = "used_up", "The credit is used up", "Calls are refused until there is credit again."
		if b.NeverFunded {
			kind, n.Title, n.Text = "no_credit", "There is no credit yet", "Calls are refused until there is credit."
		}
	case ui.Warning:
		n.Title = "Little credit is left"
		n.Text = format.Dollars(b.Available) + " is left. Calls are refused when it is used up."
	default:
		return list
	}
	// The latest top-up or grant is a part of the id, so that the notice appears again when that credit runs out too.
	about := r.User.AccountID
	found, err := s.o.Ledger.EntryList(ctx, billing.EntryQuery{AccountID: r.User.AccountID, Kinds: []string{"grant"}, Limit: 1})
	if err == nil && len(found.Entries) > 0 {
		about = found.Entries[0].TransactionID
	}
	n.ID = idOf(kind, about, nil)
	return append(list, note{Note: n, event: notification.LowBalance})
}

// moneyTitles are the titles of the notices of the payment service.
var moneyTitles = map[stripe.NoticeKind]string{
	stripe.LowCredit: "Little credit is left", stripe.AutoOff: "Automatic top-ups are off", stripe.DisputeOn: "A payment is disputed",
}

func (s *Service) moneyNotes(ctx context.Context, r Reader) (list []note, _ error) {
	if s.o.Payments == nil {
		return nil, nil
	}
	found, err := s.o.Payments.Notices(ctx, r.User.AccountID)
	if err != nil {
		return nil, err
	}
	events := map[stripe.NoticeKind]notification.Event{stripe.LowCredit: notification.LowBalance, stripe.AutoOff: notification.AutoTopUp}
	for _, n := range found {
		list = append(list, note{event: events[n.Kind], Note: views.Note{
			ID: idOf(string(n.Kind), r.User.AccountID, n.At), Tone: ui.Warning, Icon: ui.IconWallet, Title: moneyTitles[n.Kind], Text: n.Text,
			At: n.At, Href: views.BillingPath, Link: billingLink,
		}})
	}
	topups, err := s.o.Payments.Topups(ctx, r.User.AccountID, topupsLooked)
	for i := range topups {
		t := &topups[i]
		if t.PaidAt == nil || s.o.Now().Sub(*t.PaidAt) > newsWithin {
			continue
		}
		list = append(list, note{event: notification.AutoTopUp, Note: views.Note{
			ID: idOf("topup", t.ID, nil), Tone: ui.Success, Icon: ui.IconCircleCheck, Title: "A top-up was paid",
			Text: format.Dollars(app.Amount(t.Cents)*app.Dollar/centsInDollar) + " was added to the credit.", At: t.PaidAt,
			Href: views.BillingPath + "/topups/" + t.ID, Link: "Open the receipt",
		}})
	}
	return list, err
}

func (s *Service) keyNotes(ctx context.Context, r Reader) (list []note, _ error) {
	keys, err := s.o.APIKeys.List(ctx, r.Principal)
	if err != nil {
		return nil, err
	}
	budgets, err := s.o.Ledger.Budgets(ctx, r.User.AccountID)
	if err != nil {
		return nil, err
	}
	networks, err := s.o.APIKeys.NewNetworks(ctx, r.Principal)
	now := s.o.Now()
	for i := range keys {
		k := &keys[i]
		n := views.Note{Icon: ui.IconKey, Href: views.KeyPath(k.ID), Link: "Open the key"}
		if k.Secret.LeakedAt != nil {
			leak := n
			leak.ID, leak.Tone, leak.At = idOf("leaked", k.ID, k.Secret.LeakedAt), ui.Danger, k.Secret.LeakedAt
			leak.Title, leak.Text = "The key “"+k.Name+"” was found in public", "It is switched off. Rotate it, and enable it again."
			list = append(list, note{Note: leak})
		}
		if e := k.ExpiresAt; e != nil && !k.Disabled && now.After(e.Add(-keyEndsWithin)) && now.Before(e.Add(keyEndsWithin)) {
			end := n
			end.ID, end.Tone, end.Title = idOf("expiry", k.ID, e), ui.Warning, "The key “"+k.Name+"” expires soon"
			end.Text = "It works until " + e.UTC().Format(dayLayout+" 15:04") + " UTC."
			if now.After(*e) {
				end.ID, end.Title, end.At = idOf("expired", k.ID, e), "The key “"+k.Name+"” has expired", e
				end.Text = "Calls with it are refused."
			}
			list = append(list, note{Note: end, event: notification.KeyExpiry})
		}
		if b, has := budgets[k.ID]; has && !k.Disabled {
			if reached := b.Reached(k.BudgetAlerts); reached > 0 {
				list = append(list, note{Note: budgetNote(n, k.Name, b, reached), event: notification.KeyBudget})
			}
		}
		if at, fresh := networks[k.ID]; fresh && !k.Disabled {
			list = append(list, note{Note: networkNote(n, k.Name, at), event: notification.KeyNetwork})
		}
	}
	return list, err
}

// networkNote is the notice about a key that is used from a new network.
func networkNote(n views.Note, name string, at apikey.NewNetwork) views.Note {
	n.ID, n.Tone, n.At = idOf("network", at.KeyID+"/"+at.Network.String(), &at.Since), ui.Warning, &at.Since
	n.Title = "The key “" + name + "” is used from a new network"
	n.Text = "It was not used from " + at.Network.String() + " in the 30 days before. If you do not know this network, rotate the key."
	return n
}

// budgetNote is the notice about a budget of which an alert share is spent.
func budgetNote(n views.Note, name string, b billing.Budget, reached int) views.Note {
	if b.Left > 0 {
		share := strconv.Itoa(reached)
		n.ID, n.Tone, n.Title = idOf("budget_"+share, b.KeyID, b.ResetsAt), ui.Warning, "The key “"+name+"” has spent "+share+"% of its budget"
		n.Text = format.Dollars(b.Left) + " of " + format.Dollars(b.Limit) + " is left. Calls with it are refused when it is spent."
		return n
	}
	n.ID, n.Tone, n.Title = idOf("budget", b.KeyID, b.ResetsAt), ui.Warning, "The key “"+name+"” has spent its budget"
	n.Text = format.Dollars(b.Spent) + " of " + format.Dollars(b.Limit) + " is spent. Calls with it are refused"
	if b.ResetsAt != nil {
		n.Text += " until " + b.ResetsAt.UTC().Format(dayLayout) + "."
	} else {
		n.Text += " until the budget is raised."
	}
	return n
}

func (s *Service) webhookNotes(ctx context.Context, r Reader) (list []note, _ error) {
	if s.o.Webhooks == nil {
		return nil, nil
	}
	found, err := s.o.Webhooks.List(ctx, r.Principal, "", endpointsMax)
	for i := range found.Endpoints {
		e := &found.Endpoints[i]
		w := views.Webhook{Disabled: e.Status == webhook.Disabled, DisabledReason: e.DisabledReason, FailingSince: e.FailingSince}
		if !w.Troubled(s.o.Now()) {
			continue
		}
		n := views.Note{Icon: ui.IconWebhook, Href: views.WebhooksPath + "/" + e.ID, Link: "Open the endpoint", Tone: ui.Warning}
		if n.ID, n.At = idOf("hook_failing", e.ID, e.FailingSince), e.FailingSince; w.Disabled {
			n.ID, n.Tone, n.At = idOf("hook_off", e.ID, e.DisabledAt), ui.Danger, e.DisabledAt
			n.Title, n.Text = "The endpoint “"+e.Name+"” is disabled",
				"It failed for too long. Fix the receiver, then enable the endpoint; missed events can be resent."
		} else {
			n.Title, n.Text = "The endpoint “"+e.Name+"” is failing", "Deliveries are tried again. If all of them fail for 5 days it is disabled."
		}
		list = append(list, note{Note: n, event: notification.Webhook})
	}
	return list, err
}

// modelNotes returns notices about models of recent calls that are shut down or change their price.
func (s *Service) modelNotes(ctx context.Context, r Reader) (list []note, _ error) {
	ending := func(m *catalog.Model) bool { return m.ShutdownAt != nil || m.DeprecatedAt != nil }
	dearer := func(m *catalog.Model) bool { return notification.PriceChangesSoon(m, s.o.Now()) }
	models := s.catalogOf(r).Models()
	if !slices.ContainsFunc(models, func(m *catalog.Model) bool { return ending(m) || dearer(m) }) {
		return nil, nil
	}
	used, err := s.o.Reports.ModelUsage(ctx, r.User.AccountID, s.o.Now().Add(-modelUsedIn))
	for _, m := range models {
		if !slices.ContainsFunc(used.Lines, func(l usage.Line) bool { return l.Group == m.ID }) {
			continue
		}
		if ending(m) {
			list = append(list, note{Note: endOf(m), event: notification.Model})
		}
		if dearer(m) {
			list = append(list, note{Note: newPriceOf(m), event: notification.Price})
		}
	}
	return list, err
}

func endOf(m *catalog.Model) views.Note {
	n := views.Note{
		ID: idOf("model", m.ID, m.ShutdownAt), Tone: ui.Warning, Icon: ui.IconLayers, Title: m.Name + " is deprecated",
		Text: "You called it in the last 30 days. Look for a model to take its place.", Href: views.ModelPath(m.ID), Link: "Open the model",
	}
	if m.ShutdownAt != nil {
		n.Title = fmt.Sprintf("%s is shut down on %s", m.Name, m.ShutdownAt.UTC().Format(dayLayout))
	}
	return n
}

// newPriceOf is the notice about announced prices. Each change has its own notice.
func newPriceOf(m *catalog.Model) views.Note {
	var told []string
	for _, d := range m.Differences() {
		told = append(told, format.Marked(d.String()))
	}
	return views.Note{
		ID: idOf("price", m.ID+"/"+m.Announced.ID(), nil), Tone: ui.Info, Icon: ui.IconReceipt,
		Title: fmt.Sprintf("The price of %s changes on %s", m.Name, m.Announced.From.UTC().Format(dayLayout)),
		Text:  strings.Join(told, ". ") + ".", Href: views.ModelPath(m.ID) + "?tab=history#price-history", Link: "See its prices",
	}
}

func (s *Service) videoNotes(ctx context.Context, r Reader) (list []note, _ error) {
	if s.o.Videos == nil {
		return nil, nil
	}
	found, err := s.o.Videos.List(ctx, r.User.AccountID, video.Query{
		Status: "failed", CreatedAfter: s.o.Now().Add(-newsWithin), Limit: videosLooked,
	})
	for i := range found.Jobs {
		j := &found.Jobs[i]
		list = append(list, note{event: notification.Video, Note: views.Note{
			ID: idOf("video", j.ID, nil), Tone: ui.Danger, Icon: ui.IconFilm, Title: "A video could not be made", Text: j.Problem.Message,
			At: j.CompletedAt, Href: views.VideosPath + "/" + j.ID, Link: "Open the video",
		}})
	}
	return list, err
}

// limitNotes returns a notice when the spend limit is reached or nearly reached.
func (s *Service) limitNotes(ctx context.Context, r Reader) (list []note, _ error) {
	limit, err := s.o.Accounts.SpendLimit(ctx, r.Principal)
	if err != nil || !limit.Set() || limit.Left() > limit.Limit/budgetNear {
		return nil, err
	}
	n := views.Note{
		ID: idOf("limit_near", r.User.AccountID, &limit.ResetsAt), Tone: ui.Warning, Icon: ui.IconWallet,
		Href: views.BillingPath + "#spend-limit", Link: billingLink, Title: "Little of the account's spend limit is left",
		Text: format.Dollars(limit.Left()) + " of " + format.Dollars(limit.Limit) + " is left. Calls are refused when it is spent.",
	}
	if limit.Left() == 0 {
		n.ID, n.Title = idOf("limit", r.User.AccountID, &limit.ResetsAt), "The account's spend limit is reached"
		n.Text = "Calls are refused until " + limit.ResetsAt.UTC().Format(dayLayout) + ", or until it is raised."
	}
	return append(list, note{Note: n}), nil
}

// catalogOf returns the catalog as the reader's account sees it.
func (s *Service) catalogOf(r Reader) *catalog.Snapshot {
	return s.o.Catalog.Snapshot().For(r.User.AccountID)
}
