package catalog

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// The words by which a fragment speaks to the assembler. They start with x-, which JSON Schema and OpenAPI leave to
// us, and those that still matter to a reader stay in the assembled document.
const (
	wordParameter   = "x-parameter"   // the property or branch exists when the model supports one of these parameters
	wordInput       = "x-input"       // the property or branch exists when the model reads one of these modalities
	wordMedia       = "x-media"       // the text is a media type that the model reads, as data or by url
	wordURL         = "x-url"         // the property exists when some media can be carried by address
	wordNames       = "x-names"       // snake: every member may also be spelled in snake case
	wordSameAs      = "x-same-as"     // left on such another spelling: the member's own name
	wordMaximum     = "x-maximum"     // the maximum is this limit of the model
	wordModel       = "x-model"       // the text is the model's id
	wordSizes       = "x-sizes"       // one of the model's sizes, the first unless asked otherwise
	wordSeconds     = "x-seconds"     // one of the model's lengths, the first unless asked otherwise
	wordAssets      = "x-assets"      // the property exists when the model takes material assets, and has at most as many items
	wordElse        = "x-else"        // what an unsupported property may still be; null when absent
	wordUnsupported = "x-unsupported" // left in the document in place of x-parameter
	wordThinking    = "x-thinking"    // the property or branch exists when the model takes this form of a wish for thinking
	wordHint        = "x-hint"        // a request makes sense without the property, so drop, clamp, convert or bound it
	wordStyle       = "x-style"       // beside a hint until the document is compiled: what the style takes there
	wordState       = "state"         // in place of a parameter: the style has it, but this service keeps no state
)

//go:embed contracts/*.json
var fragmentFiles embed.FS

// fragments holds the base fragment of every style that has one.
type fragments map[llm.Style]*tree

func loadFragments() (fragments, error) {
	all := fragments{}
	for _, style := range contractStyles() {
		raw, err := fragmentFiles.ReadFile("contracts/" + string(style) + ".json")
		if err != nil {
			continue
		}
		t, err := parseTree(raw)
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

func collectWords(t *tree, word string, into []string) []string {
	for v := range strings.FieldsSeq(t.word(word)) {
		if !slices.Contains(into, v) {
			into = append(into, v)
		}
	}
	for _, item := range t.items {
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
	thinking        []string // the forms of a wish for thinking; nil: all
	sizes           []string
	seconds         []int64
	// assets is the number of assets that a video call may name.
	assets int64
	// style is the style of the contract.
	style llm.Style
	// upstream lists the styles that the model's providers speak. An empty list puts no limit on what they can carry.
	upstream []llm.Style
	traits   func(llm.Style) *llm.Traits // what the styles can say; nil: everything
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
func assemble(base *tree, t contractParams, extras []Extra) (*tree, error) {
	doc := &tree{kind: jsontext.KindBeginObject}
	doc.set("$schema", textTree("https://json-schema.org/draft/2020-12/schema"))
	doc.set("title", textTree(""))
	body := base.clone()
	for i, name := range body.names {
		doc.set(name, body.items[i])
	}
	if err := t.fit(doc); err != nil {
		return nil, err
	}
	refuse(doc, extras)
	prune(doc)
	if doc.word(wordNames) != "" {
		doc.drop(wordNames)
		spell(doc)
	}
	return doc, nil
}

// fit adapts a schema and everything below it to the model.
func (t contractParams) fit(s *tree) error {
	if limit := s.word(wordMaximum); limit != "" {
		s.drop(wordMaximum)
		if t.maxOutputTokens > 0 {
			s.set("maximum", numberTree(strconv.FormatInt(t.maxOutputTokens, 10)))
		}
	}
	s.drop(wordThinking)
	t.fitVideo(s)
	t.fitStraight(s)
	if s.word(wordMedia) != "" {
		byURL := s.word(wordMedia) == "url"
		s.drop(wordMedia)
		s.set("pattern", textTree(t.mediaPattern(byURL)))
	}
	if p := strings.Fields(s.word(wordParameter)); len(p) > 0 {
		if err := t.narrow(p[0], s); err != nil {
			return fmt.Errorf("ranges.%s: %w", p[0], err)
		}
	}
	s.drop(wordElse)
	for i, name := range s.names {
		child := s.items[i]
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

func (t contractParams) fitMembers(members *tree) error {
	for i, member := range members.items {
		kind, base := member.word(wordHint), member
		if kind != "" {
			base = member.clone()
		}
		if !t.supports(member) {
			members.items[i] = t.unsupported(member)
			if kind != "" {
				soften(members.items[i], base)
			}
			continue
		}
		if err := t.fit(member); err != nil {
			return err
		}
		switch {
		case kind == "":
		case kind == hintDrop, kind == hintConvert && t.thinking == nil:
			member.drop(wordHint)
		default:
			soften(member, base)
		}
	}
	return nil
}

func (t contractParams) fitBranches(branches *tree) error {
	branches.items = slices.DeleteFunc(branches.items, func(b *tree) bool { return !t.supports(b) })
	for _, branch := range branches.items {
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
func (t contractParams) takesThinking(s *tree) bool {
	form := s.word(wordThinking)
	return form == "" || t.thinking == nil || slices.Contains(t.thinking, form)
}

func (t contractParams) supports(s *tree) bool {
	if !oneOf(strings.Fields(s.word(wordParameter)), t.parameters) {
		return false
	}
	if s.word(wordAssets) != "" && t.assets == 0 || !t.takesThinking(s) {
		return false
	}
	if f, named := featureWords[s.word(wordFeature)]; named && !t.carries(f) {
		return false
	}
	if s.word(wordURL) != "" && t.mediaPattern(true) == "" {
		return false
	}
	return oneOf(strings.Fields(s.word(wordInput)), t.inputs)
}

// unsupported replaces a property the model does not know by the values that change nothing, so that clients which
// always send every field with its default still work.
func (t contractParams) unsupported(member *tree) *tree {
	rest := member.get(wordElse)
	if rest == nil {
		rest = &tree{kind: jsontext.KindBeginObject}
		rest.set("type", textTree("null"))
	}
	rest = rest.clone()
	parameters := strings.Fields(member.word(wordParameter))
	named, says := cmp.Or(member.word(wordInput), member.word(wordAssets)), "Not supported by this model."
	if len(parameters) > 0 {
		named = parameters[0]
	}
	if named == "" || len(parameters) > 0 && oneOf(parameters, t.parameters) && t.takesThinking(member) {
		named, says = notCarried, "Not supported by this model in this style: none of its providers can carry it."
	}
	rest.set(wordUnsupported, textTree(named))
	rest.set("description", textTree(says))
	return rest
}

// prune drops the definitions nothing refers to any more.
func prune(doc *tree) {
	defs := doc.get("$defs")
	if defs == nil {
		return
	}
	reached := map[string]bool{}
	var visit func(s *tree)
	visit = func(s *tree) {
		for i, item := range s.items {
			switch {
			case s == doc && s.names[i] == "$defs":
			case s.names != nil && s.names[i] == "$ref":
				def := strings.TrimPrefix(item.text, refPrefix)
				if target := defs.get(def); target != nil && !reached[def] {
					reached[def] = true
					visit(target)
				}
			default:
				visit(item)
			}
		}
	}
	visit(doc)
	for _, name := range slices.Clone(defs.names) {
		if !reached[name] {
			defs.drop(name)
		}
	}
	if len(defs.names) == 0 {
		doc.drop("$defs")
	}
}
