package video

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"umg/app"
	"umg/app/egress"
	"umg/app/media"
)

// These are parts of the file formats from which tests build pictures.
const (
	pngMagic       = "\x89PNG\r\n\x1a\n"
	riffHeadBytes  = 12
	riffChunkBytes = 8
	scansMax       = 100 // A JPEG may have at most this many scans.
	jpegScan       = 0xda
	jpegExif       = 0xe1
	jpegIPTC       = 0xed
)

// pixels is a picture with a slope of colours, which does not compress to nothing.
func pixels(width, height int) image.Image {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			m.SetRGBA(x, y, color.RGBA{uint8(x * 7), uint8(y * 5), uint8(x ^ y), 255})
		}
	}
	return m
}

func pngOf(t testing.TB, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, pixels(width, height)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func jpegOf(t testing.TB, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, pixels(width, height), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// onePixel is a whole lossless WebP picture of one pixel.
const onePixel = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="

func webpOf(t testing.TB) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(onePixel)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// pngWith is a PNG with one more chunk behind its head.
func pngWith(data []byte, name, body string) []byte {
	const head = 8 + 25
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	chunk = append(append(chunk, name...), body...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
	return bytes.Join([][]byte{data[:head], chunk, data[head:]}, nil)
}

// jpegWith is a JPEG with one more segment at its begin.
func jpegWith(data []byte, mark byte, body string) []byte {
	segment := binary.BigEndian.AppendUint16([]byte{0xff, mark}, uint16(len(body)+2))
	return bytes.Join([][]byte{data[:2], append(segment, body...), data[2:]}, nil)
}

// webpWith is a WebP with more chunks behind its head and before its picture.
func webpWith(data []byte, chunks ...[2]string) []byte {
	out := bytes.Clone(data[:riffHeadBytes])
	for _, c := range chunks {
		out = append(out, c[0]...)
		out = append(binary.LittleEndian.AppendUint32(out, uint32(len(c[1]))), c[1]...)
	}
	out = append(out, data[riffHeadBytes:]...)
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
	return out
}

// wideWebP says of a lossless picture that it is 16,384 pixels wide.
func wideWebP(data []byte) []byte {
	const size = riffHeadBytes + riffChunkBytes + 1
	out := bytes.Clone(data)
	out[size], out[size+1] = 0xff, out[size+1]|0x3f
	return out
}

// manyScans is a JPEG that begins its first scan again and again.
func manyScans(data []byte) []byte {
	at := bytes.Index(data, []byte{0xff, jpegScan})
	head := data[at : at+14]
	return bytes.Join([][]byte{data[:at], bytes.Repeat(head, scansMax), data[at:]}, nil)
}

const (
	wide, high = 32, 18
	gps        = "GPS 52.5200 13.4050"
)

func TestAFirstFrameIsKnownByItsContent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		data     []byte
		declared string
		kind     string
		w, h     int
	}{
		"png":                    {pngOf(t, wide, high), "image/png", "image/png", wide, high},
		"png without a type":     {pngOf(t, wide, high), "", "image/png", wide, high},
		"png as a stream":        {pngOf(t, wide, high), "application/octet-stream", "image/png", wide, high},
		"jpeg":                   {jpegOf(t, wide, high), "image/jpeg", "image/jpeg", wide, high},
		"jpeg by its other name": {jpegOf(t, wide, high), "IMAGE/JPG; q=1", "image/jpeg", wide, high},
		"webp":                   {webpOf(t), "image/webp", "image/webp", 1, 1},
		"png with a comment":     {pngWith(pngOf(t, wide, high), "tEXt", "Comment\x00face"), "", "image/png", wide, high},
	} {
		got, err := checkImage(c.data, c.declared, c.w, c.h)
		if err != nil || got.Type != c.kind || !bytes.Equal(got.Data, c.data) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatIsNoFirstFrameIsRefused(t *testing.T) {
	t.Parallel()
	whole, photo, small := pngOf(t, wide, high), jpegOf(t, wide, high), webpOf(t)
	huge := bytes.Clone(whole)
	binary.BigEndian.PutUint32(huge[16:], 100_000)
	binary.BigEndian.PutUint32(huge[20:], 100_000)
	binary.BigEndian.PutUint32(huge[29:], crc32.ChecksumIEEE(huge[12:29]))
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-20] ^= 0xff
	for name, c := range map[string]struct {
		data     []byte
		declared string
		says     string
	}{
		"nothing":              {nil, "", "none of them"},
		"svg named png":        {[]byte(`<svg xmlns="http://www.w3.org/2000/svg" width="32" height="18"/>`), "image/png", "none of them"},
		"gif":                  {[]byte("GIF89a\x20\x00\x12\x00"), "image/gif", "none of them"},
		"html":                 {[]byte("<!doctype html>"), "text/html", "none of them"},
		"jpeg said to be png":  {photo, "image/png", "declared as image/png"},
		"png said to be html":  {whole, "text/html; charset=utf-8", "declared as text/html"},
		"png said to be junk":  {whole, "junk", "declared as junk"},
		"smaller":              {pngOf(t, wide-1, high), "", "31x18 pixels; it must be exactly 32x18"},
		"turned":               {jpegOf(t, high, wide), "", "18x32 pixels"},
		"too many pixels":      {huge, "", "40 million"},
		"png cut":              {whole[:len(whole)-30], "", "cut or damaged"},
		"png without its end":  {whole[:len(whole)-12], "", "cut or damaged"},
		"png damaged":          {flipped, "", "cut or damaged"},
		"png head only":        {whole[:40], "", "cut or damaged"},
		"png magic only":       {[]byte(pngMagic), "", "cut or damaged"},
		"jpeg cut":             {photo[:len(photo)/2], "", "cut or damaged"},
		"jpeg without its end": {photo[:len(photo)-2], "", "cut or damaged"},
		"jpeg magic only":      {photo[:3], "", "cut or damaged"},
		"png and zip":          {append(bytes.Clone(whole), "PK\x03\x04"...), "", "other data behind"},
		"jpeg and html":        {append(bytes.Clone(photo), "<script>"...), "", "other data behind"},
		"too many scans":       {manyScans(photo), "", "100 scans"},
		"two jpegs":            {append(bytes.Clone(photo), photo...), "", "other data behind"},
		"apng":                 {pngWith(whole, "acTL", "\x00\x00\x00\x02\x00\x00\x00\x00"), "", "animated"},
	} {
		_, err := checkImage(c.data, c.declared, wide, high)
		if e := wantError(t, err, app.Invalid, codeInvalid, paramImage); !strings.Contains(e.Message, c.says) {
			t.Errorf("%s: %s", name, e.Message)
		}
	}
	for name, c := range map[string]struct {
		data []byte
		says string
	}{
		"webp cut":            {small[:len(small)-4], "cut or damaged"},
		"webp and zip":        {append(bytes.Clone(small), "PK"...), "other data behind"},
		"two sizes":           {webpWith(wideWebP(small), [2]string{"VP8X", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"}), "two different sizes"},
		"animated by flag":    {webpWith(small, [2]string{"VP8X", "\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00"}), "animated"},
		"animated by a chunk": {webpWith(small, [2]string{"ANIM", "\x00\x00\x00\x00\x00\x00"}), "animated"},
	} {
		_, err := checkImage(c.data, "", 1, 1)
		if e := wantError(t, err, app.Invalid, codeInvalid, paramImage); !strings.Contains(e.Message, c.says) {
			t.Errorf("%s: %s", name, e.Message)
		}
	}
}

func TestThePlaceOfAPictureStaysHere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		data []byte
		w, h int
	}{
		"png exif":  {pngWith(pngOf(t, wide, high), "eXIf", gps), wide, high},
		"png xmp":   {pngWith(pngOf(t, wide, high), "iTXt", "XML:com.adobe.xmp"+"\x00\x00\x00\x00\x00"+gps), wide, high},
		"jpeg exif": {jpegWith(jpegOf(t, wide, high), jpegExif, "Exif\x00\x00"+gps), wide, high},
		"jpeg iptc": {jpegWith(jpegOf(t, wide, high), jpegIPTC, gps), wide, high},
		"webp exif": {webpWith(webpOf(t), [2]string{"VP8X", "\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00"}, [2]string{"EXIF", gps + " "}), 1, 1},
	} {
		got, err := checkImage(c.data, "", c.w, c.h)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !bytes.Contains(c.data, []byte(gps)) || bytes.Contains(got.Data, []byte(gps)) {
			t.Errorf("%s: the place went along", name)
		}
		if _, err := checkImage(got.Data, got.Type, c.w, c.h); err != nil {
			t.Errorf("%s: what is left is no picture: %v", name, err)
		}
	}
}

func TestAPictureGoesWithTheOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	frame := pngOf(t, 1280, 720)
	inline := `,"input_reference":{"image_url":"data:image/png;base64,` + base64.StdEncoding.EncodeToString(frame) + `"}}`
	for _, model := range []string{"test/film", "test/operations", "test/tasks"} {
		body := fmt.Sprintf(`{"model":%q,"prompt":"A fish"`, model)
		if job := b.create(body + inline); job.ImageType != "image/png" {
			t.Errorf("%s: %+v", model, job)
		}
		call := b.call(body + `}`)
		call.Upload = &Upload{Name: "frame.png", Type: "application/octet-stream", Data: frame}
		if _, err := b.service.Create(t.Context(), call); err != nil {
			t.Errorf("%s: %v", model, err)
		}
	}
	if len(b.sim.Renders()) != 6 {
		t.Errorf("%d renders", len(b.sim.Renders()))
	}
	b.balance(b.account, startMoney, 6*40*app.Cent)
	b.books()
}

func TestAWrongPictureCostsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	frame := pngOf(t, 1280, 720)
	inline := `,"input_reference":{"image_url":"data:image/png;base64,` + base64.StdEncoding.EncodeToString(frame) + `"}}`
	for name, c := range map[string]struct {
		body string
		file []byte
	}{
		"two pictures":             {`{"model":"test/film","prompt":"a"` + inline, frame},
		"another size":             {`{"model":"test/film","prompt":"a","size":"720x1280"}`, frame},
		"too large a file":         {`{"model":"test/film","prompt":"a"}`, make([]byte, uploadBytesMax+1)},
		"an empty file":            {`{"model":"test/film","prompt":"a"}`, []byte{}},
		"a model without pictures": {`{"model":"test/mute","prompt":"a"}`, frame},
	} {
		call := b.call(c.body)
		call.Upload = &Upload{Data: c.file}
		_, err := b.service.Create(t.Context(), call)
		if e := app.AsError(err); e == nil || e.Kind != app.Invalid || e.Param != paramImage {
			t.Errorf("%s: %v (%+v)", name, err, e)
		}
		if _, quoted := b.service.Quote(t.Context(), call); quoted == nil || quoted.Error() != err.Error() {
			t.Errorf("%s: a quote says %v", name, quoted)
		}
	}
	for name, url := range map[string]string{
		"no base64": "data:image/png,abc", "broken base64": "data:image/png;base64,ab*d", "no picture": "data:image/png;base64,AAAA",
		"plain http": "http://example.com/a.png", "inside": "https://127.0.0.1/a.png", "no scheme": "frame.png", "a file": "file:///etc/passwd",
	} {
		_, err := b.service.Create(t.Context(), b.call(fmt.Sprintf(`{"model":"test/film","prompt":"a","input_reference":{"image_url":%q}}`, url)))
		if e := app.AsError(err); e == nil || e.Kind != app.Invalid || !strings.HasPrefix(e.Param, paramImage) {
			t.Errorf("%s: %v (%+v)", name, err, e)
		}
	}
	if b.rows(b.account) != 0 || len(b.sim.Renders()) != 0 {
		t.Error("a wrong picture has left a job")
	}
	face := b.call(`{"model":"test/film","prompt":"a"}`)
	face.Upload = &Upload{Data: pngWith(frame, "tEXt", "Comment\x00face")}
	_, err := b.service.Create(t.Context(), face)
	wantError(t, err, app.Invalid, "content_policy_violation", paramImage)
	b.balance(b.account, startMoney, 0)
	b.books()
}

func TestAPictureIsFetchedFromItsAddress(t *testing.T) {
	t.Parallel()
	frame := pngOf(t, 1280, 720)
	shown := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/frame":
			_, _ = w.Write(frame)
		case "/mislabelled":
			w.Header().Set("Content-Type", "image/jpeg")
			_, _ = w.Write(frame)
		case "/cut":
			w.Header().Set("Content-Length", strconv.Itoa(len(frame)))
			_, _ = w.Write(frame[:len(frame)/2])
		case "/moved":
			http.Redirect(w, r, "/frame", http.StatusFound)
		case "/large":
			for range 11 {
				_, _ = w.Write(make([]byte, 1<<20))
			}
		default:
			http.NotFound(w, r)
		}
	}))
	defer shown.Close()
	files, err := egress.New(egress.Options{Exceptions: []string{strings.TrimPrefix(shown.URL, "http://")}})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	s := &Service{o: Options{Egress: files}}
	p := &plan{width: 1280, height: 720, params: createParams{imageURL: shown.URL + "/frame"}} // The contract requires https.
	if got, err := s.firstFrame(t.Context(), &Call{}, p); err != nil || !bytes.Equal(got.Data, frame) {
		t.Errorf("a picture by address: %v", err)
	}
	for address, says := range map[string]string{
		shown.URL + "/moved": "302", shown.URL + "/none": "404", shown.URL + "/large": "10 MiB", shown.URL + "/cut": "to its end",
		shown.URL + "/mislabelled": "declared as image/jpeg", "http://127.0.0.1:1/a": "could not be fetched", "http://\x7f": "not a web address",
	} {
		p.params.imageURL = address
		_, err := s.firstFrame(t.Context(), &Call{}, p)
		if e := wantError(t, err, app.Invalid, codeInvalid, paramImage); !strings.Contains(e.Message, says) {
			t.Errorf("%s: %s", address, e.Message)
		}
	}
}

func FuzzFirstFramesAreWholeOrRefused(f *testing.F) {
	whole, photo := pngOf(f, 8, 8), jpegOf(f, 8, 8)
	for _, seed := range [][]byte{
		whole, photo, webpOf(f), pngWith(whole, "eXIf", gps), jpegWith(photo, jpegExif, gps), whole[:50], photo[:100],
		webpWith(webpOf(f), [2]string{"EXIF", gps + " "}), append(bytes.Clone(whole), "PK"...), {}, []byte("RIFF\x04\x00\x00\x00WEBP"),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if kind, ok := media.DetectImage(data); ok {
			if c, err := kind.Config(data); err == nil && c.Width*c.Height > 1<<16 {
				return // The test decodes only small images.
			}
			if c, err := kind.Config(data); err == nil {
				got, err := checkImage(data, "", c.Width, c.Height)
				if err == nil {
					if again, err := checkImage(got.Data, got.Type, c.Width, c.Height); err != nil || !bytes.Equal(again.Data, got.Data) {
						t.Fatalf("what was let through is refused when it comes again: %v", err)
					}
					return
				}
				if e := app.AsError(err); e.Kind != app.Invalid || e.Param != paramImage {
					t.Fatalf("%v", err)
				}
			}
		}
		if _, err := checkImage(data, "", 3, 3); err != nil && app.AsError(err).Param != paramImage {
			t.Fatalf("%v", err)
		}
	})
}
