package video

import (
	"testing"

	"umg/app"
	"umg/app/catalog"
	"umg/app/provider/health"
)

func TestAProviderWhoseSpendCapIsReachedTakesNoNewJobs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	capped := map[string]bool{}
	b.service = b.replica(func(o *Options) {
		o.Health = health.New(health.Options{Now: b.clock.Now, Random: func(int) int { return 0 }, Capped: func(p *catalog.Provider, id string) bool {
			return id == "" && capped[p.ID]
		}})
		for _, p := range o.Snapshot().Providers() {
			p.Spend = &catalog.FileSpend{}
		}
	})
	if row := b.row(b.create(`{"model":"test/two","prompt":"a"}`).ID); row.Provider != "meridian" {
		t.Fatalf("the first route is not taken: %+v", row)
	}
	capped["meridian"] = true
	if row := b.row(b.create(`{"model":"test/two","prompt":"a"}`).ID); row.Provider != "alpine" {
		t.Errorf("with a reached cap the job is with %s", row.Provider)
	}
	_, err := b.service.Create(t.Context(), b.call(`{"model":"test/stream","prompt":"a"}`)) // This model has no other provider.
	wantError(t, err, app.Unavailable, "no_available_provider", "")
}
