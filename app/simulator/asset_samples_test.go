package simulator

import (
	"bytes"
	"image"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

func TestSamplesAreWhatTheirNamesSay(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{Control: true})
	for name, want := range map[string]struct{ kind, begins string }{
		"picture.png": {"image/png", "\x89PNG"}, "picture.jpg": {"image/jpeg", "\xff\xd8\xff"}, "picture.gif": {"image/gif", "GIF8"},
		"picture.webp": {"image/webp", "RIFF"}, "film.mp4": {"video/mp4", "\x00\x00\x00"}, "film.mov": {"video/quicktime", "\x00\x00\x00"},
		"sound.wav": {"audio/wav", "RIFF"}, "sound.mp3": {"audio/mpeg", "\xff\xfb"}, "unnamed": {"", "\x89PNG"},
		"wrong-type.png": {"text/plain; charset=utf-8", "\x89PNG"}, "text.png": {"image/png", "<!doctype"}, "film.png": {"image/png", "\x00\x00\x00"},
	} {
		whole := u.do("GET", samplesPath+name, nil, nil)
		if whole.status != 200 || whole.header.Get("Content-Type") != want.kind || !strings.HasPrefix(string(whole.body), want.begins) {
			t.Errorf("%s: %d %v", name, whole.status, whole.header)
		}
		head := u.do("HEAD", samplesPath+name, nil, nil)
		if head.status != 200 || head.header.Get("Content-Length") != strconv.Itoa(len(whole.body)) {
			t.Errorf("HEAD %s: %d %v", name, head.status, head.header)
		}
		part := u.do("GET", samplesPath+name, nil, map[string]string{"Range": "bytes=0-15"})
		if part.status != 206 || !bytes.Equal(part.body, whole.body[:16]) {
			t.Errorf("a part of %s: %d, %d bytes", name, part.status, len(part.body))
		}
	}
	for _, format := range []string{"png", "jpeg", "gif"} {
		if c, got, err := image.DecodeConfig(bytes.NewReader(pictureAs(format))); err != nil || got != format || c.Width != sampleWidth {
			t.Errorf("%s: %s %+v %v", format, got, c, err)
		}
	}
	if brand := string(branded(filmSample(u.sim), "qt  ")[4:12]); brand != "ftypqt  " {
		t.Errorf("the film begins with %q", brand)
	}
	if all := u.sim.Requests(); len(all) != 36 || all[0].Status != 200 {
		t.Errorf("%d requests are remembered", len(all))
	}
}

func TestHugeSamplesHaveAllOfTheirLengthAndNoneOfItsCost(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	for name, size := range map[string]int{"huge.png": hugePictureBytes, "huge.wav": hugeSoundBytes, "huge.mp4": hugeFilmBytes} {
		if head := u.do("HEAD", samplesPath+name, nil, nil); head.header.Get("Content-Length") != strconv.Itoa(size) {
			t.Errorf("%s: %v", name, head.header)
		}
		end := strconv.Itoa(size - 4)
		part := u.do("GET", samplesPath+name, nil, map[string]string{"Range": "bytes=" + end + "-"})
		if part.status != 206 || !bytes.Equal(part.body, make([]byte, 4)) ||
			part.header.Get("Content-Range") != "bytes "+end+"-"+strconv.Itoa(size-1)+"/"+strconv.Itoa(size) {
			t.Errorf("the end of %s: %d %v %d bytes", name, part.status, part.header, len(part.body))
		}
	}
	if res := u.do("GET", samplesPath+"endless.png", nil, nil); len(res.body) < endlessBytesMax || res.header.Get("Content-Length") != "" {
		t.Errorf("endless: %d bytes, %v", len(res.body), res.header)
	}
}

func TestWrongSamplesAreWrong(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	for name, want := range map[string]int{"gone.png": 404, "closed.png": 403, "broken.png": 500, "moved.png": 302, "inside.png": 302,
		"empty.png": 200, "packed.png": 200, "no-length.png": 200, "nothing.png": 404} {
		for _, method := range []string{"GET", "HEAD"} {
			if res := u.do(method, samplesPath+name, nil, nil); res.status != want {
				t.Errorf("%s %s: %d", method, name, res.status)
			}
		}
	}
	if res := u.do("HEAD", samplesPath+"no-head.png", nil, nil); res.status != http.StatusMethodNotAllowed {
		t.Errorf("HEAD of no-head.png: %d", res.status)
	}
	if res := u.do("GET", samplesPath+"no-head.png", nil, nil); res.status != 200 {
		t.Errorf("GET of no-head.png: %d", res.status)
	}
	if res := u.do("GET", samplesPath+"no-range.png", nil, map[string]string{"Range": "bytes=0-15"}); res.status != 200 || len(res.body) < 1000 {
		t.Errorf("a part of no-range.png: %d", res.status)
	}
	if res := u.do("GET", samplesPath+"short.png", nil, nil); res.err == nil {
		t.Error("short.png has its whole length")
	}
	if res := u.do("GET", samplesPath+"packed.png", nil, nil); res.header.Get("Content-Encoding") != "gzip" {
		t.Errorf("packed.png: %v", res.header)
	}
	if res := u.do("GET", samplesPath+"inside.png", nil, nil); !strings.HasPrefix(res.header.Get("Location"), "http://169.254.") {
		t.Errorf("inside.png: %v", res.header)
	}
	if res := u.do("POST", samplesPath+"picture.png", nil, nil); res.status != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", res.status)
	}
}
