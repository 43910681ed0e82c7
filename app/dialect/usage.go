package dialect

import (
	"strconv"

	"umg/app"
	"umg/app/llm"
)

// chatUsage reads a usage object of the chat style. It reports false when a count is missing, no whole number,
// negative, beyond 2^31 or larger than the count it is a part of: such a reading prices nothing.
func chatUsage(raw []byte) (llm.Usage, bool) {
	prompt, completion, cacheRead, cacheWrite, reasoning := int64(-1), int64(-1), int64(0), int64(0), int64(0)
	good := true
	o := openObject(raw, 0)
	for o.next() {
		switch value := o.value.of(raw); string(o.key.of(raw)) {
		case "prompt_tokens":
			prompt = tokens(value, &good)
		case "completion_tokens":
			completion = tokens(value, &good)
		case "prompt_tokens_details":
			cacheRead = detail(value, "cached_tokens", &good)
			cacheWrite = detail(value, "cache_write_tokens", &good)
		case "completion_tokens_details":
			reasoning = detail(value, "reasoning_tokens", &good)
		}
	}
	if o.broken || !good || prompt < cacheRead+cacheWrite || completion < reasoning || prompt < 0 || completion < 0 {
		return llm.Usage{}, false
	}
	return llm.Usage{
		Input: prompt - cacheRead - cacheWrite, CacheRead: cacheRead, CacheWrite: cacheWrite, Output: completion, Reasoning: reasoning,
	}, true
}

// tokens reads a count and clears good when it is none.
func tokens(value []byte, good *bool) int64 {
	n := int64(0)
	if len(value) == 0 || len(value) > len("2147483648") {
		*good = false
		return 0
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			*good = false
			return 0
		}
		n = n*10 + int64(c-'0')
	}
	if n > countMax {
		*good = false
	}
	return n
}

// detail reads one count of a details object; absent and null are zero.
func detail(value []byte, name string, good *bool) int64 {
	if isNull(value) {
		return 0
	}
	o := openObject(value, 0)
	for o.next() {
		if string(o.key.of(value)) == name && !isNull(o.value.of(value)) {
			return tokens(o.value.of(value), good)
		}
	}
	if o.broken {
		*good = false
	}
	return 0
}

// appendChatUsage appends a usage object that was counted here, with its cost.
func appendChatUsage(dst []byte, u llm.Usage, cost app.Amount) []byte {
	dst = append(dst, `{"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, u.InputTotal(), 10)
	dst = append(dst, `,"completion_tokens":`...)
	dst = strconv.AppendInt(dst, u.Output, 10)
	dst = append(dst, `,"total_tokens":`...)
	dst = strconv.AppendInt(dst, u.InputTotal()+u.Output, 10)
	dst = append(dst, `,"cost":`...)
	dst = append(dst, cost.String()...)
	return append(dst, '}')
}

// appendCosted appends the upstream's usage object with our cost in it, in the place of its own if it has one.
func appendCosted(dst, usage []byte, cost app.Amount) []byte {
	o := openObject(usage, 0)
	for o.next() {
		if string(o.name()) == "cost" {
			dst = append(dst, usage[:o.value.from]...)
			dst = append(dst, cost.String()...)
			return append(dst, usage[o.value.to:]...)
		}
	}
	brace := o.at - 1 // the closing one: the object was walked to its end
	dst = append(dst, usage[:brace]...)
	if o.begun {
		dst = append(dst, ',')
	}
	dst = append(dst, `"cost":`...)
	dst = append(dst, cost.String()...)
	return append(dst, usage[brace:]...)
}
