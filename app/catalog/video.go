package catalog

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// The styles of routes to providers that make videos.
const (
	VideosStyle     llm.Style = "videos"     // POST /videos, poll, download by id
	OperationsStyle llm.Style = "operations" // a long-running operation whose result holds a file address
	TasksStyle      llm.Style = "tasks"      // a task that may call back
)

// VideoStyles lists them.
func VideoStyles() []llm.Style { return []llm.Style{VideosStyle, OperationsStyle, TasksStyle} }

// contactStyles are all in which providers may be spoken to.
func contactStyles() []llm.Style { return append(llm.Styles(), VideoStyles()...) }

// contractStyles are those in which clients call, each with a fragment of its own.
func contractStyles() []llm.Style { return append(llm.Styles(), VideosStyle) }

// sizesOf lists the sizes that a style of videos has words for; nil when it takes any.
func sizesOf(style llm.Style) []string {
	switch style {
	case OperationsStyle:
		return []string{"1280x720", "720x1280", "1920x1080", "1080x1920", "1024x1792", "1792x1024"}
	case TasksStyle:
		return []string{"1280x720", "720x1280", "960x960", "1920x1080", "1080x1920"}
	}
	return nil
}

// VideoContract is what the model accepts as the body of POST /v1/videos; nil when it makes no videos. Forms are checked
// as the JSON they stand for.
func (m *Model) VideoContract() *Contract { return m.video }

// RemixContract is what the model accepts as the body of POST /v1/videos/{id}/remix: only the prompt is required, as all
// else has its default in the source. It is nil when the model makes no videos.
func (m *Model) RemixContract() *Contract { return m.remix }

// Answers reports whether a call can reach a provider today, in a style of text or as a video.
func (m *Model) Answers() bool { return len(m.served) > 0 || m.renders() }

// renders reports whether the model makes videos today.
func (m *Model) renders() bool { return m.video != nil && len(m.Routes) > 0 }

// remixOf is the contract of a remix. The source is named by the path and gives what the body leaves out.
func remixOf(create *tree) *tree {
	doc := create.clone()
	doc.set("required", textsTree([]string{"prompt"}))
	properties := doc.get("properties")
	properties.drop("remix_video_id")
	properties.get("prompt").set("description", textTree("The one change to make to the source."))
	for name, says := range map[string]string{
		"model":   "The model that renders; that of the source when left out.",
		"size":    "Width x height in pixels, which can only be that of the source.",
		"seconds": "The length, which can only be that of the source.",
	} {
		properties.get(name).drop("default")
		properties.get(name).set("description", textTree(says))
	}
	for _, name := range []string{"input_reference", "asset_ids"} {
		properties.set(name, members("type", "null", wordUnsupported, wordState, "description", "Not supported: a remix begins with its source."))
	}
	model := properties.get("model")
	model.set("type", textsTree([]string{"string", "null"}))
	model.set("enum", arrayTree(model.get("const"), &tree{kind: jsontext.KindNull}))
	model.drop("const")
	return doc
}

// fitVideo puts what the model renders into a member that asks for it.
func (t contractParams) fitVideo(s *tree) {
	null := &tree{kind: jsontext.KindNull}
	switch {
	case s.get(wordModel) != nil:
		s.drop(wordModel)
		s.set("const", textTree(t.model))
	case s.get(wordSizes) != nil:
		s.drop(wordSizes)
		sizes := textsTree(t.sizes)
		sizes.items = append(sizes.items, null)
		s.set("enum", sizes)
		if len(t.sizes) > 0 {
			s.set("default", textTree(t.sizes[0]))
		}
	case s.get(wordAssets) != nil:
		s.drop(wordAssets)
		s.set("maxItems", numberTree(strconv.FormatInt(t.assets, 10)))
	case s.get(wordSeconds) != nil:
		s.drop(wordSeconds)
		texts, numbers := arrayTree(), arrayTree()
		for _, n := range t.seconds {
			word := strconv.FormatInt(n, 10)
			texts.items, numbers.items = append(texts.items, textTree(word)), append(numbers.items, numberTree(word))
		}
		s.set("enum", arrayTree(append(slices.Concat(texts.items, numbers.items), null)...))
		if len(t.seconds) > 0 {
			s.set("default", texts.items[0].clone())
		}
	}
}
