package catalog

import (
	"os"
	"testing"

	"umg/app/dialect/chat"
	"umg/app/dialect/messages"
	"umg/app/dialect/native"
	"umg/app/dialect/responses"
	"umg/app/jsontree"
	"umg/app/llm"
)

// TestWhatTheCodecsWriteKeepsTheContracts takes what contracts accept, in every style, through every codec: what comes
// out is a request that the contract of the other style accepts, too.
func TestWhatTheCodecsWriteKeepsTheContracts(t *testing.T) {
	t.Parallel()
	codecs := map[llm.Style]llm.Codec{
		llm.Chat: chat.Codec{}, llm.Messages: messages.Codec{}, llm.Responses: responses.Codec{}, llm.Native: native.Codec{},
	}
	for from, decoder := range codecs {
		bodies := map[string][]byte{"a long conversation": longBody(from, 5000)}
		raw, err := os.ReadFile("../apidocs/styles/" + string(from) + ".json")
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range jsontree.MustParse(raw).Get("requests").Items {
			bodies[r.GetString("summary")] = r.Get("body").AppendTo(nil)
		}
		for name, body := range bodies {
			if err := contractFor(t, from, everything(t)).Check(body); err != nil {
				t.Errorf("%s: %s: %v", from, name, err)
			}
			request, err := decoder.DecodeRequest(body)
			if err != nil {
				t.Errorf("%s: %s: %v", from, name, err)
				continue
			}
			for to, encoder := range codecs {
				out, err := encoder.EncodeRequest(request)
				if err != nil {
					t.Errorf("%s to %s: %s: %v", from, to, name, err)
					continue
				}
				if err := contractFor(t, to, everything(t)).Check(out); err != nil {
					t.Errorf("%s to %s: %s: %v\n%s", from, to, name, err, out)
				}
			}
		}
	}
}
