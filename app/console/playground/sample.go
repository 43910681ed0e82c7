package playground

import (
	"cmp"

	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/llm"
)

// SamplePrompt is the message of code samples while the form has none.
const samplePrompt = "Say hello in one short sentence."

// SampleRequest is the shortest request in a style that gets an answer.
func SampleRequest(m *catalog.Model, style llm.Style) []byte {
	d, ok := dialect.Of(style)
	if !ok || d.Codec == nil {
		return nil
	}
	r := llm.Request{Model: m.ID, Turns: []llm.Turn{{Role: llm.User, Parts: []llm.Part{{Kind: llm.Text, Text: samplePrompt}}}}}
	if style == llm.Messages { // The SDKs of this style require an output limit.
		r.MaxOutput = min(cmp.Or(m.MaxOutputTokens, messagesOutput), messagesOutput)
	}
	body, err := d.Codec.EncodeRequest(&r)
	if err != nil {
		return nil
	}
	return body
}
