package catalog

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/jsontree"
)

// Hint is a member of a request that clients send to every model alike, that the style takes and this model does not, and
// without which the request makes sense.
type Hint struct {
	// Field is the path of the member, as in errors.
	Field string
	// At is where its value begins in the body.
	At int
	// Value is the JSON value that the client sent.
	Value string
	// Instead is the JSON value that the model takes in its place. It is empty where the member is left out.
	Instead string
	// Bound means that the member bounds the output.
	Bound bool
	// Thinking means that the member asks for thinking in a form that the model does not take. What becomes of it depends on the rest
	// of the request.
	Thinking bool
}

// Listed is the hint in the list of what was dropped: its field, and both values where it has another.
func (h *Hint) Listed() string {
	if h.Instead == "" {
		return h.Field
	}
	return h.Field + "=" + strings.Trim(h.Value, `"`) + "->" + strings.Trim(h.Instead, `"`)
}

// The values of x-hint.
const (
	hintDrop    = "drop"    // what a model does not support is left out
	hintClamp   = "clamp"   // also, what is beside what it takes becomes the nearest that it takes
	hintConvert = "convert" // also, thinking in another form than it takes is put into that form
	hintBound   = "bound"   // a bound on the output that is above the model's becomes that
)

// effortNone is the one effort that asks for something else than the others: no thinking.
const effortNone = "none"

// hint is what is asked of a hint: by the style of every request, and by the model of those that are not to be changed.
type hint struct {
	style, model *node
	bound        bool
	thinking     bool
}

// hintTexts say what becomes of a hint that the model does not take, by the values of x-hint.
var hintTexts = map[string]string{
	hintDrop:    "It is left out of a request, or refused where the key is strict.",
	hintClamp:   "Another value of the style becomes the nearest of these, or is refused where the key is strict.",
	hintConvert: "Another form of the style becomes one of these, or is refused where the key is strict.",
	hintBound:   "A larger value becomes the maximum, or is refused where the key is strict.",
}

// soften notes beside a hint what its style takes, where the model takes less, and says what becomes of the rest.
func soften(t, base *jsontree.Value) {
	kind := base.GetString(wordHint)
	dropAssemblerWords(base)
	text := hintTexts[kind]
	switch {
	case t.GetString(wordUnsupported) != "":
		text = hintTexts[hintDrop]
	case kind == hintClamp && sameEnum(t, base), kind == hintBound && t.Get("maximum") == nil:
		text = ""
	}
	if text != "" {
		t.Set("description", jsontree.Text(strings.TrimSpace(t.GetString("description")+" "+text)))
	}
	t.Set(wordHint, jsontree.Text(kind))
	t.Set(wordStyle, base)
}

// sameEnum reports whether a model takes all values that its style has.
func sameEnum(model, style *jsontree.Value) bool {
	a, b := withKeyword(model, "enum"), withKeyword(style, "enum")
	return a != nil && b != nil && slices.Equal(a.GetStrings("enum"), b.GetStrings("enum"))
}

// dropAssemblerWords takes the words for the assembler out of a schema.
func dropAssemblerWords(t *jsontree.Value) {
	for _, word := range []string{
		wordParameter, wordInput, wordElse, wordMaximum, wordHint, wordThinking, wordFeature, wordStraight, wordURL, wordMedia,
	} {
		t.Delete(word)
	}
	for _, item := range t.Items {
		dropAssemblerWords(item)
	}
}

// dropStyles takes out of a document what only its check needs: the published one says what the model takes.
func dropStyles(t *jsontree.Value) {
	t.Delete(wordStyle)
	for _, item := range t.Items {
		dropStyles(item)
	}
}

// hintNode compiles both schemas of a hint.
func (c *compiler) hintNode(s, base *jsontree.Value) (*node, error) {
	own := *s
	own.Names, own.Items = slices.Clone(s.Names), slices.Clone(s.Items)
	own.Delete(wordStyle)
	model, err := c.node(&own)
	if err != nil {
		return nil, err
	}
	style, err := c.node(base)
	if err != nil {
		return nil, err
	}
	n := *model
	n.hint = &hint{style: style, model: model, bound: s.GetString(wordHint) == hintBound, thinking: s.GetString(wordHint) == hintConvert}
	return &n, nil
}

// hint checks the value of a hint, and notes what is to become of it where the model does not take it.
func (c *checker) hint(h *hint) *app.Error {
	if !c.lenient {
		return c.value(h.model)
	}
	from := valueAt(c.body, c.dec.InputOffset())
	if e := c.value(h.style); e != nil {
		return e
	}
	value := c.body[from:c.dec.InputOffset()]
	if c.contract.takes(h.model, value) {
		return nil
	}
	c.hints = append(c.hints, Hint{
		Field: c.path(), At: from, Value: string(value), Instead: h.nearest(value), Bound: h.bound, Thinking: h.thinking,
	})
	return nil
}

// valueAt is where the value begins that follows a name, or an element.
func valueAt(body []byte, at int64) int {
	for at < int64(len(body)) {
		switch body[at] {
		case ' ', '\t', '\r', '\n', ':', ',':
			at++
		default:
			return int(at)
		}
	}
	return int(at)
}

// takes reports whether a sound value keeps the rules of a node.
func (c *Contract) takes(n *node, value []byte) bool {
	k := c.checker()
	defer c.rest(k)
	k.contract, k.body, k.buf = c, value, *bytes.NewBuffer(value)
	k.dec.Reset(&k.buf)
	return k.value(n) == nil
}

// nearest is the value that the model takes in place of one that it does not; empty where there is none.
func (h *hint) nearest(value []byte) string {
	switch kind := jsontext.Value(value).Kind(); {
	case h.model.unsupported != "":
		return ""
	case kind == jsontext.KindNumber:
		return h.nearestNumber(value)
	case kind == jsontext.KindString:
		return h.nearestWord(value)
	}
	return ""
}

// nearestNumber is the most that the model takes, for a number above it.
func (h *hint) nearestNumber(value []byte) string {
	r := h.model.on[shapeNumber]
	if r == nil || r.most == nil {
		return ""
	}
	if exact, ok := parseDecimal(value); !ok || exact.compare(r.most.exact) <= 0 {
		return ""
	}
	return r.most.text
}

// nearestWord is the word that the model takes which stands nearest to another one in the order of the style, the lower one of
// two. None is only in the place of itself.
func (h *hint) nearestWord(value []byte) string {
	all, some := h.style.on[shapeText], h.model.on[shapeText]
	if all == nil || some == nil {
		return ""
	}
	asked, best := literalAt(all.literals, string(value)), -1
	if asked < 0 {
		return ""
	}
	for i := range all.literals {
		word := all.literals[i].text
		silent := word == effortNone || strings.HasSuffix(word, unspecified)
		if all.literals[i].kind != jsontext.KindString || !some.lists(jsontext.KindString, word) || silent && i != asked {
			continue
		}
		if best < 0 || max(i-asked, asked-i) < max(best-asked, asked-best) {
			best = i
		}
	}
	if best < 0 {
		return ""
	}
	return `"` + all.literals[best].text + `"`
}

// literalAt is the index of the literal that a quoted word is, or -1.
func literalAt(literals []literal, quoted string) int {
	return slices.IndexFunc(literals, func(l literal) bool { return l.kind == jsontext.KindString && `"`+l.text+`"` == quoted })
}
