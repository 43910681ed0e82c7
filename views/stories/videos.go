package stories

import (
	"time"

	"github.com/a-h/templ"

	"umg/app"
	"umg/views"
	"umg/views/ui"
	videopages "umg/views/videos"
)

const (
	videoPrompt = "A paper boat drifts down a rain gutter at dusk, close to the water, slow pan, street lamps reflected in it."
	videoKept   = 30 * 24 * time.Hour
)

func dollars(nanos int64) *app.Amount {
	a := app.Amount(nanos)
	return &a
}

// video is a made-up video that was asked for some time ago.
func video(id string, since time.Duration) videopages.Video {
	return videopages.Video{
		ID: "video_01kb4a000000000000000000" + id, Model: "boreal/drift:fast", Prompt: videoPrompt, Size: "1280x720", Seconds: 8,
		Status: videopages.VideoQueued, PerSecond: app.Dollar / 10, Held: 8 * app.Dollar / 10, Person: Email, CreatedAt: at(since),
	}
}

func running(id string, since time.Duration, progress int) videopages.Video {
	v := video(id, since)
	v.Status, v.Progress, v.StartedAt = videopages.VideoRunning, progress, ago(since-time.Second)
	return v
}

func completed(id string, since time.Duration) videopages.Video {
	v := running(id, since, 100)
	v.Status, v.Cost, v.EndedAt = videopages.VideoCompleted, dollars(800_000_000), ago(since-83*time.Second)
	expires := v.EndedAt.Add(videoKept)
	v.ExpiresAt = &expires
	v.Files = []videopages.File{
		{Variant: videopages.VideoMovie, Type: "video/mp4", Bytes: 4_713_822},
		{Variant: videopages.VideoThumbnail, Type: "image/webp", Bytes: 38_120},
		{Variant: videopages.VideoSpritesheet, Type: "image/jpeg", Bytes: 212_400},
	}
	return v
}

func failed(id string, since time.Duration, code, message string) videopages.Video {
	v := running(id, since, 42)
	v.Status, v.Cost, v.EndedAt, v.ErrorCode, v.ErrorMessage = videopages.VideoFailed, dollars(0), ago(since-20*time.Second), code, message
	return v
}

func exampleVideos() []videopages.Video {
	remix := completed("06", 3*time.Hour)
	remix.RemixedFrom, remix.Prompt = "video_01kb4a00000000000000000007", "The same boat, but at dawn and in snow"
	remix.Size, remix.Model = "720x1280", "boreal/drift:pro"
	remix.Cost, remix.PerSecond = dollars(2_400_000_000), 3*app.Dollar/10
	expired := completed("08", 40*24*time.Hour)
	expired.Gone, expired.Prompt = true, "Waves"
	tall := completed("07", 26*time.Hour)
	tall.Size = "720x1280"
	tall.Prompt = "Ein Glasbläser formt eine Kugel, Nahaufnahme, warmes Licht, keine Worte, sehr ruhige Kamera, nur das Feuer ist zu hören"
	saving := running("03", 2*time.Minute, 99)
	saving.Storing = true
	return []videopages.Video{
		video("01", 4*time.Second), running("02", 48*time.Second, 37), saving,
		failed("04", 14*time.Minute, "moderation_blocked", "The prompt names a person who did not agree."),
		completed("05", 55*time.Minute), remix, tall, expired,
	}
}

func videoModels() []videopages.Model {
	even := func(price app.Amount, sizes ...string) map[string]app.Amount {
		rates := map[string]app.Amount{}
		for _, size := range sizes {
			rates[size] = price
		}
		return rates
	}
	pro := even(3*app.Dollar/10, "720x1280", "1280x720")
	pro["1024x1792"], pro["1792x1024"], pro["1920x1080"] = app.Dollar/2, app.Dollar/2, 7*app.Dollar/10
	models := []videopages.Model{
		{
			ID: "boreal/drift:fast", Name: "Drift Fast", Owner: "boreal", Description: "Video for exploring ideas; renders quickly.",
			Sizes: []string{"720x1280", "1280x720"}, Seconds: []int{4, 8, 12},
			PerSecond: even(app.Dollar/10, "720x1280", "1280x720"), Pictures: true,
		},
		{
			ID: "boreal/drift:pro", Name: "Drift Pro", Owner: "boreal", Description: "Video for the final cut; renders longer and in more sizes.",
			Sizes: []string{"720x1280", "1280x720", "1024x1792", "1792x1024", "1920x1080"}, Seconds: []int{4, 8, 12, 16, 20},
			PerSecond: pro, Pictures: true,
		},
		{
			ID: "kestrel/swift", Name: "Swift", Owner: "kestrel", Description: "Quick clips in wide, tall and square.",
			Sizes: []string{"1280x720", "720x1280", "960x960"}, Seconds: []int{5, 10},
			PerSecond: even(6*app.Dollar/100, "1280x720", "720x1280", "960x960"),
		},
	}
	for i, m := range models {
		models[i].State = views.Model{ID: m.ID, Name: m.Name, Kind: views.VideoKind, State: views.ModelAvailable}
	}
	return models
}

func videoStory(name, title string, status int, path string, view func(s views.Shell) templ.Component) Story {
	return Story{Name: name, Group: "Videos", Title: title, Status: status, Path: path, View: view}
}

func videos() []Story {
	list := func(name, title string, change func(*videopages.List)) Story {
		return videoStory(name, title, 200, "/console/videos", view(videopages.ListPage, func(s views.Shell) videopages.List {
			return videopages.List{
				Shell: s, Videos: exampleVideos(), Stored: 8, Bytes: 24_318_411, Retention: "30 days",
				Models: []string{"boreal/drift:fast", "boreal/drift:pro", "kestrel/swift"},
			}
		}, change))
	}
	return append(append([]Story{
		list("videos-empty", "No videos yet", func(l *videopages.List) { l.Videos, l.Stored, l.Bytes = nil, 0, 0 }),
		list("videos", "Gallery of videos in every state", func(*videopages.List) {}),
		list("videos-table", "Table, a page among others", func(l *videopages.List) {
			l.Query, l.Stored, l.Bytes = videopages.Query{Table: true, After: l.Videos[0].ID}, 1204, 5_418_411_000
			l.Older, l.Newer = l.Videos[7].ID, l.Videos[0].ID
		}),
		list("videos-none", "Nothing matches", func(l *videopages.List) {
			l.Videos, l.Query = nil, videopages.Query{Text: "zebra", Status: videopages.VideoFailed}
		}),
		videoStory("videos-delete", "Delete several, one still running", 200, "/console/videos", func(s views.Shell) templ.Component {
			return videopages.DeletePage(videopages.Delete{Shell: s, Videos: exampleVideos()[1:5]})
		}),
		videoStory("videos-delete-none", "Delete without a choice", 200, "/console/videos", func(s views.Shell) templ.Component {
			return videopages.DeletePage(videopages.Delete{Shell: s})
		}),
	}, videoPages()...), videoPlays()...)
}

func videoPages() []Story {
	one := func(name, title string, v videopages.Video, change func(*videopages.Detail)) Story {
		return videoStory(name, title, 200, "/console/videos/"+v.ID, view(videopages.DetailPage, func(s views.Shell) videopages.Detail {
			return videopages.Detail{
				Shell: s, Video: v, Typical: "1 min 20 s",
				Remix: videopages.Remix{Prompt: v.Prompt, PerSecond: v.PerSecond, Cost: v.PerSecond * app.Amount(v.Seconds)},
			}
		}, change))
	}
	same := func(*videopages.Detail) {}
	bare := completed("11", time.Hour)
	bare.Files = bare.Files[:1]
	all := exampleVideos()
	return []Story{
		one("video-queued", "Queued", all[0], func(d *videopages.Detail) { d.Typical = "" }),
		one("video-running", "In progress", all[1], same),
		one("video-saving", "Rendered, being saved", all[2], same),
		one("video-completed", "Completed, with lineage", all[5], func(d *videopages.Detail) {
			d.Source, d.Remixes, d.MoreRemix = &all[6], []videopages.Video{all[1], all[4]}, true
		}),
		one("video-completed-bare", "Completed, without stills, source deleted", bare, func(d *videopages.Detail) {
			d.Video.RemixedFrom, d.Video.KeyID, d.Video.Person, d.Video.FirstFrame = all[6].ID, "key_1", "Batch nightly", true
		}),
		one("video-remix-errors", "A remix is refused", all[4], func(d *videopages.Detail) {
			d.Remix.Prompt, d.Remix.PromptError = "", "prompt is blank; say what the video shows."
		}),
		one("video-remix-confirm", "A remix above five dollars", all[5], func(d *videopages.Detail) {
			d.Remix.PerSecond, d.Remix.Cost, d.Remix.Confirm = 3*app.Dollar/10, 24*app.Dollar/10, true
		}),
		one("video-moderated", "Stopped by the content policy", all[3], same),
		one("video-failed", "Failed at the provider", failed("12", time.Hour, "upstream_error", "The renderer is out of capacity."), same),
		one("video-expired", "Expired", all[7], func(d *videopages.Detail) {
			d.Remix.Closed = "The files of this video are not kept any more, so nothing can be made from it."
		}),
		videoStory("video-delete", "Delete one", 200, "/console/videos", func(s views.Shell) templ.Component {
			return videopages.DeletePage(videopages.Delete{Shell: s, Videos: all[4:5]})
		}),
		videoStory("video-code", "The video as code", 200, "/console/videos", func(s views.Shell) templ.Component {
			return videopages.CodePage(videopages.Code{Shell: s, Video: all[4], KeyHint: "sk-umg-7H…f3Qk"})
		}),
		videoStory("video-code-remix", "A remix as code", 200, "/console/videos", func(s views.Shell) templ.Component {
			return videopages.CodePage(videopages.Code{Shell: s, Video: all[5], KeyHint: "sk-umg-7H…f3Qk", Language: "python"})
		}),
		{Name: "video-not-found", Group: "Videos", Title: "Deleted or never there", Status: 404, Path: "/console/videos/video_gone",
			View: notFound},
	}
}

func videoPlays() []Story {
	play := func(name, title string, status int, change func(*videopages.Playground)) Story {
		return videoStory(name, title, status, "/console/playground/video",
			view(videopages.PlaygroundPage, func(s views.Shell) videopages.Playground {
				return videopages.Playground{
					Shell: s, Models: videoModels(), ImageMax: 20_000_000,
					Form: videopages.Form{Model: "boreal/drift:fast", Size: "1280x720", Seconds: 8}, Ask: 5 * app.Dollar,
				}
			}, change))
	}
	return []Story{
		play("video-play", "Playground, empty", 200, func(*videopages.Playground) {}),
		play("video-play-none", "Playground, no model", 200, func(p *videopages.Playground) { p.Models = nil }),
		play("video-play-paused", "Playground, model paused", 200, func(p *videopages.Playground) {
			paused := &p.Models[1].State
			paused.State, paused.Now.Instead = views.ModelPaused, []views.ModelRef{{ID: "boreal/drift:fast", Name: "Drift Fast"}}
			p.Warned = paused
		}),
		play("video-play-errors", "Playground, refused", 422, func(p *videopages.Playground) {
			p.Form.Prompt, p.Form.HadImage, p.Form.Model, p.Form.Size = videoPrompt, true, "boreal/drift:pro", "1920x1080"
			p.Errors = map[string]string{
				"prompt": "The prompt names a person who did not agree.", "seconds": "seconds must be one of 4, 8, 12, 16 and 20.",
				"input_reference": "The picture is 800x600; it must be exactly 1920x1080.", "size": "size must be one of those shown.",
			}
		}),
		play("video-play-credit", "Playground, not enough credit", 402, func(p *videopages.Playground) {
			p.Form.Prompt, p.Balance = videoPrompt, views.Balance{Known: true, Available: app.Dollar / 2, LowAt: app.Dollar}
			p.Trouble = &views.PlayTrouble{Message: "This account has $0.50, and the video costs $0.80.", Code: "insufficient_quota", NoCredit: true}
		}),
		play("video-play-confirm", "Playground, above five dollars", 422, func(p *videopages.Playground) {
			p.Form = videopages.Form{Model: "boreal/drift:pro", Prompt: videoPrompt, Size: "1920x1080", Seconds: 8}
			p.Balance.Available, p.Confirm, p.Total = 20*app.Dollar, true, 5_600*app.Dollar/1000
		}),
		play("video-play-confirm-both", "Playground, always asked, two models", 422, func(p *videopages.Playground) {
			p.Form.Prompt, p.Form.Also = videoPrompt, "boreal/drift:pro"
			p.Ask, p.Confirm, p.Total = 0, true, 3_200*app.Dollar/1000
		}),
		play("video-play-half", "Playground, one of two was refused", 422, func(p *videopages.Playground) {
			p.Form.Model, p.Form.Prompt, p.Started = "boreal/drift:pro", videoPrompt, []videopages.Video{exampleVideos()[1]}
			p.Trouble = &views.PlayTrouble{
				Message: "boreal/drift:pro: The provider of this model does not answer.", Code: "no_available_provider", RequestID: exampleRequest,
			}
		}),
		play("video-play-two", "Playground, two models", 200, func(p *videopages.Playground) {
			p.Form.Prompt, p.Form.Also = videoPrompt, "boreal/drift:pro"
			p.Started = []videopages.Video{exampleVideos()[1], exampleVideos()[5]}
		}),
		play("video-play-failed", "Playground, one failed", 200, func(p *videopages.Playground) {
			p.Form.Prompt, p.Started = videoPrompt, []videopages.Video{exampleVideos()[3]}
			p.Toasts = []ui.Toast{{Tone: ui.Info, Text: "This video was made already; it is shown again."}}
		}),
	}
}
