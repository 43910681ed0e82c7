package catalog

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"umg/app/jsonschema"
	"umg/app/jsontree"
	"umg/app/llm"
)

// The keywords that control the assembly of a fragment. They start with x-, which JSON Schema and OpenAPI leave to applications.
const (
	// keywordParameter keeps a property or branch when the model supports one of these parameters.
	keywordParameter = "x-parameter"
	// keywordInput keeps a property or branch when the model reads one of these modalities.
	keywordInput = "x-input"
	// keywordMedia marks a string that is a media type which the model reads, as data or by URL.
	keywordMedia = "x-media"
	// keywordURL keeps a property when some media can be sent by address.
	keywordURL = "x-url"
	// keywordNames with the value snake allows every member in snake case also.
	keywordNames = "x-names"
	// keywordMaximum sets the maximum to this limit of the model.
	keywordMaximum = "x-maximum"
	// keywordModel marks a string that is the id of the model.
	keywordModel = "x-model"
	// keywordSizes marks one of the model's sizes. The first is the default.
	keywordSizes = "x-sizes"
	// keywordSeconds marks one of the model's lengths. The first is the default.
	keywordSeconds = "x-seconds"
	// keywordAssets keeps a property when the model takes material assets, and bounds its items.
	keywordAssets = "x-assets"
	// keywordElse is the schema of an unsupported property. Without it the property may be null.
	keywordElse = "x-else"
	// keywordThinking keeps a property or branch when the model takes this form of thinking.
	keywordThinking = "x-thinking"
	// keywordExtra is the place of an extra, and keywordExtraNone describes what becomes of it when the model offers none there.
	keywordExtra     = "x-extra"
	keywordExtraNone = "x-extra-none"
)

//go:embed contracts/*.json
var fragmentFiles embed.FS

// fragments holds the schema of every style before it is adapted to a model.
type fragments map[llm.Style]*jsontree.Value

func loadFragments() (fragments, error) {
	all := fragments{}
	for _, style := range contractStyles() {
		raw, err := fragmentFiles.ReadFile("contracts/" + string(style) + ".json")
		if err != nil {
			continue
		}
		t, err := jsontree.Parse(raw)
		if err != nil {
			return nil, fmt.Errorf("catalog: fragment %s: %w", style, err)
		}
		all[style] = t
	}
	return all, nil
}

// parameters lists the parameters that a model may lack, in the order of the fragments of some styles.
func (f fragments) parameters(styles []llm.Style) []string {
	var names []string
	for _, style := range styles {
		if t := f[style]; t != nil {
			names = collectWords(t, keywordParameter, names)
		}
	}
	return names
}

func collectWords(t *jsontree.Value, word string, into []string) []string {
	for v := range strings.FieldsSeq(t.GetString(word)) {
		if !slices.Contains(into, v) {
			into = append(into, v)
		}
	}
	for _, item := range t.Items {
		into = collectWords(item, word, into)
	}
	return into
}

// contractParams is what the contracts of one model depend on.
type contractParams struct {
	model           string
	aliases         []string
	maxOutputTokens int64
	inputs          []string
	parameters      []string
	ranges          map[string]Range
	// thinking are the forms of thinking that the model takes; nil means all.
	thinking []string
	sizes    []string
	seconds  []int64
	// assets bounds the assets of a video call.
	assets int64
	// style is the style of the contract.
	style llm.Style
	// offered are the rows of the table of extras that the model offers in the style.
	offered llm.ExtraSet
	// upstream lists the styles of the model's providers. An empty list means that providers can carry everything.
	upstream []llm.Style
	// traits returns what a style can express; nil means everything.
	traits func(llm.Style) *llm.Traits
	// applied records for each part of a range whether it narrows a schema. It is nil when the caller does not need it.
	applied map[string]bool
}

func (m *FileModel) contractParams() contractParams {
	var upstream []llm.Style
	for _, r := range m.Routes {
		upstream = append(upstream, r.Style)
	}
	return contractParams{
		upstream: upstream, model: m.ID, aliases: m.Aliases, maxOutputTokens: m.MaxOutputTokens, inputs: m.Input, parameters: m.Parameters,
		ranges: m.Ranges, thinking: m.Thinking, sizes: m.Sizes, seconds: m.Seconds, assets: m.Assets,
	}
}

// assemble makes the JSON Schema of one model in one style from the fragment of the style. The title is empty, because models with
// equal parameters share the document.
func assemble(base *jsontree.Value, t contractParams, extras []Extra) (*jsontree.Value, error) {
	doc := jsontree.Object()
	doc.Set("$schema", jsontree.Text("https://json-schema.org/draft/2020-12/schema"))
	doc.Set("title", jsontree.Text(""))
	body := base.Clone()
	for i, name := range body.Names {
		doc.Set(name, body.Items[i])
	}
	if err := t.fit(doc); err != nil {
		return nil, err
	}
	t.describeExtras(doc, extras)
	t.refuseExtras(doc, extras)
	prune(doc)
	if doc.GetString(keywordNames) != "" {
		doc.Delete(keywordNames)
		addSnakeCase(doc)
	}
	return doc, nil
}

// fit adapts a schema and everything inside it to the model.
func (t contractParams) fit(s *jsontree.Value) error {
	if limit := s.GetString(keywordMaximum); limit != "" {
		s.Delete(keywordMaximum)
		if t.maxOutputTokens > 0 {
			s.Set("maximum", jsontree.Number(strconv.FormatInt(t.maxOutputTokens, 10)))
		}
	}
	s.Delete(keywordThinking)
	t.fitVideo(s)
	t.fitSameStyle(s)
	if s.GetString(keywordMedia) != "" {
		byURL := s.GetString(keywordMedia) == "url"
		s.Delete(keywordMedia)
		s.Set("pattern", jsontree.Text(t.mediaPattern(byURL)))
	}
	if p := strings.Fields(s.GetString(keywordParameter)); len(p) > 0 {
		if err := t.narrow(p[0], s); err != nil {
			return fmt.Errorf("ranges.%s: %w", p[0], err)
		}
	}
	s.Delete(keywordElse)
	for i, name := range s.Names {
		child := s.Items[i]
		var err error
		switch name {
		case "properties", "$defs":
			err = t.fitMembers(child)
		case "anyOf", "oneOf":
			err = t.fitBranches(child)
		case "items", "additionalProperties":
			err = t.fit(child)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t contractParams) fitMembers(members *jsontree.Value) error {
	for i, member := range members.Items {
		kind, base := member.GetString(jsonschema.KeywordHint), member
		if kind != "" {
			base = member.Clone()
		}
		if !t.supports(member) {
			members.Items[i] = t.unsupported(member)
			if kind != "" {
				addStyleSchema(members.Items[i], base)
			}
			continue
		}
		if err := t.fit(member); err != nil {
			return err
		}
		switch {
		case kind == "":
		case kind == jsonschema.HintDrop, kind == jsonschema.HintConvert && t.thinking == nil:
			member.Delete(jsonschema.KeywordHint)
		default:
			addStyleSchema(member, base)
		}
	}
	return nil
}

func (t contractParams) fitBranches(branches *jsontree.Value) error {
	branches.Items = slices.DeleteFunc(branches.Items, func(b *jsontree.Value) bool { return !t.supports(b) })
	for _, branch := range branches.Items {
		if err := t.fit(branch); err != nil {
			return err
		}
	}
	return nil
}

// oneOf reports whether at least one of the names is known. It is true for no names.
func oneOf(names, known []string) bool {
	return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return slices.Contains(known, name) })
}

// takesThinking reports whether the model takes the form of thinking in a schema. It is true for schemas without one.
func (t contractParams) takesThinking(s *jsontree.Value) bool {
	form := s.GetString(keywordThinking)
	return form == "" || t.thinking == nil || slices.Contains(t.thinking, form)
}

func (t contractParams) supports(s *jsontree.Value) bool {
	if !oneOf(strings.Fields(s.GetString(keywordParameter)), t.parameters) {
		return false
	}
	if s.GetString(keywordAssets) != "" && t.assets == 0 || !t.takesThinking(s) {
		return false
	}
	if f, named := featureWords[s.GetString(keywordFeature)]; named && !t.carries(f) {
		return false
	}
	if s.GetString(keywordURL) != "" && t.mediaPattern(true) == "" {
		return false
	}
	return oneOf(strings.Fields(s.GetString(keywordInput)), t.inputs)
}

// unsupported returns the schema of a property that the model does not support. It allows only values without effect, so that clients
// which always send every field still work.
func (t contractParams) unsupported(member *jsontree.Value) *jsontree.Value {
	rest := member.Get(keywordElse)
	if rest == nil {
		rest = jsontree.Object()
		rest.Set("type", jsontree.Text("null"))
	}
	rest = rest.Clone()
	parameters := strings.Fields(member.GetString(keywordParameter))
	named, says := cmp.Or(member.GetString(keywordInput), member.GetString(keywordAssets)), "Not supported by this model."
	if len(parameters) > 0 {
		named = parameters[0]
	}
	if named == "" || len(parameters) > 0 && oneOf(parameters, t.parameters) && t.takesThinking(member) {
		named, says = jsonschema.UnsupportedStyle, "Not supported by this model in this style: none of its providers can carry it."
	}
	rest.Set(jsonschema.KeywordUnsupported, jsontree.Text(named))
	rest.Set("description", jsontree.Text(says))
	return rest
}

// prune removes the definitions that nothing refers to.
func prune(doc *jsontree.Value) {
	defs := doc.Get("$defs")
	if defs == nil {
		return
	}
	reached := map[string]bool{}
	var visit func(s *jsontree.Value)
	visit = func(s *jsontree.Value) {
		for i, item := range s.Items {
			switch {
			case s == doc && s.Names[i] == "$defs":
			case s.Names != nil && s.Names[i] == "$ref":
				def := strings.TrimPrefix(item.Text, jsonschema.RefPrefix)
				if target := defs.Get(def); target != nil && !reached[def] {
					reached[def] = true
					visit(target)
				}
			default:
				visit(item)
			}
		}
	}
	visit(doc)
	for _, name := range slices.Clone(defs.Names) {
		if !reached[name] {
			defs.Delete(name)
		}
	}
	if len(defs.Names) == 0 {
		doc.Delete("$defs")
	}
}
