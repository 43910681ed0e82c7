package responses

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/llm"
)

const (
	invalidValue = "invalid_value"
	unsupported  = "unsupported_parameter"

	// The gateway always returns encrypted reasoning, so that including it changes nothing.
	includeProof    = "reasoning.encrypted_content"
	includeLogprobs = "message.output_text.logprobs"
)

// requestDecoder decodes one request. It keeps the first error only.
type requestDecoder struct {
	out *llm.Request
	// names are the names of tools, by the ids of calls.
	names map[string]string
	fault *app.Error
	// toolDropped means that a tool was dropped.
	toolDropped bool
}

// DecodeRequest reads a request.
func (Codec) DecodeRequest(body []byte) (*llm.Request, error) {
	var w request
	if err := json.Unmarshal(body, &w, checked); err != nil {
		wrong, ok := errors.AsType[*json.SemanticError](err)
		if !ok {
			return nil, app.Errorf(app.Invalid, "invalid_json", "The body is not valid JSON.").Because(err)
		}
		at := llm.PointerPath("", wrong.JSONPointer)
		if at == "" {
			return nil, app.Errorf(app.Invalid, invalidValue, "The body must be a JSON object.").Because(err)
		}
		return nil, app.Errorf(app.Invalid, invalidValue, "%s has a value of the wrong type.", at).At(at).Because(err)
	}
	r := &requestDecoder{out: &llm.Request{Model: w.Model, Stream: w.Stream}, names: map[string]string{}}
	r.refuseState(&w)
	r.conversation(&w)
	r.tools(w.Tools, "tools", "")
	r.choice(w.ToolChoice)
	r.sampling(&w)
	r.format(&w.Text)
	r.reasoning(&w.Reasoning)
	r.metadata(w.Metadata)
	r.includes(&w)
	r.rest("", w.Rest)
	if r.fault != nil {
		return nil, r.fault
	}
	return r.out, nil
}

func (r *requestDecoder) refuse(code, param, format string, args ...any) {
	if r.fault == nil {
		r.fault = app.Errorf(app.Invalid, code, format, args...).At(param)
	}
}

// rest drops the members that llm.Request cannot hold, unless they are null.
func (r *requestDecoder) rest(prefix string, members jsontext.Value) {
	if len(members) == 0 {
		return
	}
	d := jsontext.NewDecoder(bytes.NewReader(members), checked)
	if _, err := d.ReadToken(); err != nil {
		return
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return
		}
		text := name.String()
		if d.PeekKind() != 'n' {
			r.out.Drop(prefix + text)
		}
		if d.SkipValue() != nil {
			return
		}
	}
}

// refuseState refuses what needs a provider that stores earlier calls.
func (r *requestDecoder) refuseState(w *request) {
	for _, kept := range []struct {
		name  string
		value jsontext.Value
	}{
		{"previous_response_id", w.PreviousResponse}, {"conversation", w.Conversation}, {"prompt", w.Prompt},
	} {
		if !llm.IsNull(kept.value) && string(kept.value) != `""` {
			r.refuse(unsupported, kept.name, "%s cannot be carried to the provider of this model because nothing is kept there "+
				"between calls; send the whole conversation in input.", kept.name)
		}
	}
	if w.Background {
		r.refuse(unsupported, "background", "background cannot be carried to the provider of this model because nothing is kept "+
			"there to be fetched later; leave it out, or set it to false.")
	}
	if w.Store {
		r.out.Drop("store")
	}
	if w.Truncation != "" && w.Truncation != "disabled" {
		r.out.Drop("truncation")
	}
}

func (r *requestDecoder) sampling(w *request) {
	r.out.Sampling.Temperature = number(w.Temperature)
	r.out.Sampling.TopP = number(w.TopP)
	r.out.MaxOutput = wholeNumber(w.MaxOutputTokens)
	r.out.Parallel = w.ParallelToolCalls
	if r.out.EndUser = w.SafetyIdentifier; r.out.EndUser == "" && w.User != "" {
		r.out.EndUser, r.out.EndUserField = w.User, "user"
	}
}

func number(v jsontext.Value) llm.Number {
	if v.Kind() != '0' {
		return ""
	}
	return llm.Number(v)
}

// wholeNumber reads a count, also when it is written like 1e3. Any other value is zero, which means that it is not set.
func wholeNumber(v jsontext.Value) int64 {
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return max(0, n)
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f < 0 || f > llm.TokensMax || f != float64(int64(f)) {
		return 0
	}
	return int64(f)
}

func (r *requestDecoder) format(w *text) {
	r.rest("text.", w.Rest)
	r.rest("text.format.", w.Format.Rest)
	r.out.Verbosity = w.Verbosity
	f := &r.out.Format
	switch w.Format.Type {
	case "":
	case "text":
		f.Kind = llm.FormatText
	case "json_object":
		f.Kind = llm.FormatJSON
	case "json_schema":
		*f = llm.Format{
			Kind: llm.FormatSchema, Name: w.Format.Name, Description: w.Format.Description,
			Schema: llm.ValueOrNil(w.Format.Schema), Strict: w.Format.Strict,
		}
	default:
		r.refuse(invalidValue, "text.format.type", "text.format.type must be text, json_object or json_schema.")
	}
}

func (r *requestDecoder) reasoning(w *reasoning) {
	r.rest("reasoning.", w.Rest)
	r.out.Reasoning.Effort = llm.Effort(w.Effort)
	if r.out.Reasoning.Show = w.Summary; w.Summary == "" {
		r.out.Reasoning.Show = w.GenerateSummary
	}
}

// metadata reads the pairs in their order.
func (r *requestDecoder) metadata(v jsontext.Value) {
	if llm.IsNull(v) {
		return
	}
	d := jsontext.NewDecoder(bytes.NewReader(v), checked)
	if open, err := d.ReadToken(); err != nil || open.Kind() != '{' {
		r.refuse(invalidValue, "metadata", "metadata must be an object of texts.")
		return
	}
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			return
		}
		pair := llm.Pair{Key: token.String()}
		if err := json.UnmarshalDecode(d, &pair.Value); err != nil {
			r.refuse(invalidValue, "metadata."+pair.Key, "Every value of metadata must be a text.")
			return
		}
		r.out.Metadata = append(r.out.Metadata, pair)
	}
}

func (r *requestDecoder) includes(w *request) {
	for _, what := range w.Include {
		switch what {
		case includeProof:
		case includeLogprobs:
			r.refuseProbabilities("include")
		default:
			r.out.Drop("include (" + what + ")")
		}
	}
	if wholeNumber(w.TopLogprobs) > 0 {
		r.refuseProbabilities("top_logprobs")
	}
}

func (r *requestDecoder) refuseProbabilities(param string) {
	r.refuse(unsupported, param, "%s cannot be carried to the provider of this model because the probabilities of tokens "+
		"are lost when an answer is translated; leave it out.", param)
}
