package catalog

import (
	"slices"
	"strings"

	"umg/app/llm"
)

// featureRequirement is what a feature is called in guides, and what a model must have for it to matter: a parameter or one of some
// kinds of input.
type featureRequirement struct{ name, parameter, inputs string }

var wishes = [llm.FeatureCount]featureRequirement{
	llm.FeatureTopK:        {name: "drawing from the k most likely tokens"},
	llm.FeatureSeed:        {"a seed", "seed", ""},
	llm.FeaturePenalties:   {"penalties", "presence_penalty", ""},
	llm.FeatureVerbosity:   {"verbosity", "verbosity", ""},
	llm.FeatureMetadata:    {name: "your own metadata"},
	llm.FeatureEndUser:     {name: "your identifier of the person"},
	llm.FeatureParticipant: {name: "names of participants"},
	llm.FeatureDetail:      {"the detail of a picture", "", "image"},
	llm.FeatureParallel:    {"one tool call at most", "tools", ""},
	llm.FeatureReasoning:   {"how long to think", "reasoning_effort", ""},
	llm.FeatureCustomTool:  {"tools that take free text", "custom_tools", ""},
	llm.FeatureStop:        {"texts that end the answer", "stop", ""},
	llm.FeatureSchema:      {"JSON that follows a schema", "structured_outputs", ""},
	llm.FeatureJSON:        {"any JSON", "response_format", ""},
	llm.FeatureChoices:     {"more than one answer", "n", ""},
	llm.FeatureLogProbs:    {"probabilities of tokens", "logprobs", ""},
	llm.FeatureImageData:   {"pictures as data", "", "image"},
	llm.FeatureImageURL:    {"pictures by address", "", "image"},
	llm.FeatureFileData:    {"files as data", "", "file"},
	llm.FeatureFileURL:     {"files by address", "", "file"},
	llm.FeatureAudio:       {"sound", "", "audio"},
	llm.FeatureVideo:       {"film", "", "video"},
	llm.FeatureResultMedia: {"pictures and files in the result of a tool", "tools", "image file"},
}

// matters reports whether the model takes what the wish is about at all.
func (w featureRequirement) matters(m *Model) bool {
	in := strings.Fields(w.inputs)
	return (w.parameter == "" || slices.Contains(m.Parameters, w.parameter)) &&
		(len(in) == 0 || slices.ContainsFunc(in, func(modality string) bool { return slices.Contains(m.InputModalities, modality) }))
}

// loss is what becomes of one wish of a request when it is translated.
type loss struct {
	field string // as the client's style names it
	wish  string
	fate  []string // for each of the upstream styles
}

// The fates of a wish.
const (
	fateCarried = "carried"
	fateDropped = "dropped"
	fateRefused = "refused"
	fateWatched = "done by the gateway"
	fateFetched = "fetched and sent as data"
	fateWrapped = "sent as functions"
)

// upstreamStyles are those that the model's routes speak, in the order they are tried.
func (m *Model) upstreamStyles() []llm.Style {
	var all []llm.Style
	for _, r := range m.Routes {
		if !slices.Contains(all, r.Style) {
			all = append(all, r.Style)
		}
	}
	return all
}

// losses lists what a style can express and at least one of the upstream styles of the model's routes cannot. It is
// empty when the traits of the styles were not set.
func (g *apiDocs) losses(m *Model, style llm.Style) []loss {
	client := g.traits(style)
	if client == nil {
		return nil
	}
	var all []loss
	for f, field := range client.Fields {
		feature := llm.Feature(f)
		if field == "" || feature == llm.FeatureFileID || !wishes[feature].matters(m) { // files that a provider keeps are refused everywhere
			continue
		}
		l := loss{field: field, wish: wishes[feature].name}
		for _, upstream := range m.upstreamStyles() {
			l.fate = append(l.fate, fateOf(feature, client, g.traits(upstream)))
		}
		if slices.ContainsFunc(l.fate, func(fate string) bool { return fate != fateCarried }) {
			all = append(all, l)
		}
	}
	return all
}

func fateOf(f llm.Feature, client, upstream *llm.Traits) string {
	switch {
	case upstream == nil || upstream == client || upstream.Fields[f] != "" && f.Translated():
		return fateCarried
	case f == llm.FeatureStop:
		return fateWatched
	case f == llm.FeatureImageURL && upstream.Fields[llm.FeatureImageData] != "":
		return fateFetched
	case f == llm.FeatureCustomTool:
		return fateWrapped
	case f.Droppable():
		return fateDropped
	default:
		return fateRefused
	}
}

func (g *apiDocs) traits(style llm.Style) *llm.Traits {
	if g.o.Traits == nil {
		return nil
	}
	return g.o.Traits(style)
}

// lost are the fields that no route of the model can carry, each with what becomes of it.
func lost(all []loss) map[string]string {
	fields := map[string]string{}
	for _, l := range all {
		if slices.ContainsFunc(l.fate, func(fate string) bool { return fate != l.fate[0] }) {
			continue
		}
		for field := range strings.SplitSeq(l.field, ", ") {
			switch l.fate[0] {
			case fateDropped:
				fields[field] = "Dropped: no provider of this model knows it."
			case fateRefused:
				fields[field] = "Refused for " + l.wish + ": no provider of this model can do it."
			}
		}
	}
	return fields
}
