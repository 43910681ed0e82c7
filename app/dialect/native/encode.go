package native

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/llm"
)

// EncodeRequest writes a request. The model and the stream flag belong into the path of the provider's address. They are in the body until
// the request is sent.
func (Codec) EncodeRequest(r *llm.Request) ([]byte, error) {
	turns := mergeTurns(r.Turns)
	dst := llm.Quote(append(make([]byte, 0, 1024), `{"model":`...), r.Model)
	if r.Stream {
		dst = append(dst, `,"stream":true`...)
	}
	dst = encodeSystem(dst, r.Turns)
	dst = append(dst, `,"contents":[`...)
	var err error
	for i := range turns {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = encodeTurn(dst, turns, i); err != nil {
			return nil, err
		}
	}
	dst = append(dst, ']')
	before := len(dst)
	if dst, err = encodeTools(dst, r); err != nil {
		return nil, err
	}
	// Providers refuse a tool choice without tools.
	if len(dst) > before {
		dst = encodeChoice(dst, r)
	}
	if dst, err = encodeConfig(dst, r); err != nil {
		return nil, err
	}
	for i, p := range r.Metadata {
		open := ","
		if i == 0 {
			open = `,"labels":{`
		}
		dst = llm.Quote(append(dst, open...), p.Key)
		dst = llm.Quote(append(dst, ':'), p.Value)
	}
	if len(r.Metadata) > 0 {
		dst = append(dst, '}')
	}
	return append(dst, '}'), nil
}

// encodeSystem writes the texts of all system turns. This style has one place for them.
func encodeSystem(dst []byte, turns []llm.Turn) []byte {
	open := `,"systemInstruction":{"parts":[`
	for i := range turns {
		if turns[i].Role != llm.System {
			continue
		}
		for _, p := range turns[i].Parts {
			if p.Text != "" {
				dst = append(dst, open...)
				dst = appendText(dst, p.Text)
				open = ","
			}
		}
	}
	if open != "," {
		return dst
	}
	return append(dst, "]}"...)
}

func encodeTools(dst []byte, r *llm.Request) ([]byte, error) {
	open := `,"tools":[{"functionDeclarations":[`
	var chosen map[string]bool
	// The style can restrict only calls that are required.
	if r.Choice.Mode == llm.ChooseAuto {
		chosen = make(map[string]bool, len(r.Choice.Names))
		for _, name := range r.Choice.Names {
			chosen[name] = true
		}
	}
	for i := range r.Tools {
		t := &r.Tools[i]
		if len(chosen) > 0 && !chosen[t.Name] {
			continue
		}
		if t.Custom {
			return nil, app.Errorf(app.Invalid, "unsupported_parameter",
				"The tool %s takes free text, which the provider of this model does not have. Declare it as a function.", t.Name)
		}
		dst = append(dst, open...)
		open = ","
		dst = llm.Quote(append(dst, `{"name":`...), t.Name)
		if t.Description != "" {
			dst = llm.Quote(append(dst, `,"description":`...), t.Description)
		}
		if len(t.Parameters) > 0 {
			var err error
			dst = append(dst, `,"parametersJsonSchema":`...)
			if dst, err = appendSchema(dst, t.Parameters, "The parameters of the tool "+t.Name); err != nil {
				return nil, err
			}
		}
		dst = append(dst, '}')
	}
	if open != "," {
		return dst, nil
	}
	return append(dst, "]}]"...), nil
}

func appendSchema(dst, schema []byte, what string) ([]byte, error) {
	dst, err := appendCompact(dst, schema)
	if err != nil {
		return nil, app.Errorf(app.Invalid, "invalid_request_error", "%s must be a JSON schema.", what).Because(err)
	}
	return dst, nil
}

// appendCompact appends JSON without white space between its tokens.
func appendCompact[Bytes ~[]byte | ~string](dst []byte, raw Bytes) ([]byte, error) {
	return jsontext.AppendFormat(dst, raw, llm.Lenient, jsontext.PreserveRawStrings(true))
}

func encodeChoice(dst []byte, r *llm.Request) []byte {
	mode, names := "", r.Choice.Names
	switch r.Choice.Mode {
	case llm.ChooseNone:
		mode, names = "NONE", nil
	case llm.ChooseRequired:
		mode = "ANY"
	case llm.ChooseAuto, llm.ChooseUnset:
		allStrict := len(r.Tools) > 0 && !slices.ContainsFunc(r.Tools, func(t llm.Tool) bool { return t.Strict == nil || !*t.Strict })
		switch {
		case allStrict:
			mode = "VALIDATED"
		case r.Choice.Mode == llm.ChooseUnset:
			return dst
		default:
			mode = "AUTO"
		}
		// The list of tools itself is restricted.
		names = nil
	}
	dst = append(dst, `,"toolConfig":{"functionCallingConfig":{"mode":"`+mode+`"`...)
	if len(names) > 0 {
		dst = appendStrings(append(dst, `,"allowedFunctionNames":`...), names)
	}
	return append(dst, "}}"...)
}

func appendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = llm.Quote(dst, s)
	}
	return append(dst, ']')
}

func encodeMedia(dst []byte, m *llm.Media) []byte {
	if address := m.URL + m.FileID; address != "" {
		dst = append(dst, `{"fileData":{`...)
		if m.Type != "" {
			dst = append(llm.Quote(append(dst, `"mimeType":`...), m.Type), ',')
		}
		return append(llm.Quote(append(dst, `"fileUri":`...), address), "}}"...)
	}
	kind := m.Type
	if kind == "" {
		kind = "application/octet-stream"
		if m.Text != "" {
			kind = "text/plain"
		}
	}
	dst = llm.Quote(append(dst, `{"inlineData":{"mimeType":`...), kind)
	dst = append(dst, `,"data":`...)
	if m.Text != "" {
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, []byte(strings.ToValidUTF8(m.Text, "\ufffd")))
		return append(dst, `"}}`...)
	}
	return append(llm.Quote(dst, m.Data), "}}"...)
}

func appendText(dst []byte, text string) []byte {
	return append(llm.Quote(append(dst, `{"text":`...), text), '}')
}
