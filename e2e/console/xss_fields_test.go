package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

// TestHostileTextsStayTexts fills every field that a person, a program, a model, a receiver or an operator can fill with texts that
// would run as scripts or load something, and opens every page that shows them.
func TestHostileTextsStayTexts(t *testing.T) {
	t.Parallel()
	s := newStranger(t)
	h := &hostileAccount{stranger: s, texts: s.hostile(), owner: harness.NewVideoCustomer(t, harness.SharedVideoDemo(t), "hostile")}
	h.signedIn = h.owner.SignInToConsole(t)
	runsIt(t, h.owner)
	pages := []string{""}
	for _, fill := range []func(*testing.T) []string{h.names, h.keys, h.hooks, h.assets, h.videos, h.deliveries, h.prompts, h.calls, h.model} {
		pages = append(pages, fill(t)...)
	}
	r := guards(t, h.owner.Gateway, h.signedIn, s)
	for _, path := range pages {
		r.visit("/console" + path)
	}
	r.Must(r.Context().ClearCookies())
	r.visit("/console" + h.shared)
}

// hostileAccount is one whose every text is hostile.
type hostileAccount struct {
	*stranger
	texts    []string
	owner    harness.Customer
	signedIn *harness.ConsoleClient
	shared   string
}

// send posts a form, which must not fail; what it says of the fields is a page that is looked at as well.
func (h *hostileAccount) send(t *testing.T, path string, form url.Values) harness.Response {
	t.Helper()
	a := h.signedIn.Visit(t, "/console"+path, form)
	if a.Status >= 500 {
		t.Errorf("%s: %d %.300s", path, a.Status, a.Body)
	}
	return a
}

func (h *hostileAccount) find(t *testing.T, query string) (ids []string) {
	t.Helper()
	if err := h.owner.DB(t).Select(&ids, query, h.owner.AccountID); err != nil || len(ids) == 0 {
		t.Fatalf("%s: %v, %d found", query, err, len(ids))
	}
	return ids
}

func (h *hostileAccount) names(t *testing.T) []string {
	t.Helper()
	h.send(t, "/settings/name", url.Values{"name": {h.texts[0]}})
	h.send(t, "/settings/account", url.Values{"name": {h.texts[1]}})
	h.send(t, "/limits", url.Values{"times": {"3"}, "reason": {h.wall()[:900]}})
	wish := h.find(t, `select id from limit_requests where account_id = $1`)[0]
	h.send(t, "/operator/limits/"+wish, url.Values{
		"do": {"done"}, "factor": {"3"}, "answer": {strings.Join(h.texts, " ")[:450]}, "current_password": {h.owner.Password},
	})
	account := "/operator/accounts/" + h.owner.AccountID
	credit := url.Values{"amount": {"5"}, "reason": {h.wall()[:490]}, "step": {"do"}, "current_password": {h.owner.Password}}
	credit.Set("once", "adj_"+strings.ToLower(h.owner.AccountID[len(h.owner.AccountID)-26:]))
	h.send(t, account+"/add", credit)
	until := time.Now().UTC().AddDate(0, 1, 0).Format(time.DateOnly)
	codes, code := "/operator/trials/codes", "EVIL"+strings.ToUpper(h.owner.AccountID[len(h.owner.AccountID)-12:])
	h.send(t, codes, url.Values{"code": {code}, "amount": {"5"}, "times": {"1"}, "until": {until}, "days": {"0"}, "reason": {h.wall()[:190]},
		"current_password": {h.owner.Password}})
	h.send(t, codes, url.Values{"code": {h.texts[0]}, "amount": {h.texts[1]}, "times": {h.texts[2]}, "until": {h.texts[3]}, "days": {h.texts[0]}, "reason": {h.wall()}})
	return []string{
		"/settings", "/settings/account", "/settings/account/delete", "/settings/members", "/settings/audit", "/limits", "/operator/limits", "/notifications",
		"/operator/trials", "/operator/trials?made=" + code, codes + "/" + code + "/end", "/operator/queues",
		account, "/operator/accounts?q=" + h.owner.AccountID, account + "/take?" + url.Values{"amount": {h.texts[0]}, "reason": {h.texts[1]}}.Encode(),
	}
}

func (h *hostileAccount) keys(t *testing.T) []string {
	t.Helper()
	for _, text := range h.texts {
		h.send(t, "/keys", url.Values{"name": {text}, "mode": {"documented"}})
	}
	id := h.find(t, `select id from api_keys where account_id = $1 and name like '%img%'`)[0]
	return []string{"/keys", "/keys/" + id, "/keys/" + id + "/rotate", "/keys/" + id + "/delete", "/usage", "/requests"}
}

// hooks has a receiver that answers with everything, and one whose address says it.
func (h *hostileAccount) hooks(t *testing.T) []string {
	t.Helper()
	r := harness.NewWebhookReceiver(t)
	r.AnswerWith(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("X-Odd", h.texts[0])
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte(h.wall()))
	})
	for i, text := range h.texts[:4] {
		address := r.URL
		if i == 1 {
			address += "?" + h.texts[0]
		}
		h.send(t, "/webhooks", url.Values{"name": {text}, "url": {address}, "events": {"video.completed", "video.failed"}})
	}
	pages := []string{"/webhooks"}
	for _, id := range h.find(t, `select id from webhook_endpoints where account_id = $1 order by created_at limit 2`) {
		h.send(t, "/webhooks/"+id+"/test", url.Values{"event_type": {"video.completed"}})
		pages = append(pages, "/webhooks/"+id, "/webhooks/"+id+"/edit", "/webhooks/"+id+"/delete")
	}
	return pages
}

// deliveries are the events of the videos, which the receivers refuse with all they have.
func (h *hostileAccount) deliveries(t *testing.T) (pages []string) {
	t.Helper()
	const tried = `select '/webhooks/' || e.id || '/deliveries/' || d.id from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id
		where e.account_id = $1 limit 2`
	db := h.owner.DB(t)
	harness.WaitUntil(t, "an event is on its way", func() bool { return db.Select(&pages, tried, h.owner.AccountID) == nil && len(pages) > 0 })
	return pages
}

func (h *hostileAccount) assets(t *testing.T) []string {
	t.Helper()
	for _, text := range h.texts[:5] {
		h.send(t, "/assets", url.Values{"type": {"image"}, "url": {h.owner.SampleURL("picture.png")}, "name": {text}})
	}
	h.send(t, "/assets", url.Values{"type": {"image"}, "url": {h.owner.SampleURL("picture.png") + "?" + url.QueryEscape(h.texts[0])}, "name": {h.texts[6]}})
	id := h.find(t, `select id from assets where account_id = $1 order by created_at desc limit 1`)[0]
	return []string{"/assets", "/assets?view=cards", "/assets/" + id, "/assets/" + id + "/delete"}
}

func (h *hostileAccount) videos(t *testing.T) []string {
	t.Helper()
	done := harness.TextMember(h.owner.CompleteVideo(t, harness.VideoBody(harness.VideosModel, h.wall())), "id")
	failed := harness.TextMember(h.owner.FailVideo(t, harness.VideoBody(harness.VideosModel, "simulate: fail=broken\n"+h.wall()), "generation_failed"), "id")
	return []string{
		"/videos", "/videos?view=table", "/videos/" + done, "/videos/" + done + "/code", "/videos/" + done + "/delete", "/videos/" + failed,
		"/playground/video?remix=" + done,
	}
}

// prompts saves panes that are hostile in every field, one of them out of a file.
func (h *hostileAccount) prompts(t *testing.T) []string {
	t.Helper()
	tools, err := json.Marshal([]map[string]any{{"name": "look", "description": h.wall(), "parameters": map[string]any{"type": "object", "title": h.texts[0]}}})
	if err != nil {
		t.Fatal(err)
	}
	pane := url.Values{
		"model": {harness.CheapModel}, "style": {"chat"}, "system": {h.wall()}, "prompt": {h.wall() + "{{thing}}"}, "var_thing": {h.wall()},
		"turn_role": {"user", "assistant"}, "turn_text": {h.wall(), h.wall()}, "tools": {string(tools)}, "tool_choice": {"auto"},
		"name": {h.texts[0]},
	}
	for _, text := range h.texts[:3] {
		pane.Set("name", text)
		h.send(t, "/prompts", pane)
	}
	id := h.find(t, `select id from prompts where account_id = $1 order by created_at limit 1`)[0]
	file := h.send(t, "/prompts/"+id+"/export", nil)
	h.send(t, "/prompts", url.Values{"document": {file.Body}, "name": {h.texts[6]}})
	pane.Del("name")
	pane.Set("prompt_id", id)
	pane.Set("prompt_version", "1")
	pane.Set("system", h.texts[2])
	h.send(t, "/prompts", pane)
	share := h.send(t, "/prompts/"+id+"/share", url.Values{"version": {"1"}, "end": {"7"}})
	if found := sharedLink.FindString(share.Body); found != "" {
		h.shared = strings.TrimPrefix(found, "/console")
	} else {
		t.Errorf("no link: %d %.300s", share.Status, share.Body)
	}
	one := "/prompts/" + id
	return []string{"/prompts", one, one + "/diff", one + "/rename", one + "/delete", one + "/share", "/playground?prompt=" + id, h.shared, h.shared + "/copy"}
}

// calls are requests whose models, users, metadata and faults are hostile.
func (h *hostileAccount) calls(t *testing.T) []string {
	t.Helper()
	pages := []string{"/requests", "/requests?rows=100", "/usage?by=tag", "/usage?by=user"}
	for i, text := range h.texts {
		body := fmt.Sprintf(`{"model":%s,"messages":[{"role":"user","content":%s}],"user":%s,"metadata":{%s:%s}}`,
			harness.Quote(harness.CheapModel), harness.Quote("echo: "+text), harness.Quote(text), harness.Quote(fmt.Sprint("k", i)), harness.Quote(text))
		a := h.owner.Call(t, http.MethodPost, harness.ChatPath, body, "X-Title", strings.Map(ascii, text), "HTTP-Referer", "http://x.test/?"+url.QueryEscape(text))
		if i == 0 {
			h.owner.UsageRecord(t, a.Header.Get("X-Request-Id"))
			pages = append(pages, "/requests/"+a.Header.Get("X-Request-Id"))
		}
		h.owner.Call(t, http.MethodPost, harness.ChatPath, harness.ChatRequest(text, "an unknown model"))
	}
	fault := h.owner.Call(t, http.MethodPost, harness.ChatPath, harness.ChatRequest(harness.CheapModel, "simulate: status=400;code=<img/src=x/onerror=canary()>\n"+h.wall()))
	return append(pages, "/requests/"+fault.Header.Get("X-Request-Id"))
}

func ascii(r rune) rune {
	if r < ' ' || r > '~' {
		return -1
	}
	return r
}

// model is one of the catalog whose texts an operator wrote, and that is paused for such a reason.
func (h *hostileAccount) model(t *testing.T) []string {
	t.Helper()
	id := "test/" + harness.UniqueName("hostile")
	entry := fmt.Sprintf(`  - id: %s
    name: %s
    description: %s
    owner: test
    kind: text
    capabilities: [text]
    output: [text]
    context_tokens: 128000
    max_output_tokens: 16000
    availability: available
    notice: %s
    rates: {input_tokens: 1 per 1M, output_tokens: 2 per 1M}
    released: 2026-01-01
%s    routes:
      - {provider: test, model: sim, style: chat, order: 1, weight: 1}
`, id, harness.Quote(h.texts[7]), harness.Quote(h.texts[0]+h.texts[1]), harness.Quote(h.texts[1]+h.texts[5]), harness.ChatOnly)
	h.owner.PutCatalog(t, harness.TestProviders, entry, id)
	h.send(t, "/operator/pause", url.Values{"kind": {"model"}, "id": {id}, "reason": {h.texts[0]}})
	return []string{
		"/models", "/models?view=cards", "/models/" + id, "/compare?m=" + id + "&m=" + harness.CheapModel, "/model/price?model=" + id, "/operator", "/operator/catalog",
		"/operator/resume?kind=model&id=" + id, "/playground?model=" + id,
	}
}
