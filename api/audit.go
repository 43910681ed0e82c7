package api

import (
	"slices"
	"time"

	"umg/app"
	"umg/app/audit"
)

const auditFilterBytes = 200

// auditParams are what GET /v1/audit_log takes. A misspelt filter would answer for more than was asked, so every other name
// is refused.
var auditParams = []string{"limit", "after", "action", "actor", "object", "from", "to"}

// auditRoutes are an extension: who changed what in the account.
func auditRoutes() []Route {
	g := group{app.ManageAccount, func(o *Options) bool { return o.Audit != nil }}
	return []Route{g.get("/v1/audit_log", (*API).listAudit)}
}

// auditJSON is an entry as clients see it.
type auditJSON struct {
	ID         string         `json:"id"`
	Object     string         `json:"object"`
	CreatedAt  int64          `json:"created_at"`
	Action     audit.Action   `json:"action"`
	Text       string         `json:"text"` // Text is the action in words, to be read after the actor's name.
	Actor      auditActorJSON `json:"actor"`
	TargetID   *string        `json:"target_id"`
	TargetName *string        `json:"target_name"`
	Changes    []audit.Change `json:"changes"`
	IP         *string        `json:"ip"`
	UserAgent  *string        `json:"user_agent"`
	RequestID  *string        `json:"request_id"`
}

// auditActorJSON is who did it: a user or a key with their name of that time, an operator of the gateway, or itself.
type auditActorJSON struct {
	Type audit.Actor `json:"type"`
	ID   *string     `json:"id"`
	Name *string     `json:"name"`
}

func auditBody(e audit.Entry) auditJSON {
	return auditJSON{
		ID: e.ID, Object: "audit_log.entry", CreatedAt: e.At.Unix(), Action: e.Action, Text: audit.Describe(e.Action).Words,
		Actor:    auditActorJSON{Type: e.Actor, ID: orNull(e.ActorID), Name: orNull(e.ActorName)},
		TargetID: orNull(e.Object), TargetName: orNull(e.Name), Changes: append([]audit.Change{}, e.Changes...), IP: orNull(e.IP),
		UserAgent: orNull(e.Agent), RequestID: orNull(e.RequestID),
	}
}

func (a *API) listAudit(x *call) error {
	f, err := x.auditFilter()
	if err != nil {
		return err
	}
	page, err := a.o.Audit.List(x.Request().Context(), x.key.AccountID, f)
	if err != nil {
		return err
	}
	return a.object(x, listBody(page.Entries, page.More, func(e audit.Entry) string { return e.ID }, auditBody))
}

// auditFilter reads the parameters of the list; each refusal names its parameter.
func (x *call) auditFilter() (f audit.Filter, err error) {
	q := x.QueryParams()
	if err := onlyParams(q, auditParams, auditFilterBytes); err != nil {
		return f, err
	}
	if f.Limit, err = x.pageSize(); err != nil {
		return f, err
	}
	f.After, f.Actor, f.Object, f.Action = q.Get("after"), q.Get("actor"), q.Get("object"), audit.Action(q.Get("action"))
	if f.After != "" && !app.IsID("audit", f.After) {
		return f, usageError("after", "after must be the id of an entry.")
	}
	if f.Action != "" && !slices.ContainsFunc(audit.Actions(), func(k audit.Known) bool { return k.Action == f.Action }) &&
		!slices.ContainsFunc(audit.Kinds(), func(k audit.Kind) bool { return k.Actions == f.Action }) {
		return f, usageError("action",
			"action is one such as key.created, or the beginning of some such as \"key.\" for all about keys; %q is none.",
			shorten(string(f.Action)))
	}
	if q.Get("from") != "" {
		if f.From, err = readTime("from", q.Get("from"), time.UTC); err != nil {
			return f, err
		}
	}
	if q.Get("to") != "" {
		if f.To, err = readTime("to", q.Get("to"), time.UTC); err != nil {
			return f, err
		}
	}
	if !f.From.IsZero() && !f.To.IsZero() && !f.From.Before(f.To) {
		return f, usageError("to", "to must be later than from: the list is from the one up to, and not including, the other.")
	}
	return f, nil
}
