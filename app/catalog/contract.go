package catalog

import (
	"umg/app"
	"umg/app/jsonschema"
	"umg/app/jsontree"
	"umg/app/llm"
)

// Contract is what one model accepts in one style: a JSON Schema, and the same schema compiled into a check that reads a body once.
// The check is a little stricter than the schema: a name must not be present twice or in another case, nesting and numbers have
// bounds, and strings must be valid Unicode. As in JSON Schema, 1.0 is an integer.
type Contract struct {
	// title is the title of the schema. It names the model.
	title string
	hash  string
	form  *contractForm
	about jsonschema.Subject
}

// Schema returns the JSON Schema 2020-12 document. It is printed for each call of Schema.
func (c *Contract) Schema() []byte { return c.form.text().with(c.title) }

// Hash names the version of the contract. Equal documents have equal hashes on every replica.
func (c *Contract) Hash() string { return c.hash }

// Check reads the whole body once and returns nil or the first fault as an *app.Error of kind Invalid. Its code is invalid_json
// when the body is not JSON, else invalid_request_error with the path of the field at fault.
func (c *Contract) Check(body []byte) error {
	schema, err := c.form.compiled()
	if err != nil {
		return app.AsError(err)
	}
	return schema.Check(c.about, body)
}

// Hint is a setting that the style of a contract takes and its model does not take.
type Hint = jsonschema.Hint

// Admit checks a body as Check does, except that hints which the style takes and the model does not take are not faults. It returns them in
// the order of the body. It does not read strings that are known to be correct JSON, from their first quotes to after their last ones.
func (c *Contract) Admit(body []byte, correct [][2]int) ([]Hint, error) {
	schema, err := c.form.compiled()
	if err != nil {
		return nil, app.AsError(err)
	}
	return schema.Admit(c.about, body, correct)
}

// contractBuilder makes contracts.
type contractBuilder struct {
	fragments fragments
	traits    func(llm.Style) *llm.Traits
	extras    func(llm.Style) []Extra
	patterns  *jsonschema.Patterns
}

// newContractBuilder reads the embedded schemas. Without Options.Traits and Options.Extras contracts do not depend on them.
func newContractBuilder(o Options) (*contractBuilder, error) {
	f, err := loadFragments()
	if err != nil {
		return nil, err
	}
	if o.Extras == nil {
		o.Extras = func(llm.Style) []Extra { return nil }
	}
	return &contractBuilder{
		fragments: f, traits: o.Traits, extras: o.Extras, patterns: &jsonschema.Patterns{},
	}, nil
}

// build makes the contract of a model in a style alone. It reports false when the style has no fragment.
func (b *contractBuilder) build(style llm.Style, t contractParams) (*Contract, bool, error) {
	return b.set(nil).contract(style, t)
}

// assemble makes the schema of parameters that have a style, with an empty title.
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
