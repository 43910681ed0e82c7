package simulator

import "slices"

// responsesStyle is POST /v1/responses.
var responsesStyle = style{
	name:     "responses",
	idHeader: "X-Request-Id",
	decode:   decodeResponses,
	body: func(b *buffer, x *exchange) {
		r := newResponse(x)
		if x.fault.usage == "twice" {
			// The member is written twice; which one counts is the reader's problem.
			r.told = new(x.answer.usage.half())
		}
		r.object(b, x.answer.responseStatus(), r.items, x.fault.usage != "none")
	},
	stream: responsesStream,
	fail:   func(b *buffer, _ *exchange, e failure) { openError(b, e) },

	signed: "gAAAAABn", forged: "The encrypted content of a reasoning item could not be verified.", forgedCode: "invalid_encrypted_content",
	failLate: func(o *stream, x *exchange, e failure) { newEvents(o, x).fail(e) },
	tokens: func(b *buffer, x *exchange) {
		b.raw(`{"object":"response.input_tokens","input_tokens":`).num(x.prompt.input).raw(`}`)
	},
}

// response is one response under construction. Its ids are minted once and used in the events and in the object.
type response struct {
	x      *exchange
	id     string
	items  []responsesOutput
	told   *usage   // A fault reports this usage too early.
	failed *failure // Failed says why the response failed.
}

// responsesOutput is an item of the output.
type responsesOutput struct {
	kind   string // Kind is reasoning, message or function_call.
	id     string
	callID string
	text   string // Text is the summary, the text or the arguments.
	name   string
	proof  string // Proof is empty unless the caller asked for encrypted reasoning.
}

// newResponse lays out the items of the answer. Reasoning always has its item, but shows a summary on request only.
func newResponse(x *exchange) *response {
	r := &response{x: x, id: x.mint("resp_")}
	a := x.answer
	if a == nil {
		return r
	}
	if a.reasoning != "" {
		item := responsesOutput{kind: "reasoning", id: x.mint("rs_"), text: x.thoughts()}
		if slices.Contains(x.prompt.echo.(*responsesRequest).Include, includeProof) {
			item.proof = x.signature()
		}
		r.items = append(r.items, item)
	}
	if a.text != "" || len(a.calls) == 0 && a.end != endLength {
		r.items = append(r.items, responsesOutput{kind: "message", id: x.mint("msg_"), text: a.text})
	}
	for _, c := range a.calls {
		r.items = append(r.items, responsesOutput{kind: "function_call", id: x.mint("fc_"), callID: x.mint("call_"),
			text: c.arguments, name: c.name})
	}
	return r
}

func (a *answer) responseStatus() string {
	if a.end == endLength || a.end == endFilter || a.word != "" {
		return "incomplete"
	}
	return "completed"
}

// object writes the whole response in the given state.
func (r *response) object(b *buffer, status string, items []responsesOutput, counted bool) {
	x := r.x
	q := x.prompt.echo.(*responsesRequest)
	b.raw(`{"id":`).str(r.id).raw(`,"object":"response","created_at":`).num(x.created).raw(`,"status":"`).raw(status)
	b.raw(`","error":`)
	if r.failed == nil {
		b.raw("null")
	} else {
		code := "server_error" // The style has few codes.
		if r.failed.status == 429 {
			code = "rate_limit_exceeded"
		}
		b.raw(`{"code":"`).raw(code).raw(`","message":`).str(r.failed.words().text).raw("}")
	}
	b.raw(`,"incomplete_details":`)
	switch {
	case status != "incomplete":
		b.raw("null")
	case x.answer.word != "":
		b.raw(`{"reason":`).str(x.answer.word).raw("}")
	case x.answer.end == endFilter:
		b.raw(`{"reason":"content_filter"}`)
	default:
		b.raw(`{"reason":"max_output_tokens"}`)
	}
	r.settings(b, q)
	b.raw(`,"output":`).list(len(items), func(i int) { items[i].json(b, r.itemStatus(items[i])) })
	if r.told != nil {
		responsesUsage(b.raw(","), x, *r.told)
	}
	if counted {
		responsesUsage(b.raw(","), x, x.answer.usage)
	}
	if status == "completed" {
		b.raw(`,"completed_at":`).num(x.sim.options.Now().Unix())
	}
	b.raw("}")
}

// settings repeats what the caller asked for, defaults filled in.
func (r *response) settings(b *buffer, q *responsesRequest) {
	b.raw(`,"instructions":`).text(q.Instructions).raw(`,"max_output_tokens":`)
	if q.MaxOutputTokens == nil {
		b.raw("null")
	} else {
		b.num(*q.MaxOutputTokens)
	}
	b.raw(`,"model":`).str(r.x.prompt.model).raw(`,"parallel_tool_calls":`).boolean(r.x.prompt.parallel)
	b.raw(`,"previous_response_id":null,"reasoning":{"effort":`)
	if q.Reasoning == nil {
		b.raw(`null,"summary":null`)
	} else {
		b.text(q.Reasoning.Effort).raw(`,"summary":`).text(q.Reasoning.Summary)
	}
	b.raw(`},"store":`).boolean(q.Store == nil || *q.Store).raw(`,"temperature":`).or(q.Temperature, "1.0")
	b.raw(`,"text":{"format":`)
	if q.Text == nil {
		b.raw(`{"type":"text"}`)
	} else {
		b.or(q.Text.Format, `{"type":"text"}`)
		if q.Text.Verbosity != nil {
			b.raw(`,"verbosity":`).str(*q.Text.Verbosity)
		}
	}
	b.raw(`},"tool_choice":`).or(q.ToolChoice, `"auto"`).raw(`,"tools":`)
	b.list(len(q.Tools), func(i int) { q.Tools[i].json(b) })
	b.raw(`,"top_p":`).or(q.TopP, "1.0").raw(`,"truncation":`)
	if q.Truncation == nil {
		b.raw(`"disabled"`)
	} else {
		b.str(*q.Truncation)
	}
	b.raw(`,"metadata":`).or(q.Metadata, "{}")
}

// json writes the tool as the server understood it; kinds it does not know are repeated.
func (t *responsesTool) json(b *buffer) {
	if t.Type != "function" {
		b.json(t.raw)
		return
	}
	b.raw(`{"type":"function","name":`).str(t.Name).raw(`,"description":`).text(t.Description)
	b.raw(`,"parameters":`).json(t.Parameters).raw(`,"strict":`).boolean(t.Strict == nil || *t.Strict).raw("}")
}

// itemStatus is incomplete for the message that was cut.
func (r *response) itemStatus(item responsesOutput) string {
	if item.kind == "message" && r.x.answer.responseStatus() == "incomplete" {
		return "incomplete"
	}
	return "completed"
}

func (item responsesOutput) json(b *buffer, status string) {
	switch item.kind {
	case "reasoning":
		b.raw(`{"id":`).str(item.id).raw(`,"type":"reasoning","summary":[`)
		if item.text != "" {
			b.raw(`{"type":"summary_text","text":`).str(item.text).raw("}")
		}
		b.raw("]")
		if item.proof != "" {
			b.raw(`,"encrypted_content":`).str(item.proof)
		}
		b.raw("}")
	case "message":
		b.raw(`{"id":`).str(item.id).raw(`,"type":"message","status":"`).raw(status).raw(`","role":"assistant","content":[`)
		textPart(b, item.text)
		b.raw("]}")
	default:
		b.raw(`{"id":`).str(item.id).raw(`,"type":"function_call","status":"`).raw(status).raw(`","call_id":`).str(item.callID)
		b.raw(`,"name":`).str(item.name).raw(`,"arguments":`).str(item.text).raw("}")
	}
}

func textPart(b *buffer, text string) {
	b.raw(`{"type":"output_text","text":`).str(text).raw(`,"annotations":[],"logprobs":[]}`)
}

func responsesUsage(b *buffer, x *exchange, u usage) {
	f := x.fault
	u = f.claimed(u)
	f.count(b, `"usage":{"input_tokens":`, u.input)
	f.count(b, `,"input_tokens_details":{"cached_tokens":`, u.cacheRead)
	f.count(b, `,"cache_write_tokens":`, u.cacheWrite)
	f.count(b, `},"output_tokens":`, u.output)
	f.count(b, `,"output_tokens_details":{"reasoning_tokens":`, u.reasoning)
	f.count(b, `},"total_tokens":`, u.input+u.output)
	b.raw("}")
}
