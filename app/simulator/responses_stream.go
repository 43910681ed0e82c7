package simulator

// responsesEvents writes the events of one responses stream, numbered from zero.
type responsesEvents struct {
	*stream
	response *response
	number   int64
	index    int64 // Index is the index of the output item.
	told     usage
}

func newEvents(o *stream, x *exchange) *responsesEvents {
	e := &responsesEvents{stream: o, response: newResponse(x)}
	if x.answer != nil {
		e.told.input = x.answer.usage.input
	}
	return e
}

func responsesStream(o *stream, x *exchange) {
	e := newEvents(o, x)
	o.fail = e.fail
	first := x.fault.usage == "first"
	e.snapshot("response.created", first)
	if x.fault.usage == "twice" {
		e.response.told = new(x.answer.usage.half())
	}
	e.snapshot("response.in_progress", false)
	e.response.told = nil
	for _, item := range e.response.items {
		switch item.kind {
		case "reasoning":
			e.reasoning(item)
		case "message":
			e.message(item)
		default:
			e.call(item)
		}
		e.index++
	}
	status := x.answer.responseStatus()
	e.begin("response." + status).raw(`,"response":`)
	e.response.object(e.buffer, status, e.response.items, x.fault.usage != "none" && !first)
	e.end(marker)
}

// fail ends the stream with the one event that says so.
func (e *responsesEvents) fail(f failure) {
	e.response.failed = &f
	e.begin("response.failed").raw(`,"response":`)
	e.response.object(e.buffer, "failed", nil, false)
	e.end(lifecycle)
}

// begin opens an event, whose name is both its type and the name of its frame.
func (e *responsesEvents) begin(name string) *buffer {
	b := e.open(name).raw(`{"type":"`).raw(name).raw(`","sequence_number":`).num(e.number)
	e.number++
	return b
}

// end closes the event.
func (e *responsesEvents) end(kind frameKind) {
	if kind == token {
		e.told.output++
		if e.x.fault.usage == "every" {
			responsesUsage(e.raw(","), e.x, e.told)
		}
	}
	e.raw("}")
	e.close(kind)
}

// snapshot repeats the response as it stands.
func (e *responsesEvents) snapshot(name string, counted bool) {
	e.begin(name).raw(`,"response":`)
	e.response.object(e.buffer, "in_progress", nil, counted)
	e.end(lifecycle)
}

// added and done frame every item.
func (e *responsesEvents) added(kind frameKind, item string) {
	e.begin("response.output_item.added").raw(`,"output_index":`).num(e.index).raw(`,"item":`).raw(item)
	e.end(kind)
}

func (e *responsesEvents) done(item responsesOutput) {
	b := e.begin("response.output_item.done").raw(`,"output_index":`).num(e.index).raw(`,"item":`)
	item.json(b, e.response.itemStatus(item))
	e.end(lifecycle)
}

// at opens an event that concerns an item, and a part of it when part names the kind of index.
func (e *responsesEvents) at(name string, item responsesOutput, part string) *buffer {
	b := e.begin(name).raw(`,"item_id":`).str(item.id).raw(`,"output_index":`).num(e.index)
	if part != "" {
		b.raw(`,"`).raw(part).raw(`":0`)
	}
	return b
}

func (e *responsesEvents) reasoning(item responsesOutput) {
	const part = "summary_index"
	var head buffer
	responsesOutput{kind: item.kind, id: item.id}.json(&head, "")
	e.added(lifecycle, string(head.b))
	if item.text != "" {
		e.at("response.reasoning_summary_part.added", item, part).raw(`,"part":{"type":"summary_text","text":""}`)
		e.end(lifecycle)
		for piece := range pieces(item.text) {
			e.at("response.reasoning_summary_text.delta", item, part).raw(`,"delta":`).str(piece)
			e.end(token)
		}
		e.at("response.reasoning_summary_text.done", item, part).raw(`,"text":`).str(item.text)
		e.end(lifecycle)
		e.at("response.reasoning_summary_part.done", item, part).raw(`,"part":{"type":"summary_text","text":`).str(item.text).raw("}")
		e.end(lifecycle)
	}
	e.done(item)
}

func (e *responsesEvents) message(item responsesOutput) {
	const part = "content_index"
	var head buffer
	head.raw(`{"id":`).str(item.id).raw(`,"type":"message","status":"in_progress","role":"assistant","content":[]}`)
	e.added(lifecycle, string(head.b))
	textPart(e.at("response.content_part.added", item, part).raw(`,"part":`), "")
	e.end(lifecycle)
	for piece := range e.x.answer.textPieces() {
		if e.over {
			return
		}
		e.at("response.output_text.delta", item, part).raw(`,"delta":`).str(piece).raw(`,"logprobs":[]`)
		e.end(token)
	}
	e.at("response.output_text.done", item, part).raw(`,"text":`).str(item.text).raw(`,"logprobs":[]`)
	e.end(lifecycle)
	textPart(e.at("response.content_part.done", item, part).raw(`,"part":`), item.text)
	e.end(lifecycle)
	e.done(item)
}

func (e *responsesEvents) call(item responsesOutput) {
	var head buffer
	responsesOutput{kind: item.kind, id: item.id, callID: item.callID, name: item.name}.json(&head, "in_progress")
	e.added(token, string(head.b))
	for piece := range pieces(item.text) {
		e.at("response.function_call_arguments.delta", item, "").raw(`,"delta":`).str(piece)
		e.end(token)
	}
	e.at("response.function_call_arguments.done", item, "").raw(`,"name":`).str(item.name).raw(`,"arguments":`).str(item.text)
	e.end(lifecycle)
	e.done(item)
}
