package testvideo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestPlayerSeesWhatWasDrawn has another decoder play the films and compares every sample of every frame.
func TestPlayerSeesWhatWasDrawn(t *testing.T) {
	t.Parallel()
	for _, size := range slices.Concat(sold, odd) {
		s := sized(t, size)
		if s.Width*s.Height < 1<<19 {
			s.Seconds = 5 // Five seconds contain two more key frames.
		}
		pipe(t, MP4(s), func(r io.Reader) error { return compare(r, s) }, "ffmpeg",
			"-v", "warning", "-xerror", "-threads", "1", "-i", "pipe:0", "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "yuv420p", "pipe:1")
	}
}

// compare reads decoded frames, of which there must be as many as were drawn.
func compare(decoded io.Reader, s Spec) error {
	scene, frame := newScene(s), make([]byte, s.Width*s.Height*3/2)
	for i := range s.frames() {
		scene.show(i)
		if _, err := io.ReadFull(decoded, frame); err != nil {
			return fmt.Errorf("%dx%d: frame %d of %d: %w", s.Width, s.Height, i, s.frames(), err)
		}
		if !bytes.Equal(visible(scene.picture, s), frame) {
			return fmt.Errorf("%dx%d: frame %d is not what was drawn", s.Width, s.Height, i)
		}
	}
	if n, _ := io.ReadFull(decoded, frame[:1]); n > 0 {
		return fmt.Errorf("%dx%d: there are more than %d frames", s.Width, s.Height, s.frames())
	}
	return nil
}

// visible are the samples of a picture that are not cropped, plane after plane.
func visible(p *picture, s Spec) []byte {
	out := make([]byte, 0, s.Width*s.Height*3/2)
	for y := range s.Height {
		out = append(out, p.luma.row(0, y, s.Width)...)
	}
	for _, c := range []plane{p.blue, p.red} {
		for y := range s.Height / 2 {
			out = append(out, c.row(0, y, s.Width/2)...)
		}
	}
	return out
}

func TestPlayerReadsSizeRateAndDuration(t *testing.T) {
	t.Parallel()
	for _, size := range sold {
		s := sized(t, size)
		s.Seconds = 4
		path := filepath.Join(t.TempDir(), "film.mp4")
		if err := os.WriteFile(path, MP4(s), 0o600); err != nil {
			t.Fatal(err)
		}
		var told struct {
			Streams []map[string]any
			Format  struct{ Duration string }
		}
		out := run(t, nil, "ffprobe", "-v", "warning", "-count_frames", "-show_streams", "-show_format", "-of", "json", path)
		if err := json.Unmarshal(out, &told); err != nil || len(told.Streams) != 1 {
			t.Fatalf("%s: %v: %s", size, err, out)
		}
		for name, want := range map[string]string{
			"codec_name": "h264", "profile": "Constrained Baseline", "width": fmt.Sprint(s.Width), "height": fmt.Sprint(s.Height), "nb_read_frames": "96",
			"avg_frame_rate": "24/1", "duration": "4.000000", "pix_fmt": "yuv420p", "color_range": "tv", "color_space": "bt709", "has_b_frames": "0",
		} {
			if got := fmt.Sprint(told.Streams[0][name]); got != want {
				t.Errorf("%s: %s is %s, not %s", size, name, got, want)
			}
		}
		if told.Format.Duration != "4.000000" {
			t.Errorf("%s takes %s s", size, told.Format.Duration)
		}
	}
}

func TestPlayerShowsTheColoursThatTheStillsShow(t *testing.T) {
	t.Parallel()
	s := sized(t, "320x176")
	pixels := run(t, MP4(s), "ffmpeg", "-v", "error", "-i", "pipe:0", "-frames:v", "1", "-vf", "scale=in_color_matrix=bt709:flags=accurate_rnd+full_chroma_int", "-f", "rawvideo", "-pix_fmt", "rgb24", "pipe:1")
	scene := newScene(s)
	scene.show(0)
	shown := image.NewNRGBA(image.Rect(0, 0, s.Width, s.Height))
	for i := range s.Width * s.Height {
		copy(shown.Pix[4*i:], append(slices.Clone(pixels[3*i:3*i+3]), 255))
	}
	for name, at := range map[string]image.Point{
		"sky": {4, 4}, "ground": {310, 100}, "square": scene.mover.Min.Add(image.Pt(8, 8)), "rail": scene.bar.Max.Sub(image.Pt(8, 8)),
	} {
		r, g, b := scene.picture.at(at.X, at.Y).rgb()
		if !looks(shown, at, [3]byte{r, g, b}, 3) {
			t.Errorf("%s: %v is shown where %v was drawn", name, shown.At(at.X, at.Y), [3]byte{r, g, b})
		}
	}
}
