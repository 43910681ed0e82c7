package gateway_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/gateway"
	"umg/app/llm"
	"umg/app/meter"
	"umg/app/provider/errorclass"
	"umg/app/provider/recordings"
	"umg/app/usagereader"
	"umg/billing"
)

var update = flag.Bool("update", false, "rewrite the tables of the recorded answers")

// recordedTerms are those of each model whose provider plays recordings. Its prices are easy to check by hand.
const recordedTerms = `name: Test, owner: test, kind: text, capabilities: [text], input: [text, image, audio, video, file], output: [text],
     context_tokens: 2000000, max_output_tokens: 128000, on_cut: error, parameters: [temperature, top_p, top_k, presence_penalty, frequency_penalty, stop,
     n, seed, logprobs, logit_bias, tools, custom_tools, tool_choice, response_format, structured_outputs, prediction, reasoning_effort, verbosity],
     rates: {input_tokens: 1 per 1M, cache_read_tokens: 0.1 per 1M, cache_write_tokens: 1.25 per 1M, output_tokens: 5 per 1M, web_searches: 10 per 1K,
     web_fetches: 1 per 1K, grounded_prompts: 35 per 1K, file_searches: 2.5 per 1K, code_sessions: 30 per 1K, images: 40 per 1K},
     limits: {requests_per_minute: 100000000, tokens_per_minute: 100000000000}, released: 2026-01-01, routes:`

// recordedReaders has the readers of usage of folders that no reader has the name of.
var recordedReaders = map[string]string{
	"alibaba": "dashscope", "crusoe": "compatible", "gpustack": "compatible", "llamacpp": "compatible", "lmstudio": "compatible",
	"ollama-cloud": "compatible", "snowflake": "compatible", "vertex-anthropic": "vertex", "bedrock": "anthropic",
}

// allRecordings are the recordings of the wires that the gateway speaks.
func allRecordings(t testing.TB) (spoken []recordings.Recording) {
	t.Helper()
	all, err := recordings.All()
	must(t, err)
	for _, r := range all {
		if r.Wire.Spoken() {
			spoken = append(spoken, r)
		}
	}
	return spoken
}

func recordedModel(r *recordings.Recording) string {
	return "test/" + r.Provider + "-" + string(r.Wire)
}

// replayBench is a bench whose provider plays recordings.
type replayBench struct {
	*bench
	spent app.Amount
}

// recordedCredit is enough for all calls of a test.
const recordedCredit = 10_000 * app.Dollar

// setupRecordings is a bench whose catalog has one provider for each folder of recordings, and one model for each of its wires. When
// the test ends, its account has paid what the calls have cost, and nothing is reserved.
func setupRecordings(t testing.TB) *replayBench {
	t.Helper()
	providers, models := []string{}, []string{}
	all, err := recordings.All()
	must(t, err)
	for _, r := range all {
		reader := cmp.Or(recordedReaders[r.Provider], r.Provider)
		if !r.Wire.Spoken() { // Only errors of these are replayed.
			reader = otherReader(&r)
			r.Provider, r.Wire = otherProvider(&r), recordings.Chat
		}
		p := fmt.Sprintf("  - {id: %s, name: %s, usage: %s, base_url: \"${SIM}/%s\", credential: \"${SECRET}\", timeouts: {first_byte: 10s, idle: 10s, total: 60s}}",
			r.Provider, r.Provider, reader, r.Provider)
		m := fmt.Sprintf("  - {id: %s, %s [{provider: %s, model: upstream-model, style: %s}]}", recordedModel(&r), recordedTerms, r.Provider, r.Wire)
		if !slices.Contains(providers, p) {
			providers = append(providers, p)
		}
		if !slices.Contains(models, m) {
			models = append(models, m)
		}
	}
	return newReplayBench(t, providers, models)
}

// newReplayBench is a bench with a catalog of providers and models.
func newReplayBench(t testing.TB, providers, models []string) *replayBench {
	t.Helper()
	f, err := catalog.ParseFile([]byte("providers:\n" + strings.Join(providers, "\n") + "\nmodels:\n" + strings.Join(models, "\n") + "\n"))
	must(t, err)
	b := &replayBench{bench: setup(t, 0)}
	snapshot, err := catalog.NewSnapshot(f, catalog.Options{Now: time.Now, Secrets: b.lookup, Log: slog.New(slog.DiscardHandler), Traits: dialect.Traits, Extras: extraRows})
	must(t, err)
	b.options.Snapshot = func() *catalog.Snapshot { return snapshot }
	b.account = b.ids.New("acc")
	must(t, b.ledger.OpenAccount(t.Context(), b.db, b.account))
	must(t, b.ledger.Grant(t.Context(), b.db, billing.Grant{AccountID: b.account, Kind: billing.Purchased, Amount: recordedCredit, Source: "test:" + b.account}))
	t.Cleanup(func() {
		if posted := b.balance().Posted; posted != recordedCredit-b.spent || b.reserved() != 0 {
			t.Errorf("the calls cost %s, the account has %s, and %s is reserved", b.spent, posted, b.reserved())
		}
	})
	return b
}

// replayed is how a call has ended whose provider plays a recording.
type replayed struct {
	*gateway.Report
	// status and body are those of the answer to the client.
	status int
	body   string
	// refused says why the gateway did not send the recorded request. It is empty when it was sent.
	refused string
}

// replay makes a call whose provider is h. A gateway for each call forgets the failures of the calls before it.
func (b *replayBench) replay(h http.Handler, style llm.Style, request []byte) replayed {
	b.t.Helper()
	b.answerWith(h)
	s := &sink{}
	call := gateway.Call{ID: b.ids.New("req"), Principal: app.Principal{AccountID: b.account, KeyID: "key_1"}, Style: style, Body: request}
	report, err := gateway.New(b.options).Generate(b.t.Context(), call, s)
	b.spent += report.Cost
	got := replayed{Report: report, status: s.status, body: s.text()}
	if e := app.AsError(err); e != nil {
		got.status, _ = dialect.Error(style, e, call.ID)
	}
	return got
}

// replayRecorded replays a recording to its own request. When the gateway refuses that before it sends anything, the recording
// answers a plain request.
func (b *replayBench) replayRecorded(r *recordings.Recording) replayed {
	b.t.Helper()
	style := llm.Style(r.Wire)
	if request := recordedRequest(b.t, r); request != nil {
		got := b.replay(r, style, request)
		if got.Attempts > 0 {
			return got
		}
		plain := b.replay(r, style, b.plainRequest(style, r))
		plain.refused = fmt.Sprintf("%s at %s", got.Err.Code, got.Err.Param)
		return plain
	}
	return b.replay(r, style, b.plainRequest(style, r))
}

// recordedRequest is the recorded request for the model of the recording, or nil when there is none.
func recordedRequest(t testing.TB, r *recordings.Recording) []byte {
	t.Helper()
	var m map[string]json.RawMessage
	if json.Unmarshal(r.Request, &m) != nil {
		return nil
	}
	delete(m, "anthropic_version")
	m["model"] = json.RawMessage(`"` + recordedModel(r) + `"`)
	m["stream"] = json.RawMessage(fmt.Sprint(r.Streamed))
	body, err := json.Marshal(m)
	must(t, err)
	return body
}

// plainRequest is a short request in a style. It asks for thoughts where a style shows none otherwise.
func (b *replayBench) plainRequest(style llm.Style, r *recordings.Recording) []byte {
	b.t.Helper()
	return b.styledCall(style, recordedModel(r), asked{prompt: "Say hello.", stream: r.Streamed, thinks: style == llm.Native}).Body
}

// recordingBenches is how many benches replay recordings at a time. A call mostly waits for its ledger.
const recordingBenches = 4

// eachRecording describes every recording, on several benches at a time, and returns the rows in the order of the recordings.
func eachRecording(t *testing.T, all []recordings.Recording, describe func(b *replayBench, r *recordings.Recording) []string) []string {
	t.Helper()
	rows, queue := make([][]string, len(all)), make(chan int, len(all))
	for i := range all {
		queue <- i
	}
	close(queue)
	var work sync.WaitGroup
	for range recordingBenches {
		b := setupRecordings(t)
		work.Go(func() {
			for i := range queue {
				rows[i] = describe(b, &all[i])
			}
		})
	}
	work.Wait()
	return slices.Concat(rows...)
}

// compareTable compares a table with its file, or writes it.
func compareTable(t *testing.T, name, head string, rows []string) {
	t.Helper()
	text, file := head+strings.Join(rows, "\n")+"\n", filepath.Join("testdata", "recordings", name)
	if *update {
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte(text), 0o600))
		return
	}
	want, err := os.ReadFile(file)
	must(t, err)
	old, now := strings.Split(string(want), "\n"), strings.Split(text, "\n")
	for _, line := range old {
		if !slices.Contains(now, line) {
			t.Errorf("%s had\n- %s", name, line)
		}
	}
	for _, line := range now {
		if !slices.Contains(old, line) {
			t.Errorf("%s has now\n+ %s", name, line)
		}
	}
}

const answersHead = `# What the gateway makes of each recorded answer, in the style of the answer. Each line has
#   the file | the style, and the recorded status when it is not 200 | the parts of the answer with the lengths of their texts in bytes |
#   the finish reason: the provider's words -> the gateway's | the usage by meter, "~" before an estimate | the price in dollars |
#   the row of the settlement table; the class of the fault, and the status and the code of the client's error |
#   what the provider stated.
# The prices are $1 for a million input tokens, $0.10 cached, $1.25 for cache writes and $5 for output; for a thousand, $10 for web searches,
# $1 for page fetches, $35 for grounded prompts, $2.50 for file searches, $30 for code sessions and $40 for images.
# "plain request" means that the gateway refuses the recorded request. The answer is then one to a short request.
# The tests in recordings_test.go compare the lines, and rewrite them with -update.
`

// TestRecordingsAreReadAsTheTableSays replays each recording in its own style.
func TestRecordingsAreReadAsTheTableSays(t *testing.T) {
	t.Parallel()
	perWire := map[recordings.Wire]int{}
	spoken := allRecordings(t)
	for _, r := range spoken {
		perWire[r.Wire]++
	}
	rows := eachRecording(t, spoken, func(b *replayBench, r *recordings.Recording) []string { return []string{b.answerRow(r)} })
	compareTable(t, "answers.txt", answersHead, rows)
	all, err := recordings.All()
	must(t, err)
	unspoken := map[recordings.Wire]int{}
	for _, r := range all {
		if !r.Wire.Spoken() {
			unspoken[r.Wire]++
		}
	}
	if len(rows) < 230 || unspoken[""] > 0 {
		t.Errorf("only %d recordings are replayed, and others are %v", len(rows), unspoken)
	}
	t.Logf("%d recordings are replayed: %v; on other wires are %v", len(rows), perWire, unspoken)
}

// answerRow replays a recording and describes the result. The client must have the parts that the provider has sent.
func (b *replayBench) answerRow(r *recordings.Recording) string {
	b.t.Helper()
	got, style := b.replayRecorded(r), llm.Style(r.Wire)
	sent := readAnswer(style, r.IsEventStream(), string(r.Body))
	if client := readAnswer(style, got.Streamed, got.body); got.Err == nil && client.describe() != sent.describe() {
		b.t.Errorf("%s: the client has %s instead of %s", r.File, client.describe(), sent.describe())
	}
	wire, finish, usage := string(r.Wire), sent.finish, usageText(got.Report)
	if r.Streamed {
		wire += " stream"
	}
	if r.Status != http.StatusOK {
		wire += fmt.Sprint(" ", r.Status)
	}
	if got.FinishReason != finish {
		finish += " -> " + got.FinishReason
	}
	if got.refused != "" {
		wire += ", plain request (" + got.refused + ")"
	}
	return strings.Join([]string{r.File, wire, sent.describe(), finish, usage, got.Cost.String(), ending(got), sent.said()}, " | ")
}

func usageText(r *gateway.Report) string {
	var list []string
	for m := range meter.Count {
		if n := r.Usage[m]; n > 0 && m != meter.Requests {
			list = append(list, fmt.Sprintf("%s %d", strings.TrimSuffix(m.String(), "_tokens"), n))
		}
	}
	text := strings.Join(list, ", ")
	if r.Estimated && text != "" {
		return "~" + text
	}
	return text
}

// ending is how a call has ended: its reason, and the error of its provider and of its client.
func ending(got replayed) string {
	text := string(got.Reason)
	if got.Fault != "" {
		text += "; " + string(got.Fault)
	}
	if got.Err != nil {
		text += fmt.Sprintf("; client %d %s", got.status, got.Err.Code)
	}
	return text
}

const errorsHead = `# What each recorded error means. Each line has
#   the file | the wire, and the recorded status | the meaning by the table of the provider, or the class of an answer that states no error |
#   where the call goes next | the attempts on the only route | the status and the code of the client's error, and the wait that the client gets.
# An error of a wire that the gateway does not speak is sent to a provider of the chat style with the table of its own provider.
# The test in recordings_test.go compares the lines, and rewrites them with -update.
`

// otherProvider is the provider that plays the errors of a provider on wires that the gateway does not speak.
func otherProvider(r *recordings.Recording) string { return "other-" + r.Provider }

// otherReader is the reader of usage that has the name of the provider, or else that of openai.
func otherReader(r *recordings.Recording) string {
	if slices.Contains(usagereader.Names(), r.Provider) {
		return r.Provider
	}
	return "openai"
}

// nextSteps are where a call goes after an error with a meaning, as long as the client has nothing of the answer.
var nextSteps = map[errorclass.Meaning]string{
	errorclass.Key: "next credential, next route", errorclass.Account: "next credential, next route", errorclass.Quota: "next credential, next route",
	errorclass.Rate: "next credential, same route, next route", errorclass.Overloaded: "same route, next route",
	errorclass.Server: "same route, next route", errorclass.Route: "next route", errorclass.TooLong: "longer context",
	errorclass.Filter: "client", errorclass.Request: "client",
}

// TestRecordingsOfErrors compares with a table how each recording with an error is classified.
func TestRecordingsOfErrors(t *testing.T) {
	t.Parallel()
	all, err := recordings.All()
	must(t, err)
	var spoken, others atomic.Int64
	rows := eachRecording(t, all, func(b *replayBench, r *recordings.Recording) []string {
		var got replayed
		inBand := false
		switch {
		case r.Wire.Spoken():
			message := readAnswer(llm.Style(r.Wire), r.IsEventStream(), string(r.Body)).failed
			got, inBand = b.replayRecorded(r), r.Status == http.StatusOK
			if inBand && message == "" && got.Fault == "" {
				return nil
			}
			spoken.Add(1)
		case r.Status >= http.StatusMultipleChoices:
			other := recordings.Recording{Provider: otherProvider(r), Wire: recordings.Chat}
			got = b.replay(r, llm.Chat, b.plainRequest(llm.Chat, &other))
			others.Add(1)
		default:
			return nil
		}
		if got.Cost > 0 && !inBand {
			t.Errorf("%s: an error costs %s", r.File, got.Cost)
		}
		if n := len(got.Tries); n > 0 && got.Err != nil {
			blames := got.Err.Kind == app.Upstream && got.Err.Status != 0
			if mayBlame := nextSteps[got.Tries[n-1].Meaning] == "client" || got.Tries[n-1].Meaning == errorclass.TooLong; blames && !mayBlame {
				t.Errorf("%s: the error blames the request: %v", r.File, got.Err)
			}
		}
		return []string{errorRow(r, got)}
	})
	compareTable(t, "errors.txt", errorsHead, rows)
	if spoken.Load() < 38 || others.Load() < 9 {
		t.Errorf("only %d and %d errors", spoken.Load(), others.Load())
	}
}

// errorRow describes how the error of a recording is classified.
func errorRow(r *recordings.Recording, got replayed) string {
	client, meaning := "", errorclass.Meaning("")
	if len(got.Tries) > 0 {
		meaning = got.Tries[len(got.Tries)-1].Meaning
	}
	if got.Err != nil {
		client = fmt.Sprintf("client %d %s, waits %s", got.status, got.Err.Code, got.Err.RetryAfter)
	}
	return strings.Join([]string{
		r.File, fmt.Sprint(r.Wire, " ", r.Status), cmp.Or(string(meaning), "no error, "+string(got.Fault)), nextSteps[meaning],
		fmt.Sprint("tries ", got.Attempts), client,
	}, " | ")
}
