package responses

import (
	"strconv"

	"umg/app"
	"umg/app/llm"
)

// EncodeResponse appends an answer. It uses the same steps as a stream, so that both have the same content.
func (Codec) EncodeResponse(dst []byte, r *llm.Response, a *llm.ResponseOptions) []byte {
	o := newOutput(a)
	for i := range r.Parts {
		p := &r.Parts[i]
		o.begin(p.Kind, &p.Call)
		if p.Kind == llm.Call {
			o.write(p.Call.Arguments)
		} else {
			o.write(p.Text)
		}
		o.endPart(p.Signature, p.Redacted)
	}
	e := llm.Event{Kind: llm.EventFinish, Stop: r.Stop, Usage: r.Usage, Reported: r.Reported, Cost: r.Cost}
	o.finish(&e)
	return o.append(dst, echoOf(a))
}

// answerBuilder collects the items of an answer. Consecutive texts and refusals share a message.
type answerBuilder struct {
	options *llm.ResponseOptions
	// id is the id of the answer.
	id string
	// items are the complete items, as JSON.
	items []byte
	// count is the number of items that have begun.
	count   int
	callIDs map[string]bool
	refused bool
	// item is the open item. Its kind is zero when none is open.
	item itemBuilder

	status  string
	reason  string
	failure []byte
	usage   []byte
}

// itemBuilder is an item being made.
type itemBuilder struct {
	// kind is Text for every message.
	kind llm.PartKind
	// part is the kind of the open part; zero when none is open.
	part llm.PartKind
	id   string
	call llm.ToolCall
	// parts are the complete parts of the content or the summary, as JSON.
	parts []byte
	// count is the number of complete parts.
	count int
	// text is the text of the open part, escaped for a JSON string.
	text      []byte
	signature string
}

func newOutput(a *llm.ResponseOptions) *answerBuilder {
	return &answerBuilder{options: a, id: a.MintID("resp_", 0), callIDs: map[string]bool{}, status: statusInProgress}
}

// itemKindOf returns the kind of item that has parts of a kind. It is zero for parts that an answer of this style cannot have.
func itemKindOf(kind llm.PartKind) llm.PartKind {
	switch kind {
	case llm.Text, llm.Refusal:
		return llm.Text
	case llm.Call, llm.Reasoning:
		return kind
	}
	return 0
}

// joins reports whether a part belongs to the item that is being made.
func (o *answerBuilder) joins(kind llm.PartKind) bool {
	return o.item.kind == llm.Text && itemKindOf(kind) == llm.Text
}

// begin opens a part, and an item for it unless it joins the last one.
func (o *answerBuilder) begin(kind llm.PartKind, call *llm.ToolCall) {
	if !o.joins(kind) {
		o.close(statusCompleted)
		o.open(itemKindOf(kind), call)
	}
	o.item.part = kind
	o.item.text = o.item.text[:0]
	o.refused = o.refused || kind == llm.Refusal
}

func (o *answerBuilder) open(kind llm.PartKind, call *llm.ToolCall) {
	o.item = itemBuilder{kind: kind, parts: o.item.parts[:0], text: o.item.text[:0]}
	switch kind {
	case llm.Text:
		o.item.id = o.options.MintID("msg_", o.count)
	case llm.Reasoning:
		o.item.id = o.options.MintID("rs_", o.count)
	case llm.Call:
		o.item.id = o.options.MintID("fc_", o.count)
		if call.Custom {
			o.item.id = o.options.MintID("ctc_", o.count)
		}
		o.item.call = *call
		o.item.call.ID = o.callID(call.ID)
	default:
		return
	}
	o.count++
}

// callID returns an id that fits the style and that no other call of the answer has.
func (o *answerBuilder) callID(id string) string {
	if id != "" {
		id = llm.FitID(id, callIDCharsMax)
	}
	for n := o.count; id == "" || id == o.item.id || o.callIDs[id]; n++ {
		id = o.options.MintID("call_", n)
	}
	o.callIDs[id] = true
	return id
}

func (o *answerBuilder) write(delta string) { o.item.text = escape(o.item.text, delta) }

// endPart adds the open part to its item.
func (o *answerBuilder) endPart(signature string, redacted bool) {
	it := &o.item
	switch it.part {
	case llm.Text:
		it.parts = appendOutputText(separate(it.parts), it.text)
	case llm.Refusal:
		it.parts = appendRefusal(separate(it.parts), it.text)
	case llm.Reasoning:
		if len(it.text) > 0 || signature != "" && !redacted {
			it.parts = appendSummary(separate(it.parts), it.text)
		}
		it.signature = signature
	case llm.Call:
		if len(it.text) == 0 && !it.call.Custom {
			// Clients parse the arguments, so that they must not be empty.
			it.text = append(it.text, "{}"...)
		}
	}
	it.part = 0
	it.count++
}

// separate appends a comma before the next element of a list without brackets.
func separate(dst []byte) []byte {
	if len(dst) > 0 {
		dst = append(dst, ',')
	}
	return dst
}

// close adds the open item to the answer.
func (o *answerBuilder) close(status string) {
	if o.item.kind == 0 {
		return
	}
	o.items = o.item.append(separate(o.items), status)
	o.item.kind = 0
}

// append appends the item with the parts that have ended.
func (it *itemBuilder) append(dst []byte, status string) []byte {
	dst = textMember(append(dst, '{'), "id", it.id)
	switch it.kind {
	case llm.Text:
		dst = textMember(append(dst, `,"type":"message"`...), "status", status)
		dst = append(dst, `,"role":"assistant","content":[`...)
		dst = append(append(dst, it.parts...), "]}"...)
	case llm.Reasoning:
		dst = append(dst, `,"type":"reasoning","summary":[`...)
		dst = append(append(dst, it.parts...), ']')
		_, proof := splitProof(it.signature)
		dst = append(optional(dst, "encrypted_content", proof), '}')
	case llm.Call:
		if it.call.Custom {
			dst = append(dst, `,"type":"custom_tool_call"`...)
		} else {
			dst = textMember(append(dst, `,"type":"function_call"`...), "status", status)
		}
		dst = textMember(dst, "call_id", it.call.ID)
		dst = optional(dst, "namespace", it.call.Group)
		dst = textMember(dst, "name", it.call.Name)
		arguments := "arguments"
		if it.call.Custom {
			arguments = "input"
		}
		dst = append(key(dst, arguments), '"')
		dst = append(append(dst, it.text...), `"}`...)
	}
	return dst
}

// The parts of items. The text stands as inside a JSON string.

func appendOutputText(dst, text []byte) []byte {
	dst = append(append(dst, `{"type":"output_text","text":"`...), text...)
	return append(dst, `","annotations":[],"logprobs":[]}`...)
}

func appendRefusal(dst, text []byte) []byte {
	dst = append(append(dst, `{"type":"refusal","refusal":"`...), text...)
	return append(dst, `"}`...)
}

func appendSummary(dst, text []byte) []byte {
	dst = append(append(dst, `{"type":"summary_text","text":"`...), text...)
	return append(dst, `"}`...)
}

// finish records how the answer ended and closes its last item.
func (o *answerBuilder) finish(e *llm.Event) {
	end := encodeStop(e.Stop, o.refused)
	o.status, o.reason = end.status, end.reason
	if o.status == statusFailed {
		message := "The provider ended the answer without a reason that has a name here."
		if e.Stop == llm.StopMalformed {
			message = "The model called a tool in a way that cannot be read."
		}
		o.failure = appendFailure(nil, serverError, message, "")
	}
	if e.Reported || e.Cost != nil {
		o.usage = encodeUsage(nil, &e.Usage, e.Cost)
	}
	o.close(o.itemStatus())
}

// itemStatus is the status of the last item of an answer that ended.
func (o *answerBuilder) itemStatus() string {
	if o.status == statusCompleted {
		return statusCompleted
	}
	return statusIncomplete
}

// encodeUsage appends a usage object. Its totals include their details.
func encodeUsage(dst []byte, u *llm.Usage, cost *app.Amount) []byte {
	dst = numberMember(append(dst, '{'), "input_tokens", u.InputTotal())
	dst = numberMember(append(key(dst, "input_tokens_details"), '{'), "cached_tokens", u.CacheRead)
	dst = numberMember(dst, "cache_write_tokens", u.CacheWrite)
	dst = numberMember(append(dst, '}'), "output_tokens", u.Output)
	dst = numberMember(append(key(dst, "output_tokens_details"), '{'), "reasoning_tokens", u.Reasoning)
	dst = numberMember(append(dst, '}'), "total_tokens", u.InputTotal()+u.Output)
	if cost != nil {
		dst = append(key(dst, "cost"), cost.String()...)
	}
	return append(dst, '}')
}

// append appends the answer so far. The echo has the members that repeat the request.
func (o *answerBuilder) append(dst, echo []byte) []byte {
	dst = textMember(append(dst, '{'), "id", o.id)
	dst = append(dst, `,"object":"response","created_at":`...)
	dst = strconv.AppendInt(dst, o.options.Created, 10)
	dst = textMember(dst, "status", o.status)
	dst = append(key(dst, "error"), orNull(o.failure)...)
	dst = key(dst, "incomplete_details")
	if o.reason == "" {
		dst = append(dst, "null"...)
	} else {
		dst = append(textMember(append(dst, '{'), "reason", o.reason), '}')
	}
	dst = append(append(dst, ','), echo...)
	dst = append(append(dst, `,"output":[`...), o.items...)
	dst = append(dst, ']')
	if o.usage != nil {
		dst = append(key(dst, "usage"), o.usage...)
	}
	return append(dst, '}')
}

func orNull(v []byte) []byte {
	if v == nil {
		return []byte("null")
	}
	return v
}

// echoOf returns the members of an answer that repeat its request, or the defaults of the style.
func echoOf(a *llm.ResponseOptions) []byte {
	var dst []byte
	r := a.Request
	if r == nil {
		r = &llm.Request{}
	}
	dst = append(llm.Quote(append(dst, `"model":`...), a.Model), `,"background":false,"store":false,"previous_response_id":null`...)
	text, _ := instructions(r)
	dst = textOrNull(dst, "instructions", text)
	dst = appendTools(key(dst, "tools"), r.Tools)
	dst = appendChoice(key(dst, "tool_choice"), r)
	dst = flagMember(dst, "parallel_tool_calls", r.Parallel == nil || *r.Parallel)
	dst = append(key(dst, "temperature"), orOne(r.Sampling.Temperature)...)
	dst = append(key(dst, "top_p"), orOne(r.Sampling.TopP)...)
	if r.MaxOutput > 0 {
		dst = numberMember(dst, "max_output_tokens", r.MaxOutput)
	} else {
		dst = append(dst, `,"max_output_tokens":null`...)
	}
	format := *r
	if format.Format.Kind == llm.FormatUnset {
		format.Format.Kind = llm.FormatText
	}
	dst = appendText(key(dst, "text"), &format)
	effort, show := reasoningOf(r)
	dst = textOrNull(append(key(dst, "reasoning"), '{'), "effort", effort)
	dst = append(textOrNull(dst, "summary", show), '}')
	dst = append(dst, `,"truncation":"disabled"`...)
	dst = optional(dst, "safety_identifier", llm.FitEndUser(r.EndUser, endUserCharsMax))
	return appendMetadata(key(dst, "metadata"), r.Metadata)
}

func orOne(n llm.Number) llm.Number {
	if isNumber(n) {
		return n
	}
	return "1"
}
