package llm

import "strings"

// Stop is the reason why an answer ended.
type Stop string

// Each codec has a table from these reasons to the words of its style. The table stopWords has the way back.
const (
	StopEnd         Stop = "stop"
	StopSequence    Stop = "stop_sequence"
	StopLength      Stop = "length"
	StopContextFull Stop = "context_full"
	StopToolCalls   Stop = "tool_calls"
	StopFilter      Stop = "content_filter"
	StopRefusal     Stop = "refusal"
	StopPause       Stop = "pause"
	// StopMalformed means that the tool call of the model could not be parsed.
	StopMalformed Stop = "malformed"
	// StopError means that the provider failed or stopped the answer.
	StopError Stop = "error"
	StopOther Stop = "other"
)

// Failed reports whether the reason means that the answer has failed and that no client can use it.
func (s Stop) Failed() bool { return s == StopError || s == StopMalformed }

// stopWords has the finish reasons of all providers, in lower case. Many providers send words of other styles than the one they speak, so
// all styles share the table. No word has two meanings.
var stopWords = map[string]Stop{
	"stop":      StopEnd,
	"end_turn":  StopEnd,
	"completed": StopEnd,
	"complete":  StopEnd,
	"eos":       StopEnd,
	"eos_token": StopEnd,
	"stop_str":  StopSequence,

	"stop_sequence": StopSequence,

	"length":            StopLength,
	"max_tokens":        StopLength,
	"max_output_tokens": StopLength,

	"model_length":                  StopContextFull,
	"model_context_window_exceeded": StopContextFull,
	"error_limit":                   StopContextFull,

	"tool_calls":    StopToolCalls,
	"tool_call":     StopToolCalls,
	"tool_use":      StopToolCalls,
	"function_call": StopToolCalls,

	"content_filter":           StopFilter,
	"content_filtered":         StopFilter,
	"guardrail_intervened":     StopFilter,
	"error_toxic":              StopFilter,
	"safety":                   StopFilter,
	"recitation":               StopFilter,
	"language":                 StopFilter,
	"blocklist":                StopFilter,
	"prohibited_content":       StopFilter,
	"spii":                     StopFilter,
	"model_armor":              StopFilter,
	"image_safety":             StopFilter,
	"image_prohibited_content": StopFilter,
	"image_recitation":         StopFilter,

	"refusal": StopRefusal,

	"pause_turn":   StopPause,
	"continuation": StopPause,

	"malformed_function_call":   StopMalformed,
	"malformed_tool_call":       StopMalformed,
	"malformed_tool_use":        StopMalformed,
	"malformed_model_output":    StopMalformed,
	"malformed_response":        StopMalformed,
	"unexpected_tool_call":      StopMalformed,
	"too_many_tool_calls":       StopMalformed,
	"missing_thought_signature": StopMalformed,
	// The responses style says failed of an answer whose error stands beside it. An answer without one could not be parsed.
	"failed": StopMalformed,

	"error":                        StopError,
	"server_error":                 StopError,
	"network_error":                StopError,
	"insufficient_system_resource": StopError,
	"sensitive":                    StopError,
	"abort":                        StopError,
	"aborted":                      StopError,
	"cancelled":                    StopError,
	"canceled":                     StopError,
	"user_cancel":                  StopError,
	"timeout":                      StopError,
	// An answer that has ended cannot be in progress.
	"in_progress": StopError,
	"queued":      StopError,
}

// unspecifiedSuffix ends the words of enumerations for a value that was not set.
const unspecifiedSuffix = "_unspecified"

// StopOf returns what the finish reason of a provider means, in any style: nothing for an empty one, and StopOther for an unknown one.
func StopOf(word string) Stop {
	if word == "" {
		return ""
	}
	stop, known := stopWords[word]
	if known {
		return stop
	}
	word = strings.ToLower(word)
	if stop, known = stopWords[word]; known {
		return stop
	}
	if strings.HasSuffix(word, unspecifiedSuffix) {
		return ""
	}
	return StopOther
}
