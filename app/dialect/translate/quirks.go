package translate

import (
	"slices"

	"umg/app/llm"
	"umg/app/provider/quirk"
)

// ApplyQuirks makes the request one that its provider takes, whose members differ by the rules. Call it once, and before Prepare.
func (x *Exchange) ApplyQuirks(rules *quirk.Rules) {
	if x.t != nil {
		x.quirks = rules
		x.watchRefusedStops()
		return
	}
	body, refused := rules.Rewrite(x.body)
	head, err := x.upstream.Peek(body)
	if err != nil {
		// The provider reports what is wrong with the request.
		return
	}
	x.quirks, x.body, x.head, x.refused = rules, body, &head, refused
}

// watchRefusedStops makes the gateway watch for the stop sequences of a translated request when the provider does not take any.
func (x *Exchange) watchRefusedStops() {
	r := x.t.request
	if len(r.Stop) == 0 || !x.quirks.Drops(fieldStop, string(r.Reasoning.NamedEffort())) {
		return
	}
	// A stream can be stopped at a stop sequence.
	x.t.stops, r.Stop, r.Stream = r.Stop, nil, true
}

// rewriteTranslated returns a translated request as the provider takes it, and notes what that leaves out.
func (x *Exchange) rewriteTranslated(body []byte) []byte {
	body, refused := x.quirks.Rewrite(body)
	for _, name := range refused {
		for _, field := range x.clientFields(name) {
			if !slices.Contains(x.refused, field) {
				x.refused = append(x.refused, field)
			}
		}
	}
	return body
}

const fieldStop = "stop"

// memberFeatures has the features of the members of a chat request that a provider may refuse.
var memberFeatures = map[string]llm.Feature{
	"frequency_penalty": llm.FeaturePenalties, "presence_penalty": llm.FeaturePenalties, "seed": llm.FeatureSeed,
	"verbosity": llm.FeatureVerbosity, "metadata": llm.FeatureMetadata, "user": llm.FeatureEndUser,
	"parallel_tool_calls": llm.FeatureParallel, "reasoning_effort": llm.FeatureReasoning, "logprobs": llm.FeatureLogProbs,
	"response_format": llm.FeatureJSON, "response_format.json_schema": llm.FeatureSchema, "n": llm.FeatureChoices, fieldStop: llm.FeatureStop,
}

// clientFields returns the members of the client's request that became a member of the request for the provider. It returns none when the
// client's style has nothing like it.
func (x *Exchange) clientFields(name string) []string {
	feature, known := memberFeatures[name]
	if !known {
		return []string{name} // Temperature and top_p are listed by these names in all styles.
	}
	field := x.client.Codec.Traits().Fields[feature]
	if field == "" {
		return nil
	}
	return x.t.droppedMembers(feature, field)
}
