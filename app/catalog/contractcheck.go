package catalog

import (
	"slices"

	"umg/app/llm"
)

// contractCheck checks the parameters and ranges of the models of a file. Models with equal parameters are checked once.
type contractCheck struct {
	builder *contractBuilder
	// text are the parameters of the text styles.
	text []string
	// video are the parameters of videos.
	video []string
	// applied has the parts of ranges that narrow a schema in some style, by the key of the parameters. It has only parameters whose
	// contracts can be made.
	applied map[string]map[string]bool
}

func newContractCheck() (*contractCheck, error) {
	b, err := newContractBuilder(Options{})
	if err != nil {
		return nil, err
	}
	return &contractCheck{
		builder: b, text: b.fragments.parameters(llm.Styles()), video: b.fragments.parameters([]llm.Style{VideosStyle}),
		applied: map[string]map[string]bool{},
	}, nil
}

// ranges makes the contracts of a model with ranges in some styles, and returns which parts of the ranges narrow a schema. A model
// without ranges has no parameter that could make its contract fail.
func (c *contractCheck) ranges(m *FileModel, styles []llm.Style) (map[string]bool, error) {
	if len(m.Ranges) == 0 {
		return nil, nil
	}
	of := m.contractParams()
	// Without the traits of styles the providers make no difference, and no parameter is bounded by the tokens of the model.
	alike := of
	alike.model, alike.aliases, alike.upstream, alike.maxOutputTokens = "", nil, nil, 0
	key := string(m.Kind) + " " + alike.key()
	if applied, known := c.applied[key]; known {
		return applied, nil
	}
	of.applied = map[string]bool{}
	for _, style := range styles {
		if _, _, err := c.builder.build(style, of); err != nil {
			return nil, err
		}
	}
	c.applied[key] = of.applied
	return of.applied, nil
}

// check assembles the contracts of the model as far as the file can make them fail, so that a file which passes can be loaded.
func (c *contractCheck) check(p problems, m *FileModel) {
	styles, known := llm.Styles(), c.text
	if m.Kind == KindVideo {
		styles, known = []llm.Style{VideosStyle}, c.video
	}
	for i, name := range m.Parameters {
		p.oneOf("parameters", name, known)
		if slices.Contains(m.Parameters[:i], name) {
			p.addf("parameters", "%q is there twice", name)
		}
	}
	applied, err := c.ranges(m, styles)
	if err != nil {
		p.addf("", "%v", err)
		return
	}
	for _, name := range sortedKeys(m.Ranges) {
		if !slices.Contains(m.Parameters, name) {
			p.addf("ranges."+name, "is not one of the model's parameters")
			continue
		}
		r := m.Ranges[name]
		for _, keyword := range sortedKeys(r.bounds()) {
			narrows, known := applied[name+" "+keyword]
			switch {
			case keyword == "enum":
			case !known:
				p.addf("ranges."+name, "this parameter has no %s", keyword)
			case !narrows:
				p.addf("ranges."+name, "%s %s is wider than any style's own", keyword, r.bounds()[keyword])
			}
		}
		for _, value := range r.Values {
			if narrows, known := applied[name+" "+value]; !known {
				p.addf("ranges."+name, "this parameter has no values to choose from")
			} else if !narrows {
				p.addf("ranges."+name, "%q is not a value of any style", value)
			}
		}
	}
}
