package console

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// played is a film that a browser plays, and what it must find.
type played struct {
	model, size, seconds string
	// thumbnail is a media type.
	thumbnail string
}

// TestPlaybackInABrowser plays films of each style of upstream in Chromium, from the content route itself, with no more
// between them than the key that a page must not have.
func TestPlaybackInABrowser(t *testing.T) {
	t.Parallel()
	c := harness.NewVideoCustomer(t, harness.SharedVideoDemo(t), "playback")
	for name, film := range map[string]played{
		"videos":     {harness.VideosModel, "720x1280", "4", "image/webp"},
		"operations": {harness.OperationsModel, "1280x720", "8", "image/jpeg"},
		"tasks":      {harness.TasksModel, "960x960", "5", "image/jpeg"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := c.CompleteVideo(t, harness.VideoBody(film.model, "A boat at sea", `"size":`+harness.Quote(film.size), `"seconds":`+harness.Quote(film.seconds)))
			id := harness.TextMember(task, "id")
			cinema := newCinema(t, c)
			p := harness.NewTab(t, playwright.BrowserNewContextOptions{})
			p.Open(cinema.url + "/film?id=" + id)
			loads(p, film)
			playsToTheEnd(p)
			seeks(t, p, cinema, film)
			playsFromMemory(p, cinema.url, id, film)
			requirePlaying(p, cinema.url, id, film)
		})
	}
}

// cinema serves a page with a video, and passes what the video loads on to the gateway with the customer's key.
type cinema struct {
	url string

	mu     sync.Mutex
	served []served
}

// served is one answer of the content route.
type served struct {
	// asked is the Range of a request, and told the Content-Range of its answer.
	asked, told string
	status      int
}

// A film that is asked for piecemeal comes in pieces that are smaller than the browser would like, so that it has to ask
// for the middle of the file when it goes there.
const (
	piecemeal  = "piecemeal"
	pieceBytes = 32 << 10
)

const cinemaPage = `<!doctype html><html lang="en"><title>Film</title><link rel="icon" href="data:,">
<video id="film" muted playsinline preload="metadata" src="/v1/videos/%s/content"></video></html>`

func newCinema(t *testing.T, c harness.Customer) *cinema {
	t.Helper()
	gate, err := url.Parse(strings.TrimSuffix(c.BaseURL, "/v1"))
	if err != nil {
		t.Fatal(err)
	}
	all := &cinema{}
	through := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(gate)
			r.Out.Header.Del("Cookie")
			r.Out.Header.Set("Authorization", "Bearer "+c.APIKey)
			var n int64
			if _, err := fmt.Sscanf(r.In.Header.Get("Range"), "bytes=%d-", &n); err == nil && r.In.URL.RawQuery == piecemeal {
				r.Out.URL.RawQuery = ""
				r.Out.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", n, n+pieceBytes-1))
			}
		},
		ModifyResponse: func(r *http.Response) error {
			all.mu.Lock()
			defer all.mu.Unlock()
			all.served = append(all.served, served{r.Request.Header.Get("Range"), r.Header.Get("Content-Range"), r.StatusCode})
			return nil
		},
		// A browser cancels requests that it does not need, which is no error.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) {},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, harness.VideosPath+"/") {
			through.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, cinemaPage, url.PathEscape(r.URL.Query().Get("id")))
	}))
	t.Cleanup(s.Close)
	all.url = s.URL
	return all
}

// seen are the answers so far.
func (c *cinema) seen() []served {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.served)
}

// evaluate runs a function in the page, which may be asynchronous, and returns what it gives.
func evaluate(p *harness.Tab, script string, arg any) map[string]any {
	p.T.Helper()
	v, err := p.Evaluate(script, arg)
	p.Must(err)
	o, _ := v.(map[string]any)
	return o
}

// count is a number of what a script gave.
func count(o map[string]any, name string) float64 {
	switch n := o[name].(type) {
	case int:
		return float64(n)
	case float64:
		return n
	}
	return math.NaN()
}

// waitsFor is a script's part: a promise of an event of the film, or of its failure.
const waitsFor = `const film = document.getElementById("film");
const happens = (name) => new Promise((done, fail) => {
  film.addEventListener(name, done, {once: true});
  film.addEventListener("error", () => fail(new Error("the film fails: " + film.error?.message)), {once: true});
  setTimeout(() => fail(new Error("no " + name + " in time; ready " + film.readyState + ", at " + film.currentTime)), 12000);
});`

// loads insists on the measures that the film must have.
func loads(p *harness.Tab, film played) {
	p.T.Helper()
	o := evaluate(p, `async () => {`+waitsFor+`
		if (film.readyState < 1) await happens("loadedmetadata");
		return {width: film.videoWidth, height: film.videoHeight, duration: film.duration, kind: film.canPlayType("video/mp4")};
	}`, nil)
	measures(p, o, film)
}

func measures(p *harness.Tab, o map[string]any, film played) {
	p.T.Helper()
	seconds, err := strconv.ParseFloat(film.seconds, 64)
	p.Must(err)
	if fmt.Sprintf("%vx%v", o["width"], o["height"]) != film.size || !(math.Abs(count(o, "duration")-seconds) < 0.1) {
		p.T.Errorf("the film is %v and not %s of %s s", o, film.size, film.seconds)
	}
}

// playsToTheEnd plays the film at several times its speed, and insists that pictures are drawn that differ.
func playsToTheEnd(p *harness.Tab) {
	p.T.Helper()
	o := evaluate(p, `async () => {`+waitsFor+`
		const canvas = document.createElement("canvas");
		canvas.width = canvas.height = 32;
		const pen = canvas.getContext("2d", {willReadFrequently: true});
		const pictures = new Set();
		const look = () => {
			pen.drawImage(film, 0, 0, 32, 32);
			pictures.add(pen.getImageData(0, 0, 32, 32).data.join());
			film.requestVideoFrameCallback(look);
		};
		film.requestVideoFrameCallback(look);
		film.playbackRate = 4;
		const end = happens("ended");
		await film.play();
		await end;
		const quality = film.getVideoPlaybackQuality();
		return {frames: quality.totalVideoFrames, corrupted: quality.corruptedVideoFrames, pictures: pictures.size,
			left: film.duration - film.currentTime};
	}`, nil)
	if !(count(o, "frames") > 5) || count(o, "corrupted") != 0 || !(count(o, "pictures") > 1) || !(count(o, "left") < 0.2) {
		p.T.Errorf("the film was played as %v", o)
	}
}

// seeks loads the film again, in pieces, jumps close to its end and back, and checks what the browser asked for.
func seeks(t *testing.T, p *harness.Tab, from *cinema, film played) {
	t.Helper()
	before := len(from.seen())
	o := evaluate(p, `async (query) => {`+waitsFor+`
		const ready = happens("loadedmetadata");
		film.preload = "metadata";
		film.src += query;
		await ready;
		const there = happens("seeked");
		film.currentTime = film.duration * 0.9;
		await there;
		const far = film.currentTime / film.duration;
		const back = happens("seeked");
		film.currentTime = 0.5;
		await back;
		return {far, near: film.currentTime, seekable: film.seekable.length && film.seekable.end(0) - film.duration};
	}`, "?"+piecemeal)
	if !(math.Abs(count(o, "far")-0.9) < 0.05) || !(math.Abs(count(o, "near")-0.5) < 0.1) || !(math.Abs(count(o, "seekable")) < 0.1) {
		t.Errorf("a film of %s s was sought as %v", film.seconds, o)
	}
	middle := 0
	for _, one := range from.seen()[before:] {
		from, _, ranged := strings.Cut(strings.TrimPrefix(one.asked, "bytes="), "-")
		if !ranged || one.status != http.StatusPartialContent || !strings.HasPrefix(one.told, "bytes "+from+"-") {
			t.Errorf("a part was asked for as %q and answered %d %q", one.asked, one.status, one.told)
		}
		if !strings.HasPrefix(one.asked, "bytes=0-") {
			middle++
		}
	}
	if middle == 0 {
		t.Errorf("the browser never asked for the middle of the film: %+v", from.seen()[before:])
	}
}

// playsFromMemory loads the whole file as a script does, and plays that.
func playsFromMemory(p *harness.Tab, origin, id string, film played) {
	p.T.Helper()
	o := evaluate(p, `async (address) => {
		const answer = await fetch(address);
		const blob = await answer.blob();
		const film = document.createElement("video");
		film.muted = true;
		film.src = URL.createObjectURL(blob);
		await new Promise((done, fail) => { film.onloadeddata = done; film.onerror = () => fail(new Error(film.error?.message)); });
		return {status: answer.status, type: blob.type, size: blob.size, told: Number(answer.headers.get("content-length")),
			width: film.videoWidth, height: film.videoHeight, duration: film.duration};
	}`, origin+harness.VideosPath+"/"+id+"/content")
	if count(o, "status") != http.StatusOK || o["type"] != "video/mp4" || count(o, "size") != count(o, "told") || !(count(o, "size") > 1000) {
		p.T.Errorf("the file came as %v", o)
	}
	measures(p, o, film)
}

// requirePlaying loads the stills as pictures.
func requirePlaying(p *harness.Tab, origin, id string, film played) {
	p.T.Helper()
	for variant, mediaType := range map[string]string{"thumbnail": film.thumbnail, "spritesheet": "image/jpeg"} {
		o := evaluate(p, `async (address) => {
			const blob = await (await fetch(address)).blob();
			const picture = await createImageBitmap(blob);
			return {type: blob.type, width: picture.width, height: picture.height};
		}`, origin+harness.VideosPath+"/"+id+"/content?variant="+variant)
		var width, height int
		if _, err := fmt.Sscanf(film.size, "%dx%d", &width, &height); err != nil {
			p.T.Fatal(err)
		}
		w, h := int(count(o, "width")), int(count(o, "height"))
		if variant == "spritesheet" {
			w, h = w/5, h/2
		}
		if o["type"] != mediaType || !harness.SameShape(w, h, width, height) {
			p.T.Errorf("the %s is %v", variant, o)
		}
	}
}
