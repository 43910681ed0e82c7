package codesample

import (
	"encoding/json"
	"strconv"
	"strings"

	"umg/views/ui"
)

// AssetCall is what the code that uses assets needs to run without changes.
type AssetCall struct {
	BaseURL  string // ends in /v1
	Model    string // a model that takes assets; empty without one
	Size     string
	Seconds  int
	Language string // the language of the open tab
	KeyHint  string
}

const (
	assetSamplePrompt = "The character from the asset walks through a night market, hand-held camera."
	assetSampleURL    = "https://example.com/character.png"
	assetSampleID     = "asset_…"
)

// makes is the video that a call with the assets asks for.
func (c AssetCall) makes(ids ...string) Video {
	return Video{Model: c.Model, Prompt: assetSamplePrompt, Size: c.Size, Seconds: c.Seconds, Assets: ids}
}

// OfAssetVideo are whole programs that make a video with an asset.
func OfAssetVideo(c AssetCall, id string) []ui.Sample {
	return OfVideo(c.BaseURL, c.makes(id), false)
}

// OfAssetCreation register an asset from the command line.
func OfAssetCreation(c AssetCall) []ui.Sample {
	body, err := json.Marshal(struct {
		Kind string `json:"asset_type"`
		URL  string `json:"url"`
		Name string `json:"name"`
	}{"image", assetSampleURL, "Main character"})
	if err != nil {
		return nil
	}
	return []ui.Sample{{Name: "curl", Label: "cURL", Source: assetCurl(c, "/files/vendorx/assets", body)}}
}

// OfAssetUse are the video call that uses an asset.
func OfAssetUse(c AssetCall) []ui.Sample {
	return []ui.Sample{{Name: "curl", Label: "cURL", Source: assetCurl(c, "/videos", c.makes(assetSampleID).request())}}
}

func assetCurl(c AssetCall, path string, body []byte) string {
	return "curl " + c.BaseURL + path + " \\\n  -H \"Authorization: Bearer $" + KeyVariable +
		"\" \\\n  -H \"Content-Type: application/json\" \\\n  -d " + ShellText(jsonNotation.literal(body, 1, "  "))
}

// The official SDKs send forms that know no assets, so that videos with assets are asked for with the call by which
// each of them sends any JSON.
const (
	assetGoHeadOld = "video, err := {create}"
	assetGoHead    = "video := new(openai.Video)\n\terr := {create}"

	openAIPythonImport = "from openai import OpenAI\n"
	assetPythonImport  = "from openai import OpenAI\nfrom openai.types import Video\n"
)

// filled is a program with its values in it. A creation that contains its values already is put in unchanged, since
// the words of a prompt may look like a place to fill.
func filled(fill *strings.Replacer, text, create string, ready bool) string {
	if !ready {
		return fill.Replace(strings.ReplaceAll(text, "{create}", create))
	}
	parts := strings.Split(text, "{create}")
	for i, part := range parts {
		parts[i] = fill.Replace(part)
	}
	return strings.Join(parts, create)
}

// videoAssetCreates ask for a video with assets.
func videoAssetCreates(v Video) map[string]string {
	body := v.request()
	return map[string]string{
		"python":     "client.post(\n    \"/videos\",\n    cast_to=Video,\n    body=" + pythonNotation.literal(body, 1, "    ") + ",\n)",
		"javascript": "client.post(\"/videos\", {\n  body: " + scriptNotation.literal(body, 1, "  ") + ",\n})",
		"go":         "client.Post(ctx, \"videos\", " + goObject(v) + ", video)",
	}
}

// goObject is the request as a Go map.
func goObject(v Video) string {
	ids := make([]string, len(v.Assets))
	for i, id := range v.Assets {
		ids[i] = Quote(id)
	}
	return "map[string]any{\n\t\t\"model\":     " + Quote(v.Model) + ",\n\t\t\"prompt\":    " + Quote(v.Prompt) +
		",\n\t\t\"size\":      " + Quote(v.Size) + ",\n\t\t\"seconds\":   " + Quote(strconv.Itoa(v.Seconds)) +
		",\n\t\t\"asset_ids\": []string{" + strings.Join(ids, ", ") + "},\n\t}"
}
