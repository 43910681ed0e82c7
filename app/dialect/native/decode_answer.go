package native

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// DecodeResponse reads an answer the way a stream of one frame is read, so that both come out alike.
func (Codec) DecodeResponse(body []byte, a *llm.ResponseOptions) (*llm.Response, error) {
	d := decoder{options: a}
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

// decodeUsage reads the usage of an answer. It reports false when that says neither the input nor the output. Cached tokens are
// a part of the prompt here, and thoughts are none of the candidates' tokens, which only the total tells where their count is
// missing.
func decodeUsage(raw jsontext.Value) (llm.Usage, bool) {
	in := usage{Prompt: llm.Unknown, Candidates: uncounted}
	if json.Unmarshal(raw, &in, lenient) != nil {
		return llm.Usage{}, false
	}
	input := llm.Sum(int64(in.Prompt), int64(in.ToolUse))
	if in.Candidates == uncounted {
		if in.Candidates = llm.Unknown; input != llm.Unknown {
			in.Candidates = max(0, in.Total-llm.Count(input)-max(0, in.Thoughts))
		}
	}
	return llm.Report{
		Input: input, CacheRead: int64(in.Cached),
		Output: llm.Sum(int64(in.Candidates), max(0, int64(in.Thoughts))), Reasoning: int64(in.Thoughts), Inclusive: true,
	}.Usage()
}

// lenient reads what an upstream sends: what is merely untidy in it must not lose the answer.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// stops are the style's words for why an answer ended. Words that are not here are llm.StopOther.
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

	// These are no words of the style, but of providers that translate into it.
	"ERROR":                        llm.StopError,
	"SERVER_ERROR":                 llm.StopError,
	"NETWORK_ERROR":                llm.StopError,
	"INSUFFICIENT_SYSTEM_RESOURCE": llm.StopError,
	"SENSITIVE":                    llm.StopError,
	"ABORT":                        llm.StopError,
	"ABORTED":                      llm.StopError,
	"CANCELLED":                    llm.StopError,
	"TIMEOUT":                      llm.StopError,
}

// StopOf is what a finish reason means; empty for one that says nothing. That the answer has calls is not in the word.
func StopOf(word string) llm.Stop {
	if word == "" || isUnspecified(word) {
		return ""
	}
	if stop, ok := stops[word]; ok {
		return stop
	}
	if stop := stops[strings.ToUpper(word)]; stop == llm.StopError {
		return stop
	}
	return llm.StopOther
}

// isUnspecified reports whether a word is the one for nothing, with which the enumerations of this wire begin.
func isUnspecified(word string) bool { return strings.HasSuffix(word, "_UNSPECIFIED") }
