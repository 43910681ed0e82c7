package videoapi

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"umg/app/catalog"
	"umg/app/llm"
	"umg/app/provider"
)

const film = "\x00\x00\x00\x18ftypmp42 and so on"

func movie(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "video/mp4")
	_, _ = io.WriteString(w, film)
}

func read(t *testing.T, f *File) string {
	t.Helper()
	got, err := io.ReadAll(f)
	if err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	return string(got)
}

func TestFilesBelowAVideoAreFetchedByTheirNames(t *testing.T) {
	t.Parallel()
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", map[string]string{"video": "video/mp4", "thumbnail": "image/webp", "spritesheet": "image/jpeg"}[r.FormValue("variant")])
		_, _ = io.WriteString(w, r.FormValue("variant"))
	})
	for v, want := range map[Variant][2]string{Video: {"video", "video/mp4"}, Thumbnail: {"thumbnail", "image/webp"}, Spritesheet: {"spritesheet", "image/jpeg"}} {
		f, fault := client(t).Open(soon(t), route(catalog.VideosStyle, u.URL), Task{ID: "video_1"}, v)
		if fault != nil {
			t.Fatal(fault)
		}
		got := u.last(t)
		if f.Type != want[1] || f.Size != int64(len(want[0])) || read(t, f) != want[0] || got.method != "GET" ||
			got.uri != "/v1/videos/video_1/content?variant="+want[0] || got.header.Get("Authorization") != "Bearer "+canary {
			t.Errorf("%s, %d, %+v", f.Type, f.Size, got)
		}
	}
}

func TestFilesThatAreNotMadeAreRefused(t *testing.T) {
	t.Parallel()
	none := serve(t, says(404, `{"error":{"message":"This video has no thumbnail."}}`))
	films := Task{ID: "text2video/1", Files: Files{Video: "id " + none.URL + "/f"}}
	for _, v := range []Variant{Thumbnail, Spritesheet} {
		for _, style := range catalog.VideoStyles() {
			if _, f := client(t).Open(soon(t), route(style, none.URL), Task{ID: "video_1", Files: films.Files}, v); f == nil || f.Class != provider.ClassRefused {
				t.Errorf("%s: %v", style, f)
			}
		}
	}
	for style, task := range map[llm.Style]Task{catalog.VideosStyle: {ID: "video_1"}, catalog.TasksStyle: films} {
		if _, f := client(t).Open(soon(t), route(style, none.URL), task, Video); f == nil || f.Class != provider.ClassContent || f.Status != 404 {
			t.Errorf("a video that is not there: %v", f)
		}
	}
}

// TestTheCredentialIsNeverSentToOtherHosts wants it with every request to the provider's own scheme and host, and with no other.
func TestTheCredentialIsNeverSentToOtherHosts(t *testing.T) {
	t.Parallel()
	foreign := serve(t, movie)
	back := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(strings.Join(r.Header["X-Goog-Api-Key"], ""), canary) {
			t.Error("the credential was sent to another host")
		}
		http.Redirect(w, r, r.FormValue("to"), http.StatusSeeOther)
	})
	home := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/out":
			http.Redirect(w, r, foreign.URL+"/signed?sig=1", http.StatusFound)
		case "/around":
			http.Redirect(w, r, back.URL+"/back?to=http://"+r.Host+"/home", http.StatusTemporaryRedirect)
		case "/in":
			http.Redirect(w, r, "/v1beta/files/f", http.StatusFound)
		default:
			movie(w, r)
		}
	})
	r := route(catalog.OperationsStyle, home.URL)
	for from, want := range map[string]struct{ home, foreign int }{
		home.URL + "/v1beta/files/f:download?alt=media": {1, 0},
		home.URL + "/in":     {2, 0},
		home.URL + "/out":    {1, 1},
		home.URL + "/around": {2, 0},
		foreign.URL + "/f":   {0, 1},
	} {
		homeBefore, foreignBefore := len(home.all()), len(foreign.all())
		f, fault := client(t, foreign.host(), back.host()).Open(soon(t), r, Task{Files: Files{Video: from}}, Video)
		if fault != nil {
			t.Errorf("%s: %v", from, fault)
			continue
		}
		if read(t, f) != film || f.Type != "video/mp4" {
			t.Errorf("%s: %s", from, f.Type)
		}
		if h, o := len(home.all())-homeBefore, len(foreign.all())-foreignBefore; h != want.home || o != want.foreign {
			t.Errorf("%s: %d requests to the provider, %d to others", from, h, o)
		}
	}
	for _, s := range home.all() {
		if s.header.Get("X-Goog-Api-Key") != canary {
			t.Errorf("%s: %v", s.uri, s.header)
		}
	}
	for _, s := range foreign.all() {
		for name, values := range s.header {
			if strings.Contains(strings.Join(values, " "), canary) {
				t.Errorf("%s: %s", s.uri, name)
			}
		}
	}
}

func TestAddressesThatMayNotBeFetchedAreNot(t *testing.T) {
	t.Parallel()
	inside := serve(t, movie)
	home := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inside.URL, http.StatusFound) })
	upstreamHost := strings.TrimPrefix(home.URL, "http://")
	for _, address := range []string{
		home.URL + "/f", inside.URL + "/f", "http://169.254.169.254/latest", "file:///etc/passwd", "https://user:pass@example.com/", "x", "//" + upstreamHost,
		"https://" + upstreamHost + "/", strings.Replace(home.URL, "http://", "http://user:pass@", 1),
	} {
		_, f := client(t).Open(soon(t), route(catalog.TasksStyle, home.URL), Task{Files: Files{Video: address}}, Video)
		if f == nil || f.Class != provider.ClassContent && f.Class != provider.ClassSetup {
			t.Errorf("%s: %v", address, f)
		}
	}
	if len(inside.all()) != 0 {
		t.Error("an address inside was fetched")
	}
}

func TestAFileIsRedirectedThreeTimesAtMost(t *testing.T) {
	t.Parallel()
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if left := strings.TrimPrefix(r.URL.Path, "/"); left != "" {
			http.Redirect(w, r, "/"+left[1:], http.StatusFound)
			return
		}
		movie(w, r)
	})
	r := route(catalog.OperationsStyle, u.URL)
	f, fault := client(t).Open(soon(t), r, Task{Files: Files{Video: u.URL + "/aaa"}}, Video)
	if fault != nil || read(t, f) != film {
		t.Errorf("three times: %v", fault)
	}
	if _, fault = client(t).Open(soon(t), r, Task{Files: Files{Video: u.URL + "/aaaa"}}, Video); fault == nil || fault.Class != provider.ClassRedirect {
		t.Errorf("four times: %v", fault)
	}
}

func TestAnswersThatAreNoFiles(t *testing.T) {
	t.Parallel()
	for status, want := range map[int][2]provider.Class{ // The first class is for the provider's host, the second for another host.
		403: {provider.ClassCredential, provider.ClassContent}, 404: {provider.ClassContent, provider.ClassContent},
		410: {provider.ClassContent, provider.ClassContent}, 429: {provider.ClassRateLimited, provider.ClassRateLimited},
		500: {provider.ClassServer, provider.ClassServer}, 206: {provider.ClassContent, provider.ClassContent},
		302: {provider.ClassRedirect, provider.ClassContent},
	} {
		u, home := serve(t, says(status, `{"error":{"message":"`+strings.Repeat("x ", 600)+`"}}`)), serve(t, movie)
		for i, r := range []string{u.URL, home.URL} {
			_, f := client(t, u.host()).Open(soon(t), route(catalog.OperationsStyle, r), Task{Files: Files{Video: u.URL + "/f"}}, Video)
			if f == nil || f.Class != want[i] || f.Status != status || len(f.Err.Message) > messageBytesMax {
				t.Errorf("%d: %+v", status, f)
			}
		}
	}
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		movie(w, r)
	})
	if _, f := client(t).Open(soon(t), route(catalog.VideosStyle, u.URL), Task{ID: "v"}, Video); f == nil || f.Class != provider.ClassContent {
		t.Errorf("compressed: %v", f)
	}
}

func TestAFileThatStopsComingEndsAsATimeOut(t *testing.T) {
	t.Parallel()
	stuck := func(part string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if part != "" {
				_, _ = io.WriteString(w, part)
				_ = http.NewResponseController(w).Flush()
			}
			<-r.Context().Done()
		}
	}
	for _, part := range []string{"", "some"} {
		u, other := serve(t, stuck(part)), serve(t, movie)
		for _, base := range []string{u.URL, other.URL} {
			c := client(t, u.host())
			c.idle = 50 * time.Millisecond
			f, fault := c.Open(soon(t), route(catalog.OperationsStyle, base), Task{Files: Files{Video: u.URL + "/f"}}, Video)
			if fault == nil { // A part arrived in time.
				_, err := io.ReadAll(f)
				_ = f.Close()
				fault, _ = errors.AsType[*provider.Fault](err)
			}
			if fault == nil || fault.Class != provider.ClassIdle {
				t.Errorf("%q: %v", part, fault)
			}
		}
	}
}

func TestASlowReaderIsNoTimeOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		f := &fileReader{body: io.NopCloser(strings.NewReader(film)), watch: &idleTimer{ctx: ctx, cancel: cancel, idle: idleTimeout}}
		for range film {
			if n, err := f.Read(make([]byte, 1)); n != 1 || err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Hour) // The time of the reader does not count as idle.
		}
		if context.Cause(ctx) != nil {
			t.Error(context.Cause(ctx))
		}
	})
}

func TestACutFileSaysSo(t *testing.T) {
	t.Parallel()
	url := raw(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 4096))
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 100\r\n\r\nsome")
	})
	f, fault := client(t).Open(soon(t), route(catalog.VideosStyle, url), Task{ID: "v"}, Video)
	if fault != nil || f.Size != 100 {
		t.Fatal(fault)
	}
	defer f.Close()
	_, err := io.ReadAll(f)
	if cut, ok := errors.AsType[*provider.Fault](err); !ok || cut.Class != provider.ClassReset {
		t.Errorf("%v", err)
	}
}

func TestTheContextBoundsTheWholeCopy(t *testing.T) {
	t.Parallel()
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, "more")
			_ = http.NewResponseController(w).Flush()
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	f, fault := client(t).Open(ctx, route(catalog.VideosStyle, u.URL), Task{ID: "v"}, Video)
	if fault != nil {
		t.Fatal(fault)
	}
	defer f.Close()
	_, err := io.Copy(io.Discard, f)
	if late, ok := errors.AsType[*provider.Fault](err); !ok || late.Class != provider.ClassTotal {
		t.Errorf("%v", err)
	}
}
