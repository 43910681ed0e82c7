package native

import (
	"slices"
	"strconv"

	"umg/app"
	"umg/app/llm"
)

// EncodeResponse appends an answer.
func (Codec) EncodeResponse(dst []byte, r *llm.Response, a *llm.ResponseOptions) []byte {
	dst = append(dst, frameOpen...)
	w := partsWriter{dst: dst, seal: true, hidden: hidesThoughts(a)}
	w.parts(r.Parts)
	refused := slices.ContainsFunc(r.Parts, func(p llm.Part) bool { return p.Kind == llm.Refusal })
	finish := llm.Event{Stop: r.Stop, Usage: r.Usage, Reported: r.Reported, Cost: r.Cost}
	return append(appendEnd(w.dst, &finish, encodeStop(r.Stop, w.malformed, refused), ending(a)), '}')
}

// hidesThoughts reports whether the client has not asked to read the thoughts. In this style an answer has none then,
// and clients take the first part for the answer itself. Signatures of calls come all the same.
func hidesThoughts(a *llm.ResponseOptions) bool {
	return a.Request != nil && (a.Request.Reasoning.Show == "" || a.Request.Reasoning.Show == "omitted")
}

// ending is how every frame of an answer ends: with the name of the model and the id of the answer.
func ending(a *llm.ResponseOptions) []byte { return endingWith(a.Model, a.MintID("", 0)) }

func endingWith(model, id string) []byte {
	dst := quote(append([]byte(nil), `,"modelVersion":`...), model)
	return quote(append(dst, `,"responseId":`...), id)
}

// frameOpen and frameClose stand around the parts of a frame.
const (
	frameOpen  = `{"candidates":[{"content":{"parts":[`
	frameClose = `],"role":"model"}`
)

// appendEnd appends the end of an answer, after its last part.
func appendEnd(dst []byte, finish *llm.Event, word string, end []byte) []byte {
	dst = append(dst, frameClose+`,"finishReason":"`...)
	dst = append(dst, word...)
	dst = append(dst, `","index":0}]`...)
	if finish.Reported || finish.Cost != nil {
		dst = append(dst, `,"usageMetadata":`...)
		dst = encodeUsage(dst, finish.Usage, finish.Cost)
	}
	return append(dst, end...)
}

// encodeUsage appends the usage of an answer. The wire counts cached tokens with the prompt and thoughts apart from what
// the candidates say; it has no count of tokens written to a cache.
func encodeUsage(dst []byte, u llm.Usage, cost *app.Amount) []byte {
	dst = append(dst, '{')
	count := func(name string, n int64) {
		dst = append(append(append(dst, '"'), name...), `":`...)
		dst = append(strconv.AppendInt(dst, n, 10), ',')
	}
	count("promptTokenCount", u.InputTotal())
	if u.CacheRead > 0 {
		count("cachedContentTokenCount", u.CacheRead)
	}
	count("candidatesTokenCount", u.Output-u.Reasoning)
	if u.Reasoning > 0 {
		count("thoughtsTokenCount", u.Reasoning)
	}
	count("totalTokenCount", u.InputTotal()+u.Output)
	if cost != nil {
		dst = append(dst, `"cost":`...)
		return append(append(dst, cost.String()...), '}')
	}
	dst[len(dst)-1] = '}'
	return dst
}

// encodeStop is the style's word for why an answer ended. Calls, a stop sequence and words of refusal all end with
// STOP; a refusal without words is what a filter does. A call that could not be written ends an answer that seemed
// whole as malformed.
func encodeStop(stop llm.Stop, malformed, refused bool) string {
	if stop == llm.StopRefusal && !refused {
		stop = llm.StopFilter
	}
	switch stop {
	case llm.StopLength, llm.StopContextFull:
		return "MAX_TOKENS"
	case llm.StopFilter:
		return "SAFETY"
	case llm.StopOther:
		return "OTHER"
	case llm.StopMalformed:
		return "MALFORMED_FUNCTION_CALL"
	}
	if malformed {
		return "MALFORMED_FUNCTION_CALL"
	}
	return "STOP"
}
