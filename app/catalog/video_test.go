package catalog

import (
	"encoding/json"
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
		property.GetString(keywordAssets) != "" || taking.Hash() == create.Hash() {
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
		`{"prompt":"a","remix_video_id":5}`:                                                            "-", // The path names the source.
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
	if m.Answers() || m.VideoContract() == nil {
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
	if got := append(llm.RouteStyles(), VideoStyles()...); !slices.Equal(got, contactStyles()) {
		t.Errorf("providers are spoken to in %v", got)
	}
	reel, _ := defaultSnapshot(t).Model("meridian/reel")
	pro, _ := defaultSnapshot(t).Model("boreal/drift:pro")
	if reel.Routes[0].Style != VideosStyle || pro.Routes[0].Style != OperationsStyle || pro.Routes[1].Provider.ID != "crossroads" {
		t.Errorf("routes %+v, %+v", reel.Routes, pro.Routes)
	}
}
