package native

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// mergeTurns returns the turns without those of the system and empty ones. Consecutive turns of one role become one.
func mergeTurns(turns []llm.Turn) []llm.Turn {
	var out []llm.Turn
	for i := range turns {
		if turns[i].Role == llm.System || !hasContent(turns[i].Parts) {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Role == turns[i].Role {
			out[n-1].Parts = append(out[n-1].Parts, turns[i].Parts...)
			continue
		}
		out = append(out, turns[i])
		last := &out[len(out)-1]
		// The slice is clipped so that an append does not change the memory of the caller.
		last.Parts = slices.Clip(last.Parts)
	}
	return out
}

func hasContent(parts []llm.Part) bool {
	for i := range parts {
		switch p := &parts[i]; p.Kind {
		case llm.Text, llm.Refusal, llm.Reasoning:
			if p.Text != "" || p.Signature != "" {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// encodeTurn appends one turn.
func encodeTurn(dst []byte, turns []llm.Turn, i int) ([]byte, error) {
	turn := &turns[i]
	if turn.Role == llm.Assistant {
		w := partsWriter{dst: append(dst, `{"role":"model","parts":[`...), needsSignature: true}
		w.parts(turn.Parts)
		if w.broken != nil {
			return nil, w.broken.Refuse("invalid_request_error", &traits, "The arguments of the call of the tool %q must be a JSON object "+
				"for the provider of this model.", w.broken.Call.Name)
		}
		return append(w.dst, "]}"...), nil
	}
	var asked []*llm.ToolCall
	if i > 0 {
		asked = calls(turns[i-1 : i])
	}
	dst = append(dst, `{"role":"user","parts":[`...)
	start := len(dst)
	dst = encodeResults(dst, turn.Parts, asked)
	for j := range turn.Parts {
		p := &turn.Parts[j]
		if p.Kind == llm.Result || p.Kind == llm.Text && p.Text == "" {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		switch p.Kind {
		case llm.Image, llm.Audio, llm.Video, llm.File:
			dst = encodeMedia(dst, &p.Media)
		default:
			dst = appendText(dst, p.Text)
		}
	}
	return append(dst, "]}"...), nil
}

// encodeResults appends the results of a turn's calls, in the order of the calls.
func encodeResults(dst []byte, parts []llm.Part, asked []*llm.ToolCall) []byte {
	// results are the results of each call, in order.
	results := map[string][]*llm.ToolResult{}
	for j := range parts {
		if r := &parts[j].Result; parts[j].Kind == llm.Result {
			results[r.CallID] = append(results[r.CallID], r)
		}
	}
	separator := ""
	for _, c := range asked {
		if mine := results[c.ID]; len(mine) > 0 {
			results[c.ID] = mine[1:]
			dst = encodeResult(append(dst, separator...), mine[0], c)
			separator = ","
		}
	}
	return dst
}

// encodeResult appends one result. Its texts are joined, and its media are in a list of their own.
func encodeResult(dst []byte, r *llm.ToolResult, c *llm.ToolCall) []byte {
	dst = append(dst, `{"functionResponse":{`...)
	if c.ID != "" {
		dst = append(llm.Quote(append(dst, `"id":`...), c.ID), ',')
	}
	dst = llm.Quote(append(dst, `"name":`...), c.Name)
	if r.Error {
		dst = append(dst, `,"response":{"error":`...)
	} else {
		dst = append(dst, `,"response":{"output":`...)
	}
	var texts []string
	for i := range r.Parts {
		if p := &r.Parts[i]; p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	dst = append(llm.Quote(dst, strings.Join(texts, "\n")), '}')
	open := `,"parts":[`
	for i := range r.Parts {
		switch p := &r.Parts[i]; p.Kind {
		case llm.Image, llm.Audio, llm.Video, llm.File:
			dst = encodeMedia(append(dst, open...), &p.Media)
			open = ","
		}
	}
	if open == "," {
		dst = append(dst, ']')
	}
	return append(dst, "}}"...)
}

// partsWriter writes the parts of the model, in an answer or in the history of a request.
type partsWriter struct {
	dst []byte
	// seal means that signatures go to a client.
	seal bool
	// hidden means that thoughts do not go to the client.
	hidden bool
	// needsSignature means that the first call must have a signature. Without one of its own it gets DummySignature.
	needsSignature bool
	// begun means that a part was written.
	begun bool
	// called means that a call was written.
	called bool
	// malformed means that a call whose arguments are not JSON was left out.
	malformed bool
	// signature is the signature of the preceding thought. The next call carries it.
	signature string
	// broken is the first malformed call in the history of a request.
	broken *llm.Part
}

func (w *partsWriter) parts(parts []llm.Part) {
	for i := range parts {
		p := &parts[i]
		switch p.Kind {
		case llm.Reasoning:
			signature := p.Signature
			if i+1 < len(parts) && parts[i+1].Kind == llm.Call {
				w.signature, signature = signature, ""
			}
			w.thought(p.Text, signature)
		case llm.Call:
			if w.call(&p.Call, p.Call.Arguments); w.malformed && w.broken == nil {
				w.broken = p
			}
		case llm.Text, llm.Refusal:
			if p.Text != "" {
				w.comma()
				w.dst = appendText(w.dst, p.Text)
			}
		}
	}
}

func (w *partsWriter) comma() {
	if w.begun {
		w.dst = append(w.dst, ',')
	}
	w.begun = true
}

// thought appends a piece of reasoning.
func (w *partsWriter) thought(text, signature string) {
	if w.hidden || text == "" && signature == "" {
		return
	}
	w.comma()
	w.dst = llm.Quote(append(w.dst, `{"text":`...), text)
	w.dst = append(w.dst, `,"thought":true`...)
	w.sign(signature)
	w.dst = append(w.dst, '}')
}

// call appends a call with the signature of the preceding thought.
func (w *partsWriter) call(c *llm.ToolCall, arguments string) {
	signature := w.signature
	w.signature = ""
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	arguments = strings.ToValidUTF8(arguments, "\ufffd")
	before := len(w.dst)
	begun := w.begun
	w.comma()
	w.dst = append(w.dst, `{"functionCall":{`...)
	if c.ID != "" {
		w.dst = append(llm.Quote(append(w.dst, `"id":`...), c.ID), ',')
	}
	w.dst = llm.Quote(append(w.dst, `"name":`...), c.Name)
	w.dst = append(w.dst, `,"args":`...)
	dst, err := appendCompact(w.dst, arguments)
	if err != nil || jsontext.Value(arguments).Kind() != '{' {
		w.dst, w.begun, w.malformed = w.dst[:before], begun, true
		return
	}
	dst = append(dst, '}')
	w.dst = dst
	if signature == "" && w.needsSignature && !w.called {
		signature = DummySignature
	}
	w.called = true
	w.sign(signature)
	w.dst = append(w.dst, '}')
}

func (w *partsWriter) sign(signature string) {
	if signature == "" {
		return
	}
	if w.seal {
		signature = seal(signature)
	}
	w.dst = llm.Quote(append(w.dst, `,"thoughtSignature":`...), signature)
}
