package catalog

import (
	"sync"

	"umg/app/jsontree"
	"umg/app/llm"
)

// Contract is what one model accepts in one style: a JSON Schema, and the same schema compiled into a check that
// reads a body once. The check asks a little more than the schema can say: names must not come twice nor in another
// case, nesting and numbers have bounds, and texts must be valid Unicode. As in JSON Schema, 1.0 is an integer.
type Contract struct {
	model string
	title string // the title of the schema, which names the model
	doc   string
	hash  string
	form  *contractForm
	pool  *sync.Pool // of *checker, shared by the contracts of one builder
}

// Schema is the JSON Schema 2020-12 document. It is printed for each call of Schema.
func (c *Contract) Schema() []byte { return c.form.text().with(c.title) }

// Hash names the version of the contract: equal documents have equal hashes on every replica.
func (c *Contract) Hash() string { return c.hash }

// Check reads the whole body once and returns nil or the first fault as an *app.Error of kind Invalid: with code
// invalid_json when it is no JSON, else with code invalid_request_error and the path of the field at fault.
func (c *Contract) Check(body []byte) error {
	k := c.checker()
	defer c.rest(k)
	if e := k.run(c, body); e != nil {
		return e
	}
	return nil
}

// Admit checks a body as Check does, but for hints: those that the style takes and the model does not are no faults, and
// are returned in the order of the body.
func (c *Contract) Admit(body []byte) ([]Hint, error) {
	k := c.checker()
	defer c.rest(k)
	k.lenient = true
	if e := k.run(c, body); e != nil {
		return nil, e
	}
	return k.hints, nil
}

func (c *Contract) checker() *checker {
	k, _ := c.pool.Get().(*checker)
	return k
}

func (c *Contract) rest(k *checker) {
	k.forget()
	c.pool.Put(k)
}

// contractBuilder makes contracts.
type contractBuilder struct {
	fragments fragments
	traits    func(llm.Style) *llm.Traits
	extras    func(llm.Style) []Extra
	pool      *sync.Pool
	guides    func() map[llm.Style]guide
	patterns  *sync.Map // *regexp.Regexp by text
}

// newContractBuilder takes what styles can say and what is offered from the options, where they are there.
func newContractBuilder(o Options) (*contractBuilder, error) {
	f, err := loadFragments()
	if err != nil {
		return nil, err
	}
	if o.Extras == nil {
		o.Extras = func(llm.Style) []Extra { return nil }
	}
	return &contractBuilder{
		fragments: f, traits: o.Traits, extras: o.Extras, pool: &sync.Pool{New: func() any { return new(checker) }},
		guides: sync.OnceValue(loadGuides), patterns: &sync.Map{},
	}, nil
}

// build makes the contract of a model in a style alone. It reports false when the style has no fragment.
func (b *contractBuilder) build(style llm.Style, t contractParams) (*Contract, bool, error) {
	return b.set(nil).contract(style, t)
}

// assemble makes the schema of terms that have a style, with an empty title.
func (b *contractBuilder) assemble(t contractParams) (*jsontree.Value, error) {
	var extras []Extra
	if t.style != VideosStyle {
		extras = b.extras(t.style)
	}
	return assemble(b.fragments[t.style], t, extras)
}

// assembleRemix makes the schema of a remix, with an empty title.
func (b *contractBuilder) assembleRemix(t contractParams) (*jsontree.Value, error) {
	create, err := b.assemble(t)
	if err != nil {
		return nil, err
	}
	dropStyles(create)
	prune(create)
	return remixOf(create), nil
}
