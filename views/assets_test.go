package views_test

import (
	"go/parser"
	"go/token"
	"net/url"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/views"
	"umg/views/codesample"
	"umg/views/stories"
	videopages "umg/views/videos"
)

func TestAssetPagesSayHowMuchThereIsAndWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, wants := range map[string][]string{
		"assets-empty":            {"No assets yet", "/files/vendorx/assets", `"asset_ids": ["asset_…"]`},
		"assets-empty-no-model":   {"No model takes assets right now", "Why no new asset?"},
		"assets":                  {"8 of 10,000 assets", "9,992 more fit", "consent could not be found", "Takes longer than usual", "in_review", "2 MB, 2048 × 2048"},
		"assets-page":             {"101–150 of 1,204 assets match", "Page 3 of 25", "1,234 of 10,000 assets", "Newer", "Older"},
		"assets-none":             {"No asset matches", "Show all assets"},
		"assets-beyond":           {"There is no such page", "The first page"},
		"assets-nearly-full":      {"Only 588 more fit"},
		"assets-full":             {"10,000 of 10,000 assets", "The limit is reached"},
		"asset-late":              {"takes longer than usual", "The provider did not answer in time."},
		"asset-failed":            {"The provider couldn't process it", "consent could not be found"},
		"asset-large":             {"too large for a preview, which goes up to 8 MiB", "Open the source in a new tab"},
		"asset-active":            {"Provider details", `"moderation"`, "Make a video with it"},
		"assets-delete":           {"Delete 4 assets?"},
		"video-play-assets":       {"up to 4 assets", "318 older ones are not listed"},
		"video-play-assets-wrong": {"only active assets can be used", "None is active yet."},
		"video-code-assets":       {`"asset_ids": []string{"asset_`},
	} {
		got := text(t, name)
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s does not say %q", name, want)
			}
		}
	}
	if strings.Contains(text(t, "asset-sound"), "Make a video with it") {
		t.Error("a reader who makes no videos is led to make one")
	}
}

// TestPagesAskAfterAssetsForAWhileOnly: what takes longer than ten minutes is not asked after, and that is said.
func TestPagesAskAfterAssetsForAWhileOnly(t *testing.T) {
	t.Parallel()
	shell := views.Shell{Now: stories.Now(), Viewer: &views.Viewer{Email: "a@example.com", Rights: app.AllRights}}
	for state, waits := range map[string]bool{"created": true, "processing": true, "odd": true, "active": false, "failed": false} {
		for age, young := range map[time.Duration]bool{0: true, 10*time.Minute - 1: true, 10 * time.Minute: false, time.Hour: false} {
			a := videopages.Asset{ID: "asset_1", Kind: videopages.AssetVideo, State: state, CreatedAt: stories.Now().Add(-age)}
			list := render(t, videopages.AssetsPage(videopages.Assets{Shell: shell, Assets: []videopages.Asset{a}, Total: 1, Live: 1, Max: 9, Query: videopages.AssetQuery{Page: 1, Size: 20}}))
			one := render(t, videopages.AssetPage(videopages.AssetDetail{Shell: shell, Asset: a}))
			for page, html := range map[string]string{"list": list, "page": one} {
				if polls := strings.Contains(html, "data-poll"); polls != (waits && young) {
					t.Errorf("%s: %s for %s polls: %t", page, state, age, polls)
				}
				if says := strings.Contains(html, "akes longer than usual"); says != (waits && !young) {
					t.Errorf("%s: %s for %s is late: %t", page, state, age, says)
				}
			}
		}
	}
}

func TestAssetQueriesAreTheirAddress(t *testing.T) {
	t.Parallel()
	for _, query := range []string{"", "page=3&q=a+b%26c&size=50&state=failed&type=audio&view=cards"} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if _, got, _ := strings.Cut(videopages.ParseAssetQuery(values).Path(), "?"); got != query {
			t.Errorf("%q became %q", query, got)
		}
	}
	foolish := url.Values{"state": {"<b>"}, "type": {"x"}, "view": {"x"}, "page": {"-1"}, "size": {"99999999999999999999"}}
	if got := videopages.ParseAssetQuery(foolish).Path(); got != "/console/assets" {
		t.Errorf("a foolish address became %q", got)
	}
}

// TestNoLinkLeadsToASourceThatIsNoAddress, and those that are, tell it nothing of us.
func TestNoLinkLeadsToASourceThatIsNoAddress(t *testing.T) {
	t.Parallel()
	shell := views.Shell{Now: stories.Now(), Viewer: &views.Viewer{Email: "a@example.com", Rights: app.AllRights}}
	for source, linked := range map[string]bool{
		"https://example.com/a.mp4": true, "http://example.com/a.mp4": true, "javascript:alert(1)": false, "data:text/html,x": false,
		"//example.com/a": false, "https://user:secret@example.com/a": false, "https:///a": false, "": false, "/console/keys": false,
	} {
		a := videopages.Asset{ID: "asset_1", Kind: videopages.AssetVideo, State: videopages.AssetActive, URL: source}
		links := parse(t, render(t, videopages.AssetPage(videopages.AssetDetail{Shell: shell, Asset: a}))).Find(`main a[target="_blank"]`)
		if (links.Length() > 0) != linked {
			t.Errorf("%q: %d links", source, links.Length())
		}
		for i := range links.Nodes {
			if one := links.Eq(i); one.AttrOr("rel", "") != "noopener noreferrer" || one.AttrOr("href", "") != source {
				t.Errorf("%q: a link to %q, rel %q", source, one.AttrOr("href", ""), one.AttrOr("rel", ""))
			}
		}
	}
}

func TestProgramsWithAssetsHoldAnyPrompt(t *testing.T) {
	t.Parallel()
	for _, hook := range []bool{false, true} {
		v := codesample.Video{Model: "m/n", Prompt: evilPrompt, Size: "1280x720", Seconds: 8, Assets: []string{"asset_1", evilPrompt}}
		for _, s := range codesample.OfVideo("https://x.test/v1", v, hook) {
			if s.Name == "go" {
				if _, err := parser.ParseFile(token.NewFileSet(), "main.go", s.Source, parser.AllErrors); err != nil {
					t.Errorf("go, hook %t: %v\n%s", hook, err, s.Source)
				}
			}
			if !strings.Contains(s.Source, "asset_ids") || !strings.Contains(s.Source, "asset_1") || strings.Contains(s.Source, "{create}") ||
				!strings.Contains(s.Source, "{model} {key}") || s.Name == "curl" && strings.Contains(s.Source, `>'; rm`) {
				t.Errorf("%s, hook %t:\n%s", s.Name, hook, s.Source)
			}
		}
	}
}
