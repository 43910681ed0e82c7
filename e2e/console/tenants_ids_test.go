package console

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/e2e/harness"
)

// place is where a route takes an id beside its path: in its query or its body. ID stands for the id there.
type place struct {
	// route is the route as in the table of routes.
	route       string
	query, body string
	// of is the kind of id at this place. The owner's answers for their own id and for an absent one must differ.
	of string
	// as is the request that the owner makes when it is not the id itself. It is "silent" where no caller gets an answer.
	as string
}

const silent = "silent"

// idPlaces are all members of queries and bodies that look for something by its id.
var idPlaces = []place{
	{route: "GET /v1/generation", query: "id=ID", of: "request"},
	{route: "GET /v1/usage", query: "key_id=ID", of: "key"},
	{route: "GET /v1/usage", query: "end_user=ID&group_by=model", of: "end_user"},
	{route: "GET /v1/audit_log", query: "object=ID", of: "invitation"},
	{route: "GET /v1/audit_log", query: "actor=ID", of: "member"},
	{route: "GET /v1/audit_log", query: "after=ID", as: silent},
	{route: "GET /v1/keys", query: "after=ID", of: "key"},
	{route: "GET /v1/members", query: "after=ID", as: silent},
	{route: "GET /v1/invitations", query: "after=ID", as: silent},
	{route: "GET /v1/top_ups", query: "after=ID", as: silent},
	{route: "GET /v1/videos", query: "after=ID", as: silent},
	{route: "GET /v1/videos", query: "remixed_from_video_id=ID", as: silent},
	{route: "GET /v1/videos", query: "search=ID", as: silent},
	{route: "GET /v1/webhook_endpoints", query: "after=ID", as: silent},
	{route: "GET /v1/webhook_events", query: "after=ID", as: silent},
	{route: "GET /v1/webhook_endpoints/:id/deliveries", query: "object_id=ID", as: silent},
	{route: "GET /v1/webhook_endpoints/:id/deliveries", query: "after=ID", as: silent},
	{route: "POST /v1/videos", body: `{"model":"meridian/reel","prompt":"again","remix_video_id":"ID"}`, as: silent},
	{route: "POST /v1/videos", body: `{"model":"kestrel/swift","prompt":"show it","asset_ids":["ID"]}`, as: silent},
	{route: "POST /v1/files/vendorx/assets/get", body: `{"asset_id":"ID"}`, of: "asset"},
	{route: "POST /v1/files/vendorx/assets/delete", body: `{"asset_id":"ID"}`, as: silent},
	{route: "POST /v1/responses", body: `{"model":"` + harness.CheapModel + `","input":"hi","previous_response_id":"ID"}`, as: silent},
	{route: "POST /v1/responses", body: `{"model":"` + harness.CheapModel + `","input":[{"type":"item_reference","id":"ID"}]}`, as: silent},
	{route: "POST /v1/responses", body: `{"model":"` + harness.CheapModel + `","input":"hi","conversation":"ID"}`, as: silent},
	{route: "POST /v1/responses", body: `{"model":"` + harness.CheapModel + `","input":[{"role":"user","content":[{"type":"input_file","file_id":"ID"}]}]}`,
		as: silent},
	{route: "POST /v1/messages", body: `{"model":"quillon/folio-large","max_tokens":5,"container":"ID","messages":[{"role":"user","content":"hi"}]}`,
		as: silent},
	{route: "POST /v1/messages", body: `{"model":"quillon/folio-large","max_tokens":5,"messages":[{"role":"user","content":[` +
		`{"type":"image","source":{"type":"file","file_id":"ID"}}]}]}`, as: silent},
	{route: "POST /vendorc/native", body: `{"model":"` + harness.CheapModel + `","cachedContent":"ID","contents":[{"role":"user","parts":[{"text":"hi"}]}]}`,
		as: silent},

	{route: "GET /console/requests", query: "q=ID", of: "request"},
	{route: "GET /console/requests", query: "key=ID", of: "key"},
	{route: "GET /console/requests", query: "after=ID", as: silent},
	{route: "GET /console/requests", query: "transaction=ID", of: "transaction"},
	{route: "GET /console/requests.csv", query: "key=ID", of: "key"},
	{route: "GET /console/requests.csv", query: "q=ID", of: "request"},
	{route: "GET /console/requests.csv", query: "end_user=ID", of: "end_user"},
	{route: "GET /console/requests.json", query: "q=ID", of: "request"},
	{route: "GET /console/requests.json", query: "transaction=ID", of: "transaction"},
	{route: "GET /console/requests/live", query: "last=ID", as: silent},
	{route: "GET /console/usage", query: "key=ID", of: "key"},
	{route: "GET /console/usage.csv", query: "key=ID", of: "key"},
	{route: "GET /console/usage.json", query: "key=ID", of: "key"},
	{route: "GET /console/billing/ledger.csv", query: "kind=ID", as: silent},
	{route: "GET /console/search", query: "q=ID", of: "request"},
	{route: "GET /console/keys", query: "q=ID", as: silent},
	{route: "GET /console/videos", query: "q=ID", as: silent},
	{route: "GET /console/assets", query: "q=ID", as: silent},
	{route: "GET /console/settings/audit", query: "object=ID", of: "invitation"},
	{route: "GET /console/settings/audit.csv", query: "object=ID", of: "invitation"},
	{route: "GET /console/settings/audit.csv", query: "actor=ID", of: "member"},
	{route: "GET /console/playground", query: "prompt=ID", of: "prompt"},
	{route: "GET /console/playground/video", query: "remix=ID", as: silent},
	{route: "POST /console/views/rename", body: "page=usage&view=ID&name=stolen", as: silent},
	{route: "POST /console/views/delete", body: "page=usage&view=ID", as: silent},
	{route: "POST /console/prompts", body: "prompt_id=ID&prompt_version=1&model=" + harness.CheapModel + "&prompt=taken", as: silent},
	{route: "POST /console/invitations/accept", body: "token=ID", as: silent},
	{route: "GET /console/shared/:token", of: "shared"},
}

// upstreamKinds are the ids that come from providers or that answers carry, and none of which opens anything here.
var upstreamKinds = []string{"upstream_video", "upstream_asset", "completion", "message", "response", "output_item", "native_response", "tool_call"}

// pageKinds are those of them that are tried on pages.
var pageKinds = []string{"upstream_video", "upstream_asset", "response", "tool_call"}

// makeUpstreamIDs collects the ids that providers gave to objects of the account, and those that answers of every style carry.
func (m *tenants) makeUpstreamIDs(t *testing.T) {
	t.Helper()
	db := m.g.DB(t)
	for kind, query := range map[string]string{
		"upstream_video": `select upstream_id from video_jobs where account_id = $1 and upstream_id <> '' limit 1`,
		"upstream_asset": `select upstream_id from assets where account_id = $1 and upstream_id <> '' limit 1`,
		"transaction":    `select transaction_id from usage_records where account_id = $1 and coalesce(transaction_id, '') <> '' limit 1`,
	} {
		var id string
		if err := db.Get(&id, query, m.owner.AccountID); err != nil {
			t.Fatalf("the account has no %s: %v", kind, err)
		}
		m.things[kind] = id
	}
	tool := `"tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}]`
	m.things["end_user"] = "user_81f2c6"
	for _, one := range []struct {
		path, body string
		ids        map[string][]any
	}{
		{"/v1/chat/completions", `{"model":"` + harness.CheapModel + `","user":"user_81f2c6","messages":[{"role":"user","content":"call: look {}"}],` + tool + `}`,
			map[string][]any{"completion": {"id"}, "tool_call": {"choices", 0, "message", "tool_calls", 0, "id"}}},
		{"/v1/messages", `{"model":"` + harness.Styles["messages"].Model + `","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}`, map[string][]any{"message": {"id"}}},
		{"/v1/responses", `{"model":"` + harness.CheapModel + `","input":"hi"}`, map[string][]any{"response": {"id"}, "output_item": {"output", 0, "id"}}},
		{"/vendorc/native", `{"model":"` + harness.CheapModel + `","contents":[{"role":"user","parts":[{"text":"hi"}]}]}`,
			map[string][]any{"native_response": {"responseId"}}},
	} {
		a := m.owner.Call(t, http.MethodPost, one.path, one.body)
		if a.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", one.path, a.Status, a.Body)
		}
		m.owner.UsageRecord(t, a.Header.Get("X-Request-Id"))
		for kind, at := range one.ids {
			if m.things[kind] = harness.TextMember(harness.DecodeObject(t, a.Body), at...); m.things[kind] == "" {
				t.Fatalf("%s has no id at %v: %d %s", one.path, at, a.Status, a.Body)
			}
		}
	}
}

// makeView saves filters under a name that no other view has.
func (m *tenants) makeView(t *testing.T) {
	t.Helper()
	m.things["view"] = "view_7k2f8s4j6h1d9a3g5b7t"
	a := m.signedIn.Visit(t, "/console/views", url.Values{"page": {"usage"}, "name": {m.things["view"]}, "query": {"by=key"}})
	if a.Status != http.StatusSeeOther || !strings.Contains(m.signedIn.Visit(t, "/console/usage", nil).Body, m.things["view"]) {
		t.Fatalf("no saved view: %d", a.Status)
	}
}

// revokeShare makes a second link to the prompt and takes it back.
func (m *tenants) revokeShare(t *testing.T) {
	t.Helper()
	path := "/console/prompts/" + m.things["prompt"]
	a := m.signedIn.Visit(t, path+"/share", url.Values{"version": {"1"}, "end": {"7"}})
	link := sharedLink.FindStringSubmatch(a.Body)
	if link == nil {
		t.Fatalf("no second link: %d %s", a.Status, a.Body)
	}
	m.things["revoked"] = link[1]
	if a := m.signedIn.Visit(t, path+"/shares/"+m.newestShare(t)+"/revoke", url.Values{}); a.Status != http.StatusSeeOther {
		t.Fatalf("the link is not taken back: %d %s", a.Status, a.Body)
	}
}

// kindsOfIDs are all kinds of ids that the account has, by name.
func (m *tenants) kindsOfIDs() []string {
	kinds := sortedNames(m.things)
	return slices.DeleteFunc(kinds, func(kind string) bool { return kind == "model" })
}

func sortedNames(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// probePlaces puts ids of every kind into every place where a route looks for one.
func (m *tenants) probePlaces(t *testing.T) {
	for i, p := range idPlaces {
		r := m.routeOf(t, p.route)
		t.Run(fmt.Sprintf("%02d%s", i, strings.ReplaceAll(r.Path, "/", "_")), func(t *testing.T) {
			// A page may show a notice of an earlier request of the same session.
			if r.Area == "api" {
				t.Parallel()
			} else {
				// This page shows the pending notices, so that the next one has none.
				m.foreign.Visit(t, "/console/usage", nil)
			}
			if p.of != "" {
				m.tells(t, r, p)
			}
			one := func(kind string) {
				foreign, absent := inOneHalfHour(func() (foreign, absent harness.Response) {
					return m.atPlace(t, r, p, m.theirs(kind), false), m.atPlace(t, r, p, m.absentID(kind), false)
				})
				if p.of == "shared" && kind == "shared" {
					m.silent(t, foreign)
					return
				}
				m.alike(t, kind, foreign, absent)
			}
			// The route waits for a second before it answers 404.
			if r.Path == "/v1/generation" {
				var all sync.WaitGroup
				for _, kind := range append([]string{"request", "video"}, upstreamKinds...) {
					all.Go(func() { one(kind) })
				}
				all.Wait()
				return
			}
			for _, kind := range m.kindsAt(p, r) {
				one(kind)
			}
		})
	}
}

// inOneHalfHour asks for two answers, and once more when a half hour, which pictures on pages begin and end with, began in that time. The
// time is read before and after: the date in an answer's header is of its end, which may be later than that on the page.
func inOneHalfHour(ask func() (a, b harness.Response)) (a, b harness.Response) {
	half := func() time.Time { return time.Now().Truncate(30 * time.Minute) }
	began := half()
	if a, b = ask(); !half().Equal(began) {
		return ask()
	}
	return a, b
}

// kindsAt are the kinds of ids that are tried in a place: all of them by API, and on pages, which take longer, the one that belongs
// there, and some that are not.
func (m *tenants) kindsAt(p place, r harness.Route) []string {
	if r.Area == "api" {
		return m.kindsOfIDs()
	}
	kinds := append([]string{"account", "request", "view"}, pageKinds...)
	if p.of != "" && !slices.Contains(kinds, p.of) {
		kinds = append(kinds, p.of)
	}
	return kinds
}

func (m *tenants) routeOf(t *testing.T, name string) harness.Route {
	t.Helper()
	i := slices.IndexFunc(m.routes, func(r harness.Route) bool { return r.Method+" "+r.Path == name })
	if i < 0 {
		t.Fatalf("there is no route %s", name)
	}
	return m.routes[i]
}

// tells insists that a place works: its owner is answered something else about their own object than about none.
func (m *tenants) tells(t *testing.T, r harness.Route, p place) {
	t.Helper()
	own, none := m.atPlace(t, r, p, m.theirs(p.of), true), m.atPlace(t, r, p, m.absentID(p.of), true)
	if m.neutral(own.Body) == m.neutral(none.Body) && own.Status == none.Status {
		t.Errorf("the owner gets the same answer for their %s as for none: %d %.300s", p.of, own.Status, own.Body)
	}
}

// atPlace asks with an id in its place, as the stranger or as the owner.
func (m *tenants) atPlace(t *testing.T, r harness.Route, p place, id string, owner bool) harness.Response {
	t.Helper()
	path := harness.RouteParameter.ReplaceAllStringFunc(r.Path, func(part string) string {
		before, _, _ := strings.Cut(part, "/")
		if kinds[before] == p.of {
			return before + "/" + url.PathEscape(id)
		}
		return before + "/" + m.absentID(kinds[before])
	})
	if p.query != "" {
		path += "?" + strings.ReplaceAll(p.query, "ID", url.QueryEscape(id))
	}
	if r.Area == "api" {
		secret := m.strangerKey(r)
		if owner {
			secret = m.ownerKey(r)
		}
		m.cases.Add(1)
		return m.g.Call(t, r.Method, path, strings.ReplaceAll(p.body, "ID", id), harness.BearerHeader(secret)...)
	}
	who := m.foreign
	if owner {
		who = m.signedIn
	}
	return m.as(t, who, r.Method, path, strings.ReplaceAll(p.body, "ID", url.QueryEscape(id)))
}

// managing are rights that only keys with the scope management have.
var managing = []string{"manage keys", "manage members", "manage billing", "manage the account"}

func (m *tenants) strangerKey(r harness.Route) string {
	if slices.Contains(managing, r.Rights) {
		return m.strangerManages
	}
	return m.stranger.APIKey
}

func (m *tenants) ownerKey(r harness.Route) string {
	if slices.Contains(managing, r.Rights) {
		return m.ownerManages
	}
	return m.owner.APIKey
}

// moments are where a page says how new it is.
var moments = regexp.MustCompile(`data-live-last="[0-9.]+"`)

// alike insists that two answers differ in nothing but the ids that the requests put in.
func (m *tenants) alike(t *testing.T, kind string, foreign, absent harness.Response) {
	t.Helper()
	a, b := foreign.Body, absent.Body
	if a != b {
		a, b = moments.ReplaceAllString(m.neutral(a), ""), moments.ReplaceAllString(m.neutral(b), "")
	}
	if foreign.Status != absent.Status || a != b {
		t.Errorf("a foreign %s and none: %d and %d\n%s", kind, foreign.Status, absent.Status, difference(a, b))
	}
	if foreign.Status >= http.StatusInternalServerError {
		t.Errorf("a foreign %s: %d %s", kind, foreign.Status, foreign.Body)
	}
	if a, b := m.headersOf(foreign), m.headersOf(absent); a != b {
		t.Errorf("a foreign %s and none have other headers:\n%s", kind, firstDifferentLine(a, b))
	}
}

// volatile are headers that differ from one answer to the next.
var volatile = []string{"Date", "X-Request-Id", "Request-Id", "X-Generation-Id", "Server-Timing", "Set-Cookie", "Content-Security-Policy",
	"Content-Length", "Retry-After-Ms", "Etag"}

// headersOf are the headers of an answer, sorted, without what always differs and without counts.
func (m *tenants) headersOf(a harness.Response) string {
	var lines []string
	for name, values := range a.Header {
		if !slices.Contains(volatile, name) && !strings.HasPrefix(name, "X-Ratelimit-") {
			lines = append(lines, name+": "+m.neutral(strings.Join(values, ", ")))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// otherKinds puts ids of other kinds, above all those of upstream objects, where the path of a route has one.
func (m *tenants) otherKinds(t *testing.T, r harness.Route, p intrusion) {
	t.Helper()
	if p.public || r.Operator || r.Open || !harness.RouteParameter.MatchString(r.Path) {
		return
	}
	kinds := pageKinds
	if r.Area == "api" {
		kinds = m.kindsOfIDs()
	}
	for _, kind := range kinds {
		own := func(string) string { return url.PathEscape(m.theirs(kind)) }
		none := func(string) string { return url.PathEscape(m.absentID(kind)) }
		path, body := p.fill(t, r.Path, own)
		absentPath, absentBody := p.fill(t, r.Path, none)
		if r.Area == "api" {
			m.cases.Add(1)
			foreign := m.g.Call(t, r.Method, path, body, harness.BearerHeader(m.strangerKey(r))...)
			m.alike(t, kind, foreign, m.g.Call(t, r.Method, absentPath, absentBody, harness.BearerHeader(m.strangerKey(r))...))
			continue
		}
		foreign, absent := inOneHalfHour(func() (foreign, absent harness.Response) {
			return m.as(t, m.foreign, r.Method, path, body), m.as(t, m.foreign, r.Method, absentPath, absentBody)
		})
		m.alike(t, kind, foreign, absent)
	}
}

// probeAliases walks the spellings of the catalog: they lead to the same refusals as the paths that they stand for.
func (m *tenants) probeAliases(t *testing.T) {
	video := func(id string) []string {
		return []string{"GET /v1/openai/videos/" + id, "DELETE /v1/openai/videos/" + id, "GET /v1/openai/videos/" + id + "/content"}
	}
	foreign, absent := video(m.things["video"]), video(m.absentID("video"))
	for i := range foreign {
		method, path, _ := strings.Cut(foreign[i], " ")
		_, none, _ := strings.Cut(absent[i], " ")
		for _, header := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"} {
			secret := m.stranger.APIKey
			if header == "Authorization" {
				secret = "Bearer " + secret
			}
			m.cases.Add(1)
			a := m.g.Call(t, method, path, "", "Authorization", "", header, secret)
			if b := m.g.Call(t, method, none, "", "Authorization", "", header, secret); a.Status != http.StatusNotFound {
				t.Errorf("%s with %s: %d %s", foreign[i], header, a.Status, a.Body)
			} else {
				m.alike(t, "video", a, b)
			}
		}
		if a := m.g.Call(t, method, path, "", "Authorization", ""); a.Status != http.StatusUnauthorized {
			t.Errorf("%s without a key: %d %s", foreign[i], a.Status, a.Body)
		}
	}
}

// probeViews: saved filters belong to a person. Others of the same account neither see them nor change them.
func (m *tenants) probeViews(t *testing.T) {
	for role, p := range m.members {
		for _, path := range []string{"/console/usage", "/console/requests"} {
			if a := m.as(t, p, http.MethodGet, path, ""); strings.Contains(a.Body, m.things["view"]) {
				t.Errorf("a member who is %s sees the view of another on %s", role, path)
			}
		}
		for _, form := range []string{"rename?page=usage&name=stolen&view=", "delete?page=usage&view="} {
			action, body, _ := strings.Cut(form, "?")
			own, none := m.things["view"], m.absentID("view")
			m.alike(t, "view", m.as(t, p, http.MethodPost, "/console/views/"+action, body+own),
				m.as(t, p, http.MethodPost, "/console/views/"+action, body+none))
		}
	}
}

// probeLinks: a link to a prompt shows only the prompt to its reader, and a revoked link shows no more than one that never was.
func (m *tenants) probeLinks(t *testing.T) {
	for _, path := range []string{"/console/shared/", "/console/shared/%s/copy"} {
		at := func(token string) string {
			if strings.Contains(path, "%s") {
				return fmt.Sprintf(path, token)
			}
			return path + token
		}
		for who, p := range map[string]*harness.ConsoleClient{"a stranger": m.foreign, "a visitor": m.visitor} {
			shown := m.as(t, p, http.MethodGet, at(m.things["shared"]), "")
			m.silent(t, shown)
			if strings.Contains(shown.Body, m.owner.Email) {
				t.Errorf("%s reads on %s whose prompt it is", who, path)
			}
			m.alike(t, "revoked link", m.as(t, p, http.MethodGet, at(m.things["revoked"]), ""), m.as(t, p, http.MethodGet, at(m.absentID("revoked")), ""))
		}
	}
}

// slowerMax is how much longer an answer about a foreign object may take than one about none, each at its quickest.
const slowerMax = 10 * time.Millisecond

// probeTimes: the time of an answer does not tell whether another account has the object.
func (m *tenants) probeTimes(t *testing.T) {
	for _, c := range []struct{ route, query, body, of string }{
		{"GET /v1/videos/:id", "", "", "video"}, {"GET /v1/videos/:id/content", "", "", "video"}, {"GET /v1/keys/:id", "", "", "key"},
		{"GET /v1/webhook_endpoints/:id", "", "", "endpoint"}, {"GET /v1/top_ups/:id", "", "", "topup"},
		{"POST /v1/files/vendorx/assets/get", "", `{"asset_id":"ID"}`, "asset"},
	} {
		r, p := m.routeOf(t, c.route), place{route: c.route, query: c.query, body: c.body, of: c.of}
		quickest := func(id string) time.Duration {
			began := time.Now()
			m.atPlace(t, r, p, id, false)
			return time.Since(began)
		}
		foreign, absent := time.Hour, time.Hour
		for range 15 {
			foreign, absent = min(foreign, quickest(m.theirs(c.of))), min(absent, quickest(m.absentID(c.of)))
		}
		if (foreign - absent).Abs() > slowerMax {
			t.Errorf("%s: a foreign %s takes %s, none %s", c.route, c.of, foreign, absent)
		}
	}
}
