package main

import (
	"fmt"
	"time"

	"umg/app"
	"umg/app/gateway"
	"umg/app/ratelimit"
	"umg/app/server"
)

// openLimits makes the rate limiter, which replicas share when there is a Redis.
func (h *gatewayServer) openLimits(ids app.IDs) (err error) {
	h.addresses = ratelimit.NewAddresses(ratelimit.AddressOptions{
		Now: time.Now, PagesPerMinute: h.cfg.IPPagesPerMinute, FormsPerMinute: h.cfg.IPFormsPerMinute,
	})
	o := ratelimit.Options{
		Now:     time.Now,
		Account: ratelimit.Account{RequestsPerMinute: h.cfg.AccountRequestsPerMinute, TokensPerMinute: h.cfg.AccountTokensPerMinute},
	}
	if h.cfg.RedisURL == "" {
		h.limits = ratelimit.New(o)
		return nil
	}
	h.limits, err = ratelimit.Open(o, ratelimit.Shared{
		Address: h.cfg.RedisURL, Replica: ids.New("replica"), Wait: h.cfg.RedisTimeout, Lease: h.cfg.RedisSlotTTL, Log: h.log,
	})
	if err != nil {
		return fmt.Errorf("--redis-url: %w", err)
	}
	return nil
}

// rates are the limits of requests that are no calls, and of request bodies.
func (f *limitFlags) rates() gateway.Rates {
	return gateway.StandardRates(f.AccountRequestsPerMinute, f.AccountReadsPerMinute, f.AccountChangesPerMinute, f.AccountDryRunsPerMinute)
}

// limitFigures are the metrics of the rate limiter.
func (h *gatewayServer) limitFigures() []server.Metric {
	var list []server.Metric
	for _, f := range []struct {
		name, help string
		gauge      bool
		value      func(ratelimit.Stats) int64
	}{
		{"umg_limits_shared", "1 when limits are to be shared through Redis.", true,
			func(s ratelimit.Stats) int64 { return boolToInt(s.Shared) }},
		{"umg_limits_shared_up", "1 while they are.", true, func(s ratelimit.Stats) int64 { return boolToInt(s.Up) }},
		{"umg_limits_leases", "Calls whose places Redis is told of.", true, func(s ratelimit.Stats) int64 { return s.Leases }},
		{"umg_limits_away_total", "Times that Redis went away.", false, func(s ratelimit.Stats) int64 { return s.Away }},
		{"umg_limits_alone_total", "Calls counted by this replica alone meanwhile.", false, func(s ratelimit.Stats) int64 { return s.Alone }},
		{"umg_limits_late_total", "Calls that waited for Redis in vain.", false, func(s ratelimit.Stats) int64 { return s.Late }},
		{"umg_limits_lost_total", "Ends of calls that Redis was not told.", false, func(s ratelimit.Stats) int64 { return s.Lost }},
		{"umg_limits_refused_places_total", "Calls beyond what may run at once.", false,
			func(s ratelimit.Stats) int64 { return s.RefusedPlaces }},
		{"umg_limits_refused_requests_total", "Calls beyond requests a minute.", false,
			func(s ratelimit.Stats) int64 { return s.RefusedRequests }},
		{"umg_limits_refused_daily_total", "Calls beyond requests a day.", false, func(s ratelimit.Stats) int64 { return s.RefusedDaily }},
		{"umg_limits_refused_reads_total", "GET requests beyond their rate.", false, func(s ratelimit.Stats) int64 { return s.RefusedReads }},
		{"umg_limits_refused_changes_total", "Changes beyond their rate.", false, func(s ratelimit.Stats) int64 { return s.RefusedChanges }},
		{"umg_limits_refused_checks_total", "Dry runs and token counts beyond their rate.", false,
			func(s ratelimit.Stats) int64 { return s.RefusedChecks }},
		{"umg_limits_refused_bursts_total", "Calls that came too many at once, or with too many bytes.", false,
			func(s ratelimit.Stats) int64 { return s.RefusedBursts }},
		{"umg_limits_refused_tokens_total", "Calls beyond tokens a minute.", false, func(s ratelimit.Stats) int64 { return s.RefusedTokens }},
	} {
		list = append(list, server.Metric{Name: f.name, Help: f.help, Gauge: f.gauge, Value: func() int64 { return f.value(h.limits.Stats()) }})
	}
	return append(list,
		server.Metric{Name: "umg_limits_refused_pages_total", Help: "Pages that visitors at one address asked for beyond their rate.",
			Value: func() int64 { return h.addresses.Refused(ratelimit.Pages) }},
		server.Metric{Name: "umg_limits_refused_forms_total", Help: "Forms that visitors at one address sent beyond their rate.",
			Value: func() int64 { return h.addresses.Refused(ratelimit.Forms) }},
	)
}

func boolToInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
