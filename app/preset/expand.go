package preset

import (
	"cmp"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"umg/app/llm"
)

// modelMark is where the model is in a path.
const modelMark = "{model}"

var (
	// mark is a name in a template.
	mark = regexp.MustCompile(`\{([a-z_]+)\}`)

	// forms are what values of fields look like, with the words of errors. A label is a part of the name of a host.
	forms = map[string]form{
		"label":   {regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`), "small letters, digits and hyphens"},
		"word":    {regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`), "letters, digits, dots, colons, hyphens and underscores"},
		"address": {regexp.MustCompile(`^https?://[^\s?#@{}]+$`), "an http or https address without a query"},
	}
)

// form is what the value of a field looks like.
type form struct {
	pattern *regexp.Regexp
	says    string
}

// Problem is a mistake in the values of fields.
type Problem struct{ Field, Text string }

// Check lists the mistakes in the values of the fields. Unknown says of a value that it is known only later, so that its form is not
// checked; it may be nil.
func (p *Preset) Check(with map[string]string, unknown func(value string) bool) (all []Problem) {
	add := func(field, text string) { all = append(all, Problem{field, text}) }
	for _, id := range slices.Sorted(maps.Keys(with)) {
		switch f := p.field(id); {
		case f == nil:
			add(id, "is no field of preset "+p.ID+p.fieldList())
		case f.Secret:
			add(id, "is secret; it belongs in credential")
		}
	}
	values := p.values(with)
	for i := range p.Fields {
		f := &p.Fields[i]
		value, condition := values[f.ID], holds(f.When, values)
		switch {
		case f.Secret:
		case !condition && value != "":
			add(f.ID, "has no effect unless "+f.condition())
		case !condition:
		case value == "" && f.Required:
			add(f.ID, "is missing; preset "+p.ID+" needs it")
		case value == "":
		case len(f.Options) > 0:
			if !slices.Contains(f.Options, value) {
				add(f.ID, `"`+value+`" is not one of `+strings.Join(f.Options, ", "))
			}
		case unknown != nil && unknown(value):
		case !forms[f.Form].pattern.MatchString(value):
			add(f.ID, `"`+value+`" must be `+forms[f.Form].says)
		}
	}
	return all
}

func (p *Preset) field(id string) *Field {
	if i := slices.IndexFunc(p.Fields, func(f Field) bool { return f.ID == id }); i >= 0 {
		return &p.Fields[i]
	}
	return nil
}

// fieldList lists the fields that a catalog may give values, as the end of a sentence.
func (p *Preset) fieldList() string {
	var ids []string
	for i := range p.Fields {
		if !p.Fields[i].Secret {
			ids = append(ids, p.Fields[i].ID)
		}
	}
	if len(ids) == 0 {
		return ", which has none but the credential"
	}
	return "; it has " + strings.Join(ids, ", ")
}

// values are the given values and the defaults of fields with options.
func (p *Preset) values(with map[string]string) map[string]string {
	all := make(map[string]string, len(with)+1)
	maps.Copy(all, with)
	for i := range p.Fields {
		if f := &p.Fields[i]; all[f.ID] == "" && len(f.Options) > 0 && holds(f.When, all) {
			all[f.ID] = f.Options[0]
		}
	}
	return all
}

// AppliesTo reports whether there is the field, for the values of the fields before it.
func (f *Field) AppliesTo(values map[string]string) bool { return holds(f.When, values) }

// holds reports whether all fields of a condition have their values.
func holds(condition, values map[string]string) bool {
	for id, value := range condition {
		if values[id] != value {
			return false
		}
	}
	return true
}

// condition is when there is the field, in words.
func (f *Field) condition() string {
	var words []string
	for _, id := range slices.Sorted(maps.Keys(f.When)) {
		words = append(words, id+" is "+f.When[id])
	}
	return strings.Join(words, " and ")
}

// WithExamples returns values and the examples of the fields that have no value, as long as their conditions hold.
func (p *Preset) WithExamples(with map[string]string) map[string]string {
	values := p.values(with)
	for i := range p.Fields {
		if f := &p.Fields[i]; values[f.ID] == "" && f.Example != "" && holds(f.When, values) {
			values[f.ID] = f.Example
		}
	}
	return values
}

// Choices returns the options of the first field that has some, each as a value of it; a preset without options has one choice.
func (p *Preset) Choices() []map[string]string {
	for i := range p.Fields {
		if f := &p.Fields[i]; len(f.Options) > 0 {
			all := make([]map[string]string, len(f.Options))
			for j, option := range f.Options {
				all[j] = map[string]string{f.ID: option}
			}
			return all
		}
	}
	return []map[string]string{{}}
}

// Settings are a preset with its fields filled in.
type Settings struct {
	Base    string
	Auth    Auth
	Headers map[string]string
	// Wires has an entry for each style of the preset.
	Wires map[llm.Style]*Wire
	// Lists are where the provider lists its models. They are empty when it has no list.
	Lists []List
	// NeedsCredential means that calls without a credential make no sense.
	NeedsCredential bool
}

// Expand fills in the fields. Call Check before.
func (p *Preset) Expand(with map[string]string) Settings {
	values := p.values(with)
	for name, v := range p.Variables {
		chosen, ok := v.Values[values[v.By]]
		if !ok {
			chosen = v.Else
		}
		values[name] = fill(chosen, values)
	}
	s := Settings{Base: strings.TrimRight(fill(p.Base, values), "/"), Headers: fillAll(p.Headers, values), Wires: map[llm.Style]*Wire{}}
	for i := range p.Auth {
		if holds(p.Auth[i].When, values) {
			s.Auth = p.Auth[i].filled(values)
			break
		}
	}
	for _, id := range s.Auth.Credential {
		s.NeedsCredential = s.NeedsCredential || p.field(id).Required
	}
	for style, form := range p.Styles {
		s.Wires[style] = form.wire(s.Base, values)
	}
	s.Lists = p.lists(s.Base, values)
	return s
}

// List is where a provider lists models. Only the base and the headers of its wire are set.
type List struct {
	ModelList
	Wire Wire
}

// lists are the lists of models, with all fields filled in. A preset for any style is taken to list its models as most servers do.
func (p *Preset) lists(base string, values map[string]string) (all []List) {
	lists := []ModelList{}
	switch {
	case p.Models != nil:
		lists = append(append(lists, *p.Models), p.Models.Further...)
	case len(p.Styles) == 0:
		lists = append(lists, UsualList())
	}
	for _, m := range lists {
		one := List{ModelList: m, Wire: Wire{Base: base, Headers: fillAll(m.Headers, values), Framing: framingSSE}}
		if own := strings.TrimRight(fill(m.Base, values), "/"); own != "" {
			one.Wire.Base = own
		}
		one.Path = fill(m.Path, values)
		all = append(all, one)
	}
	return all
}

// UsualList is where most servers list their models.
func UsualList() ModelList { return ModelList{Path: "/models", List: "data", ID: "id"} }

// fill replaces the names in a template. Names without a value stay: the model is known only for a call.
func fill(template string, values map[string]string) string {
	return mark.ReplaceAllStringFunc(template, func(name string) string {
		if name == modelMark {
			return name
		}
		return values[name[1:len(name)-1]]
	})
}

// fillAll fills in templates, and leaves out those that are empty then.
func fillAll(templates, values map[string]string) map[string]string {
	all := make(map[string]string, len(templates))
	for name, template := range templates {
		if value := fill(template, values); value != "" {
			all[name] = value
		}
	}
	return all
}

func (a *Auth) filled(values map[string]string) Auth {
	out := *a
	for _, member := range out.texts() {
		*member = fill(*member, values)
	}
	return out
}

// texts are the members that are templates.
func (a *Auth) texts() []*string {
	return []*string{&a.Header, &a.Parameter, &a.Service, &a.Region, &a.Scope, &a.Tenant, &a.ClientID, &a.Authority}
}

// Wire is how calls of one style go to a provider, with all fields filled in. It never changes.
type Wire struct {
	// Base has no slash at its end.
	Base string
	// Path and StreamPath have {model} when the model is in the path. CountPath is empty when the provider does not count tokens.
	Path, StreamPath, CountPath string
	// Service replaces the service in signatures. It is empty for that of the provider.
	Service string
	// Headers are sent in addition to those of the provider.
	Headers         map[string]string
	Body, CountBody Body
	// Framing is how streams are framed.
	Framing string
	// EscapesModel means that slashes in the name of the model are escaped in the path.
	EscapesModel bool
}

func (s *Style) wire(base string, values map[string]string) *Wire {
	if own := strings.TrimRight(fill(s.Base, values), "/"); own != "" {
		base = own
	}
	w := &Wire{
		Base: base, Path: fill(s.Path, values), StreamPath: fill(cmp.Or(s.StreamPath, s.Path), values), Service: s.Service,
		Headers: fillAll(s.Headers, values), Body: s.Body, Framing: cmp.Or(s.Framing, framingSSE),
		EscapesModel: s.Model == modelEscaped,
	}
	if s.Count != nil {
		w.CountPath, w.CountBody = fill(s.Count.Path, values), s.Count.Body
	}
	return w
}

// WithModel returns a path with the model in it.
func (w *Wire) WithModel(path, model string) string {
	if !strings.Contains(path, modelMark) {
		return path
	}
	segments := []string{model}
	if !w.EscapesModel {
		segments = strings.Split(model, "/")
	}
	for i := range segments {
		segments[i] = url.PathEscape(segments[i])
	}
	return strings.ReplaceAll(path, modelMark, strings.Join(segments, "/"))
}
