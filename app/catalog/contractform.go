package catalog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"umg/app/jsonschema"
	"umg/app/jsontree"
	"umg/app/llm"
)

// contractForm is the part that contracts of models with equal parameters share: everything except the title. It is compiled when the
// first body is checked, because most models of a large catalog are called rarely or never.
type contractForm struct {
	// key is the key of the parameters.
	key string
	// assemble makes the document with an empty title.
	assemble func() (*jsontree.Value, error)
	// patterns is shared with other forms.
	patterns *jsonschema.Patterns

	// schema is nil until it is compiled.
	schema atomic.Pointer[jsonschema.Schema]
	// mu is held while the schema is compiled.
	mu sync.Mutex
}

// compiled returns the schema of the form. The first call compiles it.
func (f *contractForm) compiled() (*jsonschema.Schema, error) {
	if schema := f.schema.Load(); schema != nil {
		return schema, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if schema := f.schema.Load(); schema != nil {
		return schema, nil
	}
	doc, err := f.assemble()
	if err != nil {
		return nil, err
	}
	return f.compile(doc)
}

func (f *contractForm) compile(doc *jsontree.Value) (*jsonschema.Schema, error) {
	schema, err := jsonschema.Compile(doc, f.patterns)
	if err != nil {
		return nil, err
	}
	f.schema.Store(schema)
	return schema, nil
}

// text prints the schema. The form was assembled before, so that this cannot fail.
func (f *contractForm) text() schemaText {
	doc, err := f.assemble()
	if err != nil {
		panic("catalog: a contract cannot be assembled a second time: " + err.Error())
	}
	return printed(doc)
}

// schemaText is a printed schema without its title: the bytes before the value of the title, and the bytes after it.
type schemaText struct{ head, tail []byte }

// printed prints a document whose title is empty. The title is its first empty string.
func printed(doc *jsontree.Value) schemaText {
	dropStyles(doc)
	prune(doc)
	head, tail, _ := bytes.Cut(doc.AppendTo(nil), []byte(`""`))
	return schemaText{head, tail}
}

func (s schemaText) with(title string) []byte {
	return slices.Concat(s.head, jsontree.AppendQuoted(nil, title), s.tail)
}

// hash returns the first 8 bytes of the SHA-256 of the schema with a title, in hexadecimal.
func (s schemaText) hash(title string) string {
	h := sha256.New()
	for _, part := range [][]byte{s.head, jsontree.AppendQuoted(nil, title), s.tail} {
		// Writing to a hash never fails.
		_, _ = h.Write(part)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// key identifies the parameters: contracts with equal keys differ only in their titles. It covers every field except those that all
// contracts of a builder share. Only contracts of videos depend on the id of their model.
func (t contractParams) key() string {
	if t.style != VideosStyle {
		t.model, t.aliases = "", nil
	}
	t.traits, t.applied = nil, nil
	return fmt.Sprintf("%#v", t)
}

// mayNotCompile reports whether a schema of these parameters can be assembled but not compiled. Only the compiler reads numbers of
// items, so that forms without them need no test compilation.
func (t contractParams) mayNotCompile() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(t.ranges)), func(r Range) bool { return r.MaxItems != "" })
}

// contractSet makes the contracts of one snapshot. Models with equal parameters share a form.
type contractSet struct {
	builder *contractBuilder
	// before is the snapshot whose forms and contracts are kept when the parameters are equal; nil for none.
	before *Snapshot
	forms  map[string]*contractForm
	// texts are the printed schemas of forms that got a new contract.
	texts map[*contractForm]schemaText
}

func (b *contractBuilder) set(before *Snapshot) *contractSet {
	return &contractSet{builder: b, before: before, forms: map[string]*contractForm{}, texts: map[*contractForm]schemaText{}}
}

// contract makes the contract of a model in a style. It reports false when the style has no fragment.
func (s *contractSet) contract(style llm.Style, t contractParams) (*Contract, bool, error) {
	if s.builder.fragments[style] == nil {
		return nil, false, nil
	}
	// The form keeps the builder, because it lives longer than the set.
	b := s.builder
	t.style, t.traits = style, b.traits
	c, err := s.make(t, t.key(), t.model+", "+string(style)+" style", func() (*jsontree.Value, error) { return b.assemble(t) })
	return c, err == nil, err
}

// video makes the contracts of a video model.
func (s *contractSet) video(t contractParams) (create, remix *Contract, err error) {
	create, _, err = s.contract(VideosStyle, t)
	if err != nil {
		return nil, nil, err
	}
	b := s.builder
	t.style, t.traits = VideosStyle, b.traits
	remix, err = s.make(t, "remix "+t.key(), t.model+", remix", func() (*jsontree.Value, error) { return b.assembleRemix(t) })
	return create, remix, err
}

func (s *contractSet) make(t contractParams, key, title string, assemble func() (*jsontree.Value, error)) (*Contract, error) {
	if known := s.before.contract(t.model, title); known != nil && known.form.key == key {
		s.forms[key] = known.form
		return known, nil
	}
	form := s.forms[key]
	if form == nil {
		form = s.before.form(key)
	}
	if form == nil {
		form = &contractForm{key: key, assemble: assemble, patterns: s.builder.patterns}
		if err := s.add(form, t); err != nil {
			return nil, err
		}
	}
	s.forms[key] = form
	if _, there := s.texts[form]; !there {
		s.texts[form] = form.text()
	}
	return &Contract{
		title: title, hash: s.texts[form].hash(title), form: form,
		about: jsonschema.Subject{Model: t.model, Doc: guidePath(t.model)},
	}, nil
}

// add prints a new form. It returns an error when the form cannot be assembled or compiled.
func (s *contractSet) add(form *contractForm, t contractParams) error {
	doc, err := form.assemble()
	if err != nil {
		return err
	}
	if t.mayNotCompile() {
		if _, err := form.compile(doc); err != nil {
			return fmt.Errorf("catalog: contract of %s in style %s: %w", t.model, t.style, err)
		}
	}
	s.texts[form] = printed(doc)
	return nil
}

// contract returns the contract of a model with a title, or nil. A nil snapshot has no contracts.
func (s *Snapshot) contract(model, title string) *Contract {
	if s == nil || s.byID[model] == nil {
		return nil
	}
	m := s.byID[model]
	for _, c := range append(slices.Collect(maps.Values(m.contracts)), m.video, m.remix) {
		if c != nil && c.title == title {
			return c
		}
	}
	return nil
}

// form returns the form with a key, or nil. A nil snapshot has no forms.
func (s *Snapshot) form(key string) *contractForm {
	if s == nil {
		return nil
	}
	return s.forms[key]
}
