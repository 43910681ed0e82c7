package native

import (
	"slices"
	"strconv"

	"umg/app"
	"umg/app/llm"
	"umg/app/meter"
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

// hidesThoughts reports whether the request does not ask for thoughts. The answer then has none, because clients read the first part as the
// answer. Calls still have their signatures.
func hidesThoughts(a *llm.ResponseOptions) bool {
	return a.Request != nil && (a.Request.Reasoning.Show == "" || a.Request.Reasoning.Show == "omitted")
}

// ending returns the end of every frame of an answer: the name of the model and the id of the answer.
func ending(a *llm.ResponseOptions) []byte { return endingWith(a.Model, a.MintID("", 0)) }

func endingWith(model, id string) []byte {
	dst := llm.Quote(append([]byte(nil), `,"modelVersion":`...), model)
	return llm.Quote(append(dst, `,"responseId":`...), id)
}

// frameOpen and frameClose enclose the parts of a frame.
const (
	frameOpen  = `{"candidates":[{"content":{"parts":[`
	frameClose = `],"role":"model"}`
)

// appendEnd appends the end of an answer, after its last part.
func appendEnd(dst []byte, finish *llm.Event, reason string, end []byte) []byte {
	dst = append(dst, frameClose+`,"finishReason":"`...)
	dst = append(dst, reason...)
	dst = append(dst, `","index":0}]`...)
	if finish.Reported || finish.Cost != nil {
		dst = append(dst, `,"usageMetadata":`...)
		dst = encodeUsage(dst, finish.Usage, finish.Cost)
	}
	return append(dst, end...)
}

// encodeUsage appends a usage object. The prompt includes cached tokens, and the candidates do not include thoughts. The style has no
// count of tokens written to a cache.
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
	dst = encodeModalities(dst, &u)
	if cost != nil {
		dst = append(dst, `"cost":`...)
		return append(append(dst, cost.String()...), '}')
	}
	dst[len(dst)-1] = '}'
	return dst
}

// encodeModalities appends the details by modality of usage that has more than text, each with a comma.
func encodeModalities(dst []byte, u *llm.Usage) []byte {
	p := &u.Parts
	audio, images := p[meter.CacheReadAudioTokens], p[meter.CacheReadImageTokens]
	for _, details := range [...]struct {
		name                       string
		total, audio, image, video int64
	}{
		{"promptTokensDetails", u.InputTotal(), p[meter.InputAudioTokens] + audio, p[meter.InputImageTokens] + images, p[meter.InputVideoTokens]},
		{"cacheTokensDetails", u.CacheRead, audio, images, 0},
		{"candidatesTokensDetails", u.Output - u.Reasoning, p[meter.OutputAudioTokens], p[meter.OutputImageTokens], 0},
	} {
		text := details.total - details.audio - details.image - details.video
		if text == details.total {
			continue
		}
		dst = append(append(append(dst, '"'), details.name...), `":[`...)
		for _, one := range [...]struct {
			modality string
			n        int64
		}{{"TEXT", text}, {"AUDIO", details.audio}, {"IMAGE", details.image}, {"VIDEO", details.video}} {
			if one.n > 0 {
				dst = append(append(append(dst, `{"modality":"`...), one.modality...), `","tokenCount":`...)
				dst = append(strconv.AppendInt(dst, one.n, 10), "},"...)
			}
		}
		dst[len(dst)-1] = ']'
		dst = append(dst, ',')
	}
	return dst
}

// encodeStop returns the finish reason. Calls, a stop sequence and a refusal with text end with STOP. A refusal without text ends with
// SAFETY. When a call could not be written, an answer that would end with STOP is malformed.
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
