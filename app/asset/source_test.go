package asset

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/egress"
	"umg/app/media"
)

// webpFile is a WebP picture of one pixel.
var webpFile = must64("UklGRhwAAABXRUJQVlA4TA8AAAAvAAAAAAcQ/Y/+ByKi/wEA")

func must64(s string) []byte {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// ftyp is the beginning of an ISO file.
func ftyp(brands ...string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(12+4*len(brands)))
	b = append(b, "ftyp"+brands[0]+"\x00\x00\x02\x00"+strings.Join(brands[1:], "")...)
	return append(b, "\x00\x00\x00\x08free"...)
}

// wide is a PNG whose head says that it is enormous.
func wide(width, height uint32) []byte {
	head := binary.BigEndian.AppendUint32([]byte("IHDR"), width)
	head = append(binary.BigEndian.AppendUint32(head, height), 8, 0, 0, 0, 0)
	b := binary.BigEndian.AppendUint32([]byte("\x89PNG\r\n\x1a\n"), 13)
	return binary.BigEndian.AppendUint32(append(b, head...), crc32.ChecksumIEEE(head))
}

// sources are the files of the server of sources, by their names, which say nothing.
var sources = map[string][]byte{
	"picture.png": pngOf(64, 36), "picture.jpg": jpegOf(31, 17), "picture.gif": gifOf(8, 9), "picture.webp": webpFile,
	"film.mp4": ftyp("isom", "iso2", "mp41"), "film.mov": ftyp("qt  "), "old.mov": []byte("\x00\x00\x00\x08wide\x00\x00\x00\x00mdat"),
	"odd.mp4":   ftyp("XAVC", "mp42"),
	"film.webm": []byte("\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\xf7\x81\x01\x42\xf2\x81\x04\x42\xf3\x81\x08\x42\x82\x84webm\x42\x87\x81\x04"),
	"film.mkv":  []byte("\x1a\x45\xdf\xa3\xa3\x42\x86\x81\x01\x42\xf7\x81\x01\x42\xf2\x81\x04\x42\xf3\x81\x08\x42\x82\x88matroska"),
	"sound.mp3": []byte("\xff\xfb\x90\x64" + strings.Repeat("\x00", 400)), "tagged.mp3": []byte("ID3\x04\x00\x00\x00\x00\x00\x00"),
	"sound.wav": []byte("RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00"), "sound.m4a": ftyp("M4A ", "isom"),
	"sound.aac": []byte("\xff\xf1\x50\x80\x02\x1f\xfc"), "sound.flac": []byte("fLaC\x00\x00\x00\x22"),
	"sound.ogg": []byte("OggS\x00\x02" + strings.Repeat("\x00", 20) + "\x01\x13OpusHead"),
	"film.ogv":  []byte("OggS\x00\x02" + strings.Repeat("\x00", 20) + "\x01\x2a\x80theora"), "photo.heic": ftyp("heic", "mif1"),
	"page.png": []byte("<!doctype html><title>No picture</title>"), "noise.png": []byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08"),
	"wide.png": wide(100_000, 100_000), "cut.png": pngOf(64, 36)[:20], "empty.png": {},
}

// serveSource answers like a plain server of files, and in odd ways below some paths.
func serveSource(w http.ResponseWriter, r *http.Request) {
	dir, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if name == "" {
		dir, name = "", dir
	}
	data, ok := sources[name]
	if !ok && dir != "endless" {
		http.NotFound(w, r)
		return
	}
	switch dir {
	case "huge": // The file says that it is larger than it is.
		w.Header().Set("Content-Range", "bytes 0-"+strconv.Itoa(len(data)-1)+"/900000000")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(data)
	case "hugehead":
		if r.Method == http.MethodHead {
			w.Header().Set("Content-Length", "900000000")
			return
		}
		_, _ = w.Write(data)
	case "nohead":
		if r.Method == http.MethodHead {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		_, _ = w.Write(data)
	case "unsized":
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		_, _ = w.Write(data)
	case "endless":
		w.WriteHeader(http.StatusOK)
		if r.Method == http.MethodHead {
			return
		}
		_, _ = w.Write(sources["picture.png"])
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	case "moved":
		http.Redirect(w, r, "/"+name, http.StatusFound)
	case "lying":
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write(data)
	case "broken":
		w.Header().Set("Content-Length", "100000")
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(data[:10])
	case "secret":
		http.Error(w, "no", http.StatusForbidden)
	default:
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	}
}

func TestASourceIsKnownByItsContentAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for path, want := range map[string]struct {
		kind          Kind
		mediaType     string
		width, height int
		unsized       bool
	}{
		"picture.png": {Image, "image/png", 64, 36, false}, "picture.jpg": {Image, "image/jpeg", 31, 17, false},
		"picture.gif": {Image, "image/gif", 8, 9, false}, "picture.webp": {Image, "image/webp", 1, 1, false},
		"film.mp4": {kind: Video, mediaType: "video/mp4"}, "odd.mp4": {kind: Video, mediaType: "video/mp4"},
		"film.mov": {kind: Video, mediaType: "video/quicktime"}, "old.mov": {kind: Video, mediaType: "video/quicktime"},
		"film.webm": {kind: Video, mediaType: "video/webm"}, "sound.mp3": {kind: Audio, mediaType: "audio/mpeg"},
		"tagged.mp3": {kind: Audio, mediaType: "audio/mpeg"}, "sound.wav": {kind: Audio, mediaType: "audio/wav"},
		"sound.m4a": {kind: Audio, mediaType: "audio/mp4"}, "sound.aac": {kind: Audio, mediaType: "audio/aac"},
		"sound.ogg": {kind: Audio, mediaType: "audio/ogg"}, "sound.flac": {kind: Audio, mediaType: "audio/flac"},
		"lying/picture.png": {Image, "image/png", 64, 36, false}, "nohead/picture.png": {Image, "image/png", 64, 36, false},
		"unsized/picture.png": {Image, "image/png", 64, 36, true}, "endless/picture": {Image, "image/png", 64, 36, true},
	} {
		found, err := b.service.inspect(t.Context(), want.kind, b.source(path))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		size := int64(len(sources[path[strings.LastIndex(path, "/")+1:]]))
		if want.unsized {
			size = 0
		}
		if found.MediaType != want.mediaType || found.width != want.width || found.height != want.height || found.bytes != size {
			t.Errorf("%s: %s of %d bytes, %dx%d; want %+v and %d bytes", path, found.MediaType, found.bytes, found.width, found.height, want, size)
		}
	}
}

func TestASourceThatCannotBeUsedIsRefusedWithWhatItIs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct {
		kind    Kind
		address string
		says    string
	}{
		{Image, b.source("film.mp4"), "an MP4 film"},
		{Video, b.source("picture.png"), "a PNG picture"},
		{Audio, b.source("film.webm"), "a WebM film"},
		{Video, b.source("film.mkv"), "a Matroska film"},
		{Audio, b.source("film.ogv"), "an Ogg film"},
		{Image, b.source("photo.heic"), "a HEIF or AVIF picture"},
		{Image, b.source("page.png"), "text/html"},
		{Image, b.source("noise.png"), "of no kind that is known here"},
		{Image, b.source("wide.png"), "100000 x 100000 pixels"},
		{Image, b.source("cut.png"), "damaged"},
		{Image, b.source("empty.png"), "empty"},
		{Image, b.source("huge/picture.png"), "at most 30 MiB"},
		{Video, b.source("huge/film.mp4"), "at most 500 MiB"},
		{Audio, b.source("huge/sound.wav"), "at most 100 MiB"},
		{Image, b.source("hugehead/picture.png"), "at most 30 MiB"},
		{Image, b.source("moved/picture.png"), "redirects are not followed"},
		{Image, b.source("broken/picture.png"), "could not be read to its end"},
		{Image, b.source("secret/picture.png"), "status 403"},
		{Image, b.source("absent"), "status 404"},
		{Image, "not an address", "percent-encoded"},
		{Image, "ftp://example.com/a", "https://"},
		{Image, "http://example.com/a.png", "https://"},
		{Image, "https://127.0.0.1/a.png", "not public"},
		{Image, "https://10.0.0.1/a.png", "not public"},
		{Image, "https://localhost/a.png", "not a public name"},
		{Image, "https://me:pass@example.com/a.png", "password"},
	} {
		_, err := b.service.Create(t.Context(), b.me, Spec{Kind: c.kind, URL: c.address})
		b.refused(err, app.Invalid, "invalid_request_error", "url")
		if err != nil && !strings.Contains(app.AsError(err).Message, c.says) {
			t.Errorf("%s as %s: %q does not say %q", c.address, c.kind, app.AsError(err).Message, c.says)
		}
	}
	b.live(0)
	if n := b.keeper.count(""); n != 0 {
		t.Errorf("the upstream was called %d times for sources that cannot be used", n)
	}
}

func TestAPictureIsShownAsItIsNow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := b.create("shown")
	body, mediaType, size, err := b.service.Open(t.Context(), b.me, made.ID)
	b.must(err)
	data, err := io.ReadAll(body)
	b.must(errors.Join(err, body.Close()))
	if want := sources["picture.png"]; !bytes.Equal(data, want) || mediaType != "image/png" || size != int64(len(want)) {
		t.Errorf("%d bytes of %s, said to be %d", len(data), mediaType, size)
	}
	for path, says := range map[string]string{"page.png": "no longer", "absent": "no longer", "moved/picture.png": "no longer"} {
		_, err := b.db.ExecContext(t.Context(), `update assets set url = $2 where id = $1`, made.ID, b.source(path))
		b.must(err)
		_, _, _, err = b.service.Open(t.Context(), b.me, made.ID)
		b.refused(err, app.NotFound, "asset_not_shown", "asset_id")
		if !strings.Contains(app.AsError(err).Message, says) {
			t.Errorf("%s: %v", path, err)
		}
	}
	_, err = b.db.ExecContext(t.Context(), `update assets set url = $2 where id = $1`, made.ID, b.source("endless/picture"))
	b.must(err)
	body, _, size, err = b.service.Open(t.Context(), b.me, made.ID)
	b.must(err)
	if n, err := io.Copy(io.Discard, body); !errors.Is(err, egress.ErrBodyTooLarge) || n != imageBytesMax || size != -1 {
		t.Errorf("%d bytes came, said to be %d: %v", n, size, err)
	}
	b.must(body.Close())
	if len(b.service.previews.accounts) != 0 || len(b.service.previews.all) != 0 {
		t.Error("a turn was kept")
	}
	stranger := app.Principal{AccountID: b.account()}
	_, _, _, err = b.service.Open(t.Context(), stranger, made.ID)
	b.refused(err, app.NotFound, "asset_not_found", "asset_id")
}

// FuzzSniff checks that media.Sniff and identify accept any bytes, and that a known type has all fields that identify needs.
func FuzzSniff(f *testing.F) {
	for _, data := range sources {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		c := media.Sniff(head)
		if c.Name == "" || (c.Kind == "") != (c.MediaType == "") || (c.Kind == media.KindImage) != (c.DecodeConfig != nil) {
			t.Errorf("%q is %+v", head, c)
		}
		if c.DecodeConfig != nil && len(head) < headBytesMax {
			_, _ = identify(Kind(c.Kind), head, 0)
		}
	})
}
