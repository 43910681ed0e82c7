package quirk

import (
	"bytes"
	"slices"

	"umg/app/dialect/rawjson"
)

// request is a chat request whose members are changed.
type request struct {
	body    []byte
	members []member
	changed bool
}

// member is a member of a request and what to do with it.
type member struct {
	name string
	// at spans the name, the colon and the value.
	at, value rawjson.Span
	isDropped bool
	// newName replaces the name unless it is empty.
	newName string
	// newValue replaces the value unless it is nil.
	newValue []byte
}

// Rewrite returns a request as the provider takes it, and the names of the members that the provider does not take. It returns the request
// itself when nothing needs a change. It does not add the members that the gateway sends on its own.
func (r *Rules) Rewrite(body []byte) (rewritten []byte, dropped []string) {
	q := request{body: body}
	o := rawjson.OpenObject(body, 0)
	for o.Next() {
		q.members = append(q.members, member{name: string(o.Name()), at: o.Member, value: o.Value})
	}
	if !o.IsWhole() {
		return body, nil
	}
	effort := rawjson.String(q.value("reasoning_effort"))
	for i := range q.members {
		m := &q.members[i]
		switch {
		case r.Drops(m.name, effort):
			q.drop(m)
			if !rawjson.IsNull(m.value.Of(body)) {
				dropped = append(dropped, m.name)
			}
		case m.name == "stream_options" && r.sendsUsageUnasked:
			q.drop(m) // It is not listed, because the client gets the usage that it asks for.
		case r.rename[m.name] != "":
			q.rename(m, r.rename[m.name])
		}
	}
	q.dropEmptyTools()
	r.unifyBounds(&q)
	r.chooseTool(&q)
	r.writeEffort(&q)
	instruction, format := r.lowerSchema(&q)
	if format != "" {
		dropped = append(dropped, format)
	}
	r.rewriteMessages(&q, instruction)
	return q.bytes(), dropped
}

// rewriteMessages changes the roles and the order of the messages, and adds an instruction unless it is empty.
func (r *Rules) rewriteMessages(q *request, instruction string) {
	m := q.find("messages")
	if m == nil {
		return
	}
	list := m.value.Of(q.body)
	if r.refusesDeveloper {
		if changed := developerToSystem(list); changed != nil {
			q.replace(m, changed)
			list = changed
		}
	}
	if instruction != "" || r.arrangesMessages() {
		q.replace(m, r.arrange(list, instruction))
	}
}

// unifyBounds gives the bound on output the name that the provider knows. Of two bounds, the one with the present name counts, as it does
// for the credit that is held.
func (r *Rules) unifyBounds(q *request) {
	if r.outputBound == "" {
		return
	}
	isStated := false
	for _, name := range [...]string{boundName, formerBoundName} {
		for i := range q.members {
			m := &q.members[i]
			switch {
			case m.name != name:
			case isStated || rawjson.IsNull(m.value.Of(q.body)):
				q.drop(m)
			default:
				isStated = true
				q.rename(m, r.outputBound)
			}
		}
	}
}

// chooseTool writes the choice of a tool in the words of the provider.
func (r *Rules) chooseTool(q *request) {
	choice, tools := q.find("tool_choice"), q.find("tools")
	if choice == nil || choice.isDropped {
		return
	}
	value := choice.value.Of(q.body)
	if rawjson.String(value) == choiceRequired && r.requiredWord != "" {
		q.replace(choice, []byte(rawjson.Quote(r.requiredWord)))
		return
	}
	name := functionName(value)
	if r.namedWord == "" || name == "" || tools == nil {
		return
	}
	list := tools.value.Of(q.body)
	a := rawjson.OpenArray(list, 0)
	for a.Next() {
		if tool := a.Value.Of(list); functionName(tool) == name {
			q.replace(tools, slices.Concat([]byte{'['}, tool, []byte{']'}))
			q.replace(choice, []byte(rawjson.Quote(r.namedWord)))
			return
		}
	}
}

// functionName returns the name of the function in a tool or in a choice, or an empty text.
func functionName(value []byte) string {
	return rawjson.String(rawjson.Get(rawjson.Get(value, "function"), "name"))
}

// developerToSystem returns messages of which those of the developer have become messages of the system. It returns nil when there are
// none.
func developerToSystem(messages []byte) (changed []byte) {
	const developer, system = "developer", `"system"`
	if !bytes.Contains(messages, []byte(developer)) {
		return nil
	}
	end := 0
	a := rawjson.OpenArray(messages, 0)
	for a.Next() {
		one := a.Value.Of(messages)
		if role := rawjson.MemberOf(one, "role"); rawjson.String(role.Of(one)) == developer {
			changed = append(append(changed, messages[end:a.Value.From+role.From]...), system...)
			end = a.Value.From + role.To
		}
	}
	if changed == nil {
		return nil
	}
	return append(changed, messages[end:]...)
}

// find returns the first member with a name, or nil.
func (q *request) find(name string) *member {
	i := slices.IndexFunc(q.members, func(m member) bool { return m.name == name })
	if i < 0 {
		return nil
	}
	return &q.members[i]
}

// value returns the value of the first member with a name, or nil.
func (q *request) value(name string) []byte {
	if m := q.find(name); m != nil {
		return m.value.Of(q.body)
	}
	return nil
}

func (q *request) drop(m *member) { m.isDropped, q.changed = true, true }

func (q *request) rename(m *member, name string) {
	if m.name != name {
		m.newName, q.changed = name, true
	}
}

// replace replaces the value of a member. A nil value changes nothing.
func (q *request) replace(m *member, value []byte) {
	if value != nil {
		m.newValue, q.changed = value, true
	}
}

// bytes returns the request with its changes.
func (q *request) bytes() []byte {
	if !q.changed {
		return q.body
	}
	dst := append(make([]byte, 0, len(q.body)), '{')
	first := true
	for i := range q.members {
		m := &q.members[i]
		if m.isDropped {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if m.newName == "" {
			dst = append(dst, q.body[m.at.From:m.value.From]...)
		} else {
			dst = append(append(dst, rawjson.Quote(m.newName)...), ':')
		}
		if m.newValue == nil {
			dst = append(dst, m.value.Of(q.body)...)
		} else {
			dst = append(dst, m.newValue...)
		}
	}
	return append(dst, '}')
}
