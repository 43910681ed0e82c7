package dialect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/dialect/rawjson"
	"umg/app/llm"
)

// countMax bounds every count of tokens or answers.
const countMax = 1 << 31

// field is a member of a request that the gateway reads or may change.
type field uint8

const (
	fieldModel field = iota
	fieldStream
	// fieldOptions are the options of the stream, or of the generation.
	fieldOptions
	fieldIncludeUsage
	// fieldUsage is where clients of one provider ask for the usage of a stream.
	fieldUsage
	fieldUsageInclude
	// fieldMaxTokens is the bound that takes precedence over fieldMaxTokensOld.
	fieldMaxTokens
	fieldMaxTokensOld
	fieldChoices
	fieldEndUser
	// fieldEndUserOther is the less usual name of fieldEndUser.
	fieldEndUserOther
	fieldMetadata
	// fieldAdditional are the options that only some models know.
	fieldAdditional
	fieldThinking
	fieldBudget
	fieldToolChoice
	// fieldTurns is the conversation.
	fieldTurns
	fieldThread
	fieldStore
	fieldInclude
	fieldReasoning
	// fieldToolCalls bounds the uses of tools that the provider runs.
	fieldToolCalls
	fieldCount
)

// read scans a request once. It records where its members and its extras are, and reads the members that every style has.
func (h *Head) read(body []byte, style llm.Style, known map[string]field, allowed llm.ExtraSet) error {
	w := extraScan{doc: body, allowed: allowed}
	var g gap
	root := extraRoots[style]
	o := rawjson.OpenObject(body, 0)
	for o.NextKey() {
		name := o.Name()
		f, ok := known[string(name)]
		if !w.topMember(root, name, &o, &g) {
			break
		}
		if !ok {
			continue
		}
		if h.spans[f].Found() {
			return app.Errorf(app.Invalid, "invalid_request_error", "%s appears twice in the body; send it once.", name).At(string(name))
		}
		h.spans[f] = o.Value
		if int(f) < len(h.members) {
			h.members[f] = o.Member
		}
	}
	if !o.IsWhole() {
		return notJSON(body)
	}
	if err := h.readModel(body); err != nil {
		return err
	}
	w.end(&g)
	h.text, h.Tools, h.TypedTools = w.text, int64(w.kept), int64(w.typed)
	h.noteExtras(&w)
	h.Stream = h.flag(body, fieldStream, "stream")
	h.Choices = 1
	h.BodyBytes = int64(len(body))
	h.TextBytes = h.BodyBytes
	return nil
}

// readInside records where members of a member are. It reports whether that member is an object.
func (h *Head) readInside(body []byte, f field, name string, known map[string]field) bool {
	at := h.spans[f]
	raw := at.Of(body)
	if rawjson.IsNull(raw) {
		return false
	}
	if raw[0] != '{' {
		h.refuse(name, "%s must be an object or null.", name)
		return false
	}
	o := rawjson.OpenObject(body[:at.To], at.From)
	for o.Next() {
		if f, ok := known[string(o.Name())]; ok {
			h.spans[f] = o.Value
		}
	}
	return true
}

func (h *Head) readModel(body []byte) error {
	raw := h.spans[fieldModel].Of(body)
	if rawjson.IsNull(raw) {
		e := app.Errorf(app.Invalid, "invalid_request_error",
			"model is required; it must be the id of a model, such as GET /v1/models lists.").At("model")
		e.Missing = true
		return e
	}
	if h.Model = rawjson.String(raw); h.Model == "" {
		return app.Errorf(app.Invalid, "invalid_request_error",
			"model must be a non-empty string: the id of a model, such as GET /v1/models lists.").At("model")
	}
	return nil
}

func (h *Head) flag(body []byte, f field, name string) bool {
	raw := h.spans[f].Of(body)
	if rawjson.IsNull(raw) {
		return false
	}
	if raw[0] != 't' && raw[0] != 'f' {
		h.refuse(name, "%s must be true or false.", name)
	}
	return raw[0] == 't'
}

// count reads a positive integer. It is zero when the member is absent or null.
func (h *Head) count(body []byte, f field, name string) int64 {
	raw := h.spans[f].Of(body)
	if rawjson.IsNull(raw) {
		return 0
	}
	n, ok := wholeNumber(raw)
	if !ok || n < 1 || n > countMax {
		h.refuse(name, "%s must be an integer from 1 to %d.", name, int64(countMax))
		return 0
	}
	return n
}

func (h *Head) refuse(param, format string, args ...any) {
	if h.bad == nil {
		h.bad = app.Errorf(app.Invalid, "invalid_request_error", format, args...).At(param)
	}
}

// wholeNumber reads a JSON number without a fraction, also when it is written like 1e3 or 1.0.
func wholeNumber(raw []byte) (int64, bool) {
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, false
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != float64(int64(f)) || f > countMax || f < -countMax {
		return 0, false
	}
	return int64(f), true
}

// notJSON returns the error for a body that cannot be scanned, with its position.
func notJSON(body []byte) error {
	bad := app.Errorf(app.Invalid, "invalid_json", "The body is not valid JSON.")
	d := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	if d.PeekKind() != '{' && len(bytes.TrimSpace(body)) > 0 && jsontext.Value(body).IsValid() {
		bad.Message = "The body must be a JSON object."
		return bad
	}
	for {
		_, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			if d.InputOffset() == 0 {
				bad.Message = "The body is empty; it must be a JSON object."
			}
			return bad
		}
		if err != nil {
			bad.Message = "The body is not valid JSON" + positionText(body, offset(err, d)) + "."
			return bad.Because(err)
		}
		if d.StackDepth() > rawjson.DepthMax {
			bad.Message = "The body nests arrays and objects deeper than " + strconv.Itoa(rawjson.DepthMax) + " levels."
			return bad
		}
		if d.StackDepth() == 0 {
			if rest := bytes.TrimSpace(body[d.InputOffset():]); len(rest) > 0 {
				bad.Message = "The body has more text behind its JSON object" + positionText(body, d.InputOffset()) + "."
				return bad
			}
		}
	}
}

// positionText returns a position in a body as an error names it.
func positionText(body []byte, offset int64) string {
	before := body[:min(int(offset), len(body))]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf(" at byte %d (line %d, column %d)", offset, line, column)
}

func offset(err error, d *jsontext.Decoder) int64 {
	if syntactic, ok := err.(*jsontext.SyntacticError); ok { //nolint:errorlint // the decoder returns it unwrapped
		return syntactic.ByteOffset
	}
	return d.InputOffset()
}
