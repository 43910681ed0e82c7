package quirk

import (
	"strconv"

	"umg/app/dialect/rawjson"
)

// dropEmptyTools leaves out an empty list of tools, which many providers refuse, and the settings of tools that there are none of. They are
// not listed, because they have no effect.
func (q *request) dropEmptyTools() {
	tools := q.find("tools")
	if tools == nil {
		return
	}
	if list := rawjson.OpenArray(tools.value.Of(q.body), 0); list.Next() || list.End() < 0 {
		return
	}
	q.drop(tools)
	for _, name := range [...]string{"tool_choice", "parallel_tool_calls"} {
		if m := q.find(name); m != nil {
			q.drop(m)
		}
	}
}

// formatDropped is how a format with a schema that is not sent as such is listed.
const formatDropped = "response_format.json_schema"

// schemaInstruction begins the instruction that takes the place of a schema.
const schemaInstruction = "Answer with one JSON value and nothing else. It must follow this JSON schema: "

// lowerSchema writes the format of the answer as far as the provider takes it. It returns an instruction for the model that takes the place
// of a schema, and the name of what is not sent.
func (r *Rules) lowerSchema(q *request) (instruction, dropped string) {
	m := q.find("response_format")
	if m == nil || r.schemas == "" {
		return "", ""
	}
	format := m.value.Of(q.body)
	kind := rawjson.String(rawjson.Get(format, "type"))
	schema := rawjson.Get(format, "json_schema")
	switch {
	case r.schemas == schemasNone && kind != "text" && kind != "":
		q.drop(m)
		return "", "response_format"
	case kind != "json_schema":
		return "", ""
	case r.schemas == schemasPlain:
		if at := rawjson.MemberOf(format, "json_schema"); rawjson.MemberOf(schema, "strict").Found() {
			plain := append([]byte(nil), format[:at.From]...)
			q.replace(m, append(append(plain, rawjson.Without(schema, "strict")...), format[at.To:]...))
		}
		return "", ""
	}
	q.replace(m, []byte(`{"type":"json_object"}`))
	if stated := rawjson.Get(schema, "schema"); !rawjson.IsEmpty(stated) {
		instruction = schemaInstruction + string(stated)
	}
	return instruction, formatDropped
}

// writeEffort writes the effort of reasoning in the form of the provider. When the client has sent that form, it stays.
func (r *Rules) writeEffort(q *request) {
	m := q.find("reasoning_effort")
	if m == nil || m.isDropped {
		return
	}
	effort := rawjson.String(m.value.Of(q.body))
	if word := r.efforts[effort]; word != "" {
		effort = word
		q.replace(m, []byte(rawjson.Quote(word)))
	}
	form, has := reasoningForms[r.reasoningForm]
	switch {
	case !has:
	case effort == "" || q.find(form.member) != nil:
		q.drop(m)
	default:
		q.rename(m, form.member)
		q.replace(m, form.value(effort))
	}
}

// reasoningForm is how a provider is asked for reasoning.
type reasoningForm struct {
	member string
	value  func(effort string) []byte
}

// reasoningForms has the forms other than reasoning_effort by their words in the table.
var reasoningForms = map[string]reasoningForm{
	"reasoning": {"reasoning", func(effort string) []byte { return []byte(`{"effort":` + rawjson.Quote(effort) + `}`) }},
	"thinking": {"thinking", func(effort string) []byte {
		if effort == effortNone {
			return []byte(`{"type":"disabled"}`)
		}
		return []byte(`{"type":"enabled"}`)
	}},
	"enable_thinking": {"enable_thinking", func(effort string) []byte { return strconv.AppendBool(nil, effort != effortNone) }},
}
