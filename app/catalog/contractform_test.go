package catalog

import (
	"bytes"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/app"
	"umg/app/jsontree"
	"umg/app/llm"
)

// textTerms are the terms of a text model whose contracts have bounds, words and hints.
func textTerms() contractParams {
	return contractParams{
		model: "acme/one", maxOutputTokens: 4096, inputs: []string{"text", "image"},
		parameters: []string{"temperature", "reasoning_effort", "tools"},
		ranges:     map[string]Range{"temperature": {Max: "1"}, "reasoning_effort": {Values: []string{"low", "high"}}},
		upstream:   []llm.Style{llm.Chat},
	}
}

func mustContract(t *testing.T, s *contractSet, style llm.Style, of contractParams) *Contract {
	t.Helper()
	c, ok, err := s.contract(style, of)
	if err != nil || !ok {
		t.Fatalf("no contract in style %s: %v", style, err)
	}
	return c
}

// styledOptions are options with made-up traits of the styles, so that the styles of providers make a difference.
func styledOptions() Options {
	traits := map[llm.Style]*llm.Traits{}
	for _, s := range llm.Styles() {
		t := &llm.Traits{Style: s}
		for f := range t.Fields {
			t.Fields[f] = "f" + strconv.Itoa(f)
		}
		traits[s] = t
	}
	traits[llm.Chat].Fields[llm.FeatureTopK] = ""
	traits[llm.Chat].Fields[llm.FeatureReasoning] = "reasoning_effort"
	traits[llm.Chat].Fields[llm.FeatureStop] = "stop"
	traits[llm.Messages].Fields[llm.FeatureTopK] = "top_k"
	for _, f := range []llm.Feature{llm.FeatureSeed, llm.FeatureLogProbs, llm.FeatureAudio, llm.FeaturePenalties} {
		traits[llm.Messages].Fields[f] = ""
	}
	traits[llm.Native].Fields[llm.FeatureTopK] = "generationConfig.topK"
	traits[llm.Native].Fields[llm.FeatureImageURL] = ""
	traits[llm.Native].Fields[llm.FeatureFileID] = ""
	traits[llm.Responses].Fields[llm.FeatureStop] = ""
	return Options{
		Now: time.Now, Secrets: lookup, Traits: func(s llm.Style) *llm.Traits { return traits[s] },
		Extras: func(s llm.Style) []Extra {
			return []Extra{{Field: "`tools[]` but for `own`, " + string(s), What: "a tool | of theirs", Fate: "left out"}}
		},
	}
}

func TestModelsOfEqualTermsShareOneForm(t *testing.T) {
	t.Parallel()
	b, err := newContractBuilder(styledOptions())
	if err != nil {
		t.Fatal(err)
	}
	set := b.set(nil)
	other := textTerms()
	other.model = "acme/two"
	for _, style := range llm.Styles() {
		one, two := mustContract(t, set, style, textTerms()), mustContract(t, set, style, other)
		if one.form != two.form {
			t.Errorf("%s: models of equal terms have forms of their own", style)
		}
		if one.Hash() == two.Hash() || !bytes.Contains(one.Schema(), []byte(`"title":"acme/one, `+string(style)+` style"`)) ||
			!bytes.Contains(two.Schema(), []byte(`"title":"acme/two, `+string(style)+` style"`)) {
			t.Errorf("%s: two models have one schema", style)
		}
		alone, _, err := b.build(style, other)
		if err != nil || alone.Hash() != two.Hash() || !bytes.Equal(alone.Schema(), two.Schema()) {
			t.Errorf("%s: a contract that shares its form is not the contract that is made alone: %v", style, err)
		}
		body := []byte(`{"n":"x","max_tokens":"x","max_output_tokens":"x","generationConfig":1}`)
		e, f := app.AsError(one.Check(body)), app.AsError(two.Check(body))
		if e == nil || f == nil || e.Message != strings.ReplaceAll(f.Message, "acme/two", "acme/one") ||
			e.Doc != "/v1/model/api.md?model=acme/one" || f.Doc != "/v1/model/api.md?model=acme/two" {
			t.Errorf("%s: %v, %v", style, e, f)
		}
	}
}

func TestModelsOfOtherTermsHaveFormsOfTheirOwn(t *testing.T) {
	t.Parallel()
	changes := map[string]func(*contractParams){
		"maximum of tokens": func(o *contractParams) { o.maxOutputTokens = 8192 },
		"inputs":            func(o *contractParams) { o.inputs = []string{"text"} },
		"parameters":        func(o *contractParams) { o.parameters = append(o.parameters, "n") },
		"a parameter less":  func(o *contractParams) { o.parameters = o.parameters[:2] },
		"range of numbers":  func(o *contractParams) { o.ranges["temperature"] = Range{Max: "1.5"} },
		"enumeration of effort": func(o *contractParams) {
			o.ranges["reasoning_effort"] = Range{Values: []string{"low", "medium", "high"}}
		},
		"styles of providers": func(o *contractParams) { o.upstream = []llm.Style{llm.Native} },
	}
	b, err := newContractBuilder(styledOptions())
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range changes {
		set := b.set(nil)
		other := textTerms()
		change(&other)
		for _, style := range llm.Styles() {
			if mustContract(t, set, style, textTerms()).form == mustContract(t, set, style, other).form {
				t.Errorf("%s: other %s share a form", style, name)
			}
		}
	}
	set := b.set(nil)
	forms := map[*contractForm]llm.Style{}
	for _, style := range llm.Styles() {
		form := mustContract(t, set, style, textTerms()).form
		if same, shared := forms[form]; shared {
			t.Errorf("%s and %s share a form", same, style)
		}
		forms[form] = style
	}
}

// TestEveryTermIsInTheKey sets each field of the terms in turn, so that a field that is added later cannot be forgotten.
func TestEveryTermIsInTheKey(t *testing.T) {
	t.Parallel()
	common := []string{"traits", "applied"} // All contracts of a builder have the same traits, and applied is a note.
	seen := map[string]string{contractParams{}.key(): "no field"}
	for field := range reflect.TypeFor[contractParams]().Fields() {
		if slices.Contains(common, field.Name) {
			continue
		}
		of := contractParams{style: VideosStyle}
		switch field.Name { // Reflection cannot set fields that are not exported.
		case "model":
			of.model = "x"
		case "aliases":
			of.aliases = []string{"x"}
		case "maxOutputTokens":
			of.maxOutputTokens = 1
		case "inputs":
			of.inputs = []string{"x"}
		case "parameters":
			of.parameters = []string{"x"}
		case "ranges":
			of.ranges = map[string]Range{"x": {Min: "1"}}
		case "sizes":
			of.sizes = []string{"x"}
		case "seconds":
			of.seconds = []int64{1}
		case "assets":
			of.assets = 1
		case "thinking":
			of.thinking = []string{"x"}
		case "style":
		case "upstream":
			of.upstream = []llm.Style{llm.Chat}
		case "offered":
			of.offered.Add(0)
		default:
			t.Errorf("say here how terms differ in %s", field.Name)
			continue
		}
		if same, known := seen[of.key()]; known {
			t.Errorf("terms that differ in %s have the key of those with %s", field.Name, same)
		}
		seen[of.key()] = field.Name
	}
}

// TestStrictAndLenientChecksOfOneFormDiffer lets two models that share a form check bodies side by side, one of them strictly.
func TestStrictAndLenientChecksOfOneFormDiffer(t *testing.T) {
	t.Parallel()
	b, err := newContractBuilder(Options{})
	if err != nil {
		t.Fatal(err)
	}
	set := b.set(nil)
	other := textTerms()
	other.model = "acme/two"
	strict, lenient := mustContract(t, set, llm.Chat, textTerms()), mustContract(t, set, llm.Chat, other)
	body := []byte(`{"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":9999,"reasoning_effort":"medium","seed":1}`)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 50 {
				if e := app.AsError(strict.Check(body)); e == nil || e.Param != "max_tokens" {
					t.Errorf("strict: %v", e)
				}
				hints, err := lenient.Admit(body)
				if err != nil || len(hints) != 3 || hints[0].Instead != "4096" || hints[1].Instead != `"low"` || hints[2].Field != "seed" {
					t.Errorf("lenient: %+v, %v", hints, err)
				}
			}
		})
	}
	group.Wait()
}

func TestASnapshotKeepsTheContractsOfTheOneBefore(t *testing.T) {
	t.Parallel()
	contracts, err := newContractBuilder(styledOptions())
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Now: time.Now, Secrets: lookup}
	snapshot := func(before *Snapshot, f File) *Snapshot {
		t.Helper()
		s, err := snapshotOf(stored{file: f}, before, contracts, o)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	f := parse(t, string(Default()))
	first := snapshot(nil, f)
	f.Models = slices.Clone(f.Models)
	changed, gone := f.Models[0].ID, f.Models[1].ID
	f.Models[0].MaxOutputTokens--
	f.Models[0].Name = "Another name"
	f.Models = slices.Delete(f.Models, 1, 2)
	second := snapshot(first, f)
	for _, m := range second.Models() {
		before, _ := first.Model(m.ID)
		for style, c := range m.contracts {
			if kept := before.contracts[style] == c; kept == (m.ID == changed) {
				t.Errorf("the contract of %s in style %s: kept %t", m.ID, style, kept)
			}
		}
		if m.video != before.video || m.remix != before.remix {
			t.Errorf("the contracts of %s as a video are made a second time", m.ID)
		}
	}
	used := map[*contractForm]bool{}
	for _, m := range second.Models() {
		for _, c := range append(slices.Collect(maps.Values(m.contracts)), m.video, m.remix) {
			if c != nil {
				used[c.form] = true
			}
		}
	}
	for key, form := range second.forms {
		if !used[form] {
			t.Errorf("a snapshot without %s keeps the form of %s, which no model has", gone, key)
		}
	}
	if len(used) != len(second.forms) {
		t.Errorf("models have %d forms, the snapshot hands over %d", len(used), len(second.forms))
	}
	fresh := snapshot(nil, f)
	if !bytes.Equal(fresh.list, second.list) {
		t.Error("a snapshot that took contracts over is not the snapshot that is made alone")
	}
}

// TestEveryContractThatIsNotProvenCompiles tries terms whose forms are compiled only when they are needed: each parameter,
// input and style of providers alone and missing from all, and ranges without numbers of items.
func TestEveryContractThatIsNotProvenCompiles(t *testing.T) {
	t.Parallel()
	b, err := newContractBuilder(styledOptions())
	if err != nil {
		t.Fatal(err)
	}
	whole := everything(t)
	tried := []contractParams{whole, plain(), filmTerms()}
	for i := range whole.parameters {
		one, less := plain(), whole
		one.parameters = whole.parameters[i : i+1]
		less.parameters = slices.Delete(slices.Clone(whole.parameters), i, i+1)
		tried = append(tried, one, less)
		for _, r := range []Range{{Values: []string{"unheard of"}}, {Min: "-1.5", Max: "1e3", Default: "0.7"}, {Max: "-0.5"}} {
			ranged := whole
			ranged.ranges = map[string]Range{whole.parameters[i]: r}
			tried = append(tried, ranged)
		}
	}
	for i := range whole.inputs {
		one, less := plain(), whole
		one.inputs = whole.inputs[i : i+1]
		less.inputs = slices.Delete(slices.Clone(whole.inputs), i, i+1)
		tried = append(tried, one, less)
	}
	refused := 0
	for i, of := range tried {
		for _, style := range contractStyles() {
			of.upstream = [][]llm.Style{nil, {llm.Chat}, {llm.Messages}, {llm.Responses}, {llm.Native}, llm.Styles()}[i%6]
			c, _, err := b.build(style, of)
			if err != nil && len(of.ranges) > 0 {
				refused++ // A range can be refused when the contract is assembled.
				continue
			}
			if err != nil || of.mayNotCompile() {
				t.Fatalf("%s of %v: %v", style, of.parameters, err)
			}
			if _, err := c.form.compiled(); err != nil {
				t.Errorf("%s of %v %v by %v: %v", style, of.parameters, of.ranges, of.upstream, err)
			}
		}
	}
	if refused == 0 || refused > len(tried) {
		t.Errorf("%d contracts of %d terms are refused when they are assembled", refused, len(tried))
	}
}

// TestNoParameterIsBoundedByTheTokensOfTheModel is why the check of ranges need not tell models apart by their tokens.
func TestNoParameterIsBoundedByTheTokensOfTheModel(t *testing.T) {
	t.Parallel()
	all, err := loadFragments()
	if err != nil {
		t.Fatal(err)
	}
	bounded := 0
	var visit func(style llm.Style, s *jsontree.Value, inside bool)
	visit = func(style llm.Style, s *jsontree.Value, inside bool) {
		inside = inside || s.GetString(keywordParameter) != ""
		if s.GetString(keywordMaximum) != "" {
			bounded++
			if inside {
				t.Errorf("a parameter of style %s is bounded by %s", style, s.GetString(keywordMaximum))
			}
		}
		for _, item := range s.Items {
			visit(style, item, inside)
		}
	}
	for style, fragment := range all {
		visit(style, fragment, false)
	}
	if bounded == 0 {
		t.Error("no style bounds the tokens of an answer")
	}
}

// TestRangesThatCannotBeCompiledAreRefusedAtOnce loads and checks a range that only the compiler refuses.
func TestRangesThatCannotBeCompiledAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	const says = `contract of acme/one in style chat: stop: maxItems: strconv.Atoi: parsing "1.5": invalid syntax`
	f := parse(t, with(t, "ranges: {", "ranges: {stop: {max_items: 1.5}, "))
	if err := errors.Join(Check(f)...); err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("the check says %v", err)
	}
	contracts, err := newContractBuilder(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := snapshotOf(stored{file: f}, nil, contracts, Options{Now: time.Now, Secrets: lookup}); err == nil ||
		!strings.Contains(err.Error(), says) {
		t.Errorf("the snapshot says %v", err)
	}
}

// TestModelsThatAreAlikeAddNoForms is why a catalog of many models costs a server little time and memory.
func TestModelsThatAreAlikeAddNoForms(t *testing.T) {
	t.Parallel()
	few, many := defaultSnapshot(t), snapshotFrom(t, manyModels(t))
	if len(many.Models()) != modelsMany || len(many.forms) != len(few.forms) {
		t.Errorf("%d models have %d forms, the %d of the default catalog %d", len(many.Models()), len(many.forms), len(few.Models()), len(few.forms))
	}
	for key, form := range many.forms {
		if form.schema.Load() != nil && !strings.Contains(key, "MaxItems:\"") {
			t.Errorf("a form is compiled before a body is checked: %s", key)
		}
	}
}
