package main

import "github.com/prometheus/client_golang/prometheus"

// collectors are the metrics of all packages. Each package names and counts its own.
func (g *gatewayServer) collectors() []prometheus.Collector {
	b, s := &g.billing, &g.services
	all := []prometheus.Collector{
		b.ledger.Collector(), b.leases.Collector(), b.leaseStore.Collector(), b.payments.Collector(),
		s.limits.Collector(), s.visitorLimits.Collector(), s.admission.Collector(), s.health.Collector(), s.spend.Collector(),
		s.videos.Collector(), s.webhooks.Collector(), s.content.Collector(), s.refusals.Collector(),
	}
	if b.journal != nil {
		all = append(all, b.journal.Collector())
	}
	if s.traces != nil {
		all = append(all, s.traces.sender.collector())
	}
	return append(all, g.http.server.Collectors()...)
}
