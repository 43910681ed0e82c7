package stories

import (
	"slices"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"umg/app"
	"umg/views"
	"umg/views/codesample"
	videopages "umg/views/videos"
)

const (
	assetLimit   = 10_000
	hostileAsset = `"><img src=x onerror=alert(1)><script>alert(1)</script>`
)

func assetID(end string) string { return "asset_01kb4a7m9x3v5d2c8n6q1w0z" + end }

func exampleAssets() []videopages.Asset {
	const day = 24 * time.Hour
	asset := func(end, kind, name, source, state string, age time.Duration) videopages.Asset {
		return videopages.Asset{ID: assetID(end), Kind: kind, Name: name, URL: source, State: state, CreatedAt: at(age)}
	}
	fresh := asset("01", videopages.AssetImage, "Main character, front",
		"https://media.example.com/cast/mara/front.png", videopages.AssetCreated, 4*time.Second)
	fresh.MediaType, fresh.Bytes, fresh.Width, fresh.Height = "image/png", 2_418_331, 2048, 2048
	moving := asset("02", videopages.AssetVideo, "Night market, b-roll",
		"https://media.example.com/plates/night-market.mp4", videopages.AssetProcessing, 48*time.Second)
	moving.MediaType, moving.Bytes, moving.UpstreamID = "video/mp4", 84_310_022, "mat-7f3a91"
	stuck := asset("03", videopages.AssetAudio, "Theme, piano",
		"https://media.example.com/theme.flac", videopages.AssetProcessing, 3*time.Hour)
	stuck.MediaType, stuck.Bytes, stuck.UpstreamID = "audio/flac", 31_000_911, "mat-7f3a02"
	ready := asset("04", videopages.AssetImage, "Main character, side",
		"https://media.example.com/cast/mara/side.webp", videopages.AssetActive, 5*time.Hour)
	ready.MediaType, ready.Bytes, ready.Width, ready.Height, ready.UpstreamID = "image/webp", 412_804, 1024, 1536, "mat-7f39c4"
	ready.Extra = "{\n  \"group_id\": \"umg\",\n  \"moderation\": {\n    \"label\": \"ok\",\n    \"score\": 0.01\n  }\n}"
	failed := asset("05", videopages.AssetImage, "Crowd",
		"https://203.0.113.7/very/long/path/that/does/not/fit/anywhere/crowd-of-people.jpeg?size=full", videopages.AssetFailed, 2*day)
	failed.MediaType, failed.Bytes, failed.Width, failed.Height = "image/jpeg", 28_991_004, 7900, 5000
	failed.Reason, failed.UpstreamID = "The picture shows a person whose consent could not be found. Register one without faces.", "mat-7f2001"
	sound := asset("06", videopages.AssetAudio, "Rain on a tin roof", "https://sounds.example.org/rain.mp3", videopages.AssetActive, 9*day)
	sound.MediaType, sound.UpstreamID = "audio/mpeg", "mat-7e0010"
	film := asset("07", videopages.AssetVideo, "clip-0001.webm", "https://media.example.com/clip-0001.webm", videopages.AssetActive, 40*day)
	film.MediaType, film.Bytes, film.UpstreamID = "video/webm", 12_884_901, "mat-7d0007"
	other := asset("08", videopages.AssetImage, "Backdrop", "https://media.example.com/backdrop.gif", "in_review", time.Minute)
	other.MediaType, other.Bytes, other.Width, other.Height = "image/gif", 9_812_000, 640, 480
	return []videopages.Asset{fresh, moving, stuck, ready, failed, sound, film, other}
}

// newestAssets are the examples as a list has them.
func newestAssets() []videopages.Asset {
	all := exampleAssets()
	slices.SortStableFunc(all, func(a, b videopages.Asset) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return all
}

func hostileAssets() []videopages.Asset {
	return []videopages.Asset{
		{
			ID: assetID("h1"), Kind: videopages.AssetImage, Name: hostileAsset, URL: `https://media.example.com/"><script>alert(1)</script>.png`,
			State: videopages.AssetFailed, Reason: hostileAsset, MediaType: "image/png", Bytes: 90_000, CreatedAt: at(time.Hour),
			UpstreamID: hostileAsset, Extra: `{"note":"</code><script>alert(1)</script>"}`,
		},
		{
			ID: assetID("h2"), Kind: hostileAsset, Name: "\u202egnp.ecnahc \u2066 " + hostileAsset, URL: "javas\u0063ript&#58;alert(1)",
			State: hostileAsset, CreatedAt: at(time.Minute),
		},
		{
			ID: assetID("h3"), Kind: videopages.AssetVideo, Name: "   ", URL: "https://visitor@media.example.com/film.mp4",
			State: videopages.AssetActive, MediaType: hostileAsset, CreatedAt: at(time.Minute),
		},
	}
}

func exampleAssetCall() codesample.AssetCall {
	return codesample.AssetCall{BaseURL: BaseURL, Model: "kestrel/swift", Size: "1280x720", Seconds: 5, KeyHint: "sk-umg-7H…f3Qk"}
}

func assetStory(name, title string, status int, path string, view func(s views.Shell) templ.Component) Story {
	return Story{Name: name, Group: "Assets", Title: title, Status: status, Path: "/console/assets" + path, View: view}
}

func assets() []Story {
	list := func(name, title string, change func(*videopages.Assets)) Story {
		return assetStory(name, title, 200, "", view(videopages.AssetsPage, func(s views.Shell) videopages.Assets {
			return videopages.Assets{
				Shell: s, Assets: newestAssets(), Total: 8, Live: 8, Max: assetLimit, Call: exampleAssetCall(),
				Query: videopages.AssetQuery{Page: 1, Size: 20},
			}
		}, change))
	}
	return append([]Story{
		list("assets-empty", "No assets yet", func(l *videopages.Assets) { l.Assets, l.Total, l.Live = nil, 0, 0 }),
		list("assets-empty-no-model", "No assets, and no model that takes them", func(l *videopages.Assets) {
			l.Assets, l.Total, l.Live, l.Call.Model = nil, 0, 0, ""
			l.Closed = videopages.AssetsUnkept()
		}),
		list("assets", "Table of assets in every state", func(*videopages.Assets) {}),
		list("assets-cards", "Cards of assets in every state", func(l *videopages.Assets) { l.Query.Cards = true }),
		list("assets-page", "A page among others, filtered", func(l *videopages.Assets) {
			l.Query = videopages.AssetQuery{Kind: videopages.AssetImage, Text: "mara", Page: 3, Size: 50}
			l.Assets, l.Total, l.Live = manyAssets(50), 1_204, 1_234
		}),
		list("assets-none", "Nothing matches", func(l *videopages.Assets) {
			l.Query.Text, l.Query.State, l.Assets, l.Total = "zebra", videopages.AssetFailed, nil, 0
		}),
		list("assets-beyond", "A page beyond the last", func(l *videopages.Assets) { l.Query.Page, l.Assets = 7, nil }),
		list("assets-nearly-full", "Nearly full", func(l *videopages.Assets) { l.Total, l.Live = 9_412, 9_412 }),
		list("assets-full", "The limit is reached", func(l *videopages.Assets) {
			l.Total, l.Live = assetLimit, assetLimit
			l.Closed = videopages.AssetsFull(assetLimit)
		}),
		list("assets-hostile", "Hostile names and URLs", func(l *videopages.Assets) { l.Assets, l.Total, l.Live = hostileAssets(), 3, 3 }),
		list("assets-hostile-cards", "Hostile names and URLs, cards", func(l *videopages.Assets) {
			l.Assets, l.Total, l.Live, l.Query.Cards = hostileAssets(), 3, 3, true
		}),
		assetStory("assets-delete", "Delete several", 200, "", func(s views.Shell) templ.Component {
			return videopages.AssetDeletePage(videopages.AssetDelete{Shell: s, Assets: exampleAssets()[2:6]})
		}),
		assetStory("assets-delete-none", "Delete without a choice", 200, "", func(s views.Shell) templ.Component {
			return videopages.AssetDeletePage(videopages.AssetDelete{Shell: s})
		}),
	}, append(assetForms(), assetPages()...)...)
}

// manyAssets is a whole page of like ones.
func manyAssets(n int) []videopages.Asset {
	list := make([]videopages.Asset, n)
	for i := range list {
		list[i] = exampleAssets()[3]
		list[i].ID, list[i].Name = assetID("m"+strconv.Itoa(i)), "mara, frame "+strconv.Itoa(101+i)
	}
	return list
}

func assetForms() []Story {
	form := func(name, title string, status int, change func(*videopages.AssetNew)) Story {
		return assetStory(name, title, status, "/new", view(videopages.AssetNewPage, func(s views.Shell) videopages.AssetNew {
			return videopages.AssetNew{Shell: s, Form: videopages.AssetForm{Kind: videopages.AssetImage}}
		}, change))
	}
	return []Story{
		form("asset-new", "New asset", 200, func(*videopages.AssetNew) {}),
		form("asset-new-errors", "New asset, every field refused", 422, func(n *videopages.AssetNew) {
			n.Form = videopages.AssetForm{
				Kind: "hologram", URL: "https://media.example.com/page.html", Name: hostileAsset,
				KindError: "Choose one of the three types.", URLError: "The source is no picture: its first bytes are HTML.",
				NameError: "A name has at most 200 characters that can be printed.",
			}
		}),
		form("asset-new-trouble", "New asset, the provider is away", 422, func(n *videopages.AssetNew) {
			n.Form.URL, n.Form.Name = "https://media.example.com/cast/mara/front.png", "Main character"
			n.Form.FormError = "The provider that keeps assets did not answer. Nothing was registered; try again in a moment."
		}),
		form("asset-new-full", "New asset, the limit is reached", 200, func(n *videopages.AssetNew) {
			n.Closed = videopages.AssetsFull(assetLimit)
		}),
		form("asset-new-frozen", "New asset, a frozen account", 200, func(n *videopages.AssetNew) {
			n.Frozen = &views.Freeze{Reason: "debt"}
			n.Closed = videopages.AssetsFrozen()
		}),
	}
}

func assetPages() []Story {
	one := func(name, title string, a videopages.Asset, change func(*videopages.AssetDetail)) Story {
		return assetStory(name, title, 200, "/"+a.ID, view(videopages.AssetPage, func(s views.Shell) videopages.AssetDetail {
			return videopages.AssetDetail{Shell: s, Asset: a, Call: exampleAssetCall()}
		}, change))
	}
	same := func(*videopages.AssetDetail) {}
	all, large := exampleAssets(), exampleAssets()[3]
	large.Bytes = 21 << 20
	return []Story{
		one("asset-processing", "A film, being taken in", all[1], same),
		one("asset-late", "A sound that takes long, the provider does not answer", all[2], func(d *videopages.AssetDetail) {
			d.NotAsked = "The provider did not answer in time. We check again automatically."
		}),
		one("asset-active", "A picture, active, with more from the provider", all[3], same),
		one("asset-failed", "A picture, failed", all[4], func(d *videopages.AssetDetail) { d.Call.Model = "" }),
		one("asset-large", "A picture too large for a preview", large, func(d *videopages.AssetDetail) { d.Call.Language = "python" }),
		one("asset-sound", "A sound, active, for a reader who makes no videos", all[5], func(d *videopages.AssetDetail) {
			d.Viewer = &views.Viewer{Email: Email, Rights: app.UseAssets}
		}),
		one("asset-hostile", "Hostile name, URL and answer", hostileAssets()[0], same),
		one("asset-hostile-source", "A source that no link leads to", hostileAssets()[1], same),
		assetStory("asset-delete", "Delete one", 200, "/"+all[3].ID+"/delete", func(s views.Shell) templ.Component {
			return videopages.AssetDeletePage(videopages.AssetDelete{Shell: s, Assets: all[3:4]})
		}),
		{Name: "asset-not-found", Group: "Assets", Title: "Deleted or never there", Status: 404, Path: "/console/assets/asset_gone",
			View: notFound},
	}
}

// assetPlays are the states of the playground for videos with assets.
func assetPlays() []Story {
	play := func(name, title string, status int, change func(*videopages.Playground)) Story {
		return videoStory(name, title, status, "/console/playground/video", func(s views.Shell) templ.Component {
			p := videopages.Playground{
				Shell: s, Models: videoModels(), ImageMax: 20_000_000,
				Form: videopages.Form{Model: "kestrel/swift", Size: "1280x720", Seconds: 5, Prompt: videoPrompt},
			}
			p.Models[2].Assets = 4
			change(&p)
			return videopages.PlaygroundPage(p)
		})
	}
	all := exampleAssets()
	return []Story{
		play("video-play-assets", "Playground, with assets", 200, func(p *videopages.Playground) {
			p.Assets, p.More = append([]videopages.Asset{all[3], all[5], all[6]}, hostileAssets()[0]), 318
			p.Form.Assets = []string{all[3].ID, assetID("99")}
		}),
		play("video-play-assets-wrong", "Playground, an asset is refused", 422, func(p *videopages.Playground) {
			p.Form.Assets = []string{assetID("02")}
			p.Errors = map[string]string{"asset_ids": "asset_ids[0] is processing; only active assets can be used."}
		}),
		videoStory("video-code-assets", "A video with assets as code", 200, "/console/videos", func(s views.Shell) templ.Component {
			v := exampleVideos()[4]
			v.Assets = []string{all[3].ID, all[5].ID}
			return videopages.CodePage(videopages.Code{Shell: s, Video: v, KeyHint: "sk-umg-7H…f3Qk", Language: "go"})
		}),
	}
}
