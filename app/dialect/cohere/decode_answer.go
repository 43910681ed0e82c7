package cohere

import (
	"bytes"

	"github.com/go-json-experiment/json"

	"umg/app/llm"
	"umg/app/usagereader"
)

// DecodeResponse reads a whole answer.
func (Codec) DecodeResponse(body []byte, a *llm.ResponseOptions) (*llm.Response, error) {
	var w answer
	if err := json.Unmarshal(body, &w, llm.Lenient); err != nil {
		var failure frame
		if json.Unmarshal(body, &failure, llm.Lenient) == nil && failure.Message != "" {
			// The message of an error is a string.
			return nil, &llm.UpstreamError{Body: bytes.Clone(body)}
		}
		return nil, llm.ErrBroken
	}
	switch {
	case w.Message == nil && !llm.IsNull(w.Error):
		return nil, &llm.UpstreamError{Body: bytes.Clone(body)}
	case w.Message == nil, llm.StopOf(string(w.Finish)) == "":
		return nil, llm.ErrBroken
	}
	r := &llm.Response{ID: string(w.ID)}
	r.Parts = decodeAssistant(w.Message, "", map[string]string{})
	calls := 0
	for i := range r.Parts {
		p := &r.Parts[i]
		p.Place = llm.Place{}
		if p.Kind != llm.Call {
			continue
		}
		if p.Call.ID == "" {
			p.Call.ID = a.MintID("call_", calls)
		}
		calls++
	}
	r.Stop, r.StopText = finishOf(string(w.Finish), calls, a)
	report, reader := usagereader.NewReport(), usagereader.For(a, llm.Cohere)
	reader.ReadAnswer(&report, body)
	if !llm.IsNull(w.Usage) {
		reader.ReadUsage(&report, w.Usage)
	}
	r.Usage, r.Reported = report.Usage()
	return r, nil
}
