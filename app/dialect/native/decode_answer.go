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

// isUnspecified reports whether a value is the first one of an enumeration, which means that nothing was set.
func isUnspecified(value string) bool { return strings.HasSuffix(value, "_UNSPECIFIED") }
