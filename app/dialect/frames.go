package dialect

import (
	"bytes"

	"umg/app/dialect/rawjson"
	"umg/app/llm"
	"umg/app/sse"
)

// framesBy returns a function that writes a whole answer as the frames of a stream, with the codec of its style.
func framesBy(codec llm.Codec, m *usageFormat) func(raw []byte) ([]byte, error) {
	return func(raw []byte) ([]byte, error) {
		a := &llm.ResponseOptions{Model: rawjson.String(rawjson.Get(raw, "model")), CallID: rawjson.String(rawjson.Get(raw, "id")), Choices: 1}
		// Answers of some styles have no date.
		a.Created, _ = wholeNumber(rawjson.Get(raw, "created_at"))
		answer, err := codec.DecodeResponse(raw, a)
		if err == nil {
			// The frames of some styles cannot express the failure.
			err = failedBy(answer.Stop, "")
		}
		if err != nil {
			return nil, err
		}
		var out []byte
		encoder, events := codec.Encoder(a), llm.Unfold(nil, answer)
		end := len(events) - 1
		for i := range events[:end] {
			out = encoder.Append(out, &events[i])
		}
		usage := []byte("null") // A client does not read missing counts as zero.
		if answer.Reported {
			usage = rawjson.Get(raw, m.member)
		}
		return append(out, m.withUsage(encoder.Append(nil, &events[end]), usage)...), nil
	}
}

// withUsage replaces the usage in the frames that end a stream by that of the provider, which has more members than other styles.
func (m *usageFormat) withUsage(frames, usage []byte) []byte {
	var out []byte
	r := sse.NewReader(bytes.NewReader(frames), nil)
	defer r.Close()
	for {
		f, err := r.Next()
		if err != nil {
			return out
		}
		var e rawjson.Edits
		in := rawjson.Span{From: 0, To: len(f.Data)}
		if m.holder != "" {
			in = rawjson.MemberOf(f.Data, m.holder)
		}
		if at := rawjson.MemberOf(in.Of(f.Data), m.member); at.Found() {
			e.Replace(rawjson.Span{From: in.From + at.From, To: in.From + at.To}, string(oneLine(usage)))
		}
		out = appendFrame(out, f, f.Event, &e)
	}
}
