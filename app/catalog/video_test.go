package catalog

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"

	"umg/app"
	"umg/app/jsontree"
	"umg/app/llm"
)

// filmTerms are those of a model that reads text only and cannot be watched.
func filmTerms() contractParams {
	return contractParams{model: "acme/film", inputs: []string{"text"}, sizes: []string{"1920x1080"}, seconds: []int64{5}}
}

func filmContracts(t *testing.T, of contractParams) (create, remix *Contract) {
	t.Helper()
	b, err := newContractBuilder(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if create, remix, err = b.set(nil).video(of); err != nil {
		t.Fatal(err)
	}
	return create, remix
}

func TestVideoContractsFollowTheModel(t *testing.T) {
	t.Parallel()
	create, _ := filmContracts(t, filmTerms())
	for body, says := range map[string]string{
		`{"model":"acme/film","prompt":"a","size":"1920x1080","seconds":5}`:           "",
		`{"model":"acme/film","prompt":"a","stream":false,"input_reference":null}`:    "",
		`{"model":"acme/film","prompt":"a","size":"1280x720"}`:                        `size must be "1920x1080" or null, not "1280x720".`,
		`{"model":"acme/film","prompt":"a","seconds":"4"}`:                            `seconds must be "5", 5 or null, not "4".`,
		`{"model":"acme/film","prompt":"a","stream":true}`:                            "stream is not supported by the model acme/film. Leave it out, or send false or null.",
		`{"model":"acme/film","prompt":"a","input_reference":{"image_url":"data:,"}}`: "input_reference is not supported by the model acme/film. Leave it out.",
		`{"model":"acme/film","prompt":"a","asset_ids":["asset_1"]}`:                  "asset_ids is not supported by the model acme/film. Leave it out.",
		`{"model":"acme/film","prompt":"a","asset_ids":null}`:                         "",
		`{"model":"acme/film","prompt":"` + strings.Repeat("é", 32_000) + `"}`:        "",
		`{"model":"acme/film","prompt":"` + strings.Repeat("é", 32_001) + `"}`:        "prompt must have 1 to 32000 characters, not 32001.",
	} {
		e := app.AsError(create.Check([]byte(body)))
		switch {
		case (e == nil) != (says == ""), e != nil && (e.Message != says || e.Doc != "/v1/model/api.md?model=acme/film" || e.Kind != app.Invalid):
			t.Errorf("%.80s: %v", body, e)
		}
	}
	schema := jsontree.MustParse(create.Schema()).Get("properties")
	if schema.Get("size").GetString("default") != "1920x1080" || schema.Get("seconds").GetString("default") != "5" {
		t.Errorf("the defaults are not stated: %s", create.Schema())
	}
	keeping := filmTerms()
	keeping.assets = 3
	taking, _ := filmContracts(t, keeping)
	if property := jsontree.MustParse(taking.Schema()).Get("properties").Get("asset_ids"); string(property.Get("maxItems").AppendTo(nil)) != "3" ||
		property.GetString(wordAssets) != "" || taking.Hash() == create.Hash() {
		t.Errorf("the contract of a model that takes assets: %s", property.AppendTo(nil))
	}
	again, _ := filmContracts(t, filmTerms())
	of := filmTerms()
	of.seconds = []int64{5, 10}
	other, _ := filmContracts(t, of)
	if again.Hash() != create.Hash() || other.Hash() == create.Hash() {
		t.Error("a contract's hash does not follow its terms")
	}
}

func TestARemixNeedsAPromptOnly(t *testing.T) {
	t.Parallel()
	create, remix := filmContracts(t, filmTerms())
	for body, param := range map[string]string{
		`{"prompt":"a"}`: "-",
		`{"prompt":"a","model":"acme/film","size":"1920x1080","seconds":"5","user":"u","metadata":{}}`: "-",
		`{"prompt":"a","model":null,"size":null,"seconds":null,"stream":null}`:                         "-",
		`{"prompt":"a","remix_video_id":5}`:                                                            "-", // the path names the source
		`{}`:                                                                                           "prompt", `{"prompt":""}`: "prompt", `{"prompt":"a","model":"acme/other"}`: "model", `{"prompt":"a","model":5}`: "model",
		`{"prompt":"a","input_reference":{"image_url":"https://a"}}`: "input_reference",
		`{"prompt":"a","asset_ids":["asset_1"]}`:                     "asset_ids",
		`{"prompt":"a","size":"1x1"}`:                                "size", `{"prompt":"a","seconds":6}`: "seconds", `{"prompt":"a","stream":true}`: "stream",
		`{"prompt":"a","Prompt":"b"}`: "Prompt", `[]`: "", `{"prompt":"a","prompt":"b"}`: "prompt",
	} {
		e := app.AsError(remix.Check([]byte(body)))
		if (e == nil) != (param == "-") || e != nil && e.Param != param {
			t.Errorf("%s: %v", body, e)
		}
	}
	if bytesHold(remix.Schema(), `"default":"1920x1080"`) || bytesHold(remix.Schema(), "remix_video_id") || remix.Hash() == create.Hash() {
		t.Errorf("the contract of a remix: %s", remix.Schema())
	}
}

func bytesHold(b []byte, s string) bool { return strings.Contains(string(b), s) }

func TestVideoChecksAgreeWithTheOracle(t *testing.T) {
	t.Parallel()
	for _, of := range []contractParams{everything(t), filmTerms()} {
		create, remix := filmContracts(t, of)
		for _, c := range []*Contract{create, remix} {
			o := newOracle(t, c)
			var bodies []string
			for _, body := range acceptedBodies(t, VideosStyle) {
				bodies = append(bodies, body, strings.Replace(body, `"model":"acme/all",`, "", 1))
			}
			for _, k := range refusedBodies(t, VideosStyle) {
				bodies = append(bodies, k.body)
			}
			for _, body := range bodies {
				if says := o.Disagreement([]byte(body)); says != "" {
					t.Errorf("%s: %s", body, says)
				}
			}
		}
	}
}

func TestOnlyVideoModelsHaveVideoContracts(t *testing.T) {
	t.Parallel()
	for _, m := range defaultSnapshot(t).Models() {
		if film := m.Kind == KindVideo; (m.VideoContract() != nil) != film || (m.RemixContract() != nil) != film {
			t.Errorf("%s: %v, %v", m.ID, m.VideoContract(), m.RemixContract())
		}
		if _, ok := m.Contract(VideosStyle); ok || m.Serves(VideosStyle) {
			t.Errorf("%s has videos among the styles of text", m.ID)
		}
	}
	f := parse(t, string(Default()))
	for i := range f.Providers {
		f.Providers[i].BaseURL = "${NOT_SET}/v1"
	}
	m, _ := snapshotFrom(t, f).Model("kestrel/swift")
	if m.Answers() || m.VideoContract() == nil || m.ContractVersion() != "" || strings.Contains(string(m.Markdown()), "POST") ||
		strings.Contains(string(m.OpenAPI()), "/v1/videos") {
		t.Error("a model without a provider promises something")
	}
}

func TestVideoModelsAreListedWithWhatTheyRender(t *testing.T) {
	t.Parallel()
	s := defaultSnapshot(t)
	for id, want := range map[string]struct {
		sku, price string
		seconds    int
		assets     string
	}{
		"boreal/drift:pro":  {"per-video-second-1920x1080", "0.7", 5, ""},
		"boreal/drift:fast": {"per-video-second", "0.1", 3, ""},
		"meridian/reel":     {"per-video-second", "0.08", 3, ""},
		"kestrel/swift":     {"per-video-second-1080x1920", "0.12", 2, `"max_assets":4`},
	} {
		m, _ := s.Model(id)
		var e listEntry
		if err := json.Unmarshal(m.ListEntry(), &e); err != nil {
			t.Fatal(err)
		}
		if !bytesHold(s.List(nil), `"id":"`+id+`"`) || e.Availability != "available" || e.PricingSKUs[want.sku] != want.price ||
			!bytesHold(m.ListEntry(), want.assets) || bytesHold(m.ListEntry(), "max_assets") != (want.assets != "") ||
			len(e.SupportedSeconds) != want.seconds || !slices.Equal(e.SupportedSizes, m.Sizes) || len(e.Protocols) != 0 ||
			e.ContractHashes[VideosStyle] != m.VideoContract().Hash() || !slices.Equal(e.Endpoints, []string{"/v1/videos"}) || e.ContextLength != nil {
			t.Errorf("entry %+v", e)
		}
	}
}

func TestTheGuideOfAVideoModelTellsEveryOperation(t *testing.T) {
	t.Parallel()
	s := wordySnapshot(t)
	pro, _ := s.Model("boreal/drift:pro")
	guide := string(pro.Markdown())
	for _, want := range []string{
		"\n## POST /v1/videos\n", "\n## GET /v1/videos\n", "\n## GET /v1/videos/{video_id}\n", "\n## GET /v1/videos/{video_id}/content\n",
		"\n## POST /v1/videos/{video_id}/remix\n", "\n## DELETE /v1/videos/{video_id}\n", "\n## Events\n", "\n## Guardrails\n", "\n## Errors\n",
		"`/v1/vendora/videos`", "`/v1/openai/videos`", "Price: $0.3 per second", "| 1920x1080 | $0.7 | $2.8 | $5.6 | $8.4 | $11.2 | $14 |",
		"Sizes: 720x1280, 1280x720, 1024x1792, 1792x1024, 1080x1920, 1920x1080; seconds: 4, 8, 12, 16, 20", "5 requests a minute, 40 jobs a day, 2 jobs at once",
		`"cost_max":1.2,"cost":1.2,"rate_card":"`, `"usage":{"cost":1.2,"currency":"USD"}`, "`Idempotency-Key`", "`X-Dry-Run`", "multipart/form-data", "`variant`", "default `20`", "input_reference=@first-frame.png",
		"video.completed", "video.failed", "`content_policy_violation`", "`video_expired`", "`variant_unavailable`", "`video_not_found`", "`video_not_ready`",
		"| 402 |", "`upstream_status_unavailable`", "`moderation_blocked`", "`remix_video_id`", pro.ContractVersion(), "https://gateway.example/v1/videos",
	} {
		if !strings.Contains(guide, want) {
			t.Errorf("the guide does not say %q", want)
		}
	}
	for _, wrong := range []string{hostWord, modelWord, sizeWord, secondsWord, costWord, "x-gateway-dropped", "chat/completions"} {
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
	f := parse(t, string(Default()))
	i := slices.IndexFunc(f.Models, func(m FileModel) bool { return m.ID == "kestrel/swift" })
	f.Models[i].Input = []string{"text"}
	blind, _ := snapshotWith(t, f, wordy()).Model("kestrel/swift")
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
		m, _ := wordySnapshot(t).Model(id)
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
func (d openDocument) checkVideoOperations(m *Model) {
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

func (d openDocument) checkVideoBody(m *Model, path string, op *jsontree.Value) {
	contract := map[string]*Contract{"videos_create": m.VideoContract(), "videos_remix": m.RemixContract()}[op.GetString("operationId")]
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

func TestAModelWithAssetsHasAWayWithoutThemAsWell(t *testing.T) {
	t.Parallel()
	s := defaultSnapshot(t)
	swift, _ := s.Model("kestrel/swift")
	if keeper, ok := s.AssetProvider(); !ok || keeper.ID != "kestrel" || keeper.AssetGroup != "umg" || swift.AssetsMax != 4 {
		t.Errorf("assets go to %+v, and %s takes %d", keeper, swift.ID, swift.AssetsMax)
	}
	if len(swift.Routes) != 2 || swift.Routes[0].Provider.AssetGroup == "" || swift.Routes[1].Provider.AssetGroup != "" {
		t.Errorf("routes %+v", swift.Routes)
	}
}

func TestVideoRoutesSpeakStylesOfVideos(t *testing.T) {
	t.Parallel()
	if got := append(llm.Styles(), VideoStyles()...); !slices.Equal(got, contactStyles()) {
		t.Errorf("providers are spoken to in %v", got)
	}
	reel, _ := defaultSnapshot(t).Model("meridian/reel")
	pro, _ := defaultSnapshot(t).Model("boreal/drift:pro")
	if reel.Routes[0].Style != VideosStyle || pro.Routes[0].Style != OperationsStyle || pro.Routes[1].Provider.ID != "crossroads" {
		t.Errorf("routes %+v, %+v", reel.Routes, pro.Routes)
	}
}
