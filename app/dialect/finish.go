package dialect

import "umg/app/llm"

// finishOf is why an answer ended, as the tally says it. An answer with tool calls ends with them, even where its
// upstream only says that it ended.
func finishOf(stop llm.Stop, calls bool) string {
	if stop == llm.StopEnd && calls {
		stop = llm.StopToolCalls
	}
	return string(stop)
}

func chatStop(word string) llm.Stop {
	switch word {
	case "stop":
		return llm.StopEnd
	case "length":
		return llm.StopLength
	case "tool_calls", "function_call":
		return llm.StopToolCalls
	case "content_filter":
		return llm.StopFilter
	}
	return llm.StopOther
}

func messagesStop(word string) llm.Stop {
	switch word {
	case "end_turn":
		return llm.StopEnd
	case "stop_sequence":
		return llm.StopSequence
	case "max_tokens":
		return llm.StopLength
	case "model_context_window_exceeded":
		return llm.StopContextFull
	case "tool_use":
		return llm.StopToolCalls
	case "refusal":
		return llm.StopRefusal
	case "pause_turn":
		return llm.StopPause
	}
	return llm.StopOther
}

// responsesStop reads the status of a response, or why it is incomplete.
func responsesStop(word string) llm.Stop {
	switch word {
	case "completed":
		return llm.StopEnd
	case "max_output_tokens":
		return llm.StopLength
	case "content_filter":
		return llm.StopFilter
	}
	return llm.StopOther
}

func nativeStop(word string) llm.Stop {
	switch word {
	case "STOP":
		return llm.StopEnd
	case "MAX_TOKENS":
		return llm.StopLength
	case "MALFORMED_FUNCTION_CALL":
		return llm.StopMalformed
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT",
		"IMAGE_RECITATION":
		return llm.StopFilter
	}
	return llm.StopOther
}
