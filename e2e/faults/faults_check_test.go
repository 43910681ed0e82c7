package faults

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

// calls makes the one call of a mishap and holds all that can be seen of it against a fate.
func (h *faultGateway) calls(t *testing.T, s mishap, want fate) harness.Response {
	t.Helper()
	prompt := s.prompt
	if prompt == "" {
		prompt = faultPrompt
	}
	began := time.Now()
	a := s.client.Send(t, h.Customer, s.body(prompt))
	if took := time.Since(began); took > faultTimeMax+faultSlack || took < want.lasts {
		t.Errorf("%s took %s", s.id, took)
	}
	shown := h.sees(t, s, want, a)
	h.recorded(t, s, want, a.Header.Get("X-Request-Id"), shown)
	h.asks(t, s, want)
	return a
}

// sees holds what the client got against the fate, and returns the text and the costs that it was shown.
func (h *faultGateway) sees(t *testing.T, s mishap, want fate, a harness.Response) (shown showing) {
	t.Helper()
	p := s.client
	for _, one := range harness.CostPattern.FindAllStringSubmatch(a.Body, -1) {
		shown.costs = append(shown.costs, harness.Nanos(t, one[1]))
	}
	switch {
	case !want.whole() && !want.late:
		r := p.CheckError(t, paramless(a), want.as, "", "")
		if want.code != "" && r.Code != want.code {
			t.Errorf("%s: the code is %s, not %s", s.id, r.Code, want.code)
		}
		h.hides(t, s, a.Body)
		retry, _ := strconv.Atoi(a.Header.Get("Retry-After"))
		if retry < want.retryAfter || retry > 60 || want.as == "busy" && retry == 0 {
			t.Errorf("%s: the Retry-After is %q", s.id, a.Header.Get("Retry-After"))
		}
		return shown
	case !s.stream:
		said := p.ReadAnswer(t, wholeOf(t, s, a))
		shown.text, shown.model, shown.stop = said.Text, said.Model, said.Stop
	default:
		shown = h.seesStream(t, s, want, a, shown)
		if want.late {
			return shown
		}
	}
	text := want.text
	if text == "" {
		text = faultAnswer
	}
	if shown.text != text || shown.model != s.begin(want) || shown.stop != stopWords[want.stop][p.Name] || len(shown.costs) != 1 {
		t.Errorf("%s: the client has %q of %s, which ends with %s, and the costs %v: %.900s", s.id, shown.text, shown.model, shown.stop, shown.costs, a.Body)
	}
	return shown
}

// showing is what a client has of an answer.
type showing struct {
	text, model, stop string
	costs             []int64
}

// stopWords are why an answer ends, in the words of the styles.
var stopWords = map[string]map[string]string{
	"":       {"chat": "stop", "messages": "end_turn", "responses": "completed", "native": "STOP"},
	"length": {"chat": "length", "messages": "max_tokens", "responses": "incomplete", "native": "MAX_TOKENS"},
	"filter": {"chat": "content_filter", "messages": "refusal", "responses": "incomplete", "native": "SAFETY"},
}

// wholeOf is an answer in one piece.
func wholeOf(t *testing.T, s mishap, a harness.Response) map[string]any {
	t.Helper()
	if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%s: status %d: %.600s", s.id, a.Status, a.Body)
	}
	return harness.DecodeObject(t, a.Body)
}

// seesStream reads a stream: whole, or broken off by an error in the words of the style behind a beginning of the answer.
func (h *faultGateway) seesStream(t *testing.T, s mishap, want fate, a harness.Response, shown showing) showing {
	t.Helper()
	p := s.client
	if kind, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";"); a.Status != http.StatusOK || kind != "text/event-stream" {
		t.Fatalf("%s: status %d: %.600s", s.id, a.Status, a.Body)
	}
	all := p.Frames(t, a.Body)
	shown.model, shown.stop = streamModel(t, p, all), streamStop(t, p, all)
	if !want.late {
		p.CheckEnd(t, all)
		shown.text = p.Text(t, all)
		return shown
	}
	kind := p.ReadStreamError(t, all)
	h.hides(t, s, all[len(all)-1].Data+all[len(all)-2].Data)
	shown.text = p.Text(t, all)
	right := want.text
	if right == "" {
		right = faultAnswer
	}
	if expected := p.Errors[want.as].Type; kind != expected && p.Name != "responses" || p.Name == "responses" && kind != "server_error" {
		t.Errorf("%s: the stream breaks off with %s, not %s: %.900s", s.id, kind, expected, a.Body)
	}
	if shown.text == "" || !strings.HasPrefix(right, shown.text) || (shown.text == right) != want.full {
		t.Errorf("%s: %q is no beginning of %q", s.id, shown.text, right)
	}
	return shown
}

func streamModel(t *testing.T, p harness.Style, all []harness.StreamEvent) string {
	t.Helper()
	first := harness.DecodeObject(t, all[0].Data)
	switch p.Name {
	case "messages":
		return harness.TextMember(first, "message", "model")
	case "responses":
		return harness.TextMember(first, "response", "model")
	case "native":
		return harness.TextMember(first, "modelVersion")
	}
	return harness.TextMember(first, "model")
}

// streamStop is why a stream says that it ends.
func streamStop(t *testing.T, p harness.Style, all []harness.StreamEvent) (stop string) {
	t.Helper()
	for _, f := range all {
		if f.Data == "[DONE]" {
			continue
		}
		o, said := harness.DecodeObject(t, f.Data), ""
		switch p.Name {
		case "chat":
			said = harness.TextMember(o, "choices", 0, "finish_reason")
		case "messages":
			said = harness.TextMember(o, "delta", "stop_reason")
		case "responses":
			if f.Name != "response.created" && f.Name != "response.in_progress" {
				said = harness.TextMember(o, "response", "status")
			}
		case "native":
			said = harness.TextMember(o, "candidates", 0, "finishReason")
		}
		if said != "" {
			stop = said
		}
	}
	return stop
}

// hides insists that an error contains no detail of the upstream.
func (h *faultGateway) hides(t *testing.T, s mishap, text string) {
	t.Helper()
	text = harness.WithoutHelpLink(text)
	for _, secret := range []string{"127.0.0.1", "simulated", "wrong-provider-key", s.firstID(), "Incorrect API key", "m+", "Checking your browser"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s: the error tells of the upstream: %s", s.id, text)
		}
	}
}

// paramless is a failure as it came. Which member an upstream has named is its own affair.
func paramless(a harness.Response) harness.Response {
	a.Body = strings.NewReplacer(`"param":"messages"`, `"param":null`, `,"param":"prompt"`, ``).Replace(a.Body)
	return a
}

// faultRecord is what the books have about a call.
type faultRecord struct {
	settledCall

	RequestID string `db:"request_id"`
	Provider  string
	Attempts  int
}

const faultQuery = `select request_id, reason, outcome, estimated, model, provider, attempts,
	coalesce(meters[1], 0) as input_tokens, coalesce(meters[4], 0) as output_tokens, coalesce(meters[7], 0) as milliseconds, cost_nanos, reserved_nanos, overrun_nanos from usage_records where model in ($1, $1 || '-long', $1 || '-fallback') order by started_at desc, request_id desc limit 1`

// latest waits for the books to have the latest call of a mishap's model.
func (h *faultGateway) latest(t *testing.T, s mishap, id string) (r faultRecord) {
	t.Helper()
	for deadline := time.Now().Add(harness.CallTimeMax); ; time.Sleep(10 * time.Millisecond) {
		err := h.db.Get(&r, faultQuery, s.model())
		if err == nil && (id == "" || r.RequestID == id) {
			return r
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: no record of %q: %v, the latest is %+v", s.id, id, err, r)
		}
	}
}

// estimateMoreMax is how many tokens an estimate of our own may lie above the count of the simulator.
const estimateMoreMax = 64

// recorded holds the record of a call against its fate, the row of the settlement table and what was shown.
func (h *faultGateway) recorded(t *testing.T, s mishap, want fate, id string, shown showing) faultRecord {
	t.Helper()
	r := h.latest(t, s, id)
	reason := want.reason
	if reason == "" {
		reason = want.usualReason()
	}
	row := h.table[reason]
	price := r.Input*inputNanos + r.Output*outputNanos
	right := r.Reason == reason && r.Outcome == row.Outcome && r.Estimated == row.Estimated && r.Cost <= r.Reserved
	switch row.Charge {
	case "nothing":
		right = right && r.Cost == 0 && r.Overrun == 0
	case "reserve":
		right = right && r.Cost == r.Reserved && r.Overrun > 0 && r.Cost+r.Overrun == price
	default:
		right = right && r.Cost == price && r.Cost > 0 && r.Overrun == 0 && (r.Input == s.inputTokens() || row.Estimated && r.Input < s.inputTokens()+estimateMoreMax)
	}
	if !right {
		t.Errorf("%s: the record is %+v, and the row %s", s.id, r, reason)
	}
	for _, cost := range shown.costs {
		if cost != r.Cost {
			t.Errorf("%s: %d is shown, %d charged", s.id, cost, r.Cost)
		}
	}
	if n, told := want.attempts(); told && r.Attempts != n {
		t.Errorf("%s: %d attempts are recorded, not %d", s.id, r.Attempts, n)
	}
	provider := s.firstID()
	if want.spare != 0 {
		provider = s.spareID()
	}
	if (want.whole() || want.late) && r.Provider != provider || r.Model != s.served() && want.whole() {
		t.Errorf("%s: the record names %s of %s, not %s", s.id, r.Model, r.Provider, provider)
	}
	return r
}

// inputTokens is what the simulator counts for the prompt of a mishap, once.
func (s mishap) inputTokens() int64 {
	prompt := s.prompt
	if prompt == "" {
		prompt = faultPrompt
	}
	return 4 + int64(len(strings.Fields(prompt)))
}

func (f fate) usualReason() string {
	switch {
	case f.whole():
		return "completed"
	case f.as == "timeout" && f.late:
		return "timed_out"
	case f.late:
		return "upstream_broke_off"
	case f.as == "timeout":
		return "timed_out_unanswered"
	case f.as == "refused" || f.as == "invalid":
		return "request_refused"
	}
	return "upstream_failed"
}

// asks holds the requests that each upstream got against the fate, once they have ended.
func (h *faultGateway) asks(t *testing.T, s mishap, want fate) {
	t.Helper()
	for _, one := range []struct {
		provider string
		want     int
	}{{s.firstID(), want.first}, {s.spareID(), want.spare}} {
		if one.want == uncounted {
			continue
		}
		h.ended(t, one.provider)
		all := h.asked(t, one.provider)
		if len(all) != one.want {
			t.Errorf("%s: %s got %d requests, not %d", s.id, one.provider, len(all), one.want)
		}
		if one.provider == s.spareID() && s.begins && s.upstream != "responses" && len(all) > 0 && !strings.Contains(all[0].Body, ` 39 40"`) {
			t.Errorf("%s: the second upstream was not given the beginning: %s", s.id, all[0].Body)
		}
		if one.provider == s.firstID() && want.cancelled && (len(all) == 0 || !all[len(all)-1].ClientLeft) {
			t.Errorf("%s: the upstream was not left: %+v", s.id, all)
		}
	}
}

// ended waits until no request of a provider runs any more.
func (h *faultGateway) ended(t *testing.T, provider string) {
	t.Helper()
	harness.WaitUntil(t, provider+" has ended all requests", func() bool {
		for _, r := range h.asked(t, provider) {
			if r.Finished == nil {
				return false
			}
		}
		return true
	})
}

// callOps reads a page of the operators' listener.
func callOps(t *testing.T, g *harness.Gateway, path string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.CallTimeMax)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.MetricsURL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := harness.HTTPClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %v", path, resp.StatusCode, err)
	}
	return string(text)
}

// gauge is a metric without labels.
func gauge(t *testing.T, metrics, name string) int64 {
	t.Helper()
	for line := range strings.Lines(metrics) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatal(err)
			}
			return int64(v)
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}
