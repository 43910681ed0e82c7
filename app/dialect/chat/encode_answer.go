package chat

import (
	"slices"
	"strconv"
	"strings"

	"umg/app"
	"umg/app/llm"
	"umg/app/meter"
)

// reasoningGap separates the reasoning parts of one answer, which are one text in this style.
const reasoningGap = "\n\n"

// EncodeResponse appends an answer.
func (Codec) EncodeResponse(dst []byte, r *llm.Response, a *llm.ResponseOptions) []byte {
	dst = llm.Quote(append(dst, `{"id":`...), a.MintID("chatcmpl-", 0))
	dst = strconv.AppendInt(append(dst, `,"object":"chat.completion","created":`...), a.Created, 10)
	dst = llm.Quote(append(dst, `,"model":`...), a.Model)
	dst = encodeMessage(append(dst, `,"choices":[{"index":0,"message":`...), r.Parts, usesFunctions(a))
	dst = append(dst, `,"logprobs":null,"finish_reason":`...)
	dst = llm.Quote(dst, legacyReason(encodeStop(r.Stop, has(r.Parts, llm.Call), has(r.Parts, llm.Refusal)), usesFunctions(a)))
	dst = append(dst, "}]"...)
	if r.Reported || r.Cost != nil {
		dst = encodeUsage(append(dst, `,"usage":`...), &r.Usage, r.Cost)
	}
	return append(dst, '}')
}

// envelopeOf returns the members that all chunks of an answer have in common.
func envelopeOf(a *llm.ResponseOptions) Envelope {
	return Envelope{
		ID: string(llm.Quote(nil, a.MintID("chatcmpl-", 0))), Created: strconv.FormatInt(a.Created, 10), Model: string(llm.Quote(nil, a.Model)),
		NoUsageYet: a.IncludeUsage,
	}
}

// usesFunctions reports whether the request has functions, the older form of tools.
func usesFunctions(a *llm.ResponseOptions) bool { return a.Request != nil && a.Request.OneCall }

// legacyReason returns a finish reason as a client that sent functions reads it.
func legacyReason(reason string, usesFunctions bool) string {
	if usesFunctions && reason == "tool_calls" {
		return "function_call"
	}
	return reason
}

// encodeMessage appends a message. Its content is null when it has only calls or a refusal.
func encodeMessage(dst []byte, parts []llm.Part, usesFunctions bool) []byte {
	dst = append(dst, `{"role":"assistant","content":`...)
	if has(parts, llm.Text) || !has(parts, llm.Call) && !has(parts, llm.Refusal) {
		dst = llm.Quote(dst, joined(parts, llm.Text, ""))
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"refusal":`...)
	if has(parts, llm.Refusal) {
		dst = llm.Quote(dst, joined(parts, llm.Refusal, ""))
	} else {
		dst = append(dst, "null"...)
	}
	if thoughts := joined(parts, llm.Reasoning, reasoningGap); thoughts != "" {
		dst = llm.Quote(append(dst, `,"reasoning_content":`...), thoughts)
	}
	switch {
	case has(parts, llm.Call) && usesFunctions:
		i := slices.IndexFunc(parts, func(p llm.Part) bool { return p.Kind == llm.Call })
		dst = llm.Quote(append(dst, `,"function_call":{"name":`...), parts[i].Call.Name)
		dst = append(llm.Quote(append(dst, `,"arguments":`...), argumentsOf(&parts[i].Call)), '}')
	case has(parts, llm.Call):
		dst = encodeCalls(append(dst, `,"tool_calls":`...), parts)
	}
	return append(dst, '}')
}

// joined returns the texts of all parts of a kind.
func joined(parts []llm.Part, kind llm.PartKind, gap string) string {
	only, more := "", false
	for i := range parts {
		if p := &parts[i]; p.Kind == kind && p.Text != "" {
			more = more || only != ""
			only = p.Text
		}
	}
	if !more {
		return only
	}
	var b strings.Builder
	for i := range parts {
		if parts[i].Kind == kind && parts[i].Text != "" {
			if b.Len() > 0 {
				b.WriteString(gap)
			}
			b.WriteString(parts[i].Text)
		}
	}
	return b.String()
}

func encodeCalls(dst []byte, parts []llm.Part) []byte {
	dst = append(dst, '[')
	signature, first := "", true
	for i := range parts {
		p := &parts[i]
		if p.Kind == llm.Reasoning && p.Signature != "" && !p.Redacted {
			signature = p.Signature
		}
		if p.Kind != llm.Call {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = encodeCall(append(dst, '{'), &p.Call, argumentsOf(&p.Call), signature)
		signature = ""
	}
	return append(dst, ']')
}

// argumentsOf returns the arguments of a call. Empty arguments become an empty object, which clients can parse.
func argumentsOf(c *llm.ToolCall) string {
	if c.Arguments == "" && !c.Custom {
		return "{}"
	}
	return c.Arguments
}

// encodeCall appends the members of a call and its closing brace. Its id fits upstreams of this style, to which the client may send its
// next request.
func encodeCall(dst []byte, c *llm.ToolCall, arguments, signature string) []byte {
	dst = llm.Quote(append(dst, `"id":`...), llm.FitID(c.ID, callIDCharsMax))
	if c.Custom {
		dst = llm.Quote(append(dst, `,"type":"custom","custom":{"name":`...), c.Name)
		dst = llm.Quote(append(dst, `,"input":`...), arguments)
	} else {
		dst = llm.Quote(append(dst, `,"type":"function","function":{"name":`...), c.Name)
		dst = llm.Quote(append(dst, `,"arguments":`...), arguments)
	}
	dst = append(dst, '}')
	if signature != "" {
		dst = llm.Quote(append(dst, `,"extra_content":{"google":{"thought_signature":`...), signature)
		dst = append(dst, "}}"...)
	}
	return append(dst, '}')
}

// encodeUsage appends a usage object. Its totals include cached input, reasoning, sound and images.
func encodeUsage(dst []byte, u *llm.Usage, cost *app.Amount) []byte {
	dst = appendCount(dst, `{"prompt_tokens":`, u.InputTotal())
	dst = appendCount(dst, `,"completion_tokens":`, u.Output)
	dst = appendCount(dst, `,"total_tokens":`, u.InputTotal()+u.Output)
	dst = appendCount(dst, `,"prompt_tokens_details":{"cached_tokens":`, u.CacheRead)
	dst = appendCount(dst, `,"cache_write_tokens":`, u.CacheWrite)
	dst = appendKind(dst, `,"audio_tokens":`, u.Parts[meter.InputAudioTokens]+u.Parts[meter.CacheReadAudioTokens])
	dst = appendKind(dst, `,"image_tokens":`, u.Parts[meter.InputImageTokens]+u.Parts[meter.CacheReadImageTokens])
	dst = appendCount(dst, `},"completion_tokens_details":{"reasoning_tokens":`, u.Reasoning)
	dst = appendKind(dst, `,"audio_tokens":`, u.Parts[meter.OutputAudioTokens])
	dst = appendKind(dst, `,"image_tokens":`, u.Parts[meter.OutputImageTokens])
	dst = append(dst, '}')
	if cost != nil {
		dst = append(append(dst, `,"cost":`...), cost.String()...)
	}
	return append(dst, '}')
}

func appendCount(dst []byte, name string, n int64) []byte {
	return strconv.AppendInt(append(dst, name...), n, 10)
}

// appendKind appends the count of a kind of tokens, which most answers do not have.
func appendKind(dst []byte, name string, n int64) []byte {
	if n == 0 {
		return dst
	}
	return appendCount(dst, name, n)
}
