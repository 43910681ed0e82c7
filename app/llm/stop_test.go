package llm

import (
	"strings"
	"testing"
)

// TestStopWordsOfProviders has the finish reasons that providers document or were seen to send.
func TestStopWordsOfProviders(t *testing.T) {
	t.Parallel()
	for stop, words := range map[Stop]string{
		"":              "FINISH_REASON_UNSPECIFIED BLOCKED_REASON_UNSPECIFIED",
		StopEnd:         "stop STOP end_turn COMPLETE completed eos eos_token",
		StopSequence:    "stop_sequence STOP_SEQUENCE",
		StopLength:      "length max_tokens MAX_TOKENS max_output_tokens",
		StopContextFull: "model_length model_context_window_exceeded ERROR_LIMIT",
		StopToolCalls:   "tool_calls TOOL_CALL tool_use function_call",
		StopFilter: "content_filter content_filtered guardrail_intervened ERROR_TOXIC SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII " +
			"MODEL_ARMOR IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION",
		StopRefusal:   "refusal",
		StopPause:     "pause_turn CONTINUATION",
		StopMalformed: "MALFORMED_FUNCTION_CALL MALFORMED_RESPONSE UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS malformed_tool_use failed",
		StopError: "error ERROR server_error network_error insufficient_system_resource sensitive abort aborted cancelled canceled USER_CANCEL " +
			"TIMEOUT in_progress queued",
		StopOther: "OTHER incomplete new_word",
	} {
		for word := range strings.SplitSeq(words, " ") {
			if got := StopOf(word); got != stop {
				t.Errorf("%q means %q, not %q", word, got, stop)
			}
		}
	}
	if got := StopOf(""); got != "" {
		t.Errorf("no word means %q", got)
	}
	for word, stop := range stopWords {
		if word != strings.ToLower(word) || StopOf(strings.ToUpper(word)) != stop {
			t.Errorf("the word %q is not found in capitals", word)
		}
	}
}
