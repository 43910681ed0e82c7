package translate

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"umg/app"
	"umg/app/dialect"
	"umg/app/dialect/rawjson"
	"umg/app/llm"
	"umg/app/provider/quirk"
)

// Exchange is the request and the answer of one call on one route. It passes bytes through when the route speaks the style of the
// client, and translates both ways otherwise.
type Exchange struct {
	client, upstream *dialect.Dialect
	body             []byte
	head             *dialect.Head
	// t is nil when bytes pass through.
	t *translation
	// prefix is the beginning of the answer with which the request ends.
	prefix string
	// removed are members that were removed from the request of the client earlier.
	removed []string
	// quirks are in what requests to the provider differ; nil when they do not. refused are the members that it does not take.
	quirks  *quirk.Rules
	refused []string
	// imagesAsData means that the provider fetches no images.
	imagesAsData bool
}

// Passthrough returns the exchange of a call whose route speaks its own style.
func Passthrough(d *dialect.Dialect, body []byte, h *dialect.Head) *Exchange {
	x := &Exchange{}
	x.PassThrough(d, body, h)
	return x
}

// PassThrough makes an exchange the one that Passthrough returns.
func (x *Exchange) PassThrough(d *dialect.Dialect, body []byte, h *dialect.Head) {
	*x = Exchange{client: d, upstream: d, body: body, head: h}
}

// translation is the state of a translated request until its answer.
type translation struct {
	// original is the request of the client.
	original *llm.Request
	// request is the request for the provider.
	request *llm.Request
	// provider is the maker of the signatures that can be sent, and of the new ones.
	provider string
	names    names
	// freeText are the tools that take free text and become functions, by the names of the functions.
	freeText map[string]bool
	// used are the ids of the calls in the history; nil until they are needed.
	used map[string]bool
	// stops are the stop sequences that the style of the provider cannot express. The gateway watches for them.
	stops   []string
	dropped []string
}

// NoteRemoved records members that were removed from the request of the client earlier.
func (x *Exchange) NoteRemoved(names []string) { x.removed = names }

// New returns the exchange of a call whose route speaks another style, or whose history has signatures of several providers. It does
// not change the request. outputMax, in tokens, replaces a missing bound on output. It returns an *app.Error with the field when
// something that changes the meaning of the answer cannot be carried.
func New(client, upstream *dialect.Dialect, r *llm.Request, provider string, outputMax int64) (*Exchange, error) {
	reduced := *r
	t := &translation{original: r, request: &reduced, provider: provider, dropped: slices.Clone(r.Dropped)}
	if err := t.reduce(client.Codec.Traits(), upstream.Codec.Traits()); err != nil {
		return nil, err
	}
	if signsText(upstream.Style) { // The models of both styles are those of the messages style.
		if reduced.MaxOutput == 0 && (upstream.Style == llm.Messages || asksForThinking(reduced.Reasoning)) {
			// The reasoning must fit into the bound.
			reduced.MaxOutput = outputMax
		}
		if p, err := strconv.ParseFloat(string(reduced.Sampling.TopP), 64); err == nil && p == 1 && client != upstream {
			// A top_p of 1 has no effect, and many models refuse it together with a temperature.
			reduced.Sampling.TopP = ""
		}
	}
	showsByDefault := client.Style == llm.Chat || client.Style == llm.Messages
	if reduced.Reasoning.Show == "" && asksForThinking(reduced.Reasoning) && showsByDefault {
		reduced.Reasoning.Show = "auto"
	}
	if r.OneCall && upstream.Codec.Traits().Fields[llm.FeatureParallel] != "" {
		reduced.Parallel = new(bool)
	}
	t.carrySignatures(client.Style, upstream.Style)
	if client != upstream {
		t.arrangeHistory(upstream.Style)
		t.rename(upstream.Codec.Traits())
		if upstream.Codec.Traits().Fields[llm.FeatureCustomTool] == "" {
			t.wrapFreeText()
		}
		if upstream.Style == llm.Responses {
			unsetStrict(reduced.Tools)
		}
	}
	return &Exchange{client: client, upstream: upstream, t: t}, nil
}

// unsetStrict states that tools are not strict where the request says nothing. In the responses style strict makes every parameter
// required and is the default, and in the other styles it is not.
func unsetStrict(tools []llm.Tool) {
	for i := range tools {
		if tool := &tools[i]; tool.Strict == nil && !tool.Custom {
			tool.Strict = new(bool)
		}
	}
}

// asksForThinking reports whether a request asks for reasoning.
func asksForThinking(o llm.ReasoningOptions) bool {
	return o != llm.ReasoningOptions{} && o.Effort != "none" && o.Budget != "0"
}

// reduce removes what the style of the provider cannot express, and refuses what must not be removed.
func (t *translation) reduce(client, upstream *llm.Traits) error {
	for f, asked := range t.original.Features() {
		feature := llm.Feature(f)
		kept := feature == llm.FeatureFileID && client == upstream
		if !asked || upstream.Fields[feature] != "" && (feature.Translated() || kept) {
			continue
		}
		field := cmp.Or(t.original.MediaPath(feature), client.Fields[feature], client.Conversation)
		switch {
		case feature == llm.FeatureStop, feature == llm.FeatureImageURL && upstream.Fields[llm.FeatureImageData] != "":
		// The tools become functions, whose arguments follow no grammar.
		case feature == llm.FeatureCustomTool:
			if slices.ContainsFunc(t.original.Tools, func(tool llm.Tool) bool { return tool.Custom && tool.Parameters != nil }) {
				t.dropped = append(t.dropped, field+".format")
			}
		case feature.Droppable():
			t.drop(feature)
			t.dropped = append(t.dropped, t.droppedMembers(feature, field)...)
		default:
			place, _, _ := strings.Cut(field, " (") // Brackets tell fields at the same position apart.
			return app.Errorf(app.Invalid, "unsupported_parameter", "%s cannot be used with this model here: the provider of this model has "+
				"nothing like it. Leave it out, or call the model in a style whose contract has it.", field).At(place)
		}
	}
	blank := !upstream.StopsBlank && slices.ContainsFunc(t.request.Stop, func(s string) bool { return strings.TrimSpace(s) == "" })
	if blank || len(t.request.Stop) > upstream.StopsMax {
		t.stops, t.request.Stop = t.request.Stop, nil
		// A stream can be stopped at a stop sequence.
		t.request.Stream = true
	}
	return nil
}

// droppedMembers returns the members of a dropped feature: of the two penalties those in the request, and of two names for the end user
// the one in the request.
func (t *translation) droppedMembers(f llm.Feature, field string) []string {
	if f == llm.FeatureEndUser {
		return []string{cmp.Or(t.original.EndUserField, field)}
	}
	names := strings.Split(field, ", ")
	s := &t.original.Sampling
	switch {
	case f != llm.FeaturePenalties || len(names) != 2:
	case s.FrequencyPenalty == "":
		return names[:1]
	case s.PresencePenalty == "":
		return names[1:]
	}
	return names
}

// drop removes a feature from the request for the provider.
func (t *translation) drop(f llm.Feature) {
	r := t.request
	switch f {
	case llm.FeatureTopK:
		r.Sampling.TopK = ""
	case llm.FeatureSeed:
		r.Sampling.Seed = ""
	case llm.FeaturePenalties:
		r.Sampling.PresencePenalty, r.Sampling.FrequencyPenalty = "", ""
	case llm.FeatureVerbosity:
		r.Verbosity = ""
	case llm.FeatureMetadata:
		r.Metadata = nil
	case llm.FeatureEndUser:
		r.EndUser = ""
	case llm.FeatureParallel:
		r.Parallel = nil
	case llm.FeatureReasoning:
		r.Reasoning = llm.ReasoningOptions{}
	case llm.FeatureParticipant:
		r.Turns = slices.Clone(r.Turns)
		for i := range r.Turns {
			r.Turns[i].Name = ""
		}
	}
}

// Dropped returns the header value with the members of the client's request that the provider does not get.
func (x *Exchange) Dropped() string {
	list := x.removed
	if x.refused != nil {
		list = slices.Concat(list, x.refused)
	}
	if x.t != nil {
		list = slices.Concat(list, x.t.dropped)
	}
	return dialect.DroppedHeader(list)
}

// Streams reports whether the provider is asked for a stream. It may be true when the client asked for none: an answer that must be cut
// at a text is read as a stream.
func (x *Exchange) Streams() bool {
	if x.t == nil {
		return x.head.Stream
	}
	return x.t.request.Stream
}

// Upstream returns the style of the route.
func (x *Exchange) Upstream() llm.Style { return x.upstream.Style }

// HasStopWatcher reports whether the gateway may end the answer before the provider does.
func (x *Exchange) HasStopWatcher() bool { return x.t != nil && len(x.t.stops) > 0 }

// SendImagesAsData makes Images return those images too that the style would take by address, because the provider does not.
func (x *Exchange) SendImagesAsData() { x.imagesAsData = true }

// Images returns the images that must be fetched before the request can be written, because the provider or its style takes none by
// address. The caller sets their data and type and clears the address.
func (x *Exchange) Images() []*llm.Media {
	isFetcher := x.upstream.Codec.Traits().Fields[llm.FeatureImageURL] != "" && !x.imagesAsData
	if x.t == nil || isFetcher {
		return nil
	}
	var list []*llm.Media
	t := x.t.request
	t.Turns = copyTurns(t.Turns)
	for i := range t.Turns {
		for j := range t.Turns[i].Parts {
			result := &t.Turns[i].Parts[j].Result
			result.Parts = slices.Clone(result.Parts)
		}
	}
	x.eachImage(func(p *llm.Part) { list = append(list, &p.Media) })
	return list
}

// ImagePath returns the path of the first of Images in the request of the client. It is empty when the path is not known.
func (x *Exchange) ImagePath() (path string) {
	x.eachImage(func(p *llm.Part) { path = cmp.Or(path, p.Place.Path) })
	return path
}

// eachImage calls use for each image by address. Those in the results of a turn come first.
func (x *Exchange) eachImage(use func(p *llm.Part)) {
	useAll := func(parts []llm.Part) {
		for i := range parts {
			if parts[i].Kind == llm.Image && parts[i].Media.URL != "" {
				use(&parts[i])
			}
		}
	}
	for i := range x.t.request.Turns {
		parts := x.t.request.Turns[i].Parts
		for j := range parts {
			useAll(parts[j].Result.Parts)
		}
		useAll(parts)
	}
}

// Prepare writes a translated request in the style of the provider, once. It returns an *app.Error when the style cannot express it
// after all.
func (x *Exchange) Prepare() error {
	if x.body != nil {
		return nil
	}
	if err := x.Check(); err != nil {
		return err
	}
	body, err := x.upstream.Codec.EncodeRequest(x.t.request)
	if err != nil {
		return x.withClientField(err)
	}
	x.noteDroppedWithReasoning(body)
	if x.quirks != nil {
		body = x.rewriteTranslated(body)
	}
	head, err := x.upstream.Peek(body)
	if err != nil {
		return app.Errorf(app.Internal, "internal_error", "The request could not be translated.").Because(err)
	}
	x.body, x.head = body, &head
	return nil
}

// Check refuses a translated conversation that the style of the upstream cannot express. It returns an *app.Error with the client's
// field. It does not check a conversation in the client's own style, unless that style has strict rules for results.
func (x *Exchange) Check() error {
	upstream := x.upstream.Codec.Traits()
	if x.t == nil || x.client == x.upstream && !upstream.ResultsNext {
		return nil
	}
	if err := x.t.request.Check(upstream); err != nil {
		return x.withClientField(err)
	}
	return nil
}

// withClientField replaces the name of the conversation in an error by its name in the style of the client.
func (x *Exchange) withClientField(err error) error {
	e, ok := errors.AsType[*app.Error](err)
	if !ok {
		return err
	}
	theirs, own := x.upstream.Codec.Traits().Conversation, x.client.Codec.Traits().Conversation
	if rest, about := strings.CutPrefix(e.Param, theirs); about && theirs != own {
		renamed := *e
		return renamed.At(own + rest)
	}
	return err
}

// noteDroppedWithReasoning adds to the dropped members what a codec has left out of a body together with reasoning: providers refuse some
// settings with it, and reasoning itself in some turns.
func (x *Exchange) noteDroppedWithReasoning(body []byte) {
	sent := x.t.request
	if sent.Reasoning == (llm.ReasoningOptions{}) {
		return
	}
	arrived, err := x.upstream.Codec.DecodeRequest(body)
	if err != nil {
		// The provider reports what is wrong with the request.
		return
	}
	fields := &x.client.Codec.Traits().Fields
	if arrived.Reasoning == (llm.ReasoningOptions{}) || sent.Reasoning.AsksAmount() && !arrived.Reasoning.AsksAmount() {
		x.t.dropped = append(x.t.dropped, fields[llm.FeatureReasoning])
	}
	if arrived.Sampling.TopK == "" && sent.Sampling.TopK != "" {
		x.t.dropped = append(x.t.dropped, fields[llm.FeatureTopK])
	}
	for _, one := range []struct {
		sent, arrived llm.Number
		name          string
	}{{sent.Sampling.Temperature, arrived.Sampling.Temperature, "temperature"}, {sent.Sampling.TopP, arrived.Sampling.TopP, "top_p"}} {
		if one.sent != "" && one.arrived == "" {
			x.t.dropped = append(x.t.dropped, one.name)
		}
	}
}

// Request appends the request for the provider. Call Prepare before for a translated one.
func (x *Exchange) Request(dst []byte, e dialect.Edit) []byte {
	if x.quirks != nil {
		e.OutputBound, e.NoStreamOptions = x.quirks.OutputBound(), x.quirks.SendsUsageUnasked()
	}
	return x.upstream.Splice(dst, x.body, x.head, e)
}

// Forget drops the reference to the body when nothing is sent any more.
func (x *Exchange) Forget() { x.body = nil }

// CountRequest appends the request for the provider's counting of tokens. A translated one has only what is counted, because those
// endpoints refuse other members.
func (x *Exchange) CountRequest(dst []byte, e dialect.Edit) []byte {
	e.Counting = true
	if x.t == nil {
		return x.Request(dst, e)
	}
	r := x.t.request
	bare := llm.Request{Model: r.Model, Turns: r.Turns, Tools: r.Tools, Choice: r.Choice}
	body, err := x.upstream.Codec.EncodeRequest(&bare)
	if err != nil {
		return x.Request(dst, e)
	}
	body = rawjson.Without(body, "store", "include")
	head, err := x.upstream.Peek(body)
	if err != nil {
		return x.Request(dst, e)
	}
	return x.upstream.Splice(dst, body, &head, e)
}

// Size returns the length of the request, without the changes of Request.
func (x *Exchange) Size() int { return len(x.body) }

// Bounded reports whether the request for the provider has a bound on its output.
func (x *Exchange) Bounded() bool { return x.head.MaxTokens > 0 }

// options returns the options of the answer, with the request of the client when the answer is translated.
func (x *Exchange) options(a llm.ResponseOptions) *llm.ResponseOptions {
	if x.t != nil {
		a.Request = x.t.original
	}
	return &a
}
