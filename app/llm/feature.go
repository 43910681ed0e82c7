package llm

import "strings"

// Feature is something that a request may ask for and that some styles cannot express.
type Feature uint8

// Features before featureDroppable may be dropped without changing what the answer means. The others may not.
const (
	FeatureTopK Feature = iota
	FeatureSeed
	FeaturePenalties
	FeatureVerbosity
	FeatureMetadata
	FeatureEndUser
	// FeatureParticipant is the name of a participant.
	FeatureParticipant
	// FeatureDetail is the level of detail of an image.
	FeatureDetail
	// FeatureParallel is the limit to one tool call.
	FeatureParallel
	FeatureReasoning
	FeatureCustomTool
	// featureDroppable ends the features that may be dropped.
	featureDroppable

	FeatureStop
	// FeatureSchema is an answer that follows a JSON schema.
	FeatureSchema
	// FeatureJSON is an answer in any JSON.
	FeatureJSON
	// FeatureChoices is more than one answer.
	FeatureChoices
	// FeatureLogProbs is the probabilities of tokens.
	FeatureLogProbs
	FeatureImageData
	FeatureImageURL
	FeatureFileData
	FeatureFileURL
	// FeatureFileID is media that one provider stores.
	FeatureFileID
	FeatureAudio
	FeatureVideo
	// FeatureResultMedia is an image or a file in the result of a tool.
	FeatureResultMedia
	// FeatureCount is the number of features.
	FeatureCount
)

// Droppable reports whether a feature may be left out when a style cannot express it. The others are refused.
func (f Feature) Droppable() bool { return f < featureDroppable }

// Translated reports whether the feature can be translated from one style to another. Every translation refuses the others: the
// canonical answer has one choice and no probabilities, and a provider cannot read a file of another one.
func (f Feature) Translated() bool {
	return f != FeatureChoices && f != FeatureLogProbs && f != FeatureFileID
}

// Traits are the rules of a style that a translation must know.
type Traits struct {
	Style Style
	// Fields are the names of the features in the style, for error messages and lists. The style cannot express a feature without a name.
	Fields [FeatureCount]string
	// Conversation is the name of the list of turns in the style.
	Conversation string
	// StopsMax is how many stop sequences a request may have; zero when the style has none. StopsBlank allows one that is only white space.
	StopsMax   int
	StopsBlank bool
	// TurnsBlank means that a turn may be white space only.
	TurnsBlank bool
	// NameMax bounds the length of the name of a tool. NameAlso are its characters in addition to A-Z a-z 0-9 _ -.
	NameMax  int
	NameAlso string
	// NameWord means that the name of a tool begins with a letter or _.
	NameWord bool
	// UserFirst means that a conversation must begin with the user. UserLast means that it must not end with text of the assistant.
	UserFirst, UserLast bool
	// ResultsNext means that results of tools must be in the turn after their calls, one for each.
	ResultsNext bool
	// SystemMedia means that instructions may have images and files.
	SystemMedia bool
}

// Features lists what a request asks for.
type Features [FeatureCount]bool

// Features returns the features of the request.
func (r *Request) Features() Features {
	var f Features
	s := &r.Sampling
	f[FeatureTopK] = s.TopK != ""
	f[FeatureSeed] = s.Seed != ""
	f[FeaturePenalties] = s.PresencePenalty != "" || s.FrequencyPenalty != ""
	f[FeatureVerbosity] = r.Verbosity != ""
	f[FeatureMetadata] = len(r.Metadata) > 0
	f[FeatureEndUser] = r.EndUser != ""
	f[FeatureParallel] = r.Parallel != nil && !*r.Parallel
	f[FeatureReasoning] = r.Reasoning != ReasoningOptions{}
	f[FeatureStop] = len(r.Stop) > 0
	f[FeatureSchema] = r.Format.Kind == FormatSchema
	f[FeatureJSON] = r.Format.Kind == FormatJSON
	f[FeatureChoices] = r.Choices > 1
	f[FeatureLogProbs] = r.LogProbs
	for i := range r.Tools {
		f[FeatureCustomTool] = f[FeatureCustomTool] || r.Tools[i].Custom
	}
	for i := range r.Turns {
		f[FeatureParticipant] = f[FeatureParticipant] || r.Turns[i].Name != ""
		f.parts(r.Turns[i].Parts, false)
	}
	return f
}

func (f *Features) parts(parts []Part, inResult bool) {
	for i := range parts {
		p := &parts[i]
		switch p.Kind {
		case Image, Audio, Video, File:
			f.media(p, inResult)
		case Result:
			f.parts(p.Result.Parts, true)
		}
	}
}

func (f *Features) media(p *Part, inResult bool) {
	f[FeatureResultMedia] = f[FeatureResultMedia] || inResult
	f[p.mediaFeature()] = true
	f[FeatureDetail] = f[FeatureDetail] || p.Media.Detail != ""
}

// mediaFeature returns the feature of a part that is media.
func (p *Part) mediaFeature() Feature {
	switch m := &p.Media; {
	case m.FileID != "":
		return FeatureFileID
	case p.Kind == Audio:
		return FeatureAudio
	case p.Kind == Video:
		return FeatureVideo
	case p.Kind == Image && m.URL != "":
		return FeatureImageURL
	case p.Kind == Image:
		return FeatureImageData
	case m.URL != "":
		return FeatureFileURL
	default:
		return FeatureFileData
	}
}

// MediaPath returns the path of the first part that needs a feature of media. It is empty when there is none or its path is not known.
func (r *Request) MediaPath(f Feature) string {
	for i := range r.Turns {
		if path := mediaPath(r.Turns[i].Parts, f, false); path != "" {
			return path
		}
	}
	return ""
}

func mediaPath(parts []Part, f Feature, inResult bool) string {
	for i := range parts {
		p := &parts[i]
		if media.has(p.Kind) && (p.mediaFeature() == f || inResult && f == FeatureResultMedia) {
			return p.Place.Path
		}
		if path := mediaPath(p.Result.Parts, f, true); path != "" {
			return path
		}
	}
	return ""
}

// TakesName reports whether a tool may have this name in the style.
func (t *Traits) TakesName(name string) bool {
	if name == "" || len(name) > t.NameMax {
		return false
	}
	for i := range len(name) {
		if c := name[i]; !letterOrDigit(c) && c != '_' && c != '-' && strings.IndexByte(t.NameAlso, c) < 0 {
			return false
		}
	}
	return !t.NameWord || name[0] == '_' || letterOrDigit(name[0]) && name[0] > '9'
}
