package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"
	"umg/e2e/harness"
)

// TestMassAssignment puts members into the body of every route that takes one which are not the client's to say: whose
// something is, what it costs, who may do what, when it was. Each alone, all together, in other spellings, nested, as a form,
// as a list and in the query. Either such a body is refused by the member's name and nothing changed, or exactly that changed
// which the valid body changes. A route that takes a body and has no row fails the test.
func TestMassAssignment(t *testing.T) {
	t.Parallel()
	m := newAssigner(t, harness.SharedVideoDemo(t))
	for _, r := range m.routes {
		if r.Method == http.MethodGet || r.Method == http.MethodDelete {
			continue
		}
		a, known := assignments[r.Method+" "+r.Path]
		if !known {
			t.Errorf("no row for %s %s: say in massassignment_rows_test.go what a valid body of it is", r.Method, r.Path)
			continue
		}
		t.Run(r.Method+strings.ReplaceAll(r.Path, "/", "_"), func(t *testing.T) { m.assign(t, r, a) })
	}
	for name := range assignments {
		if !slices.ContainsFunc(m.routes, func(r harness.Route) bool { return r.Method+" "+r.Path == name }) {
			t.Errorf("there is no route %s any more", name)
		}
	}
	t.Logf("%d bodies with foreign members: %d refused by name, %d taken for what they say beside them", m.cases, m.refused, m.cases-m.refused)
}

// assignment is a valid body of a route. In it {kind} stands for the id of such an object of the account, for a word of the
// scene, or for a name that is new each time when it is {fresh}.
type assignment struct {
	query string
	body  string
	// known has the foreign members that the route documents.
	known []string
	// status is that of the answer; zero means 200, or 303 of a form.
	status  int
	headers []string
	// few is true when only bodies with all members at once are sent, because the call or its scene costs much time.
	few bool
	// settles is true when the work that the call starts must end before the test compares the rows.
	settles bool
	scene   func(*testing.T, *assigner) scene
}

// scene is what one call needs: who makes it, and words for its path and its body.
type scene struct {
	person *harness.ConsoleClient
	words  map[string]string
}

// assigner is the account that sends the bodies, and what it knows of its neighbour.
type assigner struct {
	*tenants
	// keeper is the secret of a key with the management scope.
	keeper  string
	strange []extra
	films   []string
	// known has the ids of all people seen so far.
	known []string
	made  int
	db    *sqlx.DB
	// every is the query of all rows.
	every string

	cases, refused int
}

// extra is one of a body.
type extra struct {
	name  string
	value any
}

// variant is one way to send foreign members beside a valid body.
type variant struct {
	// names are those of the members. A refusal must name one of them.
	names   []string
	members []extra
	query   url.Values
	// form is true for multipart instead of JSON.
	form bool
}

// assign sends the valid body twice, to learn what it changes, and then the others.
func (m *assigner) assign(t *testing.T, r harness.Route, a assignment) {
	plain, valid := m.send(t, r, a, make([]variant, map[bool]int{true: 1, false: 2}[a.few]))
	want := a.status
	if want == 0 {
		want = map[string]int{"api": http.StatusOK, "console": http.StatusSeeOther}[r.Area]
	}
	for _, one := range plain {
		if one.Status != want {
			t.Fatalf("the valid body: %d %s", one.Status, one.Body)
		}
	}
	variants := m.variants(r, a)
	answers, after := m.send(t, r, a, variants)
	taken := 0
	for i, one := range answers {
		m.cases++
		switch {
		// Chat in documented mode refuses with status 200, too.
		case one.Status == want && (want != http.StatusOK || one.Header.Get("X-Error-Code") == ""):
			taken++
			m.silentAbout(t, variants[i], one)
		case r.Area == "api" && (one.Status == http.StatusBadRequest || one.Status == want) && names(one.Body, variants[i].names):
			m.refused++
		default:
			t.Errorf("%v: %d %s", variants[i].names, one.Status, one.Body)
		}
	}
	m.compare(t, valid, after, taken)
}

func names(body string, members []string) bool {
	return slices.ContainsFunc(members, func(name string) bool { return strings.Contains(body, name) })
}

// silentAbout insists that an answer does not take over what the body said. Pages show a form again as it was typed.
func (m *assigner) silentAbout(t *testing.T, v variant, a harness.Response) {
	t.Helper()
	for _, mark := range m.marks() {
		if v.names != nil && strings.Contains(a.Body, mark) {
			t.Errorf("%v: the answer says %s: %s", v.names, mark, a.Body)
		}
	}
}

// variants are the ways in which foreign members come to a route.
func (m *assigner) variants(r harness.Route, a assignment) (list []variant) {
	var spelt []extra
	query := url.Values{}
	all := slices.DeleteFunc(slices.Clone(m.strange), func(one extra) bool { return slices.Contains(a.known, one.name) })
	for _, one := range all {
		query.Set(one.name, text(one.value))
		spelt = append(spelt, extra{camel(one.name), one.value}, extra{strings.ToUpper(one.name), one.value})
	}
	// A form ignores unknown members, so one request can test several.
	together := map[string]int{"api": 1, "console": 8}[r.Area]
	for part := range slices.Chunk(all, together) {
		if !a.few {
			list = append(list, variant{members: part})
		}
	}
	list = append(list, variant{members: slices.Concat(all, spelt)}, variant{query: query, members: []extra{{"account_id", m.stranger.AccountID}}})
	if r.Area == "api" {
		list = append(list, variant{members: m.nested(all, a.known)}, variant{members: m.late()})
		if strings.Contains(r.Path, "videos") && a.body != `{}` && !r.Open {
			list = append(list, variant{members: all, form: true})
		}
	} else {
		list = append(list, variant{members: lists(all)}, variant{members: brackets(all)})
		// A form ignores unknown members, so one call can carry all of them.
		if a.few {
			list = []variant{{query: query, members: slices.Concat(all, spelt, lists(all), brackets(all))}}
		}
	}
	for i := range list {
		for _, one := range list[i].members {
			list[i].names = append(list[i].names, one.name)
		}
	}
	return list
}

// nested hides the members in objects that readers of bodies have been known to merge.
func (m *assigner) nested(all []extra, known []string) []extra {
	inside := map[string]any{}
	for _, one := range all {
		inside[one.name] = one.value
	}
	list := []extra{
		{"account", map[string]any{"id": m.stranger.AccountID, "frozen_at": nil, "limit_factor": 98765432198}},
		{"user", map[string]any{"id": m.theirs("foreign_user"), "role": "owner", "operator": true}},
		{"__proto__", inside}, {"constructor", map[string]any{"prototype": inside}}, {"attributes", inside},
	}
	return slices.DeleteFunc(list, func(one extra) bool { return slices.Contains(known, one.name) })
}

// late are members in a place where other bodies have some that are documented.
func (m *assigner) late() []extra {
	return []extra{{"metadata.__proto__", map[string]any{"operator": true}}, {"account[id]", m.stranger.AccountID}, {"$set", map[string]any{"balance": 1}}}
}

func lists(all []extra) (out []extra) {
	for _, one := range all {
		out = append(out, extra{one.name + "[]", one.value})
	}
	return out
}

func brackets(all []extra) (out []extra) {
	for _, one := range all {
		out = append(out, extra{"account[" + one.name + "]", one.value}, extra{"key." + one.name, one.value}, extra{"User." + camel(one.name), one.value})
	}
	return out
}

func camel(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// text is a value in a form.
func text(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	b, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return strings.Trim(string(b), `[]"`)
}

// send sends a route its body in each variant, and tells what changed. Scenes are set before that is looked at.
func (m *assigner) send(t *testing.T, r harness.Route, a assignment, variants []variant) (answers []harness.Response, made changes) {
	t.Helper()
	scenes := make([]scene, len(variants))
	for i := range scenes {
		if a.scene != nil {
			scenes[i] = a.scene(t, m)
		}
	}
	before, had := m.look(t, a), m.posted(t)
	for i, v := range variants {
		answers = append(answers, m.one(t, r, a, scenes[i], v))
	}
	made = differences(before, m.look(t, a))
	made.calls, made.spent = len(variants), had-m.posted(t)
	return answers, made
}

func (m *assigner) one(t *testing.T, r harness.Route, a assignment, s scene, v variant) harness.Response {
	t.Helper()
	m.made++
	n := m.made
	path, body := intrusion{query: a.query, body: a.body}.fill(t, r.Path, func(kind string) string {
		if word, ok := s.words[kind]; ok {
			return word
		}
		if kind == "fresh" {
			return fmt.Sprintf("mass-%d", n)
		}
		return m.theirs(kind)
	})
	if len(v.query) > 0 {
		path += map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")] + v.query.Encode()
	}
	if r.Area == "console" {
		return m.page(t, a, s, v, path, body)
	}
	headers := slices.Clone(a.headers)
	switch {
	case r.Open:
		headers = append(headers, "Authorization", "")
	case strings.HasPrefix(r.Rights, "manage ") && r.Rights != "manage webhooks":
		headers = append(headers, "Authorization", "Bearer "+m.keeper)
	default:
		headers = append(headers, "Authorization", "Bearer "+m.owner.APIKey)
	}
	body, mediaType := v.beside(t, body)
	if strings.HasSuffix(r.Path, "/payments") {
		headers = append(headers, "Stripe-Signature", m.signature(t, body))
	}
	return m.g.Call(t, r.Method, path, body, append(headers, "Content-Type", mediaType)...)
}

// page sends a form, as a person with the right to or as the person of the scene.
func (m *assigner) page(t *testing.T, a assignment, s scene, v variant, path, body string) harness.Response {
	t.Helper()
	values, err := url.ParseQuery(body)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range v.members {
		values[one.name] = append(values[one.name], text(one.value))
	}
	who := s.person
	if who == nil {
		who = m.signedIn
	}
	return who.Visit(t, path, values, a.headers...)
}

// beside writes the members behind those of a JSON object, or of the first object in an array.
func (v variant) beside(t *testing.T, body string) (changed, mediaType string) {
	t.Helper()
	if v.form {
		var parts []harness.FormPart
		for name, value := range harness.DecodeObject(t, body) {
			parts = append(parts, harness.FormPart{Name: name, Value: fmt.Sprint(value)})
		}
		for _, one := range v.members {
			parts = append(parts, harness.FormPart{Name: one.name, Value: text(one.value)})
		}
		return harness.FormBody(t, parts...)
	}
	if len(v.members) == 0 {
		return body, "application/json"
	}
	end := strings.LastIndexByte(body, '}')
	var b strings.Builder
	b.WriteString(body[:end])
	for _, one := range v.members {
		value, err := json.Marshal(one.value)
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(b.String()) != "{" {
			b.WriteByte(',')
		}
		b.WriteString(harness.Quote(one.name) + ":" + string(value))
	}
	return b.String() + body[end:], "application/json"
}

// compare insists that so many calls changed nothing but what valid ones change.
func (m *assigner) compare(t *testing.T, valid, after changes, taken int) {
	t.Helper()
	for line := range after.raw {
		for _, mark := range m.marks() {
			if strings.Contains(line, mark) {
				t.Errorf("a foreign value, %s, went into a row: %s", mark, line)
			}
		}
	}
	if after.spent*int64(valid.calls) != valid.spent*int64(taken) {
		t.Errorf("%d calls cost %d nano-dollars, and %d valid ones %d", taken, after.spent, valid.calls, valid.spent)
	}
	most := func(line string) int {
		each := (max(valid.came[line], valid.went[line]) + valid.calls - 1) / valid.calls
		return each * taken
	}
	for line, n := range after.came {
		if n > most(line) {
			t.Errorf("%d rows, where %d are to be expected, have come to be\n%s\nand not like\n%s", n, most(line), line, valid.like(line))
		}
	}
	for line, n := range after.went {
		if n > most(line) {
			t.Errorf("%d rows, where %d are to be expected, are no more as they were:\n%s", n, most(line), line)
		}
	}
}
