package dialect

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
	"umg/app/sse"
)

// finishOf returns why an answer ended, for StreamStats. Some upstreams send no reason of their own for tool calls.
func finishOf(stop llm.Stop, calls bool) string {
	switch {
	case stop == "":
		stop = llm.StopOther
	case stop == llm.StopEnd && calls:
		stop = llm.StopToolCalls
	}
	return string(stop)
}

// failedBy returns the error of an answer that ended for a reason that means a failure, and nil for any other reason. The finish reason
// is the provider's.
func failedBy(stop llm.Stop, reason string) error {
	if !stop.Failed() {
		return nil
	}
	return &llm.FailedError{Stop: stop, Word: reason}
}

// IsIgnorable reports whether a frame that cannot be read holds nothing of the answer: its event is ping, or its data is one of the
// remarks that some providers send. Data with brackets or quotes may be a damaged piece of the answer.
func IsIgnorable(f sse.Frame) bool {
	data := bytes.TrimSpace(f.Data)
	if string(f.Event) == "ping" || !bytes.ContainsAny(data, "{}[]\"") {
		return true
	}
	return data[0] == '"' && jsontext.Value(data).IsValid()
}
