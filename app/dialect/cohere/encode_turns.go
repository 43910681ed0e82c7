package cohere

import (
	"strings"

	"umg/app/dialect/jsonvalue"
	"umg/app/llm"
)

// turn appends the messages of a turn.
func (e *requestEncoder) turn(dst []message, t *llm.Turn) []message {
	switch t.Role {
	case llm.System:
		var words []string
		for i := range t.Parts {
			if t.Parts[i].Text != "" {
				words = append(words, t.Parts[i].Text)
			}
		}
		if len(words) == 0 {
			return dst
		}
		return append(dst, message{Role: "system", Content: content{textPart(strings.Join(words, "\n\n"))}})
	case llm.Assistant:
		return e.assistant(dst, t)
	}
	return e.user(dst, t)
}

// user appends a message for each result, and one for the rest.
func (e *requestEncoder) user(dst []message, t *llm.Turn) []message {
	rest := message{Role: "user"}
	for i := range t.Parts {
		switch p := &t.Parts[i]; p.Kind {
		case llm.Result:
			dst = append(dst, e.result(p))
		case llm.Text, llm.Refusal:
			if p.Text != "" {
				rest.Content = append(rest.Content, textPart(p.Text))
			}
		case llm.Image:
			rest.Content = append(rest.Content, image(&p.Media))
		default:
			e.refuse(p, "The provider of this model takes text and images, and nothing else.")
		}
	}
	if len(rest.Content) == 0 {
		return dst
	}
	return append(dst, rest)
}

func image(m *llm.Media) part {
	url := m.URL
	if url == "" {
		mediaType := m.Type
		if mediaType == "" {
			mediaType = "image/jpeg"
		}
		url = "data:" + mediaType + ";base64," + m.Data
	}
	return part{Type: typeImage, ImageURL: &imageURL{URL: jsonvalue.String(url), Detail: detailOf(m.Detail)}}
}

// detailOf returns the detail of an image. The style has no original.
func detailOf(detail string) jsonvalue.String {
	if detail == "original" {
		return "high"
	}
	return jsonvalue.String(detail)
}

// errorPrefix begins the result of a tool that failed, since the style has no mark for it.
const errorPrefix = "Error: "

func (e *requestEncoder) result(p *llm.Part) message {
	m := message{Role: "tool", ToolCallID: jsonvalue.String(p.Result.CallID)}
	for i := range p.Result.Parts {
		inside := &p.Result.Parts[i]
		if inside.Kind != llm.Text && inside.Kind != llm.Refusal {
			e.refuse(inside, "The provider of this model takes only text as the result of a tool.")
			continue
		}
		m.Content = append(m.Content, textPart(inside.Text))
	}
	switch {
	case len(m.Content) == 0:
		m.Content = content{textPart("")}
	case len(m.Content) > 1:
		m.Content = joined(m.Content)
	}
	if p.Result.Error {
		m.Content[0].Text = errorPrefix + m.Content[0].Text
	}
	return m
}

// joined returns texts as one, with a line for each.
func joined(c content) content {
	words := make([]string, len(c))
	for i := range c {
		words[i] = string(c[i].Text)
	}
	return content{textPart(strings.Join(words, "\n"))}
}

// assistant appends a message with the thoughts, the text and the calls of a turn. Beside calls, the text is the tool plan.
func (e *requestEncoder) assistant(dst []message, t *llm.Turn) []message {
	m := message{Role: "assistant"}
	var texts content
	for i := range t.Parts {
		switch p := &t.Parts[i]; p.Kind {
		case llm.Text, llm.Refusal:
			if p.Text != "" {
				texts = append(texts, textPart(p.Text))
			}
		case llm.Reasoning:
			if p.Text != "" {
				m.Content = append(m.Content, part{Type: typeThinking, Thinking: jsonvalue.String(p.Text)})
			}
		case llm.Call:
			m.ToolCalls = append(m.ToolCalls, encodeCall(&p.Call))
		default:
			e.refuse(p, "The provider of this model takes only text from the assistant.")
		}
	}
	if len(m.ToolCalls) > 0 {
		if len(texts) > 0 {
			m.ToolPlan = joined(texts)[0].Text
		}
	} else {
		m.Content = append(m.Content, texts...)
	}
	if len(m.Content) == 0 && len(m.ToolCalls) == 0 {
		return dst
	}
	return append(dst, m)
}

func encodeCall(c *llm.ToolCall) toolCall {
	arguments := c.Arguments
	switch {
	case c.Custom:
		// The style has no calls with free text.
		arguments = string(append(llm.Quote([]byte(`{"input":`), c.Arguments), '}'))
	case strings.TrimSpace(arguments) == "":
		arguments = "{}"
	}
	return toolCall{ID: jsonvalue.String(c.ID), Type: "function", Function: calledFunction{
		Name: jsonvalue.String(c.Name), Arguments: jsonvalue.String(arguments),
	}}
}
