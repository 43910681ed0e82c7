package console_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"image"
	"image/png"
	"log/slog"
	mathrand "math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/catalog"
	"umg/app/console"
	"umg/app/egress"
	"umg/app/idempotency"
	"umg/app/media"
	"umg/app/postgres/pgtest"
	"umg/app/provider"
	"umg/app/provider/videoapi"
	"umg/app/ratelimit"
	"umg/app/simulator"
	"umg/app/storage"
	"umg/app/video"
	"umg/app/webhook"
	"umg/billing"
)

const cheapFilm = "boreal/drift:fast"

// studio is a console over the default catalog and a real service of videos, whose providers are all the simulator.
type studio struct {
	*fixture
	videos *video.Service
}

func withVideos(t *testing.T) *studio {
	t.Helper()
	upstream := httptest.NewServer(simulator.New(simulator.Options{Now: time.Now}))
	t.Cleanup(upstream.Close)
	db := pgtest.New(t)
	file, err := catalog.ParseFile(catalog.Default())
	if err != nil {
		t.Fatal(err)
	}
	if err := catalog.Apply(t.Context(), db, file); err != nil {
		t.Fatal(err)
	}
	secrets := map[string]string{"UMG_SIMULATOR_URL": upstream.URL, "UMG_SIMULATOR_KEY": "any"}
	s := &studio{videos: newVideos(t, db, upstream.URL, secrets)}
	s.fixture = newFixture(t, db, db, secrets, func(o *console.Options) {
		o.Videos, o.IDs = s.videos, app.IDs{Now: time.Now, Random: rand.Reader}
		o.Repeats = idempotency.New(db, idempotency.Options{Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	})
	return s
}

func newVideos(t *testing.T, db *sqlx.DB, upstream string, secrets map[string]string) *video.Service {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ids, log := app.IDs{Now: time.Now, Random: rand.Reader}, slog.New(slog.DiscardHandler)
	models, err := catalog.Open(t.Context(), db, catalog.Options{
		Now: time.Now, Log: log, Secrets: func(name string) (string, bool) { value, ok := secrets[name]; return value, ok },
	})
	must(err)
	store, err := storage.NewFolder(t.TempDir(), time.Now)
	must(err)
	files, err := egress.New(egress.Options{Exceptions: []string{strings.TrimPrefix(upstream, "http://")}})
	must(err)
	events, err := webhook.New(db, webhook.Options{
		Egress: files, Now: time.Now, IDs: ids, Random: rand.Reader, Jitter: mathrand.Int64N, Log: log, Key: [32]byte{1},
	})
	must(err)
	providers := provider.New(provider.Options{})
	t.Cleanup(func() {
		providers.Close()
		files.Close()
		_ = store.Close()
	})
	return video.New(db, video.Options{
		Ledger: billing.NewLedger(db, billing.Options{Now: time.Now, IDs: ids, Log: log}), Snapshot: models.Snapshot,
		Limits: ratelimit.New(ratelimit.Options{Now: time.Now}), Upstreams: videoapi.New(providers, files), Store: store, Thumbnailer: media.New(""),
		Events: events, Egress: files, Now: time.Now, IDs: ids, Random: rand.Reader, Jitter: mathrand.Int64N, Log: log,
		BaseURL: "http://gateway.test", Waits: video.Waits{PollMin: time.Millisecond, PollMax: 2 * time.Millisecond, RetryMin: time.Millisecond},
	})
}

// finish works until the video at a path has ended.
func (s *studio) finish(p *person, at string) reply {
	s.t.Helper()
	for range 500 {
		if _, err := s.videos.Work(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
		if a := p.see(at); !strings.Contains(a.body, `as=page`) {
			return a
		}
	}
	s.t.Fatalf("%s does not end", at)
	return reply{}
}

func film(prompt string, more ...string) url.Values {
	v := url.Values{"model": {cheapFilm}, "prompt": {prompt}, "size": {"1280x720"}, "seconds": {"4"}}
	for i := 0; i < len(more); i += 2 {
		v.Set(more[i], more[i+1])
	}
	return v
}

// make sends the form of the playground and gives the path of the video's page.
func (p *person) make(form url.Values) string {
	p.t.Helper()
	a := p.send("/console/playground/video", form)
	if a.status != http.StatusSeeOther || !strings.HasPrefix(a.header.Get("Location"), "/console/videos/video_") {
		p.t.Fatalf("%d %s %s", a.status, a.header.Get("Location"), alerts(a.body))
	}
	return a.header.Get("Location")
}

var alertText = regexp.MustCompile(`(?s)(?:role="alert"|class="field-error")[^>]*>(.*?)</(?:div|p)>`)

func alerts(page string) []string { return alertText.FindAllString(page, -1) }

func has(t *testing.T, what string, a reply, status int, words ...string) {
	t.Helper()
	if a.status != status {
		t.Errorf("%s: %d %v", what, a.status, alerts(a.body))
	}
	tags := regexp.MustCompile(`<[^>]*>`)
	text := regexp.MustCompile(`\s+`).ReplaceAllString(tags.ReplaceAllString(a.body, " "), " ")
	code := tags.ReplaceAllString(a.body, "")
	for _, w := range words {
		if !strings.Contains(text, w) && !strings.Contains(a.body, w) && !strings.Contains(code, w) {
			t.Errorf("%s lacks %q", what, w)
		}
	}
}

// TestAVideoIsMadeWatchedAndDeletedWithoutScripts goes the whole way with plain forms, and pays what was shown.
func TestAVideoIsMadeWatchedAndDeletedWithoutScripts(t *testing.T) {
	t.Parallel()
	s := withVideos(t)
	p := s.signedIn("maker@example.com")
	has(t, "the empty list", p.see("/console/videos"), http.StatusOK, "No videos yet", "Make your first video")
	has(t, "the form", p.see("/console/playground/video"), http.StatusOK, "8 s × $0.10 = $0.80", "Balance after: $4.20", "Drift Fast", "720 × 1280")
	at := p.make(film("a <b>paper</b> boat"))
	has(t, "the running page", p.see(at), http.StatusOK, "a &lt;b&gt;paper", "$0.40 held", "so far", "View code")
	has(t, "the running list", p.see("/console/videos"), http.StatusOK, "$0.40 held", "as=card")
	page := s.finish(p, at)
	has(t, "the page", page, http.StatusOK, "Completed", "4 s × $0.10 = $0.40", "maker@example.com, in the console", "<video", "Download", "Remix")
	has(t, "the list", p.see("/console/videos"), http.StatusOK, "1 video", "Stored", "30 days after completion")
	has(t, "the table", p.see("/console/videos?view=table&q=PAPER"), http.StatusOK, "1 video matches", "1280 × 720")
	has(t, "the completed", p.see("/console/videos?status=completed&model="+url.QueryEscape(cheapFilm)), http.StatusOK, "1 video matches")
	has(t, "no match", p.see("/console/videos?q=zebra"), http.StatusOK, "No video matches")
	has(t, "the code", p.see(at+"/code"), http.StatusOK, "client.videos.create", "webhooks.unwrap", "UMG_API_KEY", "$id/content")
	has(t, "the balance", p.see("/console"), http.StatusOK, "$4.60")
	has(t, "the question", p.see(at+"/delete"), http.StatusOK, "Delete this video?")
	if a := p.send(at+"/delete", nil); a.status != http.StatusSeeOther || a.header.Get("Location") != "/console/videos" {
		t.Errorf("delete: %d", a.status)
	}
	for _, gone := range []string{at, at + "/content", at + "/code", at + "/delete"} {
		if a := p.see(gone); a.status != http.StatusNotFound {
			t.Errorf("%s after deletion: %d", gone, a.status)
		}
	}
}

// TestContentIsServedInRangesToItsOwnerOnly plays a part of a video, keeps its files, and refuses strangers.
func TestContentIsServedInRangesToItsOwnerOnly(t *testing.T) {
	t.Parallel()
	s := withVideos(t)
	p := s.signedIn("owner@example.com")
	at := p.make(film("waves", "model", "meridian/reel"))
	s.finish(p, at)
	p.headers["Range"] = "bytes=4-7"
	a := p.see(at + "/content?variant=video")
	if a.status != http.StatusPartialContent || a.body != "ftyp" || a.header.Get("Content-Type") != "video/mp4" || !strings.Contains(a.header.Get("Cache-Control"), "private") {
		t.Errorf("%d %q %v", a.status, a.body, a.header)
	}
	delete(p.headers, "Range")
	for variant, ending := range map[string]string{"video": ".mp4", "thumbnail": "-thumbnail.webp", "spritesheet": "-spritesheet.jpg"} {
		a := p.see(at + "/content?download=true&variant=" + variant)
		if name := a.header.Get("Content-Disposition"); a.status != http.StatusOK || !strings.HasSuffix(name, ending+`"`) || len(a.body) < 100 {
			t.Errorf("%s: %d %s, %d bytes", variant, a.status, name, len(a.body))
		}
	}
	if a := p.see(at + "/content?variant=sound"); a.status != http.StatusBadRequest {
		t.Errorf("an unknown variant: %d", a.status)
	}
	stranger := s.signedIn("stranger@example.com")
	for _, path := range []string{at, at + "/content", at + "/code", at + "/delete"} {
		if a := stranger.see(path); a.status != http.StatusNotFound {
			t.Errorf("%s for a stranger: %d", path, a.status)
		}
	}
	id := strings.TrimPrefix(at, "/console/videos/")
	for path, form := range map[string]url.Values{at + "/delete": nil, at + "/remix": {"prompt": {"x"}}} {
		if a := stranger.send(path, form); a.status != http.StatusNotFound {
			t.Errorf("%s by a stranger: %d", path, a.status)
		}
	}
	has(t, "a stranger's choice", stranger.send("/console/videos/delete", url.Values{"id": {id}, "sure": {"true"}}), http.StatusOK, "Nothing is selected")
	if a := p.see(at); a.status != http.StatusOK {
		t.Errorf("it was deleted by a stranger: %d", a.status)
	}
}

// TestMistakesStandBesideTheirFields: the form keeps what was typed, and nothing is made or held.
func TestMistakesStandBesideTheirFields(t *testing.T) {
	t.Parallel()
	s := withVideos(t)
	p := s.signedIn("mistakes@example.com")
	const to = "/console/playground/video"
	has(t, "a blank prompt", p.send(to, film("  ")), http.StatusUnprocessableEntity, `id="video-error-prompt"`, "prompt is blank")
	has(t, "a long prompt", p.send(to, film(strings.Repeat("x", 32_001))), http.StatusUnprocessableEntity, "32,001 of 32,000 characters")
	a := p.send(to, film("guardrail: minors"))
	has(t, "a refused prompt", a, http.StatusUnprocessableEntity, "guardrail: minors</textarea>")
	if len(alerts(a.body)) == 0 {
		t.Error("the refusal is not said")
	}
	has(t, "a wrong picture", p.upload(to, film("boat"), picture(t, 640, 480)), http.StatusUnprocessableEntity,
		`id="video-error-input_reference"`, "1280x720", "640x480", "Choose the picture again", "boat</textarea>")
	dear := film("a palace", "model", "boreal/drift:pro", "size", "1920x1080", "seconds", "8")
	has(t, "a dear video", p.send(to, dear), http.StatusUnprocessableEntity, "This costs $5.60", "Yes, make it for $5.60", `name="agreed" value="5.6"`)
	dear.Set("agreed", "5.6")
	has(t, "a dear video without the money", p.send(to, dear), http.StatusUnprocessableEntity, "See your balance")
	two := film("a boat", "also", "kestrel/swift")
	has(t, "a second model without this length", p.send(to, two), http.StatusUnprocessableEntity, `id="video-error-also"`, "seconds")
	if a := p.see("/console/videos?status=completed"); !strings.Contains(a.body, "No video matches") {
		t.Error("something was made")
	}
	has(t, "the balance", p.see("/console"), http.StatusOK, "$5.00")
	has(t, "another model's settings", p.send(to, film("kept", "do", "settings", "model", "kestrel/swift")), http.StatusOK, "960 × 960", "kept</textarea>")
}

func picture(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// upload sends the form with a picture, as a browser does.
func (p *person) upload(path string, form url.Values, data []byte) reply {
	p.t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, values := range form {
		for _, v := range values {
			_ = w.WriteField(name, v)
		}
	}
	part, err := w.CreateFormFile("input_reference", "first.png")
	if err != nil {
		p.t.Fatal(err)
	}
	_, _ = part.Write(data)
	_ = w.Close()
	return p.sendParts(path, w.FormDataContentType(), &b)
}

// TestTwoModelsMakeTheSameVideo, and a picture goes along with both.
func TestTwoModelsMakeTheSameVideo(t *testing.T) {
	t.Parallel()
	s := withVideos(t)
	p := s.signedIn("two@example.com")
	a := p.upload("/console/playground/video", film("a boat", "also", "meridian/reel"), picture(t, 1280, 720))
	if a.status != http.StatusSeeOther || strings.Count(a.header.Get("Location"), "started=video_") != 2 {
		t.Fatalf("%d %s %v", a.status, a.header.Get("Location"), alerts(a.body))
	}
	page := p.see(a.header.Get("Location"))
	has(t, "the page", page, http.StatusOK, "Video by boreal/drift:fast", "Video by meridian/reel", "4 s × $0.10 + 4 s × $0.08 = $0.72")
	ids := regexp.MustCompile(`name="started" value="(video_[a-z0-9]+)"`).FindAllStringSubmatch(page.body, -1)
	form := url.Values{}
	for _, id := range ids {
		has(t, "one of two", s.finish(p, "/console/videos/"+id[1]), http.StatusOK, "a picture was given")
		form.Add("id", id[1])
	}
	has(t, "the question", p.send("/console/videos/delete", form), http.StatusOK, "Delete 2 videos?")
	form.Set("sure", "true")
	if a := p.send("/console/videos/delete", form); a.status != http.StatusSeeOther {
		t.Errorf("delete: %d", a.status)
	}
	has(t, "the list", p.see("/console/videos"), http.StatusOK, "2 videos were deleted.", "No videos yet")
}

// TestRemixesKnowWhereTheyComeFrom, and failures say why they cost nothing.
func TestRemixesKnowWhereTheyComeFrom(t *testing.T) {
	t.Parallel()
	s := withVideos(t)
	p := s.signedIn("remix@example.com")
	source := p.make(film("a red kite"))
	s.finish(p, source)
	has(t, "a blank remix", p.send(source+"/remix", url.Values{"prompt": {" "}}), http.StatusUnprocessableEntity, "prompt is blank")
	a := p.send(source+"/remix", url.Values{"prompt": {"a blue kite"}})
	remix := a.header.Get("Location")
	if a.status != http.StatusSeeOther || !strings.HasPrefix(remix, "/console/videos/video_") {
		t.Fatalf("%d %v", a.status, alerts(a.body))
	}
	has(t, "the remix", s.finish(p, remix), http.StatusOK, "Made from", source)
	has(t, "the source", p.see(source), http.StatusOK, "Remixes of this", remix)
	has(t, "the code", p.see(remix+"/code"), http.StatusOK, "client.videos.remix")
	failed := p.make(film("guardrail-late: copyright"))
	has(t, "the failure", s.finish(p, failed), http.StatusOK, "Stopped by the content policy", "moderation_blocked",
		"Not charged. The $0.40 that was reserved is released.", "The video failed.")
	has(t, "the balance", p.see("/console"), http.StatusOK, "$4.20")
}

// TestProgressIsAPartForScriptsAndAPageForOthers, and tells the script when the video is gone.
func TestProgressIsAPartForScriptsAndAPageForOthers(t *testing.T) {
	t.Parallel()
	s := withVideos(t)
	p := s.signedIn("parts@example.com")
	at := p.make(film("never ends?"))
	if a := p.see(at + "/progress?as=card"); a.status != http.StatusSeeOther || a.header.Get("Location") != at {
		t.Errorf("without scripts: %d %s", a.status, a.header.Get("Location"))
	}
	p.headers["HX-Request"] = "true"
	for as, again := range map[string]bool{"card": true, "row": true, "result": true, "page": true} {
		a := p.see(at + "/progress?as=" + as)
		if a.status != http.StatusOK || strings.Contains(a.body, "<html") || strings.Contains(a.body, "as="+as) != again {
			t.Errorf("%s: %d %.200s", as, a.status, a.body)
		}
	}
	delete(p.headers, "HX-Request")
	s.finish(p, at)
	p.headers["HX-Request"] = "true"
	if a := p.see(at + "/progress?as=page"); strings.Contains(a.body, "hx-trigger") || !strings.Contains(a.body, `id="video-more"`) || !strings.Contains(a.body, `id="balance"`) {
		t.Errorf("the last look: %s", a.body)
	}
	p.send(at+"/delete", nil)
	if a := p.see(at + "/progress?as=page"); a.status != http.StatusNoContent || a.header.Get("HX-Refresh") != "true" {
		t.Errorf("after deletion: %d", a.status)
	}
}

// TestThePagesOfTheListLeadThereAndBack walks over pages by their cursors.
func TestThePagesOfTheListLeadThereAndBack(t *testing.T) {
	t.Parallel()
	s := withVideos(t)
	p := s.signedIn("pages@example.com")
	var account string
	if err := s.db.QueryRow(`select m.account_id from memberships m join users u on u.id = m.user_id where u.email = 'pages@example.com'`).Scan(&account); err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		_, err := s.db.Exec(`insert into video_jobs (id, account_id, key_id, user_id, model, prompt, size, seconds, provider, style, upstream_model, state,
			error_code, error_message, rate_card_id, hold_nanos, cost_nanos, created_at, completed_at, deadline_at)
			values ($1, $2, '', '', 'old/model', $3, '1280x720', 4, 'p', 'videos', 'm', 'failed', 'upstream_error', 'x', 'c', 400000000, 0, now(), now(), now())`,
			fmt.Sprintf("video_%026d", i), account, fmt.Sprintf("number %d.", i))
		if err != nil {
			t.Fatal(err)
		}
	}
	first := p.see("/console/videos")
	has(t, "the first page", first, http.StatusOK, "24 of 30 videos", "number 29.", "Older")
	if strings.Contains(first.body, "Newer") {
		t.Error("the first page leads to newer ones")
	}
	older := regexp.MustCompile(`href="(/console/videos\?after=[^"]+)"`).FindStringSubmatch(first.body)
	second := p.see(older[1])
	has(t, "the second page", second, http.StatusOK, "6 of 30 videos", "number 5.", "number 0.", "Newer")
	if strings.Contains(second.body, "Older") {
		t.Error("the last page leads to older ones")
	}
	newer := regexp.MustCompile(`href="(/console/videos\?before=[^"]+)"`).FindStringSubmatch(second.body)
	back := p.see(newer[1])
	has(t, "the first page again", back, http.StatusOK, "number 29.", "number 6.", "Older")
	if strings.Contains(back.body, "Newer") || strings.Index(back.body, "number 29.") > strings.Index(back.body, "number 6.") {
		t.Error("the way back is in the wrong order or goes on")
	}
}
