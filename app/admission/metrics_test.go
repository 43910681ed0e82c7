package admission

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestEachRejectionIsCountedOnceByReasonAndClass expects one row for each reason and class, with the number of its rejections.
func TestEachRejectionIsCountedOnceByReasonAndClass(t *testing.T) {
	t.Parallel()
	g, registry := New(Options{InFlightMax: 10}), prometheus.NewRegistry()
	registry.MustRegister(g.Collector())
	for why := range reasons {
		for class := range classes {
			for range int(why)*10 + int(class) {
				_ = g.refuse(why, class)
			}
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	rows := map[[2]string]float64{}
	for _, f := range families {
		if f.GetName() != "umg_admission_rejected_total" {
			continue
		}
		for _, m := range f.GetMetric() { // The labels are sorted: class, reason.
			rows[[2]string{m.GetLabel()[1].GetValue(), m.GetLabel()[0].GetValue()}] = m.GetCounter().GetValue()
		}
	}
	want := map[reason]string{
		placesFull: "in_flight", memory: "memory", late: "scheduling_delay", accountFull: "account_in_flight", bodies: "body_bytes", accountBodies: "account_body_bytes",
	}
	if len(rows) != int(reasons)*int(classes) || len(want) != int(reasons) {
		t.Errorf("%d rows: %v", len(rows), rows)
	}
	for why, reasonLabel := range want {
		for class, classLabel := range map[Class]string{Trial: "trial", Paid: "paid", Critical: "critical"} {
			if got := rows[[2]string{reasonLabel, classLabel}]; got != float64(int(why)*10+int(class)) {
				t.Errorf("%s of %s: %v", reasonLabel, classLabel, got)
			}
		}
	}
}
