package protocols

import (
	"encoding/json"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// How agents read a stream, and what they keep of it.

// dataFrames are the data of the frames of a stream.
func dataFrames(t *testing.T, body, style string) []string {
	t.Helper()
	var all []string
	for _, f := range harness.Styles[style].Frames(t, body) {
		if f.Data != "[DONE]" && f.Name != "ping" {
			all = append(all, f.Data)
		}
	}
	return all
}

// keepMessages keeps all blocks of an answer, as they were.
func keepMessages(t *testing.T, body string) (item string, calls []called, text string) {
	t.Helper()
	var blocks []map[string]any
	input := ""
	for _, data := range dataFrames(t, body, "messages") {
		e := harness.DecodeJSON[struct {
			Type  string         `json:"type"`
			Index int            `json:"index"`
			Block map[string]any `json:"content_block"`
			Delta map[string]any `json:"delta"`
		}](t, data)
		switch e.Type {
		case "content_block_start":
			delete(e.Block, "citations")
			blocks, input = append(blocks, e.Block), ""
		case "content_block_delta":
			block := blocks[e.Index]
			for from, to := range map[string]string{"text": "text", "thinking": "thinking", "signature": "signature"} {
				if piece, ok := e.Delta[from].(string); ok {
					before, _ := block[to].(string)
					block[to] = before + piece
				}
			}
			piece, _ := e.Delta["partial_json"].(string)
			input += piece
		case "content_block_stop":
			if block := blocks[e.Index]; block["type"] == "tool_use" {
				block["input"] = json.RawMessage(input)
				calls = append(calls, called{id: block["id"].(string), name: block["name"].(string), arguments: input})
			}
		}
	}
	for _, block := range blocks {
		if block["type"] == "text" {
			text += block["text"].(string)
		}
	}
	return compactOf(t, map[string]any{"role": "assistant", "content": blocks}), calls, text
}

// keepResponses keeps the items that were done, as they came.
func keepResponses(t *testing.T, body string) (item string, calls []called, text string) {
	t.Helper()
	var items []string
	for _, data := range dataFrames(t, body, "responses") {
		e := harness.DecodeJSON[struct {
			Type string          `json:"type"`
			Item json.RawMessage `json:"item"`
		}](t, data)
		if e.Type != "response.output_item.done" {
			continue
		}
		items = append(items, string(e.Item))
		one := harness.DecodeJSON[struct {
			Type      string `json:"type"`
			CallID    string `json:"call_id"`
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
			Input     string `json:"input"`
			Content   []struct {
				Text string `json:"text"`
			} `json:"content"`
		}](t, string(e.Item))
		switch one.Type {
		case "function_call", "custom_tool_call":
			calls = append(calls, called{one.CallID, one.Namespace, one.Name, one.Arguments + one.Input, one.Type})
		case "message":
			text += one.Content[0].Text
		}
	}
	return strings.Join(items, ","), calls, text
}

// keepNative keeps all parts of an answer, in the pieces in which they came.
func keepNative(t *testing.T, body string) (item string, calls []called, text string) {
	t.Helper()
	var parts []json.RawMessage
	for _, data := range dataFrames(t, body, "native") {
		e := harness.DecodeJSON[struct {
			Candidates []struct {
				Content struct {
					Parts []json.RawMessage `json:"parts"`
				} `json:"content"`
			} `json:"candidates"`
		}](t, data)
		for _, c := range e.Candidates {
			parts = append(parts, c.Content.Parts...)
		}
	}
	for _, raw := range parts {
		p := harness.DecodeJSON[struct {
			Text    string `json:"text"`
			Thought bool   `json:"thought"`
			Call    *struct {
				Name string          `json:"name"`
				Args json.RawMessage `json:"args"`
			} `json:"functionCall"`
		}](t, string(raw))
		if p.Call != nil {
			calls = append(calls, called{name: p.Call.Name, arguments: string(p.Call.Args)})
		} else if !p.Thought {
			text += p.Text
		}
	}
	return compactOf(t, map[string]any{"role": "model", "parts": parts}), calls, text
}

// chatKept is a message as libraries put it together.
type chatKept struct {
	Role      string           `json:"role"`
	Content   *string          `json:"content"`
	Reasoning string           `json:"reasoning_content,omitempty"`
	Refusal   *string          `json:"refusal"`
	Calls     []map[string]any `json:"tool_calls,omitempty"`
}

// keepChat keeps the whole message, members that it does not know included.
func keepChat(t *testing.T, body string) (item string, calls []called, text string) {
	t.Helper()
	kept, calls := chatMessageOf(t, body)
	if kept.Content != nil {
		text = *kept.Content
	}
	return compactOf(t, kept), calls, text
}

// keepBareChat keeps what was known of messages when the style was young.
func keepBareChat(t *testing.T, body string) (item string, calls []called, text string) {
	t.Helper()
	kept, calls := chatMessageOf(t, body)
	if kept.Content == nil {
		kept.Content = new(string)
	}
	for _, c := range kept.Calls {
		delete(c, "extra_content")
	}
	kept.Reasoning = ""
	return compactOf(t, kept), calls, *kept.Content
}

func chatMessageOf(t *testing.T, body string) (kept chatKept, calls []called) {
	t.Helper()
	kept.Role = "assistant"
	for _, data := range dataFrames(t, body, "chat") {
		e := harness.DecodeJSON[struct {
			Choices []struct {
				Delta struct {
					Content   *string          `json:"content"`
					Reasoning string           `json:"reasoning_content"`
					Calls     []map[string]any `json:"tool_calls"`
				} `json:"delta"`
			} `json:"choices"`
		}](t, data)
		for _, c := range e.Choices {
			if more := c.Delta.Content; more != nil && *more != "" {
				if kept.Content == nil {
					kept.Content = new(string)
				}
				*kept.Content += *more
			}
			kept.Reasoning += c.Delta.Reasoning
			for _, call := range c.Delta.Calls {
				kept.add(call)
			}
		}
	}
	for _, c := range kept.Calls {
		f := c["function"].(map[string]any)
		calls = append(calls, called{id: c["id"].(string), name: f["name"].(string), arguments: f["arguments"].(string)})
	}
	return kept, calls
}

// add puts a piece of a call where it belongs.
func (k *chatKept) add(piece map[string]any) {
	at := int(piece["index"].(float64))
	delete(piece, "index")
	if at == len(k.Calls) {
		k.Calls = append(k.Calls, piece)
		return
	}
	f, more := k.Calls[at]["function"].(map[string]any), piece["function"].(map[string]any)
	f["arguments"] = f["arguments"].(string) + more["arguments"].(string)
}
