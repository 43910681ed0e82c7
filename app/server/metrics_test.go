package server

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"umg/api"
	"umg/app/gateway"
)

func TestCallsThatAFallbackModelServesAreCountedAndLogged(t *testing.T) {
	t.Parallel()
	o := options(t)
	m := newMetrics(o)
	served := &api.RequestLog{Model: "acme/other", Style: "chat", Result: gateway.Report{FallbackOf: "acme/one", Outcome: "succeeded"}}
	m.observeText(served)
	m.observeText(&api.RequestLog{Model: "acme/one", Style: "chat", Result: gateway.Report{Outcome: "succeeded"}})
	registry := prometheus.NewRegistry()
	registry.MustRegister((&Server{metrics: m}).Collectors()...)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, family := range families {
		if family.GetName() != "umg_text_fallbacks_total" {
			continue
		}
		if all := family.GetMetric(); len(all) == 1 && all[0].GetCounter().GetValue() == 1 && all[0].GetLabel()[0].GetValue() == "acme/one" {
			found = true
		}
	}
	if !found {
		t.Errorf("the call is not counted: %v", families)
	}
	var lines bytes.Buffer
	s := &Server{o: Options{Log: slog.New(slog.NewJSONHandler(&lines, nil))}}
	r := httptest.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, "/v1/chat/completions", nil)
	s.log(&endedRequest{RequestLog: served, request: r, status: http.StatusOK, took: time.Millisecond})
	if line := lines.String(); !strings.Contains(line, `"model":"acme/other"`) || !strings.Contains(line, `"fallback_of":"acme/one"`) {
		t.Error(line)
	}
}
