package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

const chatPath = "/v1/chat/completions"

// checklist is what the lines of the acceptance checklist share: a customer with room to call often, one answer and
// one stream to look at.
type checklist struct {
	customer

	// whole is a completion as one JSON object.
	whole  map[string]any
	answer answer
	stream answer
	// chunks are the events of the stream, the end marker included.
	chunks []string

	// speaks has a model for every style that an upstream may speak.
	speaks map[string]string
	// wholes has an answer for every pair of a client's style and an upstream's.
	wholes map[string]map[string]any

	// films is the state that the lines about videos share, on a gateway of their own.
	films *films
}

// checkLine is a line of the checklist by its number, and the proof of it.
type checkLine struct {
	name  string
	holds func(*testing.T, *checklist)
}

// TestAPIChecklist proves the acceptance checklist line by line; each is found by its letter and number.
func TestAPIChecklist(t *testing.T) {
	t.Parallel()
	k := &checklist{customer: start(t, "--token-interval", "0s").newCustomer(t, "checklist")}
	k.setLimits(t, 1000)
	k.setStrict(t)
	k.answer = k.chat(t, ask(cheapModel, "echo: one answer"))
	k.whole = object(t, k.answer.body)
	k.stream = k.chat(t, ask(cheapModel, "count to 20", `"stream":true`))
	k.chunks = events(t, k.stream.body)
	k.wholes = map[string]map[string]any{}
	k.speaking(t)
	k.films = newFilms(t)
	for _, lines := range [][]checkLine{
		wholeServiceLines, chatRequestLines, chatAnswerLines, messagesLines, responsesLines, nativeLines, allStylesLines, discoveryLines, chatErrorLines, failureLines,
		videoCreateLines, videoUseLines, videoContractLines, eventLines, videoErrorLines, assetLines,
	} {
		for _, line := range lines {
			t.Run(line.name, func(t *testing.T) { line.holds(t, k) })
		}
	}
}

var wholeServiceLines = []checkLine{
	{"A01 text in four styles, whole and streamed, and model discovery are under one base URL", oneBaseURL},
	{"A02 one account holds several keys", severalKeys},
	{"A03 any key calls any model of its account", anyKeyAnyModel},
	{"A04 the console makes a key", consoleMakesKey},
	{"A05 a key is rotated without affecting the others", rotatedKey},
	{"A06 key records have stored fields", keyRecord},
	{"A07 every endpoint demands a bearer key", bearerDemanded},
	{"A08 a missing key is an authentication failure on every endpoint", missingKey},
	{"A09 an invalid key is an authentication failure on every endpoint", invalidKey},
	{"A11 bodies are JSON", bodiesAreJSON},
	{"A12 the model's schema is checked before anything is forwarded", schemaFirst},
	{"A13 an available provider is chosen per request", availableProvider},
	{"A14 a request is forwarded or answered with an error", forwardedOrError},
	{"A15 fields, types, enumerations and ranges differ per model", contractsDiffer},
	{"A16 model is a non-empty string wherever it is required", modelIsRequired},
	{"A17 vendorb and vendorc are literal in headers and paths, and header aliases are configured", literalWords},
	{"A18 text and discovery routes carry the prefix v1, the native one does not", prefixes},
	{"A20 image, speech and code have no endpoints, but models carry the capabilities", capabilitiesWithoutEndpoints},
	{"A21 billing is prepaid", prepaid},
	{"A22 trial credit exists when enabled", trialCredit},
	{"A27 the console has a page for API keys", consoleKeysPage},
}

// chat sends a body to the chat route with the customer's key.
func (c customer) chat(t *testing.T, body string, headers ...string) answer {
	t.Helper()
	return c.call(t, "POST", chatPath, body, headers...)
}

// refuses insists on a failure in the documented layout, under status 200.
func (c customer) refuses(t *testing.T, body string, code int, errCode, param string) failure {
	t.Helper()
	a := c.chat(t, body)
	f := decodeFailure(t, a.body)
	if a.status != http.StatusOK || f.Code != code || f.Error.Code != errCode || f.Error.Param != param {
		t.Errorf("status %d, not code %d %s at %q: %s\nfor %.300s", a.status, code, errCode, param, a.body, body)
	}
	return f
}

// signedIn is the customer at the console.
func (c customer) signedIn(t *testing.T) *person {
	t.Helper()
	p := newPerson(t, c.gateway)
	if a := p.signIn(t, c.Email, c.Password); a.status != http.StatusSeeOther {
		t.Fatalf("sign-in: %d", a.status)
	}
	return p
}

func bearer(secret string) []string { return []string{"Authorization", "Bearer " + secret} }

// object reads a JSON object whose numbers stay as they are written.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var o map[string]any
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&o); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return o
}

// listedModels are the text models of the default catalog that may be called, with what they say they support.
func (c customer) listedModels(t *testing.T) map[string][]string {
	t.Helper()
	var list struct {
		Data []struct {
			ID         string   `json:"id"`
			Parameters []string `json:"supported_parameters"`
			Protocols  []string `json:"protocols"`
		} `json:"data"`
	}
	a := c.call(t, "GET", "/v1/models", "")
	if err := json.Unmarshal([]byte(a.body), &list); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	models := map[string][]string{}
	for _, m := range list.Data {
		// Models below test/ were added by tests, and fail.
		if !strings.HasPrefix(m.ID, "test/") && len(m.Protocols) > 0 {
			models[m.ID] = m.Parameters
		}
	}
	if len(models) < 14 {
		t.Fatalf("%d models are listed", len(models))
	}
	return models
}

func oneBaseURL(t *testing.T, k *checklist) {
	decodeCompletion(t, k.answer)
	if k.chunks[len(k.chunks)-1] != "[DONE]" {
		t.Errorf("the stream is %s", k.stream.body)
	}
	for path, want := range map[string]string{"/models": `"object":"list"`, "/models/" + cheapModel: `"object":"model"`} {
		path = strings.TrimPrefix(k.BaseURL, strings.TrimSuffix(k.BaseURL, "/v1")) + path
		if a := k.call(t, "GET", path, ""); a.status != http.StatusOK || !strings.Contains(a.body, want) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	for _, p := range allProtocols() {
		s, _ := p.answers(t, k.customer, p.ask(p.model, "echo: one base"))
		if text, _ := p.streams(t, k.customer, p.ask(p.model, "count to 3", `"stream":true`)); s.text != "one base" || text != "1 2 3" {
			t.Errorf("%s says %q and streams %q", p.style, s.text, text)
		}
	}
}

func severalKeys(t *testing.T, k *checklist) {
	c := k.newCustomer(t, "several")
	p := c.signedIn(t)
	for _, secret := range []string{c.APIKey, p.makeKey(t, "second"), p.makeKey(t, "third")} {
		decodeCompletion(t, c.chat(t, ask(cheapModel, "echo: x"), bearer(secret)...))
	}
	var keys int
	if err := c.db(t).Get(&keys, `select count(distinct secret_hash) from api_keys where account_id = $1`, c.accountID); err != nil || keys != 3 {
		t.Errorf("%d keys, %v", keys, err)
	}
}

func anyKeyAnyModel(t *testing.T, k *checklist) {
	secrets := []string{k.APIKey, k.signedIn(t).makeKey(t, "any model")}
	for id := range k.listedModels(t) {
		for i, secret := range secrets {
			c := decodeCompletion(t, k.chat(t, ask(id, "echo: any", `"max_tokens":64`), bearer(secret)...))
			if c.Model != id || *c.Choices[0].Message.Content != "any" {
				t.Errorf("key %d, model %s: %+v", i, id, c)
			}
		}
	}
	for id, styles := range k.protocolsOf(t) {
		for i, style := range styles {
			p := protocols[style]
			s, _ := p.answers(t, k.customer, p.ask(id, "echo: any", p.bounded(64)), bearer(secrets[i%len(secrets)])...)
			if s.model != id || s.text != "any" {
				t.Errorf("model %s in the style %s: %+v", id, style, s)
			}
		}
	}
	for _, id := range videoModels {
		for _, secret := range secrets {
			if a := k.call(t, "POST", videosPath, videoBody(id, "any"), "Authorization", "Bearer "+secret, "X-Dry-Run", "1"); a.status != http.StatusOK {
				t.Errorf("model %s: %d %s", id, a.status, a.body)
			}
		}
	}
}

func consoleMakesKey(t *testing.T, k *checklist) {
	p := k.signedIn(t)
	form := p.visit(t, "/console/keys/new", nil)
	if form.status != http.StatusOK || !strings.Contains(form.body, "Create an API key") || !strings.Contains(form.body, `action="/console/keys"`) {
		t.Errorf("the form: %d %s", form.status, form.body)
	}
	secret := p.makeKey(t, "made in the console")
	if secret == k.APIKey {
		t.Error("the new key is the old one")
	}
	decodeCompletion(t, k.chat(t, ask(cheapModel, "echo: x"), bearer(secret)...))
}

func rotatedKey(t *testing.T, k *checklist) {
	c := k.newCustomer(t, "rotated")
	p := c.signedIn(t)
	var old string
	if err := c.db(t).Get(&old, `select id from api_keys where account_id = $1`, c.accountID); err != nil {
		t.Fatal(err)
	}
	second := p.makeKey(t, "second")
	if a := p.visit(t, "/console/keys/"+old+"/delete", url.Values{"name": {"rotated"}}); a.status != http.StatusSeeOther {
		t.Fatalf("delete: %d %s", a.status, a.body)
	}
	third := p.makeKey(t, "third")
	body := ask(cheapModel, "echo: rotated")
	for deadline := time.Now().Add(callTimeMax); ; time.Sleep(10 * time.Millisecond) {
		for _, secret := range []string{second, third} {
			decodeCompletion(t, c.chat(t, body, bearer(secret)...))
		}
		a := c.chat(t, body)
		if a.status == http.StatusUnauthorized && decodeFailure(t, a.body).Error.Type == "authentication_error" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the deleted key still works: %d %s", a.status, a.body)
		}
	}
}

func keyRecord(t *testing.T, k *checklist) {
	c := k.newCustomer(t, "fields")
	var row struct {
		ID        string    `db:"id"`
		Name      string    `db:"name"`
		Prefix    string    `db:"prefix"`
		LastFour  string    `db:"last_four"`
		Mode      string    `db:"error_mode"`
		Hash      []byte    `db:"secret_hash"`
		CreatedAt time.Time `db:"created_at"`
		Live      bool      `db:"live"`
		All       string    `db:"everything"`
	}
	if err := c.db(t).Get(&row, `select id, name, prefix, last_four, error_mode, secret_hash, created_at,
		expires_at is null and disabled_at is null and deleted_at is null as live, row_to_json(k)::text as everything
		from api_keys k where account_id = $1`, c.accountID); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(c.APIKey))
	list := c.signedIn(t).visit(t, "/console/keys", nil)
	for what, so := range map[string]bool{
		"id":                       strings.HasPrefix(row.ID, "key_"),
		"name":                     row.Name == "fields",
		"prefix":                   len(row.Prefix) >= 8 && strings.HasPrefix(c.APIKey, row.Prefix),
		"last four":                len(row.LastFour) == 4 && strings.HasSuffix(c.APIKey, row.LastFour),
		"error mode":               row.Mode == "documented",
		"creation":                 time.Since(row.CreatedAt) < callTimeMax,
		"neither expired nor off":  row.Live,
		"only a hash is kept":      string(row.Hash) == string(sum[:]) && !strings.Contains(row.All, c.APIKey[len("sk-umg-"):]),
		"the list shows the name":  strings.Contains(list.body, ">fields<"),
		"the list masks the key":   strings.Contains(list.body, row.Prefix+"…"+row.LastFour) && !strings.Contains(list.body, c.APIKey),
		"the list shows the state": strings.Contains(list.body, "Active") && strings.Contains(list.body, "Created"),
	} {
		if !so {
			t.Errorf("not so: %s\n%s", what, row.All)
		}
	}
}

// contractsDiffer sends the same member to two models, of which only one takes it.
func contractsDiffer(t *testing.T, k *checklist) {
	for _, c := range []struct{ param, member, takes, refuses string }{
		{"tools", `"tools":[` + lookUpTool + `]`, cheapModel, "meridian/atlas-nano"},
		{"temperature", `"temperature":1.5`, cheapModel, "meridian/forge"},
		{"reasoning_effort", `"reasoning_effort":"minimal"`, "tessera/mosaic-mini", "meridian/delta-think"},
		{"max_tokens", `"max_tokens":10000`, cheapModel, "meridian/atlas-nano"},
	} {
		decodeCompletion(t, k.chat(t, ask(c.takes, "echo: x", c.member)))
		f := k.refuses(t, ask(c.refuses, "echo: x", c.member), 400, "invalid_request_error", c.param)
		if !strings.Contains(f.Error.Message, c.refuses) && !strings.Contains(f.Error.Message, c.param) {
			t.Errorf("the message names neither field nor model: %s", f.Error.Message)
		}
	}
}

func modelIsRequired(t *testing.T, k *checklist) {
	for _, model := range []string{``, `"model":"",`, `"model":null,`, `"model":7,`, `"model":["a"],`, `"model":{},`} {
		k.refuses(t, `{`+model+`"messages":[{"role":"user","content":"x"}]}`, 400, "invalid_request_error", "model")
	}
	for _, p := range newProtocols() {
		namesModel(p.style)(t, k)
	}
	a := k.call(t, "GET", "/v1/models/", "")
	if f := object(t, a.body)["error"].(map[string]any); a.status != http.StatusBadRequest || f["param"] != "model" {
		t.Errorf("no model in the path: %d %s", a.status, a.body)
	}
}

func literalWords(t *testing.T, k *checklist) {
	if a := k.call(t, "POST", "/vendorc/other", `{}`); !strings.Contains(a.body, `"status":"NOT_FOUND"`) {
		t.Errorf("vendorc does not speak the native layout: %d %s", a.status, a.body)
	}
	if a := k.call(t, "POST", "/vendorz/other", `{}`); strings.Contains(a.body, `"status":"NOT_FOUND"`) {
		t.Errorf("any word speaks the native layout: %s", a.body)
	}
	native, messages := protocols["native"], protocols["messages"]
	native.answers(t, k.customer, native.ask(native.model, "echo: x"))
	native.fails(t, k.call(t, "POST", "/vendorc/nothing", `{}`), "not found", "not_found", "")
	mark := once("echo: literal")
	messages.answers(t, k.customer, messages.ask(messages.model, mark), "vendorb-version", "2024-01-01", "vendorb-beta", "x-1")
	if calls := k.upstreamCalls(t, mark); len(calls) != 1 || calls[0].Header.Get("Vendorb-Version") != "2024-01-01" || calls[0].Header.Get("Vendorb-Beta") != "x-1" {
		t.Errorf("the provider got %+v", calls)
	}
	body := ask(cheapModel, "echo: x")
	decodeCompletion(t, k.chat(t, body, "Authorization", "", "X-Api-Key", k.APIKey))
	if a := k.chat(t, body, "Authorization", "", "X-Other-Key", k.APIKey); a.status != http.StatusUnauthorized {
		t.Errorf("a header that is no alias bears a key: %d %s", a.status, a.body)
	}
}

func prefixes(t *testing.T, k *checklist) {
	body := ask(cheapModel, "echo: x")
	decodeCompletion(t, k.chat(t, body))
	if a := k.call(t, "GET", "/v1/models", ""); a.status != http.StatusOK {
		t.Errorf("/v1/models: %d", a.status)
	}
	for _, a := range []answer{k.call(t, "POST", "/chat/completions", body), k.call(t, "GET", "/models", "")} {
		if a.status != http.StatusNotFound || !strings.Contains(a.body, "Add /v1 to the base URL") {
			t.Errorf("without the prefix: %d %s", a.status, a.body)
		}
	}
	for _, p := range newProtocols() {
		p.answers(t, k.customer, p.ask(p.model, "echo: x"))
		other, isV1 := strings.CutPrefix(p.path, "/v1")
		if !isV1 {
			other = "/v1" + p.path
		}
		a := k.call(t, "POST", other, p.ask(p.model, "echo: x"))
		if a.status != http.StatusNotFound || isV1 && !strings.Contains(a.body, "Add /v1 to the base URL") || isV1 != strings.HasPrefix(p.path, "/v1/") {
			t.Errorf("%s: %d %s", other, a.status, a.body)
		}
	}
}

func capabilitiesWithoutEndpoints(t *testing.T, k *checklist) {
	for _, path := range []string{"/v1/images/generations", "/v1/audio/speech", "/v1/code/generations"} {
		if a := k.call(t, "POST", path, `{}`); a.status != http.StatusNotFound || object(t, a.body)["error"].(map[string]any)["code"] != "not_found" {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	for _, id := range []string{"boreal/drift:fast", "tessera/canvas", "meridian/cadence"} {
		k.refuses(t, ask(id, "echo: x"), 404, "model_not_found", "model")
	}
	if a := k.call(t, "GET", "/v1/models/meridian/forge", ""); !strings.Contains(a.body, `"capabilities":["text","code"]`) {
		t.Errorf("a model for code: %s", a.body)
	}
}

func prepaid(t *testing.T, k *checklist) {
	c := k.newPauper(t, "prepaid")
	unpaid := ask(cheapModel, "echo: no credit for this")
	c.refuses(t, unpaid, 402, "insufficient_quota", "")
	if got := c.received(t, "no credit for this"); got != "" {
		t.Errorf("an unpaid call was forwarded: %s", got)
	}
	// The gateway admits a call while the credit is enough for a useful answer.
	const credit = 200_000
	c.setAvailable(t, credit)
	var spent int64
	for range 100 {
		a := c.chat(t, ask(cheapModel, "count to 20"), "X-Error-Status", "standard")
		if a.status == http.StatusPaymentRequired {
			break
		}
		spent += nanos(t, string(decodeCompletion(t, a).Usage.Cost))
	}
	if b := c.balanceOf(t, c.accountID); spent == 0 || b.Posted != credit-spent || b.Posted < 0 || b.Held != 0 {
		t.Errorf("%d of %d nano-dollars are spent, the balance is %+v", spent, credit, b)
	}
	c.refuses(t, ask(cheapModel, "count to 20"), 402, "insufficient_quota", "")
}

type trialGrant struct {
	Kind    string `db:"kind"`
	Amount  int64  `db:"amount_nanos"`
	Expires bool   `db:"expires"`
}

func (c customer) grants(t *testing.T) (all []trialGrant) {
	t.Helper()
	if err := c.db(t).Select(&all, `select kind, amount_nanos, expires_at > now() as expires from grants where account_id = $1`, c.accountID); err != nil {
		t.Fatal(err)
	}
	return all
}

// trialCredit compares the demo, which gives trial credit, with the production form, which gives none by default.
func trialCredit(t *testing.T, _ *checklist) {
	g := start(t)
	with := g.newCustomer(t, "trial")
	if all := with.grants(t); len(all) != 1 || all[0] != (trialGrant{"trial", 5_000_000_000, true}) {
		t.Errorf("the account with a verified address has %+v", all)
	}
	unproved := g.newPauper(t, "unproved")
	if all := unproved.grants(t); len(all) != 0 {
		t.Errorf("after sign-up alone there is %+v", all)
	}
	unproved.refuses(t, ask(cheapModel, "echo: x"), 402, "insufficient_quota", "")
	decodeCompletion(t, with.chat(t, ask(cheapModel, "echo: x")))
	p := serve(t, g)
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	})
	without := p.newPauper(t, "no-trial")
	if all := without.grants(t); len(all) != 0 {
		t.Errorf("where trials are off there is %+v", all)
	}
	without.refuses(t, ask(cheapModel, "echo: x"), 402, "insufficient_quota", "")
	for name, visitor := range map[string]*gateway{"on": g, "off": p.gateway} {
		page := newPerson(t, visitor).visit(t, "/console/sign-up", nil)
		if told := strings.Contains(page.body, "of trial credit"); told != (name == "on") {
			t.Errorf("trials are %s, and the sign-up page says so: %v", name, told)
		}
	}
}

func consoleKeysPage(t *testing.T, k *checklist) {
	p := k.signedIn(t)
	p.makeKey(t, "on the page")
	home, list := p.visit(t, "/console", nil), p.visit(t, "/console/keys", nil)
	if !strings.Contains(home.body, `href="/console/keys"`) {
		t.Error("the overview does not lead to the keys")
	}
	for _, want := range []string{"API keys", ">on the page<", `href="/console/keys/new"`, "Create key", "Disable", "Delete…"} {
		if list.status != http.StatusOK || !strings.Contains(list.body, want) {
			t.Errorf("status %d, the page lacks %q", list.status, want)
		}
	}
	if a := newPerson(t, k.gateway).visit(t, "/console/keys", nil); a.status != http.StatusSeeOther {
		t.Errorf("a visitor gets %d", a.status)
	}
	if rows := strings.Count(list.body, `data-testid="key"`); rows < 2 {
		t.Errorf("the page lists %d keys", rows)
	}
}
