package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const programInstall = "apt-get install --no-install-recommends ffmpeg"

// program is ffmpeg, without which these tests prove nothing.
func program(t *testing.T) string {
	t.Helper()
	p, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Fatalf("no ffmpeg on PATH; run: %s", programInstall)
	}
	return p
}

// brightening is a video that begins black and gets brighter evenly, so that a frame says when it was shown.
func brightening(t *testing.T, width, height int, long string, more ...string) string {
	t.Helper()
	return video(t, fmt.Sprintf("color=c=black:s=%dx%d:r=24:d=%s,geq=lum='16+219*T/%s':cb=128:cr=128", width, height, long, long), more...)
}

// video makes an MP4 of what a source of the program draws.
func video(t *testing.T, source string, more ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "video.mp4")
	arguments := append([]string{"-nostdin", "-loglevel", "error", "-f", "lavfi", "-i", source, "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"}, more...)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, program(t), append(arguments, file)...).CombinedOutput(); err != nil {
		t.Fatalf("making a video: %v: %s", err, out)
	}
	return file
}

func decode(t *testing.T, p Picture, err error) image.Image {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if p.Type != "image/jpeg" {
		t.Errorf("the picture is of type %s", p.Type)
	}
	img, err := jpeg.Decode(bytes.NewReader(p.Data))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// brightness is that of a point, from 0 to 255.
func brightness(img image.Image, x, y int) int {
	r, _, _, _ := img.At(x, y).RGBA()
	return int(r >> 8)
}

func near(got, want, by int) bool { return got >= want-by && got <= want+by }

func TestPicturesHaveTheShapeOfTheVideo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                   string
		width, height          int
		more                   []string
		thumbnail, spritesheet image.Point
	}{
		{"landscape", 1280, 720, nil, image.Pt(640, 360), image.Pt(1600, 360)},
		{"portrait", 720, 1280, nil, image.Pt(640, 1138), image.Pt(1600, 1136)},
		{"wide", 1792, 1024, nil, image.Pt(640, 366), image.Pt(1600, 364)},
		{"square", 960, 960, nil, image.Pt(640, 640), image.Pt(1600, 640)},
		{"small", 64, 36, nil, image.Pt(64, 36), image.Pt(320, 72)},
		{"tower", 128, 2048, nil, image.Pt(80, 1280), image.Pt(200, 1280)},
		{"wide points", 320, 320, []string{"-vf", "setsar=2"}, image.Pt(640, 320), image.Pt(1600, 320)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m, file := New(program(t)), brightening(t, c.width, c.height, "1", c.more...)
			p, err := m.Thumbnail(t.Context(), file)
			if got := decode(t, p, err).Bounds().Size(); got != c.thumbnail {
				t.Errorf("the thumbnail has %v, want %v", got, c.thumbnail)
			}
			p, err = m.Spritesheet(t.Context(), file)
			if got := decode(t, p, err).Bounds().Size(); got != c.spritesheet {
				t.Errorf("the spritesheet has %v, want %v", got, c.spritesheet)
			}
		})
	}
}

func TestPicturesAreOfTheirTimes(t *testing.T) {
	t.Parallel()
	for _, long := range []string{"0.5", "4", "12"} {
		t.Run(long, func(t *testing.T) {
			t.Parallel()
			m, file := New(program(t)), brightening(t, 160, 90, long)
			p, err := m.Thumbnail(t.Context(), file)
			if got := brightness(decode(t, p, err), 80, 45); !near(got, 25, 25) {
				t.Errorf("the thumbnail, a tenth in, has brightness %d", got)
			}
			p, err = m.Spritesheet(t.Context(), file)
			sheet := decode(t, p, err)
			for i := range columns * rows {
				x, y := i%columns*160+80, i/columns*90+45
				want := 255 * (2*i + 1) / 20
				if got := brightness(sheet, x, y); !near(got, want, 25) {
					t.Errorf("tile %d has brightness %d, want about %d", i, got, want)
				}
			}
		})
	}
}

func TestColoursSurvive(t *testing.T) {
	t.Parallel()
	m, file := New(program(t)), video(t, "color=c=0x20A060:s=320x180:r=24:d=1", "-vf", "scale=out_color_matrix=bt709", "-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709")
	p, err := m.Thumbnail(t.Context(), file)
	r, g, b, _ := decode(t, p, err).At(100, 100).RGBA()
	if !near(int(r>>8), 0x20, 6) || !near(int(g>>8), 0xA0, 6) || !near(int(b>>8), 0x60, 6) {
		t.Errorf("20A060 has become %02X%02X%02X", r>>8, g>>8, b>>8)
	}
}

func TestAVideoOfFewFramesShowsThemAgain(t *testing.T) {
	t.Parallel()
	for _, frames := range []string{"1", "3"} {
		m, file := New(program(t)), brightening(t, 320, 180, "3", "-vf", "fps=fps="+frames+"/3:round=up:start_time=0")
		p, err := m.Spritesheet(t.Context(), file)
		sheet := decode(t, p, err)
		if got := sheet.Bounds().Size(); got != image.Pt(1600, 360) {
			t.Errorf("the sheet has %v", got)
		}
		first, last := brightness(sheet, 160, 90), brightness(sheet, 1440, 270)
		if first > 25 || frames == "3" && !near(last, 170, 25) || frames == "1" && last != first {
			t.Errorf("of %s frames, the first tile has brightness %d and the last %d", frames, first, last)
		}
		if _, err := m.Thumbnail(t.Context(), file); err != nil {
			t.Error(err)
		}
	}
}

func TestSoundFragmentsAndALateHeaderAreNoMatter(t *testing.T) {
	t.Parallel()
	for name, more := range map[string][]string{
		"header first": {"-movflags", "+faststart"},
		"fragments":    {"-movflags", "+frag_keyframe+empty_moov", "-g", "12"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, file := New(program(t)), video(t, "testsrc=s=320x180:r=24:d=2", more...)
			_, err := m.Thumbnail(t.Context(), file)
			if name == "fragments" { // A file written as a stream has no duration, so it has no picture.
				if !errors.Is(err, ErrFormat) {
					t.Errorf("fragments: %v", err)
				}
				return
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWithoutAProgramThereAreNoPictures(t *testing.T) {
	t.Parallel()
	file := brightening(t, 64, 36, "1")
	m := New(filepath.Join(t.TempDir(), "ffmpeg"))
	if m.Available() {
		t.Error("a program that is not there is said to be")
	}
	if _, err := m.Thumbnail(t.Context(), file); !errors.Is(err, ErrUnavailable) {
		t.Errorf("thumbnail: %v", err)
	}
	if _, err := m.Spritesheet(t.Context(), file); !errors.Is(err, ErrUnavailable) {
		t.Errorf("spritesheet: %v", err)
	}
}

func TestTheProgramIsFoundOnThePath(t *testing.T) {
	program(t)
	if !New("").Available() {
		t.Error("ffmpeg is on PATH and not found")
	}
	t.Setenv("PATH", t.TempDir())
	if New("").Available() {
		t.Error("ffmpeg is found on an empty PATH")
	}
}

// TestAFileThatIsNoVideoIsNotFollowed uses playlists, which would make the program fetch an address.
func TestAFileThatIsNoVideoIsNotFollowed(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer elsewhere.Close()
	head := string(atom("ftyp", []byte("isom\x00\x00\x00\x00"))) + string(atom("moov", atom("mvhd", u32(0, 0, 0, 1000, 4000))))
	m, dir := New(program(t)), t.TempDir()
	for name, text := range map[string]string{
		"playlist":           "#EXTM3U\n#EXTINF:4,\n" + elsewhere.URL + "/a.ts\n#EXT-X-ENDLIST\n",
		"list":               "ffconcat version 1.0\nfile '" + elsewhere.URL + "/a.mp4'\n",
		"no frames":          head,
		"playlist in an MP4": head + "#EXTM3U\n#EXTINF:4,\n" + elsewhere.URL + "/a.ts\n",
		"page":               "<html>not found</html>",
		"empty":              "",
	} {
		file := filepath.Join(dir, "video.mp4")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, make := range []func(context.Context, string) (Picture, error){m.Thumbnail, m.Spritesheet} {
			if p, err := make(t.Context(), file); !errors.Is(err, ErrVideo) && !errors.Is(err, ErrFormat) {
				t.Errorf("%s: %d bytes, %v", name, len(p.Data), err)
			} else if len(err.Error()) > 2*complaintBytesMax {
				t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
			}
		}
	}
	if _, err := m.Thumbnail(t.Context(), filepath.Join(dir, "absent.mp4")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the program asked elsewhere %d times", n)
	}
}

func TestAVideoOfTooManyPixelsIsRefused(t *testing.T) {
	t.Parallel()
	m := New(program(t))
	if p, err := m.Thumbnail(t.Context(), video(t, "color=c=red:s=4096x4096:r=1:d=1")); !errors.Is(err, ErrVideo) {
		t.Errorf("%d bytes, %v", len(p.Data), err)
	}
	if _, err := m.Thumbnail(t.Context(), video(t, "color=c=red:s=3840x2160:r=1:d=1")); err != nil {
		t.Errorf("a large one: %v", err)
	}
}

func TestAHeaderThatLiesEndsInAnErrorOrAPicture(t *testing.T) {
	t.Parallel()
	file := brightening(t, 64, 36, "1")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, []byte("mvhd"))
	copy(b[at+4+16:], u32(3_600_000)) // The header says an hour.
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	m := New(program(t))
	for _, make := range []func(context.Context, string) (Picture, error){m.Thumbnail, m.Spritesheet} {
		if _, err := make(t.Context(), file); err != nil && !errors.Is(err, ErrVideo) {
			t.Error(err)
		}
	}
}

// script is a program that behaves badly in the place of ffmpeg.
func script(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ffmpeg")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestABadProgramIsEnded(t *testing.T) {
	t.Parallel()
	file := brightening(t, 64, 36, "1")
	for name, c := range map[string]struct {
		script string
		says   string
	}{
		"hangs":           {"exec /bin/sleep 60", "took longer"},
		"leaves a child":  {"/bin/sleep 5 & exit 1", ""},
		"writes on":       {"exec /usr/bin/yes", "broken pipe"},
		"complains on":    {"/usr/bin/head -c 1000000 /dev/zero | /usr/bin/tr '\\0' x >&2; exit 1", "xxx"},
		"writes nothing":  {"exit 0", "wrote nothing"},
		"writes nonsense": {"echo hello", "no JPEG"},
		"dies":            {"kill -9 $$", "killed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, start := New(script(t, c.script)), time.Now()
			m.timeMax = 2 * time.Second
			_, err := m.Thumbnail(t.Context(), file)
			if !errors.Is(err, ErrVideo) || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 2*complaintBytesMax {
				t.Errorf("%.300v", err)
			}
			if d := time.Since(start); d > 15*time.Second {
				t.Errorf("it took %v", d)
			}
		})
	}
}

func TestAnEndedContextEndsTheProgram(t *testing.T) {
	t.Parallel()
	file, m := brightening(t, 64, 36, "1"), New(script(t, "exec /bin/sleep 60"))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	var all sync.WaitGroup
	for range 4 { // Two programs run, and two wait for a place.
		all.Go(func() {
			if _, err := m.Thumbnail(ctx, file); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrVideo) {
				t.Errorf("%v", err)
			}
		})
	}
	all.Wait()
}

func TestOnlySoManyProgramsRunAtOnce(t *testing.T) {
	t.Parallel()
	file, dir := brightening(t, 64, 36, "1"), t.TempDir()
	// Each makes a file while it runs; one that finds more of them than allowed says so.
	text := fmt.Sprintf("f=%s/$$; : >$f; /bin/sleep 0.1; n=$(/bin/ls %s | /usr/bin/wc -l); /bin/rm $f; [ $n -le %d ] || echo too many >&2; exit 1", dir, dir, programsMax)
	m := New(script(t, text))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := m.Thumbnail(t.Context(), file); err == nil || strings.Contains(err.Error(), "too many") {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
