package preset

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"umg/app/llm"
)

// These are the words of a preset. Framings are those of package framing.
const (
	framingSSE = "sse"

	modelSegments = "segments" // Slashes of the model stay in the path.
	modelEscaped  = "escaped"
)

var (
	framings   = []string{"", framingSSE, "eventstream", "ndjson", "json_array"}
	modelForms = []string{"", modelSegments, modelEscaped}
	// styles are those of calls about text. The last ones are those of providers alone.
	styles    = append(llm.Styles(), "converse", "cohere")
	cancels   = []string{"", "stops", "continues", "unknown"}
	authKinds = []string{"bearer", "header", "query", "none", "sigv4", "google", "google_metadata", "entra", "jwt"}
	// kindsWithoutCredential are the kinds of auth that have no credential.
	kindsWithoutCredential = []string{"none", "google_metadata"}
	limitNames             = []string{"requests", "tokens"}
	idForm                 = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`)
	fieldForm              = regexp.MustCompile(`^[a-z][a-z_]{0,30}$`)
	variableForm           = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
	headerForm             = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)
	memberForm             = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)
)

// schemaCheck collects what is wrong with a preset.
type schemaCheck struct {
	preset *Preset
	all    []string
}

func (c *schemaCheck) addf(format string, args ...any) {
	c.all = append(c.all, fmt.Sprintf(format, args...))
}

func (c *schemaCheck) oneOf(field, word string, known []string) {
	if !slices.Contains(known, word) {
		c.addf("%s: %q is not one of %s", field, word, strings.Join(known, ", "))
	}
}

// matches adds a problem when a text does not have a form. An empty text is a problem unless it is optional.
func (c *schemaCheck) matches(field, text string, pattern *regexp.Regexp, isOptional bool) {
	if (text != "" || !isOptional) && !pattern.MatchString(text) {
		c.addf("%s: %q is not like %s", field, text, pattern)
	}
}

// problems lists what is wrong with the data of a preset.
func (p *Preset) problems() []string {
	c := &schemaCheck{preset: p}
	c.matches("id", p.ID, idForm, false)
	if p.Name == "" {
		c.addf("name is missing")
	}
	if p.Docs != "" || p.ID != customID {
		c.address("docs", p.Docs)
	}
	for i := range p.Fields {
		c.field(&p.Fields[i], p.Fields[:i])
	}
	for _, name := range slices.Sorted(maps.Keys(p.Variables)) {
		c.variable(name, p.Variables[name])
	}
	c.template("base", p.Base)
	if len(p.Auth) == 0 {
		c.addf("auth is missing")
	}
	for i := range p.Auth {
		c.auth(fmt.Sprintf("auth[%d]", i), &p.Auth[i])
	}
	c.headers("headers", p.Headers)
	c.oneOf("after_cancel", p.AfterCancel, cancels)
	for _, style := range slices.Sorted(maps.Keys(p.Styles)) {
		c.style(style, p.Styles[style])
	}
	c.models()
	for _, name := range slices.Sorted(maps.Keys(p.Limits)) {
		c.oneOf("limits", name, limitNames)
		c.matches("limits."+name, p.Limits[name], headerForm, false)
	}
	c.matches("request_id", p.RequestID, headerForm, true)
	for at, words := range p.Tiers {
		c.matches("tiers", at, memberForm, false)
		for word, tier := range words {
			if word == "" || tier == "" {
				c.addf("tiers.%s has an empty word", at)
			}
		}
	}
	return c.all
}

// customID is the preset of servers that the program does not know. It has no documentation.
const customID = "custom"

func (c *schemaCheck) address(field, text string) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" {
		c.addf("%s: %q is not an https address", field, text)
	}
}

func (c *schemaCheck) field(f *Field, before []Field) {
	at := "fields." + f.ID
	c.matches(at, f.ID, fieldForm, false)
	c.matches(at+".env", f.Env, variableForm, true)
	if f.Label == "" {
		c.addf("%s.label is missing", at)
	}
	if slices.ContainsFunc(before, func(b Field) bool { return b.ID == f.ID }) {
		c.addf("%s is there twice", at)
	}
	for id, value := range f.When {
		i := slices.IndexFunc(before, func(b Field) bool { return b.ID == id })
		if i < 0 || !slices.Contains(before[i].Options, value) {
			c.addf("%s.when: %s is not an option of an earlier field", at, value)
		}
	}
	hasForm := forms[f.Form].pattern != nil
	switch {
	case f.Secret || len(f.Options) > 0:
		if f.Form != "" || f.Example != "" {
			c.addf("%s needs neither a form nor an example", at)
		}
	case !hasForm:
		c.addf("%s.form: %q is not one of %s", at, f.Form, strings.Join(slices.Sorted(maps.Keys(forms)), ", "))
	case !forms[f.Form].pattern.MatchString(f.Example):
		c.addf("%s.example: %q does not have its form", at, f.Example)
	}
}

func (c *schemaCheck) variable(name string, v Variable) {
	at := "variables." + name
	c.matches(at, name, fieldForm, false)
	if c.preset.field(v.By) == nil || c.preset.field(name) != nil {
		c.addf("%s depends on no field, or has the name of one", at)
	}
	for _, template := range v.Values {
		c.template(at, template)
	}
	c.template(at, v.Else)
}

// template checks that the names in a template are fields without secrets, variables or further names.
func (c *schemaCheck) template(at, text string, further ...string) {
	if text == "" {
		c.addf("%s is missing", at)
	}
	for _, found := range mark.FindAllStringSubmatch(text, -1) {
		f := c.preset.field(found[1])
		_, isVariable := c.preset.Variables[found[1]]
		if (f == nil || f.Secret) && !isVariable && !slices.Contains(further, found[1]) {
			c.addf("%s: {%s} is neither a field nor a variable", at, found[1])
		}
	}
	if rest := mark.ReplaceAllString(text, ""); strings.ContainsAny(rest, "{}$ ") && !strings.HasSuffix(at, ".scope") {
		c.addf("%s: %q is not a template", at, text)
	}
}

func (c *schemaCheck) auth(at string, a *Auth) {
	c.oneOf(at+".kind", a.Kind, authKinds)
	for _, text := range a.texts() {
		if *text != "" {
			c.template(at, *text)
		}
	}
	for id, value := range a.When {
		if f := c.preset.field(id); f == nil || !slices.Contains(f.Options, value) {
			c.addf("%s.when: %s is not an option of a field", at, value)
		}
	}
	if slices.Contains(kindsWithoutCredential, a.Kind) != (len(a.Credential) == 0) {
		c.addf("%s.credential does not fit to the kind", at)
	}
	for _, id := range a.Credential {
		if f := c.preset.field(id); f == nil || !f.Secret {
			c.addf("%s.credential: %s is not a secret field", at, id)
		}
	}
}

func (c *schemaCheck) headers(at string, all map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c.matches(at, name, headerForm, false)
		c.template(at+"."+name, all[name])
	}
}

func (c *schemaCheck) style(name llm.Style, s *Style) {
	at := "styles." + string(name)
	if !slices.Contains(styles, name) {
		c.addf("%s is not one of %v", at, styles)
	}
	if s == nil {
		c.addf("%s has no members", at)
		return
	}
	c.oneOf(at+".checked", string(s.Checked), []string{string(Recorded), string(Never)})
	c.oneOf(at+".framing", s.Framing, framings)
	c.oneOf(at+".model", s.Model, modelForms)
	c.path(at+".path", s.Path, false)
	c.path(at+".stream_path", s.StreamPath, true)
	if s.Base != "" {
		c.template(at+".base", s.Base)
	}
	c.headers(at+".headers", s.Headers)
	c.body(at+".body", &s.Body)
	if s.Count != nil {
		c.path(at+".count.path", s.Count.Path, false)
		c.body(at+".count.body", &s.Count.Body)
	}
	if hasModel := strings.Contains(s.Path, modelMark); hasModel != (s.Model != "") {
		c.addf("%s.model is needed when the model is in the path, and only then", at)
	}
}

func (c *schemaCheck) path(at, text string, isOptional bool) {
	if text == "" && isOptional {
		return
	}
	c.template(at, text, "model")
	if !strings.HasPrefix(text, "/") {
		c.addf("%s must start with /", at)
	}
}

func (c *schemaCheck) body(at string, b *Body) {
	for _, name := range slices.Concat(b.Drop, slices.Collect(maps.Keys(b.Add))) {
		c.matches(at, name, memberForm, false)
	}
	c.matches(at+".betas", b.Betas, memberForm, true)
}

func (c *schemaCheck) models() {
	m := c.preset.Models
	if m == nil {
		return
	}
	c.list("models", m)
	for i := range m.Further {
		at := fmt.Sprintf("models.further[%d]", i)
		c.list(at, &m.Further[i])
		if len(m.Further[i].Further) > 0 {
			c.addf("%s.further: lists of lists are not read", at)
		}
	}
}

func (c *schemaCheck) list(at string, m *ModelList) {
	c.path(at+".path", m.Path, false)
	if m.Base != "" {
		c.template(at+".base", m.Base)
	}
	c.headers(at+".headers", m.Headers)
	c.matches(at+".list", m.List, memberForm, false)
	c.matches(at+".id", m.ID, memberForm, false)
	c.matches(at+".context", m.Context, memberForm, true)
	if p := m.Pages; p != nil {
		c.matches(at+".pages.next", p.Next, memberForm, false)
		c.matches(at+".pages.parameter", p.Parameter, memberForm, false)
		c.matches(at+".pages.more", p.More, memberForm, true)
	}
}
