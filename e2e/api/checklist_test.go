package api

import (
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

// checklist is what the lines of the acceptance checklist share: a customer with room to call often, one answer and
// one stream to look at.
type checklist struct {
	harness.Customer

	// whole is a completion as one JSON object.
	whole  map[string]any
	answer harness.Response
	stream harness.Response
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
	k := &checklist{Customer: harness.StartDemo(t, "--token-interval", "0s").NewCustomer(t, "checklist")}
	k.SetLimits(t, 1000)
	k.SetStrict(t)
	k.TurnOffHedges(t)
	k.answer = k.Chat(t, harness.ChatRequest(harness.CheapModel, "echo: one answer"))
	k.whole = harness.DecodeObject(t, k.answer.Body)
	k.stream = k.Chat(t, harness.ChatRequest(harness.CheapModel, "count to 20", `"stream":true`))
	k.chunks = harness.StreamData(t, k.stream.Body)
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

// requireRefusal insists on a failure in the documented layout, under status 200.
func requireRefusal(t *testing.T, c harness.Customer, body string, code int, errCode, param string) harness.ChatError {
	t.Helper()
	a := c.Chat(t, body)
	f := harness.DecodeChatError(t, a.Body)
	if a.Status != http.StatusOK || f.Code != code || f.Error.Code != errCode || f.Error.Param != param {
		t.Errorf("status %d, not code %d %s at %q: %s\nfor %.300s", a.Status, code, errCode, param, a.Body, body)
	}
	return f
}

// listedModels are the text models of the default catalog that may be called, with what they say they support.
func listedModels(t *testing.T, c harness.Customer) map[string][]string {
	t.Helper()
	var list struct {
		Data []struct {
			ID         string   `json:"id"`
			Parameters []string `json:"supported_parameters"`
			Protocols  []string `json:"protocols"`
		} `json:"data"`
	}
	a := c.Call(t, "GET", "/v1/models", "")
	if err := json.Unmarshal([]byte(a.Body), &list); err != nil {
		t.Fatalf("%v: %s", err, a.Body)
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
	harness.DecodeCompletion(t, k.answer)
	if k.chunks[len(k.chunks)-1] != "[DONE]" {
		t.Errorf("the stream is %s", k.stream.Body)
	}
	for path, want := range map[string]string{"/models": `"object":"list"`, "/models/" + harness.CheapModel: `"object":"model"`} {
		path = strings.TrimPrefix(k.BaseURL, strings.TrimSuffix(k.BaseURL, "/v1")) + path
		if a := k.Call(t, "GET", path, ""); a.Status != http.StatusOK || !strings.Contains(a.Body, want) {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	for _, p := range harness.AllStyles() {
		s, _ := p.Complete(t, k.Customer, p.Request(p.Model, "echo: one base"))
		if text, _ := p.Stream(t, k.Customer, p.Request(p.Model, "count to 3", `"stream":true`)); s.Text != "one base" || text != "1 2 3" {
			t.Errorf("%s says %q and streams %q", p.Name, s.Text, text)
		}
	}
}

func severalKeys(t *testing.T, k *checklist) {
	c := k.NewCustomer(t, "several")
	p := c.SignInToConsole(t)
	for _, secret := range []string{c.APIKey, p.CreateKey(t, "second"), p.CreateKey(t, "third")} {
		harness.DecodeCompletion(t, c.Chat(t, harness.ChatRequest(harness.CheapModel, "echo: x"), harness.BearerHeader(secret)...))
	}
	var keys int
	if err := c.DB(t).Get(&keys, `select count(distinct secret_hash) from api_keys where account_id = $1`, c.AccountID); err != nil || keys != 3 {
		t.Errorf("%d keys, %v", keys, err)
	}
}

func anyKeyAnyModel(t *testing.T, k *checklist) {
	secrets := []string{k.APIKey, k.SignInToConsole(t).CreateKey(t, "any model")}
	for id := range listedModels(t, k.Customer) {
		for i, secret := range secrets {
			c := harness.DecodeCompletion(t, k.Chat(t, harness.ChatRequest(id, "echo: any", `"max_tokens":64`), harness.BearerHeader(secret)...))
			if c.Model != id || *c.Choices[0].Message.Content != "any" {
				t.Errorf("key %d, model %s: %+v", i, id, c)
			}
		}
	}
	for id, styles := range protocolsOf(t, k.Customer) {
		for i, style := range styles {
			p := harness.Styles[style]
			s, _ := p.Complete(t, k.Customer, p.Request(id, "echo: any", p.OutputLimit(64)), harness.BearerHeader(secrets[i%len(secrets)])...)
			if s.Model != id || s.Text != "any" {
				t.Errorf("model %s in the style %s: %+v", id, style, s)
			}
		}
	}
	for _, id := range videoModels {
		for _, secret := range secrets {
			if a := k.Call(t, "POST", harness.VideosPath, harness.VideoBody(id, "any"), "Authorization", "Bearer "+secret, "X-Dry-Run", "1"); a.Status != http.StatusOK {
				t.Errorf("model %s: %d %s", id, a.Status, a.Body)
			}
		}
	}
}

func consoleMakesKey(t *testing.T, k *checklist) {
	p := k.SignInToConsole(t)
	form := p.Visit(t, "/console/keys/new", nil)
	if form.Status != http.StatusOK || !strings.Contains(form.Body, "Create an API key") || !strings.Contains(form.Body, `action="/console/keys"`) {
		t.Errorf("the form: %d %s", form.Status, form.Body)
	}
	secret := p.CreateKey(t, "made in the console")
	if secret == k.APIKey {
		t.Error("the new key is the old one")
	}
	harness.DecodeCompletion(t, k.Chat(t, harness.ChatRequest(harness.CheapModel, "echo: x"), harness.BearerHeader(secret)...))
}

func rotatedKey(t *testing.T, k *checklist) {
	c := k.NewCustomer(t, "rotated")
	p := c.SignInToConsole(t)
	var old string
	if err := c.DB(t).Get(&old, `select id from api_keys where account_id = $1`, c.AccountID); err != nil {
		t.Fatal(err)
	}
	second := p.CreateKey(t, "second")
	if a := p.Visit(t, "/console/keys/"+old+"/delete", url.Values{"name": {"rotated"}}); a.Status != http.StatusSeeOther {
		t.Fatalf("delete: %d %s", a.Status, a.Body)
	}
	third := p.CreateKey(t, "third")
	body := harness.ChatRequest(harness.CheapModel, "echo: rotated")
	for deadline := time.Now().Add(harness.CallTimeMax); ; time.Sleep(10 * time.Millisecond) {
		for _, secret := range []string{second, third} {
			harness.DecodeCompletion(t, c.Chat(t, body, harness.BearerHeader(secret)...))
		}
		a := c.Chat(t, body)
		if a.Status == http.StatusUnauthorized && harness.DecodeChatError(t, a.Body).Error.Type == "authentication_error" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the deleted key still works: %d %s", a.Status, a.Body)
		}
	}
}

func keyRecord(t *testing.T, k *checklist) {
	c := k.NewCustomer(t, "fields")
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
	if err := c.DB(t).Get(&row, `select id, name, prefix, last_four, error_mode, secret_hash, created_at,
		expires_at is null and disabled_at is null and deleted_at is null as live, row_to_json(k)::text as everything
		from api_keys k where account_id = $1`, c.AccountID); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(c.APIKey))
	list := c.SignInToConsole(t).Visit(t, "/console/keys", nil)
	for what, so := range map[string]bool{
		"id":                       strings.HasPrefix(row.ID, "key_"),
		"name":                     row.Name == "fields",
		"prefix":                   len(row.Prefix) >= 8 && strings.HasPrefix(c.APIKey, row.Prefix),
		"last four":                len(row.LastFour) == 4 && strings.HasSuffix(c.APIKey, row.LastFour),
		"error mode":               row.Mode == "documented",
		"creation":                 time.Since(row.CreatedAt) < harness.CallTimeMax,
		"neither expired nor off":  row.Live,
		"only a hash is kept":      string(row.Hash) == string(sum[:]) && !strings.Contains(row.All, c.APIKey[len("sk-umg-"):]),
		"the list shows the name":  strings.Contains(list.Body, ">fields<"),
		"the list masks the key":   strings.Contains(list.Body, row.Prefix+"…"+row.LastFour) && !strings.Contains(list.Body, c.APIKey),
		"the list shows the state": strings.Contains(list.Body, "Active") && strings.Contains(list.Body, "Created"),
	} {
		if !so {
			t.Errorf("not so: %s\n%s", what, row.All)
		}
	}
}

// contractsDiffer sends the same member to two models, of which only one takes it.
func contractsDiffer(t *testing.T, k *checklist) {
	for _, c := range []struct{ param, member, takes, refuses string }{
		{"tools", `"tools":[` + lookUpTool + `]`, harness.CheapModel, "meridian/atlas-nano"},
		{"temperature", `"temperature":1.5`, harness.CheapModel, "meridian/forge"},
		{"reasoning_effort", `"reasoning_effort":"minimal"`, "tessera/mosaic-mini", "meridian/delta-think"},
		{"max_tokens", `"max_tokens":10000`, harness.CheapModel, "meridian/atlas-nano"},
	} {
		harness.DecodeCompletion(t, k.Chat(t, harness.ChatRequest(c.takes, "echo: x", c.member)))
		f := requireRefusal(t, k.Customer, harness.ChatRequest(c.refuses, "echo: x", c.member), 400, "invalid_request_error", c.param)
		if !strings.Contains(f.Error.Message, c.refuses) && !strings.Contains(f.Error.Message, c.param) {
			t.Errorf("the message names neither field nor model: %s", f.Error.Message)
		}
	}
}

func modelIsRequired(t *testing.T, k *checklist) {
	for _, model := range []string{``, `"model":"",`, `"model":null,`, `"model":7,`, `"model":["a"],`, `"model":{},`} {
		requireRefusal(t, k.Customer, `{`+model+`"messages":[{"role":"user","content":"x"}]}`, 400, "invalid_request_error", "model")
	}
	for _, p := range harness.StylesWithStatuses() {
		namesModel(p.Name)(t, k)
	}
	a := k.Call(t, "GET", "/v1/models/", "")
	if f := harness.DecodeObject(t, a.Body)["error"].(map[string]any); a.Status != http.StatusBadRequest || f["param"] != "model" {
		t.Errorf("no model in the path: %d %s", a.Status, a.Body)
	}
}

func literalWords(t *testing.T, k *checklist) {
	if a := k.Call(t, "POST", "/vendorc/other", `{}`); !strings.Contains(a.Body, `"status":"NOT_FOUND"`) {
		t.Errorf("vendorc does not speak the native layout: %d %s", a.Status, a.Body)
	}
	if a := k.Call(t, "POST", "/vendorz/other", `{}`); strings.Contains(a.Body, `"status":"NOT_FOUND"`) {
		t.Errorf("any word speaks the native layout: %s", a.Body)
	}
	native, messages := harness.Styles["native"], harness.Styles["messages"]
	native.Complete(t, k.Customer, native.Request(native.Model, "echo: x"))
	native.CheckError(t, k.Call(t, "POST", "/vendorc/nothing", `{}`), "not found", "not_found", "")
	mark := harness.UniqueName("echo: literal")
	messages.Complete(t, k.Customer, messages.Request(messages.Model, mark), "vendorb-version", "2024-01-01", "vendorb-beta", "x-1")
	if calls := upstreamCalls(t, k.Gateway, mark); len(calls) != 1 || calls[0].Header.Get("Vendorb-Version") != "2024-01-01" || calls[0].Header.Get("Vendorb-Beta") != "x-1" {
		t.Errorf("the provider got %+v", calls)
	}
	body := harness.ChatRequest(harness.CheapModel, "echo: x")
	harness.DecodeCompletion(t, k.Chat(t, body, "Authorization", "", "X-Api-Key", k.APIKey))
	if a := k.Chat(t, body, "Authorization", "", "X-Other-Key", k.APIKey); a.Status != http.StatusUnauthorized {
		t.Errorf("a header that is no alias bears a key: %d %s", a.Status, a.Body)
	}
}

func prefixes(t *testing.T, k *checklist) {
	body := harness.ChatRequest(harness.CheapModel, "echo: x")
	harness.DecodeCompletion(t, k.Chat(t, body))
	if a := k.Call(t, "GET", "/v1/models", ""); a.Status != http.StatusOK {
		t.Errorf("/v1/models: %d", a.Status)
	}
	for _, a := range []harness.Response{k.Call(t, "POST", "/chat/completions", body), k.Call(t, "GET", "/models", "")} {
		if a.Status != http.StatusNotFound || !strings.Contains(a.Body, "Add /v1 to the base URL") {
			t.Errorf("without the prefix: %d %s", a.Status, a.Body)
		}
	}
	for _, p := range harness.StylesWithStatuses() {
		p.Complete(t, k.Customer, p.Request(p.Model, "echo: x"))
		other, isV1 := strings.CutPrefix(p.Path, "/v1")
		if !isV1 {
			other = "/v1" + p.Path
		}
		a := k.Call(t, "POST", other, p.Request(p.Model, "echo: x"))
		if a.Status != http.StatusNotFound || isV1 && !strings.Contains(a.Body, "Add /v1 to the base URL") || isV1 != strings.HasPrefix(p.Path, "/v1/") {
			t.Errorf("%s: %d %s", other, a.Status, a.Body)
		}
	}
}

func capabilitiesWithoutEndpoints(t *testing.T, k *checklist) {
	for _, path := range []string{"/v1/images/generations", "/v1/audio/speech", "/v1/code/generations"} {
		if a := k.Call(t, "POST", path, `{}`); a.Status != http.StatusNotFound || harness.DecodeObject(t, a.Body)["error"].(map[string]any)["code"] != "not_found" {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	for _, id := range []string{"boreal/drift:fast", "tessera/canvas", "meridian/cadence"} {
		requireRefusal(t, k.Customer, harness.ChatRequest(id, "echo: x"), 404, "model_not_found", "model")
	}
	if a := k.Call(t, "GET", "/v1/models/meridian/forge", ""); !strings.Contains(a.Body, `"capabilities":["text","code"]`) {
		t.Errorf("a model for code: %s", a.Body)
	}
}

func prepaid(t *testing.T, k *checklist) {
	c := k.NewCustomerWithoutCredit(t, "prepaid")
	unpaid := harness.ChatRequest(harness.CheapModel, "echo: no credit for this")
	requireRefusal(t, c, unpaid, 402, "insufficient_quota", "")
	if got := c.UpstreamBodies(t, "no credit for this"); got != "" {
		t.Errorf("an unpaid call was forwarded: %s", got)
	}
	// The gateway admits a call while the credit is enough for a useful answer.
	const credit = 200_000
	c.SetAvailable(t, credit)
	var spent int64
	for range 100 {
		a := c.Chat(t, harness.ChatRequest(harness.CheapModel, "count to 20"), "X-Error-Status", "standard")
		if a.Status == http.StatusPaymentRequired {
			break
		}
		spent += harness.Nanos(t, string(harness.DecodeCompletion(t, a).Usage.Cost))
	}
	if b := c.SettledBalance(t, c.AccountID); spent == 0 || b.Posted != credit-spent || b.Posted < 0 || b.Held != 0 {
		t.Errorf("%d of %d nano-dollars are spent, the balance is %+v", spent, credit, b)
	}
	requireRefusal(t, c, harness.ChatRequest(harness.CheapModel, "count to 20"), 402, "insufficient_quota", "")
}

type trialGrant struct {
	Kind    string `db:"kind"`
	Amount  int64  `db:"amount_nanos"`
	Expires bool   `db:"expires"`
}

func checkGrants(t *testing.T, c harness.Customer) (all []trialGrant) {
	t.Helper()
	if err := c.DB(t).Select(&all, `select kind, amount_nanos, expires_at > now() as expires from grants where account_id = $1`, c.AccountID); err != nil {
		t.Fatal(err)
	}
	return all
}

// trialCredit compares the demo, which gives trial credit, with the production form, which gives none by default.
func trialCredit(t *testing.T, _ *checklist) {
	g := harness.StartDemo(t)
	with := g.NewCustomer(t, "trial")
	if all := checkGrants(t, with); len(all) != 1 || all[0] != (trialGrant{"trial", 5_000_000_000, true}) {
		t.Errorf("the account with a verified address has %+v", all)
	}
	unproved := g.NewCustomerWithoutCredit(t, "unproved")
	if all := checkGrants(t, unproved); len(all) != 0 {
		t.Errorf("after sign-up alone there is %+v", all)
	}
	requireRefusal(t, unproved, harness.ChatRequest(harness.CheapModel, "echo: x"), 402, "insufficient_quota", "")
	harness.DecodeCompletion(t, with.Chat(t, harness.ChatRequest(harness.CheapModel, "echo: x")))
	p := harness.StartReplica(t, g)
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	without := p.NewCustomerWithoutCredit(t, "no-trial")
	if all := checkGrants(t, without); len(all) != 0 {
		t.Errorf("where trials are off there is %+v", all)
	}
	requireRefusal(t, without, harness.ChatRequest(harness.CheapModel, "echo: x"), 402, "insufficient_quota", "")
	for name, visitor := range map[string]*harness.Gateway{"on": g, "off": p.Gateway} {
		page := harness.NewConsoleClient(t, visitor).Visit(t, "/console/sign-up", nil)
		if told := strings.Contains(page.Body, "of trial credit"); told != (name == "on") {
			t.Errorf("trials are %s, and the sign-up page says so: %v", name, told)
		}
	}
}

func consoleKeysPage(t *testing.T, k *checklist) {
	p := k.SignInToConsole(t)
	p.CreateKey(t, "on the page")
	home, list := p.Visit(t, "/console", nil), p.Visit(t, "/console/keys", nil)
	if !strings.Contains(home.Body, `href="/console/keys"`) {
		t.Error("the overview does not lead to the keys")
	}
	for _, want := range []string{"API keys", ">on the page<", `href="/console/keys/new"`, "Create key", "Disable", "Delete…"} {
		if list.Status != http.StatusOK || !strings.Contains(list.Body, want) {
			t.Errorf("status %d, the page lacks %q", list.Status, want)
		}
	}
	if a := harness.NewConsoleClient(t, k.Gateway).Visit(t, "/console/keys", nil); a.Status != http.StatusSeeOther {
		t.Errorf("a visitor gets %d", a.Status)
	}
	if rows := strings.Count(list.Body, `data-testid="key"`); rows < 2 {
		t.Errorf("the page lists %d keys", rows)
	}
}
