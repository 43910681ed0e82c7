package dialect

import (
	"umg/app/dialect/messages"
	"umg/app/dialect/rawjson"
	"umg/app/llm"
	"umg/app/usagereader"
)

// readMessagesBody checks that raw is a whole message and records the edits for the client.
func readMessagesBody(raw []byte, a llm.ResponseOptions) (Body, error) {
	b := &passthroughBody{raw: raw, format: messagesFormat}
	model := rawjson.Quote(a.Model)
	var content, stop, failed rawjson.Span
	calls := false
	o := rawjson.OpenObject(raw, 0)
	for o.Next() {
		switch string(o.Name()) {
		case "model":
			renameModel(&b.edits, raw, o.Value, model)
		case "content":
			content = o.Value
		case "stop_reason":
			stop = o.Value
		case "usage":
			b.usage = o.Value
		case "error":
			failed = o.Value
		}
	}
	if err := b.close(&o, failed, content); err != nil {
		return nil, err
	}
	list := rawjson.OpenArray(raw[:content.To], content.From)
	for list.Next() {
		n, call := blockBytes(list.Value.Of(raw))
		b.stats.ContentBytes += n
		calls = calls || call
	}
	if list.End() < 0 {
		return nil, llm.ErrBroken
	}
	if reason := rawjson.String(stop.Of(raw)); reason != "" {
		if err := failedBy(messages.StopOf(reason), reason); err != nil {
			return nil, err
		}
		b.stats.Finish = finishOf(messages.StopOf(reason), calls)
	}
	b.stats.readUsage(usagereader.For(&a, llm.Messages), raw, b.usage.Of(raw))
	return b, nil
}
