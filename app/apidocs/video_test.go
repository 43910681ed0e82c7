package apidocs

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"

	"umg/app/catalog"
	"umg/app/jsontree"
)

func TestTheGuideOfAVideoModelTellsEveryOperation(t *testing.T) {
	t.Parallel()
	s := fullSnapshot(t)
	pro, _ := s.Model("boreal/drift:pro")
	guide := string(pro.Markdown())
	for _, want := range []string{
		"\n## POST /v1/videos\n", "\n## GET /v1/videos\n", "\n## GET /v1/videos/{video_id}\n", "\n## GET /v1/videos/{video_id}/content\n",
		"\n## POST /v1/videos/{video_id}/remix\n", "\n## DELETE /v1/videos/{video_id}\n", "\n## Events\n", "\n## Guardrails\n", "\n## Errors\n",
		"`/v1/vendora/videos`", "`/v1/openai/videos`", "Price: $0.30 per second", "| 1920x1080 | $0.7 | $2.8 | $5.6 | $8.4 | $11.2 | $14 |",
		"Sizes: 720x1280, 1280x720, 1024x1792, 1792x1024, 1080x1920, 1920x1080; seconds: 4, 8, 12, 16, 20", "5 requests a minute, 40 jobs a day, 2 jobs at once",
		`"cost_max":1.2,"cost":1.2,"rate_card":"`, `"usage":{"cost":1.2,"currency":"USD"}`, "`Idempotency-Key`", "`X-Dry-Run`", "multipart/form-data", "`variant`", "default `20`", "input_reference=@first-frame.png",
		"video.completed", "video.failed", "`content_policy_violation`", "`video_expired`", "`variant_unavailable`", "`video_not_found`", "`video_not_ready`",
		"| 402 |", "`upstream_status_unavailable`", "`moderation_blocked`", "`remix_video_id`", ContractVersion(pro.Model), "https://gateway.example/v1/videos",
	} {
		if !strings.Contains(guide, want) {
			t.Errorf("the guide does not say %q", want)
		}
	}
	for _, wrong := range []string{hostPlaceholder, modelPlaceholder, sizePlaceholder, secondsPlaceholder, costPlaceholder, "x-gateway-dropped", "chat/completions"} {
		if strings.Contains(guide, wrong) {
			t.Errorf("the guide says %q", wrong)
		}
	}
	swift, _ := s.Model("kestrel/swift")
	for _, wrong := range []string{"event-stream", `"stream":true`, "data: {", "720x1280\",\"seconds\":\"4"} {
		if strings.Contains(string(swift.Markdown()), wrong) {
			t.Errorf("the guide of a model that cannot be watched says %q", wrong)
		}
	}
	for _, want := range []string{"Material assets in a call: up to 4", "-F asset_ids=$ASSET_ID", `"asset_ids":["asset_01k9z3c4"]`, "| `asset_ids` |",
		"`asset_not_ready`", "`asset_not_found`", "`assets_apart`"} {
		if !strings.Contains(string(swift.Markdown()), want) {
			t.Errorf("the guide of a model that takes assets does not say %q", want)
		}
		if said := strings.Contains(guide, want); said && !strings.Contains(want, "`asset_") && !strings.Contains(want, "`assets_") {
			t.Errorf("the guide of a model that takes none says %q", want)
		}
	}
	f := defaultFile(t)
	i := slices.IndexFunc(f.Models, func(m catalog.FileModel) bool { return m.ID == "kestrel/swift" })
	f.Models[i].Input = []string{"text"}
	blind, _ := snapshotOf(t, f, full()).Model("kestrel/swift")
	for _, document := range []string{string(blind.Markdown()), string(blind.OpenAPI())} {
		if strings.Contains(document, "first-frame") || strings.Contains(document, "20 MiB") || strings.Contains(document, `"format":"binary","description"`) {
			t.Error("a model that reads no pictures is said to take one")
		}
	}
}

func TestEveryPieceOfCodeInTheGuideOfAVideoModelIsSound(t *testing.T) {
	t.Parallel()
	shells := map[string]int{"boreal/drift:fast": 2, "boreal/drift:pro": 2, "meridian/reel": 2, "kestrel/swift": 3}
	for id := range shells {
		m, _ := fullSnapshot(t).Model(id)
		found := map[string]int{}
		for _, block := range fence.FindAllStringSubmatch(string(m.Markdown()), -1) {
			language, text := block[1], block[2]
			found[language]++
			switch language {
			case "json":
				if !json.Valid([]byte(text)) {
					t.Errorf("no JSON: %s", text)
				}
			case "go":
				if _, err := parser.ParseFile(token.NewFileSet(), "f.go", "package p\nfunc f() error {\n"+text+"return nil\n}\n", 0); err != nil {
					t.Errorf("%v in\n%s", err, text)
				}
			case "sh":
				for _, body := range regexp.MustCompile(`-d '(.*)'`).FindAllStringSubmatch(text, -1) {
					found["body"]++
					if err := m.VideoContract().Check([]byte(body[1])); err != nil {
						t.Errorf("%s: %v", body[1], err)
					}
				}
			}
		}
		for what, want := range map[string]int{"sh": shells[id], "python": 1, "js": 1, "go": 1, "body": 1} {
			if found[what] != want {
				t.Errorf("%s: %d pieces of %s", id, found[what], what)
			}
		}
	}
}

// checkVideoOperations asks of each operation what OpenAPI asks, and that its examples keep its schemas.
func (d openDocument) checkVideoOperations(m testModel) {
	paths, operations := d.Get("paths"), map[string]bool{}
	for i, path := range paths.Names {
		if paths.Items[i].GetString("$ref") != "" || !strings.HasPrefix(path, "/v1/videos") {
			d.t.Errorf("%s would repeat the ids of operations", path)
		}
		for j, method := range paths.Items[i].Names {
			op := paths.Items[i].Items[j]
			if id := op.GetString("operationId"); operations[id] {
				d.t.Errorf("the id %s comes twice", id)
			}
			operations[op.GetString("operationId")] = true
			named := slices.ContainsFunc(op.GetItems("parameters"), func(p *jsontree.Value) bool {
				return p.GetString("in") == "path" && p.GetString("name") == "video_id" && p.Get("required").AppendTo(nil) != nil
			})
			if named != strings.Contains(path, "{video_id}") || op.GetString("summary") == "" {
				d.t.Errorf("%s %s: %s", method, path, op.AppendTo(nil))
			}
			d.checkVideoBody(m, path, op)
			d.checkVideoResponses(path, op)
		}
	}
	if len(operations) != 6 {
		d.t.Errorf("operations %v", operations)
	}
	for i, name := range d.Get("webhooks").Names {
		content := d.Get("webhooks").Items[i].Get("post").Get("requestBody").Get("content").Get("application/json")
		event := content.Get("examples").Get("event").Get("value")
		if err := d.fits(content.Get("schema"), event); err != nil || event.GetString("type") != name {
			d.t.Errorf("%s: %v", name, err)
		}
	}
	if len(d.Get("webhooks").Names) != 2 {
		d.t.Errorf("events %v", d.Get("webhooks").Names)
	}
}

func (d openDocument) checkVideoBody(m testModel, path string, op *jsontree.Value) {
	contract := map[string]*catalog.Contract{"videos_create": m.VideoContract(), "videos_remix": m.RemixContract()}[op.GetString("operationId")]
	content := op.Get("requestBody").Get("content")
	if contract == nil {
		if content != nil {
			d.t.Errorf("%s takes a body", path)
		}
		return
	}
	examples := content.Get("application/json").Get("examples")
	if len(examples.Names) < 2 {
		d.t.Errorf("%s has the examples %v", path, examples.Names)
	}
	for i, name := range examples.Names {
		body := examples.Items[i].Get("value")
		if err := d.fits(content.Get("application/json").Get("schema"), body); err != nil || contract.Check(body.AppendTo(nil)) != nil {
			d.t.Errorf("%s: example %s: %v, %v", path, name, err, contract.Check(body.AppendTo(nil)))
		}
	}
	wrong := jsontree.MustParse([]byte(`{"model":"another/model","prompt":"a"}`))
	if d.fits(content.Get("application/json").Get("schema"), wrong) == nil {
		d.t.Errorf("%s takes another model", path)
	}
	if form := content.Get("multipart/form-data"); (form != nil) != (path == "/v1/videos") {
		d.t.Errorf("%s takes a form: %v", path, form != nil)
	} else if form != nil {
		good := jsontree.Object("model", m.ID, "prompt", "a", "size", m.Sizes[0], "seconds", "8")
		if !slices.Contains(m.Seconds, 8) {
			good.Set("seconds", jsontree.Text("5"))
		}
		if err := d.fits(form.Get("schema"), good); err != nil {
			d.t.Errorf("%s: %v", path, err)
		}
		named := jsontree.Object("model", m.ID, "prompt", "a", "asset_ids", []string{"asset_1", "asset_2"})
		takes := d.find(form.Get("schema").GetString("$ref")).Get("properties").Get("asset_ids") != nil
		if err := d.fits(form.Get("schema"), named); takes != (m.AssetsMax > 0) || takes && err != nil {
			d.t.Errorf("%s: assets in a form: %v, %v", path, takes, err)
		}
		good.Set("seconds", jsontree.Number("8"))
		if d.fits(form.Get("schema"), good) == nil {
			d.t.Errorf("%s: a form has numbers", path)
		}
	}
}

func (d openDocument) checkVideoResponses(path string, op *jsontree.Value) {
	responses := op.Get("responses")
	for i, status := range responses.Names {
		content := responses.Items[i].Get("content").Get("application/json")
		if responses.Items[i].GetString("description") == "" || content == nil && path != "/v1/videos/{video_id}/content" {
			d.t.Errorf("%s: %s: %s", path, status, responses.Items[i].AppendTo(nil))
		}
		for j, name := range childNames(content.Get("examples")) {
			schemas := []*jsontree.Value{content.Get("schema")}
			if either := content.Get("schema").Get("anyOf"); either != nil {
				schemas = either.Items
			}
			value := content.Get("examples").Items[j].Get("value")
			if !slices.ContainsFunc(schemas, func(s *jsontree.Value) bool { return d.fits(s, value) == nil }) {
				d.t.Errorf("%s: %s: example %s: %v", path, status, name, d.fits(schemas[0], value))
			}
		}
	}
	if responses.Get("200") == nil || len(responses.Names) < 3 {
		d.t.Errorf("%s has the responses %v", path, responses.Names)
	}
}

func childNames(t *jsontree.Value) []string {
	if t == nil {
		return nil
	}
	return t.Names
}

func TestAVideoModelWithoutAProviderPromisesNothing(t *testing.T) {
	t.Parallel()
	f := defaultFile(t)
	for i := range f.Providers {
		f.Providers[i].BaseURL = "${NOT_SET}/v1"
	}
	m, _ := snapshotOf(t, f, Options{Now: full().Now}).Model("kestrel/swift")
	if ContractVersion(m.Model) != "" || strings.Contains(string(m.Markdown()), "POST") || strings.Contains(string(m.OpenAPI()), "/v1/videos") {
		t.Error("a model without a provider promises something")
	}
}
