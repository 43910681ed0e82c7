package console

import (
	"cmp"
	"encoding/csv"
	"net/http"
	"strings"
	"time"

	"umg/app"
	"umg/app/audit"
	"umg/app/console/page"
	settingpages "umg/views/settings"
	"umg/views/ui"
)

const (
	auditPageMax = 50
	auditCSVName = "audit-log"
)

// auditRoutes are the pages of the audit log.
func (c *Console) auditRoutes() []page.Route {
	a := page.Area{Right: app.ManageAccount, Missing: c.o.Audit == nil}
	return []page.Route{a.Get("/settings/audit", c.audit), a.Get("/settings/audit.csv", c.exportAudit)}
}

// audit lists entries. The page says so when the database does not answer in time.
func (c *Console) audit(p *page.Page) error {
	l := settingpages.AuditLog{Shell: c.Shell(p), Query: settingpages.ParseAuditQuery(p.QueryParams())}
	p.ReplaceURL(l.Query.Path())
	for _, k := range audit.Kinds() {
		l.Kinds = append(l.Kinds, ui.Option{Value: string(k.Actions), Label: k.Name})
	}
	var err error
	if l.Failure, err = page.Unavailable(p, c.fillAudit(p, &l)); err != nil {
		return err
	}
	return c.Render(p, http.StatusOK, settingpages.AuditPage(l))
}

func (c *Console) fillAudit(p *page.Page, l *settingpages.AuditLog) error {
	ctx, id := p.Request().Context(), p.User.AccountID
	actors, err := c.o.Audit.Actors(ctx, id)
	if err != nil {
		return err
	}
	for _, w := range actors {
		o := ui.Option{Value: w.ID, Label: cmp.Or(w.Name, w.ID)}
		if w.Kind == audit.ByKey {
			o.Label = "Key " + o.Label
		}
		l.Actors = append(l.Actors, o)
	}
	found, err := c.o.Audit.List(ctx, id, auditFilter(l.Query))
	if err != nil {
		return err
	}
	l.Older, l.Newer = found.More, l.Query.After != ""
	if l.Query.Before != "" {
		l.Older, l.Newer = true, found.More
	}
	objects := make([]string, len(found.Entries))
	for i, e := range found.Entries {
		objects[i] = e.Object
	}
	gone, err := c.o.Audit.Deleted(ctx, id, objects)
	if err != nil {
		return err
	}
	for _, e := range found.Entries {
		v := page.ViewAuditEntry(e)
		if !gone[e.Object] {
			v.Href = pageOf(e)
		}
		l.Entries = append(l.Entries, v)
	}
	return nil
}

func auditFilter(q settingpages.AuditQuery) audit.Filter {
	f := audit.Filter{
		Action: audit.Action(q.Kind), Actor: q.Actor, Object: q.Object, After: q.After, Before: q.Before, Limit: auditPageMax,
	}
	f.From, f.To = q.Span()
	return f
}

// pageOf returns the path of the page about the object of an entry. It is empty for objects without a page.
func pageOf(e audit.Entry) string {
	for _, kind := range []struct{ prefix, path string }{
		{"key_", page.ConsolePath + "/keys/"}, {"whe_", webhooksPath + "/"}, {"top_", billingPath + "/topups/"},
		{"asset_", page.ConsolePath + "/assets/"}, {"prompt_", promptsPath + "/"},
	} {
		if strings.HasPrefix(e.Object, kind.prefix) && strings.Trim(e.Object, "abcdefghijklmnopqrstuvwxyz0123456789_") == "" {
			return kind.path + e.Object
		}
	}
	return ""
}

// exportAudit streams every entry of the query, page by page. The first page is read before anything is sent, so that most faults are
// answered with an error page. A later fault drops the connection, because nothing else shows the reader that lines are missing.
func (c *Console) exportAudit(p *page.Page) error {
	f := auditFilter(settingpages.ParseAuditQuery(p.QueryParams()))
	var out *csv.Writer
	flush := c.stalled(p)
	for entries, err := range c.o.Audit.Pages(p.Request().Context(), p.User.AccountID, f) {
		switch {
		case err != nil && out == nil:
			return err
		case err != nil:
			panic(http.ErrAbortHandler)
		case out == nil:
			c.attachment(p, kindCSV, auditCSVName)
			out = csv.NewWriter(p.Response())
			_ = out.Write([]string{
				"time", "entry", "actor_kind", "actor_id", "actor", "action", "words", "object_id", "object", "field", "from", "to", "ip", "agent",
				"request",
			}) // Errors show when the writer is flushed.
		}
		for _, e := range entries {
			for _, cells := range auditCells(e) {
				_ = out.Write(cells)
			}
		}
		if out.Flush(); out.Error() != nil {
			return out.Error()
		}
		_ = flush()
	}
	return nil
}

// auditCells returns a line for each field that an entry changed, or one line if it changed none.
func auditCells(e audit.Entry) [][]string {
	changes := e.Changes
	if len(changes) == 0 {
		changes = []audit.Change{{}}
	}
	lines := make([][]string, len(changes))
	for i, c := range changes {
		lines[i] = []string{
			e.At.UTC().Format(time.RFC3339Nano), e.ID, string(e.Actor), csvText(e.ActorID), csvText(e.ActorName), string(e.Action),
			audit.Describe(e.Action).Words, csvText(e.Object), csvText(e.Name), csvText(c.Field), csvText(c.From), csvText(c.To), csvText(e.IP),
			csvText(e.Agent), csvText(e.RequestID),
		}
	}
	return lines
}
