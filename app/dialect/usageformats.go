package dialect

import (
	"strconv"

	"umg/app/llm"
)

// The formats of the styles. Each appends a usage object that the gateway has counted, with every member that clients of the style rely on.
var (
	chatFormat      = &usageFormat{member: "usage", append: appendChatUsage}
	messagesFormat  = &usageFormat{member: "usage", append: appendMessagesUsage}
	deltaFormat     = &usageFormat{member: "usage", append: appendDeltaUsage}
	responseFormat  = &usageFormat{member: "usage", append: appendResponsesUsage}
	responsesFormat = &usageFormat{holder: "response", member: "usage", append: appendResponsesUsage}
	nativeFormat    = &usageFormat{member: "usageMetadata", append: appendNativeUsage}
)

func appendChatUsage(dst []byte, u llm.Usage) []byte {
	dst = appendCount(append(dst, '{'), `"prompt_tokens":`, u.InputTotal())
	dst = appendCount(dst, `,"completion_tokens":`, u.Output)
	dst = appendCount(dst, `,"total_tokens":`, u.InputTotal()+u.Output)
	return append(dst, '}')
}

// appendMessagesUsage appends the usage of a whole message.
func appendMessagesUsage(dst []byte, u llm.Usage) []byte {
	dst = append(dst, `{"cache_creation":null,"inference_geo":null,"service_tier":null,"speed":null,`...)
	return append(appendMessagesCounts(dst, u), '}')
}

// appendDeltaUsage appends the usage of a message_delta, which has fewer members.
func appendDeltaUsage(dst []byte, u llm.Usage) []byte {
	return append(appendMessagesCounts(append(dst, '{'), u), '}')
}

func appendMessagesCounts(dst []byte, u llm.Usage) []byte {
	dst = appendCount(dst, `"input_tokens":`, u.Input)
	dst = appendCount(dst, `,"cache_creation_input_tokens":`, u.CacheWrite)
	dst = appendCount(dst, `,"cache_read_input_tokens":`, u.CacheRead)
	dst = appendCount(dst, `,"output_tokens":`, u.Output)
	if u.Reasoning > 0 {
		dst = append(appendCount(dst, `,"output_tokens_details":{"thinking_tokens":`, u.Reasoning), '}')
	} else {
		dst = append(dst, `,"output_tokens_details":null`...)
	}
	return append(dst, `,"server_tool_use":null`...)
}

func appendResponsesUsage(dst []byte, u llm.Usage) []byte {
	dst = appendCount(append(dst, '{'), `"input_tokens":`, u.InputTotal())
	dst = appendCount(dst, `,"input_tokens_details":{"cached_tokens":`, u.CacheRead)
	dst = appendCount(dst, `,"cache_write_tokens":`, u.CacheWrite)
	dst = appendCount(dst, `},"output_tokens":`, u.Output)
	dst = appendCount(dst, `,"output_tokens_details":{"reasoning_tokens":`, u.Reasoning)
	dst = appendCount(dst, `},"total_tokens":`, u.InputTotal()+u.Output)
	return append(dst, '}')
}

func appendNativeUsage(dst []byte, u llm.Usage) []byte {
	dst = appendCount(append(dst, '{'), `"promptTokenCount":`, u.InputTotal())
	if u.CacheRead > 0 {
		dst = appendCount(dst, `,"cachedContentTokenCount":`, u.CacheRead)
	}
	dst = appendCount(dst, `,"candidatesTokenCount":`, u.Output-u.Reasoning)
	if u.Reasoning > 0 {
		dst = appendCount(dst, `,"thoughtsTokenCount":`, u.Reasoning)
	}
	dst = appendCount(dst, `,"totalTokenCount":`, u.InputTotal()+u.Output)
	return append(dst, '}')
}

func appendCount(dst []byte, name string, n int64) []byte {
	return strconv.AppendInt(append(dst, name...), n, 10)
}
