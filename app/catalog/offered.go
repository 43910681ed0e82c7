package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app/jsonschema"
	"umg/app/jsontree"
	"umg/app/llm"
)

// These keywords depend on what the providers of a model can carry.
const (
	// keywordFeature keeps a property or branch when a provider of the model can carry this feature of the style.
	keywordFeature = "x-feature"
	// keywordSameStyle lists the values of the enum that only providers of the style itself take.
	keywordSameStyle = "x-same-style"
)

// featureWords are the values of keywordFeature.
var featureWords = map[string]llm.Feature{
	"choices": llm.FeatureChoices, "log_probs": llm.FeatureLogProbs, "schema": llm.FeatureSchema, "json": llm.FeatureJSON,
	"image_data": llm.FeatureImageData, "file_data": llm.FeatureFileData, "audio": llm.FeatureAudio, "video": llm.FeatureVideo,
	"result_media": llm.FeatureResultMedia,
}

// carries reports whether a provider of the model can carry a feature of the style. Translations refuse features by the same rule.
func (t contractParams) carries(f llm.Feature) bool {
	return t.anyUpstream(func(client, upstream *llm.Traits) bool {
		return TranslationOutcome(f, client, upstream) != Refused
	})
}

// hasSameStyle reports whether a provider of the model has the style itself, so that no call is translated for it.
func (t contractParams) hasSameStyle() bool {
	return t.anyUpstream(func(client, upstream *llm.Traits) bool { return client == upstream })
}

// anyUpstream reports whether can is true for one of the styles of the model's providers. It is true for a model without routes.
func (t contractParams) anyUpstream(can func(client, upstream *llm.Traits) bool) bool {
	if t.traits == nil || t.traits(t.style) == nil || len(t.upstream) == 0 {
		return true
	}
	return slices.ContainsFunc(t.upstream, func(s llm.Style) bool { return can(t.traits(t.style), t.traits(s)) })
}

// fitSameStyle removes the enum values that only providers of the style itself take, when the model has no such provider.
func (t contractParams) fitSameStyle(s *jsontree.Value) {
	values := s.GetStrings(keywordSameStyle)
	s.Delete(keywordSameStyle)
	enum := s.Get("enum")
	if len(values) == 0 || enum == nil || t.hasSameStyle() {
		return
	}
	enum.Items = slices.DeleteFunc(enum.Items, func(v *jsontree.Value) bool {
		return v.Kind == jsontext.KindString && slices.Contains(values, v.Text)
	})
}

// media are the modalities with the beginnings of their media types, and the features that carry them as data and by URL.
var media = []struct {
	input, types string
	data, url    llm.Feature
}{
	{"image", "image/", llm.FeatureImageData, llm.FeatureImageURL},
	{"audio", "audio/", llm.FeatureAudio, llm.FeatureAudio},
	{"video", "video/", llm.FeatureVideo, llm.FeatureVideo},
	{"file", "application/|text/", llm.FeatureFileData, llm.FeatureFileURL},
}

// mediaPattern matches the media types that the model reads and one of its providers can carry. It is empty when there are none.
func (t contractParams) mediaPattern(byURL bool) string {
	var all []string
	for _, m := range media {
		feature := m.data
		if byURL {
			feature = m.url
		}
		if slices.Contains(t.inputs, m.input) && t.carriesMedia(feature) {
			all = append(all, m.types)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "^(" + strings.Join(all, "|") + ")"
}

// carriesMedia is carries for media. It also allows media that the style has no feature for, when a translation can carry them.
func (t contractParams) carriesMedia(f llm.Feature) bool {
	return t.anyUpstream(func(client, upstream *llm.Traits) bool {
		return client == upstream || upstream != nil && upstream.Fields[f] != "" || f == llm.FeatureImageURL && upstream != nil &&
			upstream.Fields[llm.FeatureImageData] != ""
	})
}

// refuseExtras restricts the members that ask for extras which the model does not offer. They may only have values that ask for nothing
// else.
func (t contractParams) refuseExtras(doc *jsontree.Value, rows []Extra) {
	for _, row := range rows {
		if !row.Refused || strings.Contains(row.At, "*") {
			continue
		}
		rest := neutralSchema(row, t.wordsAt(row.At, rows), offerableAt(row.At, rows))
		steps := strings.Split(strings.ReplaceAll(row.At, "[]", ".[]"), ".")
		last := steps[len(steps)-1]
		if rest == nil || last == "[]" {
			continue
		}
		objects := slices.DeleteFunc(schemasAt(doc, []*jsontree.Value{doc}, steps[:len(steps)-1]), func(s *jsontree.Value) bool {
			return s.Get("properties") == nil
		})
		known := slices.ContainsFunc(objects, func(s *jsontree.Value) bool { return s.Get("properties").Get(last) != nil })
		for _, s := range objects {
			if props := s.Get("properties"); !known || props.Get(last) != nil {
				props.Set(last, rest.Clone())
			}
		}
	}
}

// wordsAt returns the values or types that the model offers at a place. A place that ends with a star has the words of the members below
// it.
func (t contractParams) wordsAt(place string, rows []Extra) (words []string) {
	above, isAbove := strings.CutSuffix(place, "*")
	for i := range rows {
		member, below := strings.CutPrefix(rows[i].At, above)
		if !t.offered.Has(i) || !isAbove && rows[i].At != place || isAbove && (!below || strings.Contains(member, ".")) {
			continue
		}
		for _, word := range rows[i].Words {
			if !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
	}
	return words
}

// offerableAt reports whether some model can offer an extra at a place.
func offerableAt(place string, rows []Extra) bool {
	return slices.ContainsFunc(rows, func(x Extra) bool { return x.At == place && x.Offerable() })
}

// describeExtras describes in a schema and everything inside it what the model offers beside answering, and adds it to lists of values.
func (t contractParams) describeExtras(s *jsontree.Value, rows []Extra) {
	if place := s.GetString(keywordExtra); place != "" {
		words, text := t.wordsAt(place, rows), s.GetString(keywordExtraNone)
		if len(words) > 0 {
			text = "This model offers " + strings.Join(words, ", ") + ", at its prices; other values are treated as not offered."
			if strings.Contains(text, "#") {
				text += " Here # stands for digits."
			}
			addWords(s.Get("enum"), words)
		}
		s.Delete(keywordExtra)
		s.Delete(keywordExtraNone)
		if text = strings.TrimSpace(s.GetString("description") + " " + text); text != "" {
			s.Set("description", jsontree.Text(text))
		}
	}
	for _, item := range s.Items {
		t.describeExtras(item, rows)
	}
}

// addWords adds words that are no patterns to the values of an enum.
func addWords(enum *jsontree.Value, words []string) {
	if enum == nil {
		return
	}
	for _, word := range words {
		has := slices.ContainsFunc(enum.Items, func(v *jsontree.Value) bool { return v.Kind == jsontext.KindString && v.Text == word })
		if !has && !strings.Contains(word, "#") {
			enum.Items = append(enum.Items, jsontree.Text(word))
		}
	}
}

// neutralSchema returns the schema of a refused member, with the words that the model offers; nil when its values are patterns, which the
// fragment must express.
func neutralSchema(row Extra, words []string, offerable bool) *jsontree.Value {
	literals := jsontree.Array()
	for _, word := range words {
		literals.Items = append(literals.Items, jsontree.Text(word))
	}
	rest := jsontree.Object()
	for _, free := range row.Free {
		switch {
		case strings.Contains(free, "*"):
			return nil
		case free == "[]":
			rest.Set("type", jsontree.Texts([]string{"array", "null"}))
			rest.Set("maxItems", jsontree.Number("0"))
		case free == "{}":
			rest.Set("type", jsontree.Texts([]string{"object", "null"}))
			rest.Set("maxProperties", jsontree.Number("0"))
		case free == "false":
			literals.Items = append(literals.Items, jsontree.Bool(false))
		default:
			literals.Items = append(literals.Items, jsontree.Text(free))
		}
	}
	if row.Limited {
		return nil
	}
	literals.Items = append(literals.Items, jsontree.Null())
	switch hasShape := rest.Get("type") != nil; {
	case hasShape && len(literals.Items) > 1:
		// The literals include null.
		rest.Set("type", jsontree.Text(rest.GetStrings("type")[0]))
		rest = jsontree.Object("anyOf", jsontree.Array(jsontree.Object("enum", literals), rest))
	case len(literals.Items) > 1:
		rest = jsontree.Object("enum", literals)
	case !hasShape:
		rest = jsontree.Object("type", "null")
	}
	advice := cmp.Or(row.Advice, "Leave it out.")
	if len(words) > 0 {
		text := "This model offers " + strings.Join(words, ", ") + ", at its prices. Any other " + row.What + " is refused."
		rest.Set("description", jsontree.Text(text))
		return rest
	}
	rest.Set(jsonschema.KeywordUnsupported, jsontree.Text(jsonschema.UnsupportedState))
	if offerable {
		rest.Set("description", jsontree.Text("Not offered for this model: "+row.What+". "+advice))
		return rest
	}
	rest.Set(jsonschema.KeywordNotOffered, jsontree.Text(row.What))
	if row.Advice != "" {
		rest.Set(jsonschema.KeywordInstead, jsontree.Text(row.Advice))
	}
	rest.Set("description", jsontree.Text("Not offered for any model: "+row.What+". "+advice))
	return rest
}

// schemasAt returns the schemas at a path. It follows references and all branches of choices.
func schemasAt(doc *jsontree.Value, at []*jsontree.Value, steps []string) []*jsontree.Value {
	for _, step := range append(slices.Clone(steps), "") {
		var open []*jsontree.Value
		seen := map[*jsontree.Value]bool{}
		var expand func(s *jsontree.Value)
		expand = func(s *jsontree.Value) {
			if s == nil || seen[s] {
				return
			}
			seen[s] = true
			if name, ok := strings.CutPrefix(s.GetString("$ref"), jsonschema.RefPrefix); ok {
				expand(doc.Get("$defs").Get(name))
				return
			}
			open = append(open, s)
			if s.Get("properties") != nil {
				// The choices of an object with properties are conditions on its members.
				return
			}
			for _, branch := range append(s.GetItems("anyOf"), s.GetItems("oneOf")...) {
				expand(branch)
			}
		}
		for _, s := range at {
			expand(s)
		}
		at = nil
		for _, s := range open {
			switch {
			case step == "":
				at = append(at, s)
			case step == "[]" && s.Get("items") != nil:
				at = append(at, s.Get("items"))
			case step != "[]" && s.Get("properties") != nil && s.Get("properties").Get(step) != nil:
				at = append(at, s.Get("properties").Get(step))
			}
		}
	}
	return at
}
