package operator

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"umg/app/catalog"
	"umg/app/console/page"
	"umg/app/preset"
	"umg/app/provider/health"
	"umg/billing/usage"
	operatorpages "umg/views/operator"
)

// weekDays is how many days the amounts of the list cover, today among them.
const weekDays = 7

// providerRoutes are the pages about providers of the catalog.
func (c *Console) providerRoutes() []page.Route {
	a := page.Area{Operator: true, Missing: c.o.DB == nil}
	added := page.Area{Operator: true, Missing: c.o.DB == nil || c.o.Credentials == nil || c.o.References == nil}
	tested := page.Area{Operator: true, Missing: added.Missing || c.o.Tests == nil || c.o.ProviderClient == nil}
	return []page.Route{
		a.Get("/operator/providers", c.providerList),
		added.Get("/operator/providers/new", c.providerPresets),
		added.Get("/operator/providers/new/:preset", c.newProvider), added.Post("/operator/providers/new/:preset", c.addProvider),
		tested.Get("/operator/providers/:id/test", c.providerTest), tested.Post("/operator/providers/:id/test", c.startProviderTest),
		tested.Post("/operator/providers/:id/test/cancel", c.cancelProviderTest),
		added.Get("/operator/providers/:id/models", c.providerModels), added.Post("/operator/providers/:id/models", c.selectProviderModels),
		added.Get("/operator/providers/:id/publish", c.askPublish), added.Post("/operator/providers/:id/publish", c.publish),
	}
}

// providerList lists the providers of the catalog with their calls and amounts.
func (c *Console) providerList(p *page.Page) error {
	ctx, cancel := context.WithTimeout(p.Request().Context(), marginTimeMax)
	defer cancel()
	l := operatorpages.ProviderList{Shell: c.Shell(p)}
	file, err := catalog.Export(ctx, c.o.DB)
	var endings map[string]string
	if err == nil {
		endings, err = c.credentialEndings(ctx)
	}
	activity := map[string]usage.ProviderActivity{}
	if err == nil {
		now := c.o.Now().UTC()
		activity, err = c.o.Reports.ProviderActivity(ctx, now.Truncate(24*time.Hour).AddDate(0, 0, 1-weekDays), now.Add(-time.Hour))
	}
	if l.Failure, err = page.Unavailable(p, err); err != nil {
		return err
	}
	if l.Failure == nil {
		l.Providers = c.providerRows(&file, endings, activity)
	}
	return c.Render(p, http.StatusOK, operatorpages.ProviderListPage(l))
}

// credentialEndings returns the visible ends of the sealed credentials by their references.
func (c *Console) credentialEndings(ctx context.Context) (map[string]string, error) {
	if c.o.Credentials == nil {
		return nil, nil
	}
	list, err := c.o.Credentials.List(ctx)
	if err != nil {
		return nil, err
	}
	endings := make(map[string]string, len(list))
	for i := range list {
		if strings.TrimSpace(list[i].LastFour) != "" {
			endings["sealed:"+list[i].Name] = "…" + list[i].LastFour
		}
	}
	return endings, nil
}

func (c *Console) providerRows(
	file *catalog.File, endings map[string]string, activity map[string]usage.ProviderActivity,
) []operatorpages.ProviderRow {
	models := map[string]int{}
	for i := range file.Models {
		counted := map[string]bool{}
		for j := range file.Models[i].Routes {
			if id := file.Models[i].Routes[j].Provider; !counted[id] {
				counted[id] = true
				models[id]++
			}
		}
	}
	pauses := map[string]health.Pause{}
	if c.o.Health != nil {
		for _, pause := range c.o.Health.Pauses() {
			if pause.Kind == health.KindProvider {
				pauses[pause.ID] = pause
			}
		}
	}
	rows := make([]operatorpages.ProviderRow, 0, len(file.Providers))
	for i := range file.Providers {
		f := &file.Providers[i]
		done := activity[f.ID]
		row := operatorpages.ProviderRow{
			ID: f.ID, Name: cmp.Or(f.Name, f.ID), Models: models[f.ID], HourCalls: done.Calls, Week: marginLine(&done.Margin, ""),
			Credential: cmp.Or(endings[f.Credential], f.Credential),
		}
		if known, ok := preset.Find(f.Preset); ok {
			row.Preset, row.Name = known.Name, cmp.Or(f.Name, known.Name)
		}
		if f.Credential != "" {
			row.Credentials = 1 + len(f.Credentials)
		}
		pause, isPaused := pauses[f.ID]
		row.State, row.Why = c.providerState(f, row.Models, isPaused, pause.Reason)
		rows = append(rows, row)
	}
	return rows
}

// providerState says whether calls go to a provider, and why not.
func (c *Console) providerState(f *catalog.FileProvider, models int, isPaused bool, reason string) (operatorpages.ProviderState, string) {
	var unusable string
	if known, ok := c.o.Catalog.Snapshot().Provider(f.ID); ok {
		unusable = known.Unusable
	}
	switch {
	case f.Disabled && models == 0:
		return operatorpages.ProviderDraft, ""
	case f.Disabled:
		return operatorpages.ProviderDisabled, ""
	case unusable != "":
		return operatorpages.ProviderUnusable, unusable
	case isPaused:
		return operatorpages.ProviderPaused, reason
	case models == 0:
		return operatorpages.ProviderIdle, ""
	}
	return operatorpages.ProviderInUse, ""
}
