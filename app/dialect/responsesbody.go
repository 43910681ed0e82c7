package dialect

import (
	"umg/app/dialect/responses"
	"umg/app/llm"
)

// response is the outline of an answer of the responses style, which is a body or stands in an event.
type response struct {
	model, usage, output, status, reason, failure span

	bytes   int64
	calls   bool
	refused bool
}

// read walks the answer that begins at from. It reports where the walk ended.
func (r *response) read(doc []byte, from int) object {
	o := openObject(doc, from)
	for o.next() {
		switch string(o.key.of(doc)) {
		case "model":
			r.model = o.value
		case "usage":
			r.usage = o.value
		case "status":
			r.status = o.value
		case "error":
			r.failure = o.value
		case "incomplete_details":
			r.reason = o.value
		case "output":
			r.output = o.value
		}
	}
	if !isNull(r.output.of(doc)) {
		list := openArray(doc[:r.output.to], r.output.from)
		for list.next() {
			r.item(list.value.of(doc))
		}
	}
	return o
}

// item counts what a piece of the output says.
func (r *response) item(raw []byte) {
	o := openObject(raw, 0)
	for o.next() {
		switch value := o.value.of(raw); string(o.key.of(raw)) {
		case "type":
			r.calls = r.calls || string(value) == `"function_call"` || string(value) == `"custom_tool_call"`
		case "name", "arguments", "input":
			r.bytes += textBytes(value)
		case "content", "summary":
			r.parts(value)
		}
	}
}

func (r *response) parts(raw []byte) {
	if isNull(raw) {
		return
	}
	list := openArray(raw, 0)
	for list.next() {
		part := list.value.of(raw)
		o := openObject(part, 0)
		for o.next() {
			switch string(o.key.of(part)) {
			case "refusal":
				r.refused = true
				r.bytes += textBytes(o.value.of(part))
			case "text":
				r.bytes += textBytes(o.value.of(part))
			}
		}
	}
}

// finish is why an answer of that status ended; empty when it does not say. It is an error when the answer has failed.
func (r *response) finish(doc []byte, status string) (string, error) {
	word := status
	if status == "incomplete" {
		details := r.reason.of(doc)
		word = text(memberOf(details, "reason").of(details))
	}
	stop := responses.StopOf(word)
	switch {
	case stop.Failed():
		return "", failedBy(stop, word)
	case status == "incomplete":
		return finishOf(stop, false), nil
	case status != "completed":
		return "", nil
	case r.refused && !r.calls:
		return string(llm.StopRefusal), nil
	}
	return finishOf(llm.StopEnd, r.calls), nil
}

// readResponsesBody checks that raw is a whole answer and notes what changes in it.
func readResponsesBody(raw []byte, a Ask) (Body, error) {
	b := &passedBody{raw: raw, meter: responseMeter}
	var r response
	o := r.read(raw, 0)
	if text(r.status.of(raw)) == "failed" && o.whole() {
		return nil, failure(raw)
	}
	if err := b.close(&o, r.failure, r.output); err != nil {
		return nil, err
	}
	if raw[r.output.from] != '[' {
		return nil, llm.ErrBroken
	}
	b.usage = r.usage
	if r.model.found() {
		renameModel(&b.edits, raw, r.model, quoted(a.Model))
	}
	finish, err := r.finish(raw, text(r.status.of(raw)))
	if err != nil {
		return nil, err
	}
	b.tally = StreamStats{ContentBytes: r.bytes, Finish: finish}
	b.tally.Usage, b.tally.Reported = responsesUsage(r.usage.of(raw))
	return b, nil
}
