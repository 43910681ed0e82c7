package converse

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
	"umg/app/usagereader"
)

// DecodeResponse reads a whole answer.
func (Codec) DecodeResponse(body []byte, a *llm.ResponseOptions) (*llm.Response, error) {
	var w answer
	if err := json.Unmarshal(body, &w, llm.Lenient); err != nil {
		return nil, llm.ErrBroken
	}
	m := w.Output.Message
	switch {
	case m == nil && (!llm.IsNull(w.Error) || !llm.IsNull(w.Exception)):
		return nil, &llm.UpstreamError{Body: bytes.Clone(body)}
	case m == nil || m.Content == nil, llm.StopOf(string(w.StopReason)) == "":
		return nil, llm.ErrBroken
	}
	r := &llm.Response{}
	calls := 0
	for _, raw := range m.Content {
		var b block
		if json.Unmarshal(raw, &b, llm.Lenient) != nil {
			return nil, llm.ErrBroken
		}
		p, ok := decodeBlock(&b, "", map[string]string{})
		if !ok || p.Kind == llm.Result {
			// The other blocks are results of tools that the provider runs, and citations.
			continue
		}
		if p.Kind == llm.Call {
			if p.Call.ID == "" {
				p.Call.ID = a.MintID("call_", calls)
			}
			calls++
		}
		p.Place = llm.Place{}
		r.Parts = append(r.Parts, p)
	}
	r.Stop = stopOf(string(w.StopReason), calls)
	if r.Stop == llm.StopSequence {
		r.StopText = stopTextOf(w.Additional, a)
	}
	report, reader := usagereader.NewReport(), usagereader.For(a, llm.Converse)
	reader.ReadAnswer(&report, body)
	if !llm.IsNull(w.Usage) {
		reader.ReadUsage(&report, w.Usage)
	}
	r.Usage, r.Reported = report.Usage()
	return r, nil
}

// stopTextOf returns the stop sequence that ended an answer: the one in the model's own answer, or the only one of the request.
func stopTextOf(additional jsontext.Value, a *llm.ResponseOptions) string {
	var w stopSequence
	if !llm.IsNull(additional) && json.Unmarshal(additional, &w, llm.Lenient) == nil {
		if w.Sequence != "" {
			return string(w.Sequence)
		}
		if w.Delta.Sequence != "" {
			return string(w.Delta.Sequence)
		}
	}
	if a != nil && a.Request != nil && len(a.Request.Stop) == 1 {
		return a.Request.Stop[0]
	}
	return ""
}
