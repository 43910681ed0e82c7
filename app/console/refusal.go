package console

import (
	"cmp"
	"net/http"
	"strconv"

	"umg/app"
	"umg/app/catalog"
	"umg/app/console/page"
	"umg/app/docs"
	"umg/app/refusal"
	"umg/billing/usage"
	"umg/views"
	homepages "umg/views/home"
	requestpages "umg/views/requests"
	"umg/views/ui"
)

// recordRefusal records a call of the reader's that failed without a usage record, as those of API keys are recorded.
func (c *Console) recordRefusal(p *page.Page, r refusal.Record, err error) {
	e := app.AsError(err)
	if c.o.Refusals == nil || e == nil || e.Kind == app.Canceled {
		return
	}
	r.RequestID, r.AccountID, r.At, r.Method = p.RequestID(), p.User.AccountID, c.o.Now(), p.Request().Method
	r.Status, r.Code, r.Param, r.Message = page.Status(e.Kind), e.Code, e.Param, e.Message
	if e.Status != 0 {
		r.Message = "" // A provider's own message may repeat the prompt.
	}
	if _, known := c.catalogFor(p).Model(r.Model); !known {
		r.Model = ""
		if e.Param == "model" {
			r.UnknownModel = e.Value
		}
	}
	c.o.Refusals.Record(r)
}

// recordVideoRefusal records a video of the reader's that was refused before its job was made.
func (c *Console) recordVideoRefusal(p *page.Page, route, model string, err error) {
	c.recordRefusal(p, refusal.Record{Route: route, Style: string(catalog.VideosStyle), Model: model}, err)
}

// noModel is shown where the request named no model of the catalog.
const noModel = "No model"

// viewLogged is one row of the request log.
func viewLogged(r *usage.Request, keyNames map[string]string) requestpages.LoggedRequest {
	row := loggedRequest(&r.UsageRecord, keyNames)
	if r.Refusal == nil {
		return row
	}
	row.UnknownModel = row.Model == "" && r.Refusal.UnknownModel != ""
	row.Model = cmp.Or(row.Model, r.Refusal.UnknownModel, noModel)
	if row.IsVideo() {
		row.Style = "" // A request that failed before its job was made leads to no video.
	}
	row.Refusal = &requestpages.Refusal{
		Status: r.Refusal.Status, Param: r.Refusal.Param, Message: r.Refusal.Message, Method: r.Refusal.Method, Route: r.Refusal.Route,
		Represents: r.Refusal.Represents,
	}
	return row
}

// viewLoggedRequests are rows of the request log for lists that show less of them.
func viewLoggedRequests(found []usage.Request, keyNames map[string]string) []views.Request {
	list := make([]views.Request, len(found))
	for i := range found {
		list[i] = viewLogged(&found[i], keyNames).Request
	}
	return list
}

// refusal shows the page of a refused request.
func (c *Console) refusal(p *page.Page, r *usage.Request, keys logKeys) error {
	d := requestpages.RefusalDetail{
		Shell: c.Shell(p), Request: viewLogged(r, keys.names), Docs: docs.ErrorPath(r.ErrorCode), Query: logQuery(p),
	}
	if _, known := c.catalogFor(p).Model(r.Model); known {
		d.Model = r.Model
	}
	if e, found := docs.Explanation(r.ErrorCode); found {
		d.Means, d.Do = e.Means, e.Do
	}
	if fix := homepages.FixOf(r.ErrorCode); fix.Link != page.ConsolePath+"/requests" {
		d.Fix = ui.LinkProps{Href: fix.Link, Text: fix.Label}
	}
	d.Query.After = ""
	var err error
	if d.Newer, d.Older, err = c.o.Reports.Neighbours(p.Request().Context(), c.recordQuery(p, d.Query, keys), r.UsageRecord); err != nil {
		return err
	}
	return c.Render(p, http.StatusOK, requestpages.RefusalPage(d))
}

// requestCells are a row of the request log as a line of a table file. Only refusals have the last cells.
func (e recordExport) requestCells(r *usage.Request) []string {
	cells := e.recordCells(&r.UsageRecord)
	if r.Refusal == nil {
		return append(cells, "", "", "", "", "")
	}
	f := r.Refusal
	return append(cells, strconv.Itoa(f.Status), csvText(f.Param), csvText(f.Message), number(f.Represents), csvText(f.UnknownModel))
}

// exportedRequest is a row of the request log in JSON.
type exportedRequest struct {
	exportedRecord
	Refusal *exportedRefusal `json:"refusal,omitempty"`
}

// exportedRefusal is what only refused requests have.
type exportedRefusal struct {
	Status  int    `json:"status"`
	Field   string `json:"field"`
	Message string `json:"message"`
	// Refusals is how many refusals the row stands for.
	Refusals     int64  `json:"refusals"`
	UnknownModel string `json:"unknown_model,omitempty"`
}

func (e recordExport) requestOut(r *usage.Request) exportedRequest {
	out := exportedRequest{exportedRecord: e.recordOut(&r.UsageRecord)}
	if f := r.Refusal; f != nil {
		out.Refusal = &exportedRefusal{Status: f.Status, Field: f.Param, Message: f.Message, Refusals: f.Represents, UnknownModel: f.UnknownModel}
	}
	return out
}
