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

// The words by which a fragment speaks to the assembler. They start with x-, which JSON Schema and OpenAPI leave to
// us, and those that still matter to a reader stay in the assembled document.
const (
	// wordParameter keeps a property or branch when the model supports one of these parameters.
	wordParameter = "x-parameter"
	// wordInput keeps a property or branch when the model reads one of these modalities.
	wordInput = "x-input"
	// wordMedia marks a string that is a media type which the model reads, as data or by URL.
	wordMedia = "x-media"
	// wordURL keeps a property when some media can be sent by address.
	wordURL = "x-url"
	// wordNames with the value snake allows every member in snake case also.
	wordNames = "x-names"
	// wordMaximum sets the maximum to this limit of the model.
	wordMaximum = "x-maximum"
	// wordModel marks a string that is the id of the model.
	wordModel = "x-model"
	// wordSizes marks one of the model's sizes. The first is the default.
	wordSizes = "x-sizes"
	// wordSeconds marks one of the model's lengths. The first is the default.
	wordSeconds = "x-seconds"
	// wordAssets keeps a property when the model takes material assets, and bounds its items.
	wordAssets = "x-assets"
	// wordElse is the schema of an unsupported property. Without it the property may be null.
	wordElse = "x-else"
	// wordThinking keeps a property or branch when the model takes this form of thinking.
	wordThinking = "x-thinking"
)

//go:embed contracts/*.json
var fragmentFiles embed.FS

// fragments holds the base fragment of every style that has one.
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

// parameters lists the parameters that models may or may not support in some styles, in the order of the fragments.
func (f fragments) parameters(styles []llm.Style) []string {
	var names []string
	for _, style := range styles {
		if t := f[style]; t != nil {
			names = collectWords(t, wordParameter, names)
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

// contractParams is what one model says about its contracts.
type contractParams struct {
	model           string
	maxOutputTokens int64
	inputs          []string
	parameters      []string
	ranges          map[string]Range
	// thinking are the forms of thinking that the model takes; nil means all.
	thinking []string
	sizes    []string
	seconds  []int64
	// assets is the number of assets that a video call may name.
	assets int64
	// style is the style of the contract.
	style llm.Style
	// upstream lists the styles that the model's providers speak. An empty list puts no limit on what they can carry.
	upstream []llm.Style
	// traits says what each style can express; nil means everything.
	traits func(llm.Style) *llm.Traits
	// applied notes which parts of which ranges narrow a schema, or are where they cannot; nil when the caller does not
	// need it.
	applied map[string]bool
}

func (m *FileModel) terms() contractParams {
	var upstream []llm.Style
	for _, r := range m.Routes {
		upstream = append(upstream, r.Style)
	}
	return contractParams{
		upstream: upstream, model: m.ID, maxOutputTokens: m.MaxOutputTokens, inputs: m.Input, parameters: m.Parameters, ranges: m.Ranges,
		thinking: m.Thinking, sizes: m.Sizes, seconds: m.Seconds, assets: m.Assets,
	}
}

// assemble makes the JSON Schema of one model in one style from the base fragment of the style and the model's own terms. Its
// title is empty, as the title is what tells the contracts of models with equal terms apart.
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
	refuse(doc, extras)
	prune(doc)
	if doc.GetString(wordNames) != "" {
		doc.Delete(wordNames)
		spell(doc)
	}
	return doc, nil
}

// fit adapts a schema and everything below it to the model.
func (t contractParams) fit(s *jsontree.Value) error {
	if limit := s.GetString(wordMaximum); limit != "" {
		s.Delete(wordMaximum)
		if t.maxOutputTokens > 0 {
			s.Set("maximum", jsontree.Number(strconv.FormatInt(t.maxOutputTokens, 10)))
		}
	}
	s.Delete(wordThinking)
	t.fitVideo(s)
	t.fitStraight(s)
	if s.GetString(wordMedia) != "" {
		byURL := s.GetString(wordMedia) == "url"
		s.Delete(wordMedia)
		s.Set("pattern", jsontree.Text(t.mediaPattern(byURL)))
	}
	if p := strings.Fields(s.GetString(wordParameter)); len(p) > 0 {
		if err := t.narrow(p[0], s); err != nil {
			return fmt.Errorf("ranges.%s: %w", p[0], err)
		}
	}
	s.Delete(wordElse)
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
				soften(members.Items[i], base)
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
			soften(member, base)
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

// oneOf reports whether one of some names is known; no names ask for nothing.
func oneOf(names, known []string) bool {
	return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return slices.Contains(known, name) })
}

// takesThinking reports whether the model takes the form of a wish for thinking that a schema is about, if it is about one.
func (t contractParams) takesThinking(s *jsontree.Value) bool {
	form := s.GetString(wordThinking)
	return form == "" || t.thinking == nil || slices.Contains(t.thinking, form)
}

func (t contractParams) supports(s *jsontree.Value) bool {
	if !oneOf(strings.Fields(s.GetString(wordParameter)), t.parameters) {
		return false
	}
	if s.GetString(wordAssets) != "" && t.assets == 0 || !t.takesThinking(s) {
		return false
	}
	if f, named := featureWords[s.GetString(wordFeature)]; named && !t.carries(f) {
		return false
	}
	if s.GetString(wordURL) != "" && t.mediaPattern(true) == "" {
		return false
	}
	return oneOf(strings.Fields(s.GetString(wordInput)), t.inputs)
}

// unsupported replaces a property the model does not know by the values that change nothing, so that clients which
// always send every field with its default still work.
func (t contractParams) unsupported(member *jsontree.Value) *jsontree.Value {
	rest := member.Get(wordElse)
	if rest == nil {
		rest = jsontree.Object()
		rest.Set("type", jsontree.Text("null"))
	}
	rest = rest.Clone()
	parameters := strings.Fields(member.GetString(wordParameter))
	named, says := cmp.Or(member.GetString(wordInput), member.GetString(wordAssets)), "Not supported by this model."
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

// prune drops the definitions nothing refers to any more.
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
