package dialect

import (
	"umg/app/dialect/messages"
	"umg/app/llm"
)

// readMessagesBody checks that raw is a whole message and notes what changes in it.
func readMessagesBody(raw []byte, a Ask) (Body, error) {
	b := &passedBody{raw: raw, meter: messagesMeter}
	model := quoted(a.Model)
	var content, stop, failed span
	calls := false
	o := openObject(raw, 0)
	for o.next() {
		switch string(o.name()) {
		case "model":
			renameModel(&b.edits, raw, o.value, model)
		case "content":
			content = o.value
		case "stop_reason":
			stop = o.value
		case "usage":
			b.usage = o.value
		case "error":
			failed = o.value
		}
	}
	if err := b.close(&o, failed, content); err != nil {
		return nil, err
	}
	list := openArray(raw[:content.to], content.from)
	for list.next() {
		n, call := blockBytes(list.value.of(raw))
		b.tally.ContentBytes += n
		calls = calls || call
	}
	if list.broken {
		return nil, llm.ErrBroken
	}
	if word := text(stop.of(raw)); word != "" {
		reason := messages.StopOf(word)
		if err := failedBy(reason, word); err != nil {
			return nil, err
		}
		b.tally.Finish = finishOf(reason, calls)
	}
	c := missing()
	if usage := b.usage.of(raw); !isNull(usage) {
		readMessages(&c, usage)
		b.tally.Usage, b.tally.Reported = c.Usage()
	}
	return b, nil
}
