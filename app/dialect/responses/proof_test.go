package responses_test

import (
	"strings"
	"testing"

	"umg/app/dialect/responses"
	"umg/app/llm"
	"umg/app/llm/llmtest"
)

// TestAThoughtComesBackUnderTheIDItWasProvenFor goes the way of a conversation: the upstream's answer, streamed or
// whole, and then the request that repeats it.
func TestAThoughtComesBackUnderTheIDItWasProvenFor(t *testing.T) {
	t.Parallel()
	codec := responses.Codec{}
	const item = `{"id":"rs_0a1b","type":"reasoning","summary":[],"encrypted_content":"gAAA-_="}`
	whole, err := codec.DecodeResponse([]byte(`{"id":"resp_1","status":"completed","output":[`+item+`]}`), llmtest.NewOptions())
	if err != nil {
		t.Fatal(err)
	}
	stream := "event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":" + item + "}\n\n" +
		"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n"
	events, err := llmtest.DecodeStream(codec.Decoder(llmtest.NewOptions()), []byte(stream))
	if err != nil {
		t.Fatal(err)
	}
	repeated, err := codec.DecodeRequest([]byte(`{"model":"m","input":[` + item + `,{"role":"user","content":"q"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, thought := range map[string]llm.Part{
		"whole": whole.Parts[0], "streamed": llm.Fold(events).Parts[0], "repeated": repeated.Turns[0].Parts[0],
	} {
		r := &llm.Request{Model: "m", Turns: []llm.Turn{
			{Role: llm.Assistant, Parts: []llm.Part{thought}}, {Parts: []llm.Part{{Kind: llm.Text, Text: "q"}}},
		}}
		body, err := codec.EncodeRequest(r)
		if err != nil || !strings.Contains(string(body), `"id":"rs_0a1b","summary":[],"encrypted_content":"gAAA-_="`) {
			t.Errorf("%s: %s, %v", name, body, err)
		}
		answer := codec.EncodeResponse(nil, &llm.Response{Parts: []llm.Part{thought}, Stop: llm.StopEnd}, llmtest.NewOptions())
		if !strings.Contains(string(answer), `"encrypted_content":"gAAA-_="`) {
			t.Errorf("%s: a client of the style gets %s", name, answer)
		}
	}
	sealed, err := codec.DecodeRequest([]byte(`{"model":"m","input":[{"id":"rs_0a1b","type":"reasoning","summary":[],"encrypted_content":"gw1.p.x"}]}`))
	if err != nil || sealed.Turns[0].Parts[0].Signature != "gw1.p.x" {
		t.Errorf("a proof that was marked is of no item: %+v, %v", sealed, err)
	}
}

func TestInstructionsAloneAreTheInput(t *testing.T) {
	t.Parallel()
	r := &llm.Request{Model: "m", Turns: []llm.Turn{{Role: llm.System, Parts: []llm.Part{{Kind: llm.Text, Text: "Do it."}}}}}
	body, err := responses.Codec{}.EncodeRequest(r)
	if err != nil || !strings.Contains(string(body), `"input":[{"type":"message","role":"developer"`) || strings.Contains(string(body), "instructions") {
		t.Errorf("%s, %v", body, err)
	}
}
