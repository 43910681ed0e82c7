package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"

	"umg/app/llm"
)

// Contract is what one model accepts in one style: a JSON Schema, and the same schema compiled into a check that
// reads a body once. The check asks a little more than the schema can say: names must not come twice nor in another
// case, nesting and numbers have bounds, and texts must be valid Unicode. As in JSON Schema, 1.0 is an integer.
type Contract struct {
	model  string
	doc    string
	hash   string
	schema []byte
	root   *node
	pool   *sync.Pool // of *checker, shared by the contracts of one builder
}

// Schema is the JSON Schema 2020-12 document. The caller must not change it.
func (c *Contract) Schema() []byte { return c.schema }

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

// contractBuilder makes the contracts of snapshots.
type contractBuilder struct {
	fragments fragments
	pool      *sync.Pool
	guides    func() map[llm.Style]guide
	patterns  sync.Map // *regexp.Regexp by text
}

func newContractBuilder() (*contractBuilder, error) {
	f, err := loadFragments()
	if err != nil {
		return nil, err
	}
	return &contractBuilder{
		fragments: f, pool: &sync.Pool{New: func() any { return new(checker) }}, guides: sync.OnceValue(loadGuides),
	}, nil
}

// build makes the contract of a model in a style. It reports false when the style has no fragment.
func (b *contractBuilder) build(style llm.Style, t terms) (*Contract, bool, error) {
	base := b.fragments[style]
	if base == nil {
		return nil, false, nil
	}
	doc, err := assemble(base, style, t)
	if err != nil {
		return nil, false, err
	}
	c, err := b.finish(doc, t)
	if err != nil {
		return nil, false, fmt.Errorf("catalog: contract of %s in style %s: %w", t.model, style, err)
	}
	return c, true, nil
}

// finish compiles an assembled document.
func (b *contractBuilder) finish(doc *tree, t terms) (*Contract, error) {
	root, err := compile(doc, &b.patterns)
	if err != nil {
		return nil, err
	}
	doc.dropStyles()
	prune(doc)
	schema := doc.append(nil)
	sum := sha256.Sum256(schema)
	return &Contract{
		model: t.model, doc: guidePath(t.model), hash: hex.EncodeToString(sum[:8]),
		schema: schema, root: root, pool: b.pool,
	}, nil
}
