package dialect

import (
	"umg/app/dialect/rawjson"
	"umg/app/dialect/responses"
	"umg/app/llm"
	"umg/app/usagereader"
)

// response has the positions of the members of an answer of the responses style, in a body or in an event.
type response struct {
	model, usage, output, status, reason, failure rawjson.Span

	bytes   int64
	calls   bool
	refused bool
}

// read scans the answer that begins at an index. It returns the state of the scan at its end.
func (r *response) read(doc []byte, from int) rawjson.Object {
	o := rawjson.OpenObject(doc, from)
	for o.Next() {
		switch string(o.Key.Of(doc)) {
		case "model":
			r.model = o.Value
		case "usage":
			r.usage = o.Value
		case "status":
			r.status = o.Value
		case "error":
			r.failure = o.Value
		case "incomplete_details":
			r.reason = o.Value
		case "output":
			r.output = o.Value
		}
	}
	if !rawjson.IsNull(r.output.Of(doc)) {
		list := rawjson.OpenArray(doc[:r.output.To], r.output.From)
		for list.Next() {
			r.item(list.Value.Of(doc))
		}
	}
	return o
}

// item counts the content of an item.
func (r *response) item(raw []byte) {
	o := rawjson.OpenObject(raw, 0)
	for o.Next() {
		switch value := o.Value.Of(raw); string(o.Key.Of(raw)) {
		case "type":
			r.calls = r.calls || string(value) == `"function_call"` || string(value) == `"custom_tool_call"`
		case "name", "arguments", "input":
			r.bytes += rawjson.TextBytes(value)
		case "content", "summary":
			r.parts(value)
		}
	}
}

func (r *response) parts(raw []byte) {
	if rawjson.IsNull(raw) {
		return
	}
	list := rawjson.OpenArray(raw, 0)
	for list.Next() {
		part := list.Value.Of(raw)
		o := rawjson.OpenObject(part, 0)
		for o.Next() {
			switch string(o.Key.Of(part)) {
			case "refusal":
				r.refused = true
				r.bytes += rawjson.TextBytes(o.Value.Of(part))
			case "text":
				r.bytes += rawjson.TextBytes(o.Value.Of(part))
			}
		}
	}
}

// finish returns why an answer with a status ended. It is empty when there is no reason, and an error when the answer has failed.
func (r *response) finish(doc []byte, status string) (string, error) {
	reason := status
	if status == "incomplete" {
		details := r.reason.Of(doc)
		reason = rawjson.String(rawjson.Get(details, "reason"))
	}
	stop := responses.StopOf(reason)
	switch {
	case stop.Failed():
		return "", failedBy(stop, reason)
	case status == "incomplete":
		return finishOf(stop, false), nil
	case status != "completed":
		return "", nil
	case r.refused && !r.calls:
		return string(llm.StopRefusal), nil
	}
	return finishOf(llm.StopEnd, r.calls), nil
}

// readResponsesBody checks that raw is a whole answer and records the edits for the client.
func readResponsesBody(raw []byte, a llm.ResponseOptions) (Body, error) {
	b := &passthroughBody{raw: raw, format: responseFormat}
	var r response
	o := r.read(raw, 0)
	if rawjson.String(r.status.Of(raw)) == "failed" && o.IsWhole() {
		return nil, failure(raw)
	}
	if err := b.close(&o, r.failure, r.output); err != nil {
		return nil, err
	}
	if raw[r.output.From] != '[' {
		return nil, llm.ErrBroken
	}
	b.usage = r.usage
	if r.model.Found() {
		renameModel(&b.edits, raw, r.model, rawjson.Quote(a.Model))
	}
	finish, err := r.finish(raw, rawjson.String(r.status.Of(raw)))
	if err != nil {
		return nil, err
	}
	b.stats = StreamStats{ContentBytes: r.bytes, Finish: finish}
	b.stats.readUsage(usagereader.For(&a, llm.Responses), raw, r.usage.Of(raw))
	return b, nil
}
