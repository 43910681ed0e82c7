package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // The embedded zones are the same on every machine.

	"umg/app"
	"umg/app/catalog"
	"umg/app/llm"
	"umg/billing"
	"umg/billing/usage"
)

// Limits of the routes about usage.
const (
	usageDaysDefault   = 30
	usageDaysMax       = 3660
	usageHourDaysMax   = 366
	usageSlot          = 15 * time.Minute // The ledger adds usage up by this interval.
	usageDate          = "2006-01-02"
	usageZoneBytesMax  = 64
	usageModalityText  = "text"
	usageModalityVideo = "video"
)

// usageRoutes are an extension: what calls cost, what credit there is, and what the key may still spend.
func usageRoutes() []Route {
	configured := func(o *Options) bool { return o.Ledger != nil }
	reports := group{app.ReadUsage, configured}
	return []Route{
		reports.get("/v1/generation", (*API).getGeneration),
		reports.get("/v1/credits", (*API).getCredits),
		group{0, configured}.get("/v1/key", (*API).getKey),
		reports.get("/v1/usage", (*API).getUsage),
	}
}

// usageGroups are what group_by takes in addition to the steps of time.
var usageGroups = map[string]usage.Grouping{
	"model": usage.ByModel, "key": usage.ByKey, "style": usage.ByStyle, "end_user": usage.ByEndUser, "reason": usage.ByReason,
}

var usageSteps = map[string]usage.Step{"hour": usage.Hourly, "day": usage.Daily}

// usageParams are the parameters that GET /v1/usage takes. A misspelt filter would answer for more than was asked, so
// every other name is refused.
var usageParams = []string{"group_by", "from", "to", "tz", "model", "key_id", "style", "reason", "end_user", "modality"}

// usageRequest is a report that a caller asks for.
type usageRequest struct {
	usage.Query

	groups []string // Groups are in the order of the request.
}

// getUsage answers GET /v1/usage: what the account, or a key that is narrowed to some models, used and paid. Its total is
// what the ledger charged for the requests that began in these times.
func (a *API) getUsage(x *call) error {
	u, err := a.readUsage(x.QueryParams())
	if err != nil {
		return err
	}
	u.Model = a.modelID(x, u.Model)
	u.AccountID, u.Refusals = x.key.AccountID, true
	if len(x.key.Models) > 0 {
		if u.KeyID != "" && u.KeyID != x.key.ID {
			return app.Errorf(app.Forbidden, "key_not_allowed",
				"This key is narrowed to some models, so it sees its own usage only. Leave key_id out, or use another key.").At("key_id").Final()
		}
		u.KeyID = x.key.ID
	}
	table := wantsCSV(x.Request().Header)
	body, err := a.o.Reports.Encoded(x.Request().Context(), u.Query, fmt.Sprint(table, u.groups), func(report usage.Report) ([]byte, error) {
		if table {
			return usageCSV(u, report), nil
		}
		answer, err := json.Marshal(usageJSON(u, report))
		return append(answer, '\n'), err
	})
	if refusal, ours := errors.AsType[*app.Error](err); ours && refusal.Kind == app.Invalid {
		exact := *refusal
		exact.Param = "from"
		return &exact
	}
	if err != nil {
		return err
	}
	x.Header().Set("Vary", "Accept, Authorization, Origin")
	extendWrite(x.Connection(), a.now())
	if table {
		x.Header().Set("Content-Disposition", `attachment; filename="usage.csv"`)
		return x.Blob(http.StatusOK, "text/csv; charset=utf-8", body)
	}
	return x.Blob(http.StatusOK, jsonType, body)
}

// readUsage reads the parameters of a report; each refusal names its parameter.
func (a *API) readUsage(q url.Values) (u usageRequest, err error) {
	if err := onlyParams(q, usageParams, queryValueBytesMax); err != nil {
		return u, err
	}
	u.Model, u.KeyID, u.EndUser = q.Get("model"), q.Get("key_id"), q.Get("end_user")
	u.Style, u.Reason, u.Modality = q.Get("style"), q.Get("reason"), q.Get("modality")
	var styles []string
	for _, s := range append(llm.Styles(), catalog.VideosStyle) {
		styles = append(styles, string(s))
	}
	var reasons []string
	for _, r := range billing.Rules() {
		reasons = append(reasons, string(r.Reason))
	}
	for _, choice := range []struct {
		name, value string
		allowed     []string
	}{
		{"style", u.Style, styles},
		{"reason", u.Reason, reasons},
		{"modality", u.Modality, []string{usageModalityText, usageModalityVideo}},
	} {
		if choice.value != "" && !slices.Contains(choice.allowed, choice.value) {
			return u, usageError(choice.name, "%s is one of %s, not %q.", choice.name, strings.Join(choice.allowed, ", "), shorten(choice.value))
		}
	}
	if u.groups, err = readGroups(q.Get("group_by")); err != nil {
		return u, err
	}
	for _, g := range u.groups {
		if step, found := usageSteps[g]; found {
			u.Step = step
		} else {
			u.Group = usageGroups[g]
		}
	}
	return u, a.readRange(q, &u)
}

func usageError(param, format string, args ...any) *app.Error {
	return app.Errorf(app.Invalid, "invalid_value", format, args...).At(param)
}

// readGroups reads at most one step of time and one other grouping, such as day,model.
func readGroups(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	groups := strings.Split(text, ",")
	steps, others := 0, 0
	for i := range groups {
		groups[i] = strings.TrimSpace(groups[i])
		if _, found := usageSteps[groups[i]]; found {
			steps++
		} else if _, found := usageGroups[groups[i]]; found {
			others++
		} else {
			return nil, usageError("group_by",
				"group_by is one of model, key, style, end_user and reason, or hour or day, or one of each such as day,model, not %q.",
				shorten(text))
		}
	}
	if steps > 1 || others > 1 {
		return nil, usageError("group_by", "group_by takes one of hour and day, and one of model, key, style, end_user and reason, not %q.",
			shorten(text))
	}
	return groups, nil
}

// readRange reads the times of a report; the default are the last thirty days. Times are widened to whole quarters of an hour, by which
// usage is summed up.
func (a *API) readRange(q url.Values, u *usageRequest) (err error) {
	now := a.now()
	if u.Zone, err = readZone(q.Get("tz")); err != nil {
		return err
	}
	u.To = now.UTC().Truncate(usageSlot).Add(usageSlot)
	if q.Get("to") != "" {
		if u.To, err = readTime("to", q.Get("to"), u.Zone); err != nil {
			return err
		}
		if floor := u.To.Truncate(usageSlot); floor.Before(u.To) {
			u.To = floor.Add(usageSlot)
		}
	}
	local := u.To.In(u.Zone)
	u.From = time.Date(local.Year(), local.Month(), local.Day()-usageDaysDefault, 0, 0, 0, 0, u.Zone).UTC().Truncate(usageSlot)
	if q.Get("from") != "" {
		if u.From, err = readTime("from", q.Get("from"), u.Zone); err != nil {
			return err
		}
		u.From = u.From.Truncate(usageSlot)
	}
	days := usageDaysMax
	if u.Step == usage.Hourly {
		days = usageHourDaysMax
	}
	switch {
	case !u.From.Before(u.To):
		return usageError("to", "to must be later than from: a report is from the one up to, and not including, the other.")
	case u.To.Sub(u.From) > time.Duration(days)*24*time.Hour:
		return usageError("from", "A report like this covers at most %d days. Choose a later from or an earlier to.", days)
	}
	return nil
}

// readZone reads the name of a time zone, as the IANA database has it.
func readZone(name string) (*time.Location, error) {
	if name == "" || name == "UTC" {
		return time.UTC, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" || len(name) > usageZoneBytesMax {
		return nil, usageError("tz", "tz is the name of a time zone such as UTC or Europe/Berlin; %q is none.", shorten(name))
	}
	return zone, nil
}

// readTime reads a moment, or a date, which is its first moment in the zone.
func readTime(param, text string, zone *time.Location) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t, err = time.ParseInLocation(usageDate, text, zone)
	}
	if err != nil || t.Year() < 2000 || t.Year() > yearMax {
		return time.Time{}, usageError(param,
			"%s is a date such as 2026-11-22 or a time such as 2026-11-22T14:30:00Z, from the year 2000 on, not %q.", param, shorten(text))
	}
	return t.UTC(), nil
}
