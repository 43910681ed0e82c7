package bench

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

const (
	// The rates of the models, in nano-dollars a token.
	inputRate  = 100
	outputRate = 200
	// maxTokens is what requests allow. It covers every answer, so that no charge reaches its hold.
	maxTokens = 30_000
)

// kinds are the answers of the mock upstream, with the tokens that they state.
var kinds = map[string]struct{ in, out int64 }{
	"json1": {250, 250}, "prompt10": {2500, 250}, "prompt100": {25_000, 250}, "json10": {250, 2500}, "json100": {250, 25_000},
	"unpaced": {250, 1000}, "paced": {250, 1000}, "slow": {250, 750}, "brief": {250, 300},
}

// styleFormat is how a protocol is spoken to the gateway and to the upstream.
type styleFormat struct {
	path, upstream string
	// body has %s for the members that name the model and the stream, %d for the tokens and %s for the turns.
	body string
	// turn has %s for the role and %s for the text.
	turn string
	// assistant is the role of the model.
	assistant string
	// end is in the last event of a stream.
	end string
}

var styles = map[string]styleFormat{
	"chat": {
		"/v1/chat/completions", "/v1/chat/completions", `{%s,"temperature":0.7,"max_tokens":%d,"messages":[%s]}`,
		`{"role":"%s","content":"%s"}`, "assistant", "[DONE]",
	},
	"messages": {
		"/v1/messages", "/v1/messages", `{%s,"temperature":0.7,"max_tokens":%d,"messages":[%s]}`,
		`{"role":"%s","content":"%s"}`, "assistant", "message_stop",
	},
	"responses": {
		"/v1/responses", "/v1/responses", `{%s,"temperature":0.7,"max_output_tokens":%d,"input":[%s]}`,
		`{"role":"%s","content":"%s"}`, "assistant", "response.completed",
	},
	"native": {
		"/vendorc/native", "/v1/models/mock:streamGenerateContent?alt=sse",
		`{%s,"generationConfig":{"temperature":0.7,"maxOutputTokens":%d},"contents":[%s]}`,
		`{"role":"%s","parts":[{"text":"%s"}]}`, "model", `"STOP"`,
	},
}

// traffic is one kind of call.
type traffic struct {
	name string
	// kind is the answer of the mock upstream, and bodyBytes the size of the request.
	kind      string
	bodyBytes int
	// client is the style of the call, and upstream that of the provider.
	client, upstream string
}

func (c traffic) stream() bool {
	return !strings.HasPrefix(c.kind, "json") && !strings.HasPrefix(c.kind, "prompt")
}

// model is the model whose provider answers so in that style.
func (c traffic) model() string { return "bench/" + c.kind + "-" + c.upstream }

// price is what the ledger must charge for one answer, in nano-dollars.
func (c traffic) price() int64 {
	return kinds[c.kind].in*inputRate + kinds[c.kind].out*outputRate
}

// request is the call to a target: in the style of the client for a gateway, and in that of the upstream for a plain proxy.
func (c traffic) request(to target) *request {
	if to.key == "" {
		s := styles[c.upstream]
		return newRequest(http.MethodPost, to.address, "/"+c.kind+s.upstream, "", c.body(s, "mock"), c.end(s))
	}
	s := styles[c.client]
	return newRequest(http.MethodPost, to.address, s.path, to.key, c.body(s, c.model()), c.end(s))
}

func (c traffic) end(s styleFormat) string {
	if c.stream() {
		return s.end
	}
	return ""
}

// turnBytesMax bounds the text of a turn, as in a conversation.
const turnBytesMax = 2000

// body is a request of about the size that the traffic has: a conversation whose first and last turns are the user's.
func (c traffic) body(s styleFormat, model string) string {
	const sentence = `Read the text that follows and say in one sentence what it is about, \"as briefly\" as you can.\n`
	members := fmt.Sprintf(`"model":%q,"stream":%v`, model, c.stream())
	text := c.bodyBytes - len(fmt.Sprintf(s.body, members, maxTokens, fmt.Sprintf(s.turn, "user", "")))
	count := text/turnBytesMax | 1
	turns := make([]string, count)
	for i := range turns {
		role := "user"
		if i%2 == 1 {
			role = s.assistant
		}
		turns[i] = fmt.Sprintf(s.turn, role, strings.Repeat(sentence, max(1, text/count/len(sentence))))
	}
	return fmt.Sprintf(s.body, members, maxTokens, strings.Join(turns, ","))
}

const (
	// limitedModel takes one call a minute of an account without a higher limit.
	limitedModel   = "bench/limited"
	callsPerMinute = 100
	// modelEntry has the model, its limit, the kind and the style.
	modelEntry = `  - id: %s
    name: Bench model
    owner: bench
    kind: text
    capabilities: [text]
    input: [text]
    output: [text]
    context_tokens: 256000
    max_output_tokens: 32000
    parameters: [temperature, stop]
    rates: {input_tokens: 0.1 per 1M, output_tokens: 0.2 per 1M}
    limits: {requests_per_minute: %d, tokens_per_minute: 100000000}
    released: 2026-01-01
    routes:
      - {provider: bench-%s, model: mock, style: %s, order: 1}
`
)

// catalogOf has a provider for each kind of answer of the mock upstream, and a model for each kind and style.
func catalogOf() (providers, models, last string) {
	var p, m strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(&p, "  - id: bench-%s\n    name: Bench %s\n    base_url: ${UMG_SIMULATOR_URL}/%s/v1\n    credential: ${UMG_SIMULATOR_KEY}\n"+
			"    styles: [chat, messages, responses, native]\n", kind, kind, kind)
		for _, style := range []string{"chat", "messages", "responses", "native"} {
			last = traffic{kind: kind, upstream: style}.model()
			fmt.Fprintf(&m, modelEntry, last, callsPerMinute, kind, style)
		}
	}
	fmt.Fprintf(&m, modelEntry, limitedModel, 1, "json1", "chat")
	return p.String(), m.String(), last
}
