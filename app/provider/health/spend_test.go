package health_test

import (
	"testing"

	"umg/app/catalog"
	"umg/app/provider"
	"umg/app/provider/health"
)

func TestAReachedSpendCapKeepsCallsAway(t *testing.T) {
	t.Parallel()
	c, reached := &clock{}, map[string]bool{}
	m := health.New(health.Options{Now: c.now, Random: never, Capped: func(_ *catalog.Provider, id string) bool { return reached[id] }})
	r := upstream("first", "second")
	r.Provider.CredentialIDs = []string{"${A}", "${B}", "${C}"}
	reached["${A}"] = true
	begin(t, m, r, 0).End(nil, 1) // A provider without caps is not asked for.
	r.Provider.Spend = &catalog.FileSpend{}
	begin(t, m, r, 1).End(nil, 1)
	if !m.SpendCapped(r.Provider) {
		t.Error("calls with the first credential alone are let through")
	}
	begin(t, m, r, 1).End(fault(provider.ClassRateLimited, 429), 0)
	begin(t, m, r, 2).End(fault(provider.ClassRateLimited, 429), 0)
	wantBlock(t, m, r, health.CoolingDown)
	if try, block := m.Begin(r, true); block != "" || try.Credential == 0 {
		t.Errorf("a forced attempt has credential %d and block %q", try.Credential, block)
	}
	reached["${B}"], reached["${C}"] = true, true
	wantBlock(t, m, r, health.SpendCapReached)
	if _, block := m.Begin(r, true); block != health.SpendCapReached {
		t.Errorf("a forced attempt has the block %q, where all credentials are spent", block)
	}
	clear(reached)
	reached[""] = true
	wantBlock(t, m, r, health.SpendCapReached)
	reached[""] = false
	begin(t, m, r, 0).End(nil, 1)
	if m.SpendCapped(r.Provider) {
		t.Error("calls with the first credential are kept away")
	}
}
