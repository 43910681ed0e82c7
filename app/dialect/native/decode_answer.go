package native

import (
	"errors"
	"strings"

	"umg/app/llm"
	"umg/app/usagereader"
)

// DecodeResponse reads an answer like a stream of one frame, so that both have the same result.
func (Codec) DecodeResponse(body []byte, a *llm.ResponseOptions) (*llm.Response, error) {
	d := decoder{options: a, report: usagereader.NewReport()}
	events, err := d.Decode(nil, nil, body)
	if err == nil {
		events, err = d.End(events)
	}
	if upstream, ok := errors.AsType[*llm.UpstreamError](err); ok {
		return nil, upstream
	}
	if err != nil {
		return nil, llm.ErrBroken
	}
	return llm.Fold(events), nil
}

// stops has the finish reasons of the style.
var stops = map[string]llm.Stop{
	"STOP":                     llm.StopEnd,
	"MAX_TOKENS":               llm.StopLength,
	"SAFETY":                   llm.StopFilter,
	"RECITATION":               llm.StopFilter,
	"LANGUAGE":                 llm.StopFilter,
	"BLOCKLIST":                llm.StopFilter,
	"PROHIBITED_CONTENT":       llm.StopFilter,
	"SPII":                     llm.StopFilter,
	"MODEL_ARMOR":              llm.StopFilter,
	"IMAGE_SAFETY":             llm.StopFilter,
	"IMAGE_PROHIBITED_CONTENT": llm.StopFilter,
	"IMAGE_RECITATION":         llm.StopFilter,
	"MALFORMED_FUNCTION_CALL":  llm.StopMalformed,
	"MALFORMED_RESPONSE":       llm.StopMalformed,
	"UNEXPECTED_TOOL_CALL":     llm.StopMalformed,
	"TOO_MANY_TOOL_CALLS":      llm.StopMalformed,
	"CONTINUATION":             llm.StopPause,

	"MISSING_THOUGHT_SIGNATURE": llm.StopMalformed,
}

// StopOf returns what a finish reason means. It is empty for an unspecified reason. The style has no finish reason for tool calls.
func StopOf(reason string) llm.Stop {
	if reason == "" || isUnspecified(reason) {
		return ""
	}
	if stop, ok := stops[reason]; ok {
		return stop
	}
	return llm.StopOfUnknown(strings.ToLower(reason))
}

// isUnspecified reports whether a value is the first one of an enumeration, which means that nothing was set.
func isUnspecified(value string) bool { return strings.HasSuffix(value, "_UNSPECIFIED") }
