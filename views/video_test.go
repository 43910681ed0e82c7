package views_test

import (
	"go/parser"
	"go/token"
	"net/url"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"umg/app"
	"umg/views"
	"umg/views/codesample"
	"umg/views/stories"
	videopages "umg/views/videos"
)

// text is the words of a story as a reader sees them.
func text(t *testing.T, name string) string {
	t.Helper()
	s, ok := stories.Find(name)
	if !ok {
		t.Fatalf("no story %s", name)
	}
	return strings.Join(strings.Fields(parse(t, draw(t, s)).Find("main").Text()), " ")
}

func TestVideoPagesSayWhatWasPaidAndWhy(t *testing.T) {
	t.Parallel()
	for name, wants := range map[string][]string{
		"videos":               {"8 videos", "24.3 MB", "$0.80 held", "Not charged", "$2.40", "Expired", "Remix of"},
		"videos-table":         {"8 of 1,204 videos", "5.4 GB", "Newer", "Older"},
		"videos-empty":         {"No videos yet", "Make your first video"},
		"videos-delete":        {"Delete 4 videos?", "2 are still being made"},
		"video-queued":         {"Queued", "4 s so far", "$0.80 held", "8 s × $0.10 = $0.80"},
		"video-running":        {"In progress", "37%", "48 s so far", "usually about 1 min 20 s"},
		"video-saving":         {"Saving", "It is being saved"},
		"video-completed":      {"Completed", "took 1 min 23 s", "8 s × $0.30 = $2.40", "MP4, 4 MB", "Made from", "Remixes of this", "and older ones"},
		"video-completed-bare": {"None was made of this video.", "which was deleted", "the key Batch nightly", "a picture was given"},
		"video-moderated":      {"Stopped by the content policy", "Not charged. The $0.80 that was reserved is released.", "Change it and try again"},
		"video-failed":         {"The provider could not make it", "out of capacity", "upstream_error"},
		"video-expired":        {"The video is not kept any more", "It was kept until its expiry date.", "nothing can be made from it"},
		"video-remix-confirm":  {"8 s × $0.30 = $2.40", "Yes, remix for $2.40"},
		"video-play":           {"8 s × $0.10 = $0.80", "Balance after: $4.19873145", "1280 × 720", "$0.30–$0.70/s"},
		"video-play-credit":    {"more than your balance of $0.50", "See your balance"},
		"video-play-confirm":   {"This costs $5.60", "It is more than $5.00", "Yes, make it for $5.60"},
		"video-play-two":       {"8 s × $0.10 + 8 s × $0.30 = $3.20"},
		"video-play-none":      {"No model makes videos right now"},
	} {
		got := text(t, name)
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s does not say %q", name, want)
			}
		}
	}
}

// TestOnlyVideosThatAreMadeAreAskedAfter: a part polls while its video runs, and not a moment longer.
func TestOnlyVideosThatAreMadeAreAskedAfter(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"videos": 3, "videos-table": 3, "video-running": 1, "video-completed": 0, "video-failed": 0, "video-play-two": 1} {
		s, _ := stories.Find(name)
		if n := parse(t, draw(t, s)).Find("[data-poll]").Length(); n != want {
			t.Errorf("%s: %d parts poll, want %d", name, n, want)
		}
	}
}

func TestVideoQueriesAreTheirAddress(t *testing.T) {
	t.Parallel()
	for _, query := range []string{"", "q=a+b%26c&status=failed&view=table", "after=video_1&model=x%2Fy", "before=video_1"} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(videopages.ParseQuery(values).Path(), "?")
		if got != query {
			t.Errorf("%q became %q", query, got)
		}
	}
	if got := videopages.ParseQuery(url.Values{"status": {"<b>"}, "view": {"x"}, "after": {"1"}, "before": {"2"}}).Path(); got != "/console/videos?after=1" {
		t.Errorf("a foolish address became %q", got)
	}
}

const evilPrompt = `"><img src=x onerror=alert(1)>'; rm -rf /; $(id) ` + "`id` \\ {model} {key}\n\u2028"

func TestVideoProgramsHoldAnyPrompt(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"", "video_1"} {
		for _, hook := range []bool{false, true} {
			v := codesample.Video{Model: "m/n", Prompt: evilPrompt, Size: "1280x720", Seconds: 8, RemixedFrom: source}
			for _, s := range codesample.OfVideo("https://x.test/v1", v, hook) {
				if s.Name == "go" {
					if _, err := parser.ParseFile(token.NewFileSet(), "main.go", s.Source, parser.AllErrors); err != nil {
						t.Errorf("go, source %q, hook %t: %v\n%s", source, hook, err, s.Source)
					}
				}
				if s.Name == "curl" && strings.Contains(s.Source, `>'; rm`) {
					t.Errorf("the shell would run the prompt:\n%s", s.Source)
				}
				if !strings.Contains(s.Source, "{model} {key}") || strings.Contains(s.Source, "{create}") {
					t.Errorf("%s: the prompt was filled in or a program was not:\n%s", s.Name, s.Source)
				}
			}
		}
	}
}

func TestHostileVideosStayText(t *testing.T) {
	t.Parallel()
	cost := app.Amount(0)
	v := videopages.Video{
		ID: "video_1", Model: evilPrompt, Prompt: evilPrompt, Size: evilPrompt, Status: videopages.VideoFailed, ErrorCode: evilPrompt,
		ErrorMessage: evilPrompt, Person: evilPrompt, Cost: &cost, RemixedFrom: evilPrompt, Files: []videopages.File{{Variant: evilPrompt, Type: evilPrompt}},
	}
	shell := views.Shell{BaseURL: "https://x.test/v1", Viewer: &views.Viewer{Email: "a@example.com", Rights: app.AllRights}}
	m := videopages.Model{ID: evilPrompt, Name: evilPrompt, Description: evilPrompt, Sizes: []string{evilPrompt}, Seconds: []int{4}}
	for name, view := range map[string]templ.Component{
		"list":   videopages.ListPage(videopages.List{Shell: shell, Videos: []videopages.Video{v}, Stored: 1, Models: []string{evilPrompt}, Query: videopages.Query{Text: evilPrompt, Model: evilPrompt}}),
		"table":  videopages.ListPage(videopages.List{Shell: shell, Videos: []videopages.Video{v}, Stored: 1, Query: videopages.Query{Table: true}, Older: evilPrompt}),
		"page":   videopages.DetailPage(videopages.Detail{Shell: shell, Video: v, Source: &v, Remixes: []videopages.Video{v}, Remix: videopages.Remix{Prompt: evilPrompt, Error: evilPrompt}}),
		"delete": videopages.DeletePage(videopages.Delete{Shell: shell, Videos: []videopages.Video{v}}),
		"code":   videopages.CodePage(videopages.Code{Shell: shell, Video: v, KeyHint: evilPrompt, Language: evilPrompt}),
		"play": videopages.PlaygroundPage(videopages.Playground{
			Shell: shell, Models: []videopages.Model{m}, Started: []videopages.Video{v}, Form: videopages.Form{Model: evilPrompt, Prompt: evilPrompt, Size: evilPrompt},
			Errors: map[string]string{"prompt": evilPrompt}, Trouble: &views.PlayTrouble{Message: evilPrompt},
		}),
	} {
		if n := parse(t, render(t, view)).Find(`[onerror], img[src="x"]`).Length(); n > 0 {
			t.Errorf("%s: a hostile text became markup", name)
		}
	}
}
