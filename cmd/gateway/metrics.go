package main

import (
	"slices"

	"umg/app/server"
	"umg/billing/lease"
	"umg/billing/stripe"
)

// figures are the metrics of services that have workers, for /metrics.
func (h *gatewayServer) figures() []server.Metric {
	gauge := func(name, help string, value func() int64) server.Metric {
		return server.Metric{Name: name, Help: help, Gauge: true, Value: value}
	}
	total := func(name, help string, value func() int64) server.Metric {
		return server.Metric{Name: name, Help: help, Value: value}
	}
	failed := func() (sum int64) {
		for _, n := range h.videos.Stats().Failed {
			sum += n
		}
		return sum
	}
	list := []server.Metric{
		gauge("umg_video_jobs_running", "Video jobs that have not ended.", func() int64 { return h.videos.Stats().Running }),
		gauge("umg_video_due_lag_milliseconds", "How long the oldest job of the last claim had been due.",
			func() int64 { return h.videos.Stats().DueLag.Milliseconds() }),
		total("umg_video_jobs_completed_total", "Video jobs completed here.", func() int64 { return h.videos.Stats().Completed }),
		total("umg_video_jobs_failed_total", "Video jobs failed here.", failed),
		total("umg_video_faults_total", "Looks at a provider that got no answer.", func() int64 { return h.videos.Stats().Faults }),
		total("umg_video_copy_faults_total", "Copies of finished videos that failed.", func() int64 { return h.videos.Stats().CopyFaults }),
		total("umg_video_late_successes_total", "Renders that turned up after their job had failed; never charged.",
			func() int64 { return h.videos.Stats().LateSuccesses }),
		gauge("umg_webhook_attempts_running", "Webhook attempts under way.", func() int64 { return h.webhooks.Stats().Running }),
		total("umg_webhook_events_total", "Events recorded here.", func() int64 { return h.webhooks.Stats().Events }),
		total("umg_webhook_delivered_total", "Deliveries that a receiver took.", func() int64 { return h.webhooks.Stats().Delivered }),
		total("umg_webhook_failed_attempts_total", "Attempts that a receiver did not take.",
			func() int64 { return h.webhooks.Stats().FailedAttempts }),
		total("umg_webhook_given_up_total", "Deliveries that failed for good.", func() int64 { return h.webhooks.Stats().GivenUp }),
		total("umg_webhook_endpoints_disabled_total", "Endpoints disabled for failing.", func() int64 { return h.webhooks.Stats().Disabled }),
	}
	for _, f := range []struct {
		name, help string
		value      func(lease.Stats) int64
	}{
		{"umg_holds_running", "Text calls that hold credit now.", func(s lease.Stats) int64 { return s.Running }},
		{"umg_leases", "Leases of credit, with or without any.", func(s lease.Stats) int64 { return int64(s.Leases) }},
		{"umg_leased_nano_dollars", "Credit that leases hold.", func(s lease.Stats) int64 { return int64(s.Granted) }},
		{"umg_reserved_nano_dollars", "Of it, what running calls reserve.", func(s lease.Stats) int64 { return int64(s.Reserved) }},
		{"umg_settlements_unapplied", "Journal records that the books do not have yet.", func(s lease.Stats) int64 { return s.Unapplied }},
		{"umg_settlements_kept", "Settlements that neither journal nor books took yet.", func(s lease.Stats) int64 { return int64(s.Kept) }},
		{"umg_replica_epoch", "Which run of this replica it is.", func(s lease.Stats) int64 { return s.Epoch }},
	} {
		list = append(list, gauge(f.name, f.help, func() int64 { return f.value(h.leases.Stats()) }))
	}
	for _, f := range []struct {
		name, help string
		value      func(lease.Stats) int64
	}{
		{"umg_settlements_applied_total", "Settlements in the books.", func(s lease.Stats) int64 { return s.Applied }},
		{"umg_settlements_orphaned_total", "Calls that a crash cut, settled at their last mark.", func(s lease.Stats) int64 { return s.Orphans }},
		{"umg_settlements_direct_total", "Settlements written without the journal.", func(s lease.Stats) int64 { return s.Direct }},
		{"umg_settlements_quarantined_total", "Settlements that the books refused.", func(s lease.Stats) int64 { return s.Quarantined }},
		{"umg_answers_undelivered_total", "Answers kept back, uncharged.", func(s lease.Stats) int64 { return s.Undelivered }},
		{"umg_lease_takes_total", "Times that credit was asked of the books.", func(s lease.Stats) int64 { return s.Takes }},
		{"umg_replica_fenced_total", "Times that this replica's run was declared over.", func(s lease.Stats) int64 { return s.Fenced }},
		{"umg_refused_unfunded_total", "Calls refused for want of credit.", func(s lease.Stats) int64 { return s.RefusedUnfunded }},
		{"umg_refused_spend_limit_total", "Calls refused by their account's spend limit.", func(s lease.Stats) int64 { return s.RefusedLimit }},
		{"umg_refused_budget_total", "Calls refused by their key's budget.", func(s lease.Stats) int64 { return s.RefusedBudget }},
		{"umg_refused_away_total", "Calls refused as the books were away.", func(s lease.Stats) int64 { return s.RefusedAway }},
		{"umg_refused_unwritten_total", "Calls refused as the journal had no room.", func(s lease.Stats) int64 { return s.RefusedUnwritten }},
	} {
		list = append(list, total(f.name, f.help, func() int64 { return f.value(h.leases.Stats()) }))
	}
	list = append(list,
		total("umg_settlements_late_total", "Settlements whose lease was gone.", func() int64 { return h.bank.Counts().Late }),
		total("umg_overruns_total", "Calls that cost more than they had reserved.", func() int64 { return h.bank.Counts().Overruns }))
	return slices.Concat(list, h.journalFigures(), h.limitFigures(), h.payFigures(), h.traces.figures())
}

// journalFigures are the metrics of the journal, if there is one.
func (h *gatewayServer) journalFigures() []server.Metric {
	if h.journal == nil {
		return nil
	}
	return []server.Metric{
		{
			Name: "umg_journal_unapplied_bytes", Help: "Journal records that the books do not have yet.", Gauge: true,
			Value: func() int64 { return h.journal.Stats().UnappliedBytes },
		},
		{
			Name: "umg_journal_unapplied_seconds", Help: "Age of the oldest of them.", Gauge: true,
			Value: func() int64 { return int64(h.journal.Stats().UnappliedAge.Seconds()) },
		},
		{
			Name: "umg_journal_segments", Help: "Files that the journal keeps.", Gauge: true,
			Value: func() int64 { return h.journal.Stats().Segments },
		},
	}
}

// payFigures are the metrics of payments.
func (h *gatewayServer) payFigures() []server.Metric {
	var list []server.Metric
	for _, f := range []struct {
		name, help string
		value      func(stripe.Stats) int64
	}{
		{"umg_payment_events_total", "Events of the payment service with a good signature.", func(s stripe.Stats) int64 { return s.Events }},
		{"umg_payment_events_refused_total", "Events without one.", func(s stripe.Stats) int64 { return s.Refused }},
		{"umg_payment_mismatches_total", "Payments that are not what was ordered.", func(s stripe.Stats) int64 { return s.Mismatches }},
		{"umg_topups_credited_total", "Top-ups credited here.", func(s stripe.Stats) int64 { return s.Credited }},
		{"umg_payments_taken_back_total", "Refunds and disputes booked here.", func(s stripe.Stats) int64 { return s.TakenBack }},
		{"umg_cards_declined_total", "Automatic top-ups that were refused.", func(s stripe.Stats) int64 { return s.Declined }},
	} {
		list = append(list, server.Metric{Name: f.name, Help: f.help, Value: func() int64 { return f.value(h.payments.Stats()) }})
	}
	return list
}

// contentFigures are the metrics of content logging.
func (h *gatewayServer) contentFigures() []server.Metric {
	return []server.Metric{
		{Name: "umg_content_kept_total", Help: "Calls whose content was kept.", Value: func() int64 { return h.content.Stats().Kept }},
		{
			Name: "umg_content_dropped_total", Help: "Calls whose content was to be kept and was lost.",
			Value: func() int64 { return h.content.Stats().Dropped },
		},
	}
}
