package faults

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"umg/e2e/harness"
)

const (
	// faultTimeMax is how long a call may take whatever its upstreams do, and faultSlack what a busy machine may add.
	faultTimeMax = 2 * time.Second
	faultSlack   = 8 * time.Second

	// faultTight are the waits of a route whose upstream is meant to be too late.
	faultTight = "{first_byte: 300ms, idle: 300ms}"
	// faultPatient are those of all others.
	faultPatient = "{connect: 2s, first_byte: 15s, idle: 15s}"

	faultPrompt = "count to 9"
	faultAnswer = "1 2 3 4 5 6 7 8 9"

	// wrongKeyVariable names a credential that the simulator refuses.
	wrongKeyVariable = "FAULT_WRONG_KEY"
)

// faultRow is a row of the list of faults, or one of the classic faults of providers. Each of its faults is a call, whole
// and streamed, to a model with a second route and to one without.
type faultRow struct {
	name   string
	faults []fault
}

// fault is what the upstream of a model's first route does, and what becomes of a call then.
type fault struct {
	// does is the upstream's behavior, as a directive of the simulator.
	does string
	// form is stream or json; both when empty.
	form string
	// at is the name of the first provider's address when the provider is not the simulator.
	at string
	// every is true when all client styles are tested, untranslated and translated. Otherwise chat alone is.
	every bool
	// speak has the styles of upstreams that have the fault; all when empty.
	speak string

	// prompt is "count to 9" when empty.
	prompt string
	// max is the limit of output tokens; none when zero.
	max int
	// tight is true when the first route has a short timeout.
	tight bool
	// first has further catalog lines of the first provider.
	first string
	// spare is the behavior of the second provider.
	spare string
	// second has further catalog lines of the second provider.
	second string
	// more has further catalog lines of the model.
	more string
	// begins is true when the second provider gets the beginning of the answer, where its style has a place for it.
	begins bool
	// longer is true when the fallback is another model with a longer context.
	longer bool
	// falls is true when the fallback is another model for the case that no provider of this one answers.
	falls bool

	// drive makes the calls, where one call is not enough. It may be nil.
	drive func(h *faultGateway, t *testing.T, s mishap)

	alone, helped fate
}

// fate is the expected result of a call.
type fate struct {
	// first and spare are the numbers of requests that the two upstreams get.
	first, spare int
	// as is the kind of the failure, in the words of protocol.standing. When as is empty the call gets an answer.
	as, code string
	// late is true when the call fails after content was sent.
	late bool
	// full is true when all of the text was sent before the failure.
	full bool
	// text is the answer's text, when it is not the usual one.
	text string
	// stop is length or filter when the answer ends for that reason.
	stop string
	// reason is that of the usage record, when it is not the usual one.
	reason string
	// cancelled is true when the gateway leaves the first upstream before its answer.
	cancelled bool
	// retryAfter is the least that the client's Retry-After may be, in seconds.
	retryAfter int
	lasts      time.Duration
}

// uncounted replaces the number of requests of an upstream that does not count them.
const uncounted = -1

// answers is a whole answer.
func answers(first, spare int) fate { return fate{first: first, spare: spare} }

// fails is a failure before any content.
func fails(as, code string, first int) fate { return fate{as: as, code: code, first: first} }

// breaksOff is a failure in the middle of a stream.
func breaksOff(as string, first, spare int) fate {
	return fate{as: as, late: true, first: first, spare: spare}
}

func (f fate) behindText() fate           { f.full = true; return f }
func (f fate) leaving() fate              { f.cancelled = true; return f }
func (f fate) with(reason string) fate    { f.reason = reason; return f }
func (f fate) saying(text string) fate    { f.text = text; return f }
func (f fate) ending(stop string) fate    { f.stop = stop; return f }
func (f fate) telling(seconds int) fate   { f.retryAfter = seconds; return f }
func (f fate) after(d time.Duration) fate { f.lasts = d; return f }
func (f fate) whole() bool                { return f.as == "" }
func (f fate) attempts() (n int, told bool) {
	return f.first + f.spare, f.first != uncounted && f.spare != uncounted
}

// mishap is one call: a fault, how it is asked for, and what help there is.
type mishap struct {
	fault

	// id is the model's id without its prefix.
	id     string
	row    string
	stream bool
	// helps is true when the model has a second route or a fallback.
	helps  bool
	client harness.Style
	// upstream is the style of the first provider.
	upstream string
}

func (s mishap) model() string   { return "test/" + s.id }
func (s mishap) firstID() string { return s.id + "-a" }
func (s mishap) spareID() string { return s.id + "-b" }

func (s mishap) fate() fate {
	if s.helps {
		return s.helped
	}
	return s.alone
}

// served is the public id of the model that answers.
func (s mishap) served() string {
	switch {
	case s.longer && s.helps:
		return s.model() + "-long"
	case s.falls && s.helps:
		return s.model() + "-fallback"
	}
	return s.model()
}

// begin is the public id of the model that the beginning of an answer names.
func (s mishap) begin(want fate) string {
	if s.falls && want.reason == "recovered" {
		return s.model()
	}
	return s.served()
}

// body is the request of a mishap.
func (s mishap) body(prompt string) string {
	var members []string
	if s.max > 0 {
		members = append(members, s.client.OutputLimit(s.max))
	}
	if s.stream {
		members = append(members, `"stream":true`, s.client.IncludeUsage())
	}
	return s.client.Request(s.model(), prompt, members...)
}

// mishaps are all calls of a row in one form, with or without a fallback.
func (r faultRow) mishaps(stream, helps bool) (all []mishap) {
	for i, f := range r.faults {
		if f.form != "" && (f.form == streamOnly) != stream {
			continue
		}
		for _, pair := range f.pairs(helps) {
			if f.speak != "" && !strings.Contains(f.speak, pair[1]) {
				continue
			}
			s := mishap{fault: f, row: r.name, stream: stream, helps: helps, client: harness.Styles[pair[0]], upstream: pair[1]}
			s.id = fmt.Sprintf("f-%s-%s-%d-%.2s%.2s", r.name, s.variant(), i, pair[0], pair[1])
			all = append(all, s)
		}
	}
	return all
}

// pairs are the styles of clients and upstreams that a fault is shown in: chat; or all straight and each translated once,
// and half of these where no other provider helps.
func (f fault) pairs(helps bool) [][2]string {
	switch {
	case !f.every:
		return [][2]string{{"chat", "chat"}}
	case !helps:
		return [][2]string{{"chat", "chat"}, {"messages", "responses"}, {"responses", "responses"}, {"native", "chat"}}
	}
	return [][2]string{
		{"chat", "chat"}, {"messages", "messages"}, {"responses", "responses"}, {"native", "native"},
		{"chat", "messages"}, {"messages", "responses"}, {"responses", "native"}, {"native", "chat"},
	}
}

func (s mishap) variant() string {
	form, help := jsonOnly, "without"
	if s.stream {
		form = streamOnly
	}
	if s.helps {
		help = "with"
	}
	return form + "-" + help
}

// faultGateway is a gateway for faults alone, whose upstreams are another process, and a customer of it.
type faultGateway struct {
	harness.Customer

	db *sqlx.DB
	// upstreams is the process id of the simulator.
	upstreams int
	places    map[string]string
	table     map[string]rule
}

// TestFault lets providers and clients go wrong in every way there is a row for. A call is rescued where there is a
// fallback; otherwise it fails in time, in the words of its style. No answer looks whole that is not. Attempts that failed
// cost nothing: what is shown, charged and in the ledger is one sum. Afterwards the gateway is as it was before.
func TestFault(t *testing.T) {
	t.Parallel()
	h := newFaultGateway(t)
	rows := slices.Concat(upstreamRows, clientRows, classicRows)
	var all []mishap
	for _, r := range rows {
		for _, stream := range []bool{false, true} {
			all = append(append(all, r.mishaps(stream, false)...), r.mishaps(stream, true)...)
		}
	}
	h.add(t, all)
	h.leavesNothing(t)
	for _, r := range rows {
		for _, stream := range []bool{false, true} {
			for _, helps := range []bool{true, false} {
				mishaps := r.mishaps(stream, helps)
				t.Run(fmt.Sprintf("%s-%s-fallback", r.name, mishap{stream: stream, helps: helps}.variant()), func(t *testing.T) {
					t.Parallel()
					if len(mishaps) == 0 {
						t.Fatal("the row has no case of this form")
					}
					var calls sync.WaitGroup
					for _, s := range mishaps {
						calls.Go(func() { h.plays(t, s) })
					}
					calls.Wait()
				})
			}
		}
	}
}

// plays makes the call of a mishap and checks its result.
func (h *faultGateway) plays(t *testing.T, s mishap) {
	done := false
	defer func() {
		if !done {
			t.Errorf("that was %s: %q, %s from %s", s.id, s.does, s.client.Name, s.upstream)
		}
	}()
	if s.drive != nil {
		s.drive(h, t, s)
	} else {
		h.calls(t, s, s.fate())
	}
	done = true
}

func newFaultGateway(t *testing.T) *faultGateway {
	t.Helper()
	bin, err := harness.GatewayBinary()
	if err != nil {
		t.Fatal(err)
	}
	pid, upstreams := harness.StartSimulator(t, "--key", "simulated")
	at, trusted := places(t, upstreams)
	env := []string{wrongKeyVariable + "=wrong-provider-key", "SSL_CERT_FILE=" + trusted}
	g, err := harness.StartDemoBinary(bin, env, harness.DemoDir(t), "--simulator-url", upstreams)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Stop(); err != nil && !t.Failed() {
			t.Error(err)
		}
	})
	h := &faultGateway{Customer: g.NewCustomer(t, "faults"), upstreams: pid, table: settlementTable(t), places: at}
	h.SetLimits(t, 1000)
	h.SetAvailable(t, 100_000_000_000)
	h.db = g.DB(t)
	h.db.SetMaxOpenConns(8)
	return h
}

// add puts a model and its providers into the catalog for every mishap.
func (h *faultGateway) add(t *testing.T, all []mishap) {
	t.Helper()
	var providers, models strings.Builder
	for _, s := range all {
		h.provider(&providers, s.firstID(), s.upstream, cmp.Or(s.at, "simulator"), s.first)
		routes := route(s.firstID(), s.upstream, s.does, 1, s.tight)
		more := s.more
		if s.helps {
			h.provider(&providers, s.spareID(), s.upstream, "simulator", s.second)
			help := route(s.spareID(), s.upstream, s.spare, 2, false)
			switch {
			case s.longer:
				more += "    longer_context: " + s.served() + "\n"
				models.WriteString(faultModel(s.served(), s.client.Name, 256_000, "", help))
			case s.falls:
				more += "    fallbacks: [" + s.served() + "]\n"
				models.WriteString(faultModel(s.served(), s.client.Name, 128_000, "", help))
			default:
				routes += help
			}
		}
		models.WriteString(faultModel(s.model(), s.client.Name, 128_000, more, routes))
	}
	h.PutCatalog(t, providers.String(), models.String(), all[len(all)-1].model())
}

// styleBases are the paths below which the styles begin, and the headers that bear their credentials.
var styleBases = map[string][2]string{
	"chat": {"/v1", ""}, "responses": {"/v1", ""}, "messages": {"/v1", "x-api-key"}, "native": {"/v1beta", "x-goog-api-key"},
}

func (h *faultGateway) provider(out *strings.Builder, id, style, at, more string) {
	base := styleBases[style]
	if !strings.Contains(more, "    credential:") {
		more += "    credential: ${UMG_SIMULATOR_KEY}\n"
	}
	fmt.Fprintf(out, "  - id: %s\n    name: A provider of faults\n    base_url: %s/%s%s\n    credential_header: %q\n    timeouts: %s\n%s",
		id, h.places[at], id, base[0], base[1], faultPatient, more)
}

func route(provider, style, does string, order int, tight bool) string {
	name := "m"
	if does != "" {
		name += "+" + strings.ReplaceAll(does, ";", "+")
	}
	waits := "{}"
	if tight {
		waits = faultTight
	}
	return fmt.Sprintf("      - {provider: %s, model: %q, style: %s, order: %d, weight: 1, timeouts: %s}\n", provider, name, style, order, waits)
}

func faultModel(id, style string, room int, more, routes string) string {
	return fmt.Sprintf(`  - id: %s
    name: A model of faults
    owner: test
    kind: text
    capabilities: [text]
    output: [text]
    context_tokens: %d
    max_output_tokens: 16000
    availability: available
    rates: {input_tokens: 1 per 1M, output_tokens: 2 per 1M}
    released: 2026-01-01
    styles: [%s]
    parameters: [stop]
    input: [text]
    limits: {requests_per_minute: 100000, tokens_per_minute: 100000000}
%s    routes:
%s`, id, room, style, more, routes)
}

// upstreamRequest is a request as the simulator reports it.
type upstreamRequest struct {
	Number     int64      `json:"number"`
	Status     int        `json:"status"`
	Model      string     `json:"model"`
	Body       string     `json:"body"`
	Finished   *time.Time `json:"finished"`
	ClientLeft bool       `json:"client_left"`
	BytesSent  int64      `json:"bytes_sent"`
}

// asked are the requests that a provider got.
func (h *faultGateway) asked(t *testing.T, provider string) []upstreamRequest {
	t.Helper()
	var list struct {
		Requests []upstreamRequest `json:"requests"`
	}
	text := h.CallSimulator(t, http.MethodGet, "/_control/requests?provider="+url.QueryEscape(provider), "")
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	return list.Requests
}

// possessions are what a process holds.
type possessions struct{ goroutines, files, heap int64 }

func (v possessions) String() string {
	return fmt.Sprintf("%d goroutines, %d descriptors, %d KiB of heap", v.goroutines, v.files, v.heap>>10)
}

// What a gateway may hold more when all is over. The connections of its pools of the database are not counted: they stay open for minutes,
// and there are as many as calls needed one at once.
const (
	goroutinesMoreMax = 12
	filesMoreMax      = 6
	heapMoreMax       = 24 << 20
)

func listPossessions(t *testing.T, g *harness.Gateway) possessions {
	t.Helper()
	callOps(t, g, "/debug/pprof/heap?gc=1")
	metrics := callOps(t, g, "/metrics")
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", g.PID))
	if err != nil {
		t.Fatal(err)
	}
	var pooled int64
	if err := g.DB(t).Get(&pooled, `select count(*) from pg_stat_activity where application_name like 'gateway%'`); err != nil {
		t.Fatal(err)
	}
	return possessions{goroutines: gauge(t, metrics, "go_goroutines"), files: int64(len(files)) - pooled, heap: gauge(t, metrics, "go_memstats_heap_inuse_bytes")}
}

// leavesNothing compares what the gateway holds now with what it holds when all mishaps are played and their upstreams
// are gone: no goroutine, connection or memory of a call may stay, and the books must balance.
func (h *faultGateway) leavesNothing(t *testing.T) {
	t.Helper()
	start, before := h.SettledBalance(t, h.AccountID), listPossessions(t, h.Gateway)
	t.Cleanup(func() {
		var charged int64
		var end harness.Balance
		// Calls whose clients left may end a moment later.
		for deadline := time.Now().Add(faultSlack); ; time.Sleep(50 * time.Millisecond) {
			if err := h.db.Get(&charged, `select coalesce(sum(cost_nanos), 0)::bigint from usage_records where account_id = $1`, h.AccountID); err != nil {
				t.Fatal(err)
			}
			end = h.SettledBalance(t, h.AccountID)
			if start.Posted-end.Posted == charged && end.Held == 0 || time.Now().After(deadline) {
				break
			}
		}
		if start.Posted-end.Posted != charged || end.Held != 0 || charged == 0 {
			t.Errorf("the balance went from %+v to %+v, and %d are charged", start, end, charged)
		}
		h.CheckLedger(t)
		if err := syscall.Kill(h.upstreams, syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		harness.HTTPClient.CloseIdleConnections()
		after := listPossessions(t, h.Gateway)
		for deadline := time.Now().Add(faultSlack); !after.within(before) && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			harness.HTTPClient.CloseIdleConnections()
			after = listPossessions(t, h.Gateway)
		}
		t.Logf("before: %v; after: %v; at most %d MiB resident", before, after, peakMemory(t, h.Gateway)>>20)
		if !after.within(before) {
			t.Errorf("something stayed: %v before, %v after\n%.6000s", before, after, callOps(t, h.Gateway, "/debug/pprof/goroutine?debug=1"))
		}
	})
}

func (v possessions) within(before possessions) bool {
	return v.goroutines <= before.goroutines+goroutinesMoreMax && v.files <= before.files+filesMoreMax && v.heap <= before.heap+heapMoreMax
}
