package catalog

import (
	"slices"
	"strings"

	"umg/app/jsonschema"
	"umg/app/jsontree"
)

// hintTexts describe what the gateway does with a hint that the model does not take, by the values of KeywordHint.
var hintTexts = map[string]string{
	jsonschema.HintDrop:    "It is left out of a request, or refused where the key is strict.",
	jsonschema.HintClamp:   "Another value of the style becomes the nearest of these, or is refused where the key is strict.",
	jsonschema.HintConvert: "Another form of the style becomes one of these, or is refused where the key is strict.",
	jsonschema.HintBound:   "A larger value becomes the maximum, or is refused where the key is strict.",
}

// addStyleSchema adds the schema of the style to a hint for which the model takes less, and describes what happens to other values.
func addStyleSchema(t, base *jsontree.Value) {
	kind := base.GetString(jsonschema.KeywordHint)
	dropAssemblyKeywords(base)
	text := hintTexts[kind]
	model, style := withKeyword(t, "enum"), withKeyword(base, "enum")
	takesAll := model != nil && style != nil && slices.Equal(model.GetStrings("enum"), style.GetStrings("enum"))
	switch {
	case t.GetString(jsonschema.KeywordUnsupported) != "":
		text = hintTexts[jsonschema.HintDrop]
	case kind == jsonschema.HintClamp && takesAll, kind == jsonschema.HintBound && t.Get("maximum") == nil:
		text = ""
	}
	if text != "" {
		t.Set("description", jsontree.Text(strings.TrimSpace(t.GetString("description")+" "+text)))
	}
	t.Set(jsonschema.KeywordHint, jsontree.Text(kind))
	t.Set(jsonschema.KeywordStyle, base)
}

// dropAssemblyKeywords removes the keywords of the assembly from a schema.
func dropAssemblyKeywords(t *jsontree.Value) {
	for _, word := range []string{
		keywordParameter, keywordInput, keywordElse, keywordMaximum, jsonschema.KeywordHint,
		keywordThinking, keywordFeature, keywordSameStyle, keywordURL, keywordMedia, keywordExtra, keywordExtraNone,
	} {
		t.Delete(word)
	}
	for _, item := range t.Items {
		dropAssemblyKeywords(item)
	}
}

// dropStyles removes the schemas of the style from a document. Only its check needs them.
func dropStyles(t *jsontree.Value) {
	t.Delete(jsonschema.KeywordStyle)
	for _, item := range t.Items {
		dropStyles(item)
	}
}
