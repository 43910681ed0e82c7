package faults

import (
	"net/http"
	"sync"
	"testing"

	"umg/e2e/harness"
)

const (
	// blockedReports is more than the pool of calls has connections.
	blockedReports = 30
	// reportConnections is usage.ReadConnections.
	reportConnections = 4
	callsBesideThem   = 10
)

// TestFaultReportsLeaveCallsTheirConnections lets more reports wait for the database than a gateway has connections. Calls of an account
// with trial credit, each of which needs the database before it is sent, are answered all the same.
func TestFaultReportsLeaveCallsTheirConnections(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t)
	c := g.NewCustomer(t, "reports")
	p := c.SignInToConsole(t)
	db := g.DB(t)
	lock, err := db.Beginx()
	if err != nil {
		t.Fatal(err)
	}
	release := sync.OnceFunc(func() { _ = lock.Rollback() })
	defer release()
	// Only the page of a model and a worker use this table.
	lock.MustExec(`lock table model_days in access exclusive mode`)
	var reports sync.WaitGroup
	for range blockedReports {
		// goroutine: the test owns it and waits for it; it ends with its request, which has a time limit.
		reports.Go(func() { p.Visit(t, "/console/models/"+harness.CheapModel+"?tab=performance", nil) })
	}
	waiting := func(pool string) (n int) {
		if err := db.Get(&n, `select count(*) from pg_stat_activity where wait_event_type = 'Lock' and application_name = $1`, pool); err != nil {
			t.Fatal(err)
		}
		return n
	}
	harness.WaitUntil(t, "the pool of reports is used up", func() bool { return waiting("gateway reports") == reportConnections })
	for range callsBesideThem {
		if a := c.Call(t, http.MethodPost, "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: beside reports")); a.Status != http.StatusOK {
			t.Fatal(a.Status, a.Body)
		} else {
			harness.DecodeCompletion(t, a)
		}
	}
	// The worker of the statistics of models may wait, too.
	if n := waiting("gateway"); n > 1 {
		t.Errorf("%d connections of calls wait for reports", n)
	}
	release()
	reports.Wait()
}
