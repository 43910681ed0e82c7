package catalog

import (
	"slices"
	"strconv"

	"umg/app/jsonschema"
	"umg/app/jsontree"
	"umg/app/llm"
)

// These are the styles of routes to providers that make videos.
const (
	// VideosStyle creates with POST /videos, polls, and downloads by id.
	VideosStyle llm.Style = "videos"
	// OperationsStyle polls a long-running operation whose result has the address of a file.
	OperationsStyle llm.Style = "operations"
	// TasksStyle creates a task that may send a callback.
	TasksStyle llm.Style = "tasks"
)

// VideoStyles lists the styles of routes to providers that make videos.
func VideoStyles() []llm.Style { return []llm.Style{VideosStyle, OperationsStyle, TasksStyle} }

// contactStyles are all styles of providers.
func contactStyles() []llm.Style { return append(llm.RouteStyles(), VideoStyles()...) }

// contractStyles are the styles in which clients call. Each has a schema.
func contractStyles() []llm.Style { return append(llm.Styles(), VideosStyle) }

// sizesOf lists the sizes that a style of videos can express; nil when it takes any.
func sizesOf(style llm.Style) []string {
	switch style {
	case OperationsStyle:
		return []string{"1280x720", "720x1280", "1920x1080", "1080x1920", "1024x1792", "1792x1024"}
	case TasksStyle:
		return []string{"1280x720", "720x1280", "960x960", "1920x1080", "1080x1920"}
	}
	return nil
}

// VideoContract is what the model accepts as the body of POST /v1/videos; nil when it makes no videos. Forms are converted to JSON
// before the check.
func (m *Model) VideoContract() *Contract { return m.video }

// RemixContract is what the model accepts as the body of POST /v1/videos/{id}/remix. Only the prompt is required: all other members
// default to those of the source. It is nil when the model makes no videos.
func (m *Model) RemixContract() *Contract { return m.remix }

// Answers reports whether a call can reach a provider today, in a style of text or as a video.
func (m *Model) Answers() bool { return len(m.served) > 0 || m.ServesVideos() }

// ServesVideos reports whether the model makes videos today.
func (m *Model) ServesVideos() bool { return m.video != nil && len(m.Routes) > 0 }

// remixOf is the schema of a remix. The path names the source, whose values are the defaults of the body.
func remixOf(create *jsontree.Value) *jsontree.Value {
	doc := create.Clone()
	doc.Set("required", jsontree.Texts([]string{"prompt"}))
	properties := doc.Get("properties")
	properties.Delete("remix_video_id")
	properties.Get("prompt").Set("description", jsontree.Text("The one change to make to the source."))
	for name, says := range map[string]string{
		"model":   "The model that renders; that of the source when left out.",
		"size":    "Width x height in pixels, which can only be that of the source.",
		"seconds": "The length, which can only be that of the source.",
	} {
		properties.Get(name).Delete("default")
		properties.Get(name).Set("description", jsontree.Text(says))
	}
	for _, name := range []string{"input_reference", "asset_ids"} {
		properties.Set(name, jsontree.Object("type", "null", jsonschema.KeywordUnsupported, jsonschema.UnsupportedState,
			"description", "Not supported: a remix begins with its source."))
	}
	model := properties.Get("model")
	model.Set("type", jsontree.Texts([]string{"string", "null"}))
	ids := model.GetItems("enum")
	if only := model.Get("const"); only != nil {
		ids = []*jsontree.Value{only}
	}
	model.Set("enum", jsontree.Array(append(slices.Clone(ids), jsontree.Null())...))
	model.Delete("const")
	return doc
}

// fitVideo sets the sizes, lengths and assets of the model in the members that choose them.
func (t contractParams) fitVideo(s *jsontree.Value) {
	null := jsontree.Null()
	switch {
	case s.Get(keywordModel) != nil:
		s.Delete(keywordModel)
		if len(t.aliases) > 0 {
			s.Set("enum", jsontree.Texts(append([]string{t.model}, t.aliases...)))
			break
		}
		s.Set("const", jsontree.Text(t.model))
	case s.Get(keywordSizes) != nil:
		s.Delete(keywordSizes)
		sizes := jsontree.Texts(t.sizes)
		sizes.Items = append(sizes.Items, null)
		s.Set("enum", sizes)
		if len(t.sizes) > 0 {
			s.Set("default", jsontree.Text(t.sizes[0]))
		}
	case s.Get(keywordAssets) != nil:
		s.Delete(keywordAssets)
		s.Set("maxItems", jsontree.Number(strconv.FormatInt(t.assets, 10)))
	case s.Get(keywordSeconds) != nil:
		s.Delete(keywordSeconds)
		texts, numbers := jsontree.Array(), jsontree.Array()
		for _, n := range t.seconds {
			word := strconv.FormatInt(n, 10)
			texts.Items, numbers.Items = append(texts.Items, jsontree.Text(word)), append(numbers.Items, jsontree.Number(word))
		}
		s.Set("enum", jsontree.Array(append(slices.Concat(texts.Items, numbers.Items), null)...))
		if len(t.seconds) > 0 {
			s.Set("default", texts.Items[0].Clone())
		}
	}
}
