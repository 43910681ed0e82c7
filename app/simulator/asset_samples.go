package simulator

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	pngs "image/png"
	"io"
	"net/http"
	"strconv"
	"time"

	"umg/app/simulator/testvideo"
)

const (
	samplesPath = "/media/samples/"
	// endlessBytesMax is where the sample that has no end ends after all.
	endlessBytesMax = 64 << 20
	// sampleWidth and sampleHeight are the measures of sample pictures in pixels.
	sampleWidth, sampleHeight = 640, 360
	// sampleSounds is how long sample sounds are.
	sampleSounds = 2 * time.Second
)

// Samples claim these sizes without having them. Each is more than any provider takes for its type.
const (
	hugePictureBytes = 40 << 20
	hugeSoundBytes   = 150 << 20
	hugeFilmBytes    = 600 << 20
)

// sampleFilm is what sample films show.
var sampleFilm = testvideo.Spec{Width: 320, Height: 180, Seconds: 2, Title: "A sample", Seed: 7}

// sample answers a request for one of the samples.
type sample func(s *Simulator, w http.ResponseWriter, r *http.Request)

// samples are sources of assets by address: right ones first, then those with something wrong.
var samples = map[string]sample{
	"picture.png":  plainPicture,
	"picture.jpg":  right("image/jpeg", func(*Simulator) []byte { return pictureAs("jpeg") }),
	"picture.gif":  right("image/gif", func(*Simulator) []byte { return pictureAs("gif") }),
	"picture.webp": right("image/webp", func(*Simulator) []byte { return testvideo.Thumbnail(sampleFilm) }),
	"film.mp4":     right("video/mp4", filmSample),
	"film.mov":     right("video/quicktime", func(s *Simulator) []byte { return branded(filmSample(s), "qt  ") }),
	"sound.wav":    right("audio/wav", func(*Simulator) []byte { return silentWAV(sampleSounds) }),
	"sound.mp3":    right("audio/mpeg", func(*Simulator) []byte { return silentMP3(sampleSounds) }),

	"unnamed":        right("", func(*Simulator) []byte { return pictureAs("png") }),
	"wrong-type.png": right("text/plain; charset=utf-8", func(*Simulator) []byte { return pictureAs("png") }),
	"text.png":       right("image/png", func(*Simulator) []byte { return []byte("<!doctype html><title>No picture</title>\n") }),
	"film.png":       right("image/png", filmSample),
	"wide.png":       right("image/png", func(*Simulator) []byte { return dot(100_000, 100_000) }),
	"empty.png":      right("image/png", func(*Simulator) []byte { return nil }),
	"huge.png":       huge("image/png", hugePictureBytes, func(*Simulator) []byte { return pictureAs("png") }),
	"huge.wav":       huge("audio/wav", hugeSoundBytes, func(*Simulator) []byte { return silentWAV(sampleSounds) }),
	"huge.mp4":       huge("video/mp4", hugeFilmBytes, filmSample),
	"no-head.png":    headless,
	"no-range.png":   rangeless,
	"no-length.png":  lengthless(1),
	"endless.png":    lengthless(endlessBytesMax),
	"short.png":      short,
	"slow.png":       slow,
	"moved.png":      moved(samplesPath + "picture.png"),
	"inside.png":     moved(fileRedirect),
	"gone.png":       refused(http.StatusNotFound),
	"closed.png":     refused(http.StatusForbidden),
	"broken.png":     refused(http.StatusInternalServerError),
	"packed.png":     packed,
}

// serveSample answers a request for one of the files and samples, nil for one that does not exist, and remembers it.
func (s *Simulator) serveSample(w http.ResponseWriter, r *http.Request, serve sample) {
	if s.recorder != nil {
		e := s.recorder.begin(r, "")
		counted := &countingWriter{ResponseWriter: w}
		w = counted
		defer func() {
			e.status(counted.status)
			e.wrote(counted.bytes, counted.err)
			e.end(r.Context().Err() != nil)
		}()
	}
	switch {
	case serve == nil:
		http.NotFound(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "This path takes GET and HEAD.", http.StatusMethodNotAllowed)
	default:
		serve(s, w, r)
	}
}

// Unwrap lets the connection below be reached.
func (w *countingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// right serves bytes as files should be: with their length, with ranges, and to HEAD. An empty type is not said.
func right(kind string, data func(*Simulator) []byte) sample {
	return func(s *Simulator, w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil
		if kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data(s)))
	}
}

func plainPicture(s *Simulator, w http.ResponseWriter, r *http.Request) {
	right("image/png", func(*Simulator) []byte { return pictureAs("png") })(s, w, r)
}

// huge serves a file that begins right and goes on with zeros, without having them.
func huge(kind string, size int64, begins func(*Simulator) []byte) sample {
	return func(s *Simulator, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		http.ServeContent(w, r, "", time.Time{}, io.NewSectionReader(zeros(begins(s)), 0, size))
	}
}

// zeros is a file that begins with these bytes and has zeros after them.
type zeros []byte

// ReadAt reads from any place, as there is no end.
func (z zeros) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	if off < int64(len(z)) {
		copy(p, z[off:])
	}
	return len(p), nil
}

func headless(s *Simulator, w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead {
		w.Header().Set("Allow", "GET")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	plainPicture(s, w, r)
}

func rangeless(s *Simulator, w http.ResponseWriter, r *http.Request) {
	r = r.Clone(r.Context())
	r.Header.Del("Range")
	plainPicture(s, w, r)
}

// lengthless sends a picture, and zeros until so many bytes are sent, without saying how many they are.
func lengthless(bytesMin int) sample {
	return func(_ *Simulator, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		w.WriteHeader(http.StatusOK)
		if r.Method == http.MethodHead {
			return
		}
		piece := pictureAs("png")
		for sent := 0; sent < bytesMin; {
			n, err := w.Write(piece)
			if err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			sent += n
			piece = make([]byte, 64<<10)
		}
	}
}

// short says it is twice as long as it is.
func short(_ *Simulator, w http.ResponseWriter, r *http.Request) {
	data := pictureAs("png")
	w.Header().Set("Content-Type", "image/png")
	w.Header().Set("Content-Length", strconv.Itoa(2*len(data)))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodGet {
		_, _ = w.Write(data)
	}
}

// slow sends one byte after the other, with a pause between them.
func slow(s *Simulator, w http.ResponseWriter, r *http.Request) {
	data := pictureAs("png")
	w.Header().Set("Content-Type", "image/png")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	x := &exchange{sim: s, w: w, r: r}
	for i := range data {
		if _, err := w.Write(data[i : i+1]); err != nil {
			return
		}
		x.flush()
		if !x.pause(slowWait) {
			return
		}
	}
}

func moved(to string) sample {
	return func(_ *Simulator, w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
}

func refused(status int) sample {
	return func(_ *Simulator, w http.ResponseWriter, _ *http.Request) {
		http.Error(w, http.StatusText(status), status)
	}
}

// packed says that its bytes are compressed, which they are not.
func packed(s *Simulator, w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	plainPicture(s, w, r)
}

// pictureAs draws the sample picture: two colours that run into each other.
func pictureAs(format string) []byte {
	picture := image.NewRGBA(image.Rect(0, 0, sampleWidth, sampleHeight))
	for y := range sampleHeight {
		for x := range sampleWidth {
			picture.SetRGBA(x, y, color.RGBA{R: uint8(x * 255 / sampleWidth), G: uint8(y * 255 / sampleHeight), B: 0x60, A: 0xff})
		}
	}
	var b bytes.Buffer
	switch format { // Writing to a buffer does not fail.
	case "jpeg":
		_ = jpeg.Encode(&b, picture, nil)
	case "gif":
		_ = gif.Encode(&b, picture, nil)
	default:
		_ = pngs.Encode(&b, picture)
	}
	return b.Bytes()
}

func filmSample(s *Simulator) []byte {
	return s.films.get(filmKey{"video", sampleFilm}, testvideo.MP4)
}

// branded is a film whose first box says another brand.
func branded(data []byte, brand string) []byte {
	const at = 8
	data = bytes.Clone(data)
	copy(data[at:], brand)
	return data
}

// silentWAV is a sound of 16 bit at 8 kHz in which nothing is heard.
func silentWAV(d time.Duration) []byte {
	const rate, bytesPerSample, formatBytes, headBytes = 8000, 2, 16, 36
	samples := uint32(d.Seconds() * rate)
	b := []byte("RIFF")
	b = binary.LittleEndian.AppendUint32(b, headBytes+samples*bytesPerSample)
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, formatBytes)
	b = binary.LittleEndian.AppendUint16(b, 1) // The samples are uncompressed PCM.
	b = binary.LittleEndian.AppendUint16(b, 1) // The sound has one channel.
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = binary.LittleEndian.AppendUint32(b, rate*bytesPerSample)
	b = binary.LittleEndian.AppendUint16(b, bytesPerSample)
	b = binary.LittleEndian.AppendUint16(b, 8*bytesPerSample)
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, samples*bytesPerSample)
	return append(b, make([]byte, samples*bytesPerSample)...)
}

// silentMP3 is the same as frames of 128 kbit/s at 44.1 kHz.
func silentMP3(d time.Duration) []byte {
	const frameBytes, frameSamples, rate = 417, 1152, 44_100
	frame := make([]byte, frameBytes)
	copy(frame, []byte{0xff, 0xfb, 0x90, 0x64})
	return bytes.Repeat(frame, int(d.Seconds()*rate/frameSamples)+1)
}

const (
	filesPath = "/files/"
	// fileBytesLarge is more than any provider takes for an image.
	fileBytesLarge = 12 << 20
	// fileRedirect is where no client of an upstream should let itself be led.
	fileRedirect = "http://169.254.169.254/latest/meta-data/"
)

// files are images by address, most of them with something wrong.
var files = map[string]sample{
	"dot.png":   right("image/png", func(*Simulator) []byte { return dot(2, 2) }),
	"large.png": right("image/png", func(*Simulator) []byte { return append(dot(2, 2), make([]byte, fileBytesLarge)...) }),
	"wide.png":  right("image/png", func(*Simulator) []byte { return dot(100_000, 100_000) }),
	"page.png": right("image/png", func(*Simulator) []byte {
		return []byte("<!doctype html><html><head><title>No image</title></head></html>\n")
	}),
	"inside.png": moved(fileRedirect),
}

// dot is a PNG of one red pixel that says it has other measures.
func dot(width, height uint32) []byte {
	pixel := image.NewRGBA(image.Rect(0, 0, 1, 1))
	pixel.Set(0, 0, color.RGBA{R: 0xff, A: 0xff})
	var b bytes.Buffer
	_ = pngs.Encode(&b, pixel) // Writing to a buffer does not fail.
	const header, measures, sum = 12, 16, 29
	raw := b.Bytes()
	binary.BigEndian.PutUint32(raw[measures:], width)
	binary.BigEndian.PutUint32(raw[measures+4:], height)
	binary.BigEndian.PutUint32(raw[sum:], crc32.ChecksumIEEE(raw[header:sum]))
	return raw
}
