package api

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"umg/e2e/harness"
)

var videoContractLines = []checkLine{
	{"F123 the machine-readable contract of a video model has all operations and names the other prefix", filmed(videoContractRoutes)},
	{"F124 the Markdown contract of a video model names its routes, sizes, lengths and prices", filmed(videoContractGuide)},
	{"F126 what the contract of a video model says is what validation enforces", filmed(videoContractsAreEnforced)},
}

func videoContractRoutes(t *testing.T, v *films) {
	for _, id := range videoModels {
		a := readContract(t, v.Customer, "openapi.json", id, "application/json")
		d := harness.DecodeObject(t, a.Body)
		for path, methods := range map[string][]string{
			harness.VideosPath: {"get", "post"}, harness.VideosPath + "/{video_id}": {"get", "delete"}, harness.VideosPath + "/{video_id}/remix": {"post"}, harness.VideosPath + "/{video_id}/content": {"get"},
		} {
			for _, method := range methods {
				if harness.Member(d, "paths", path, method, "responses") == nil {
					t.Errorf("%s: the contract does not explain %s %s", id, method, path)
				}
			}
		}
		if said := harness.TextMember(d, "info", "description"); !strings.Contains(said, "/v1/vendora/videos") {
			t.Errorf("%s: the contract does not name the compatible prefix: %s", id, said)
		}
		content, _ := harness.Member(d, "paths", harness.VideosPath, "post", "requestBody", "content").(map[string]any)
		if content["application/json"] == nil || content["multipart/form-data"] == nil || d["openapi"] != "3.1.0" {
			t.Errorf("%s: create takes %v", id, content)
		}
	}
}

func videoContractGuide(t *testing.T, v *films) {
	for _, id := range videoModels {
		a := readContract(t, v.Customer, "api.md", id, "text/markdown; charset=utf-8")
		wanted := append([]string{"/v1/videos/{video_id}/remix", "/v1/videos/{video_id}/content", "`" + id + "`", "per second", "video.completed", "video.failed", "Idempotency-Key"},
			videoSizes[id]...)
		for _, want := range wanted {
			if !strings.Contains(a.Body, want) {
				t.Errorf("the guide of %s does not say %q", id, want)
			}
		}
	}
}

// videoContractsAreEnforced holds what the published schema says of right and wrong bodies against what the route does.
func videoContractsAreEnforced(t *testing.T, v *films) {
	picture := `{"image_url":"` + harness.DataURL("image/png", harness.PNG(t, 1280, 720, false)) + `"}`
	members := []string{
		`"user":"u"`, `"user":7`, `"size":"1280x720"`, `"size":"720x1280"`, `"size":"960x960"`, `"size":"1920x1080"`, `"size":"1792x1024"`, `"size":null`, `"size":7`, `"size":""`,
		`"seconds":4`, `"seconds":"4"`, `"seconds":5`, `"seconds":"5"`, `"seconds":10`, `"seconds":20`, `"seconds":"20"`, `"seconds":null`, `"seconds":4.5`, `"seconds":"x"`, `"seconds":true`,
		`"stream":true`, `"stream":false`, `"stream":null`, `"stream":"true"`, `"metadata":{"a":"b"}`, `"metadata":{"a":7}`, `"metadata":[]`, `"unknown":{"a":1}`,
		`"input_reference":null`, `"input_reference":"x"`, `"input_reference":{}`, `"input_reference":{"file_id":"f"}`, `"input_reference":{"image_url":"http://x.example/a.png"}`,
		`"size":"1280x720","input_reference":` + picture, `"remix_video_id":null`, `"remix_video_id":7`, `"remix_video_id":""`,
	}
	for _, id := range videoModels {
		schema := videoSchemaOf(t, v.Call(t, "GET", "/v1/model/openapi.json?model="+id, "").Body)
		bodies := []string{`{}`, `[]`, `{"model":` + harness.Quote(id) + `}`, `{"prompt":"x"}`, harness.VideoBody(id, ""), harness.VideoBody(id, strings.Repeat("ü", 32_000)), harness.VideoBody(id, strings.Repeat("ü", 32_001)),
			`{"model":` + harness.Quote(id) + `,"prompt":7}`, harness.VideoBody(id, "x"), harness.VideoBody("other/model", "x")}
		for _, member := range members {
			bodies = append(bodies, harness.VideoBody(id, "x", member))
		}
		verdicts := map[bool]int{}
		for _, body := range bodies {
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			published := schema.Validate(value) == nil
			verdicts[published]++
			if a := getQuote(t, v.Customer, body); (a.Status == http.StatusOK) != published {
				t.Errorf("the schema says %v, the route %d %s\nof %.300s", published, a.Status, a.Body, body)
			}
		}
		if verdicts[true] < 12 || verdicts[false] < 12 {
			t.Errorf("%s: %v of the bodies are right and wrong", id, verdicts)
		}
	}
}

func videoSchemaOf(t *testing.T, document string) *jsonschema.Schema {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(document)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("https://gateway.example/openapi.json", value); err != nil {
		t.Fatal(err)
	}
	ref := harness.TextMember(value, "paths", harness.VideosPath, "post", "requestBody", "content", "application/json", "schema", "$ref")
	schema, err := c.Compile("https://gateway.example/openapi.json" + ref)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
