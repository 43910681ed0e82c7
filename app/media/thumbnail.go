// Package media inspects pictures, videos and sounds that others sent: it detects formats, reads sizes and durations, strips
// metadata, and makes thumbnails and spritesheets of videos with ffmpeg.
//
// All files are untrusted input. It runs ffmpeg with fixed arguments and without a shell: the program must not guess the format,
// opens only the file itself, and has limits on time, memory, picture sizes and output.
package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	typeJPEG = "image/jpeg"

	thumbnailWidthMax  = 640
	thumbnailHeightMax = 1280
	tileWidthMax       = 320
	tileHeightMax      = 640
	columns            = 5
	rows               = 2
	frames             = columns * rows

	videoTimeMin    = time.Millisecond
	videoPixelsMax  = 4096 * 2304 // This limits one frame of the video.
	allocBytesMax   = 512 << 20   // This limits one allocation of the program.
	outputBytesMax  = 4 << 20
	programsMax     = 2
	programTimeMax  = 20 * time.Second
	programCloseMax = 2 * time.Second // The pipes of an ended program are closed after this time.
)

var (
	// ErrUnavailable means that this machine has no ffmpeg.
	ErrUnavailable = errors.New("media: ffmpeg is not installed")
	// ErrVideo means that the file is not a video that pictures can be made of.
	ErrVideo = errors.New("media: no picture could be made of the video")

	errNothing = errors.New("the program wrote nothing")
)

// Picture is one picture in memory.
type Picture struct {
	Type string // Type is a media type.
	Data []byte
}

// Thumbnailer makes pictures of videos. It is safe for concurrent use and runs a bounded number of programs at once.
type Thumbnailer struct {
	program string        // Program is empty without ffmpeg.
	places  chan struct{} // Places has a slot for each program that may run.
	timeMax time.Duration
}

// New finds ffmpeg; program is its path, empty for the one on PATH. Without one the Maker exists and answers ErrUnavailable.
func New(program string) *Thumbnailer {
	if program == "" {
		program = "ffmpeg"
	}
	m := &Thumbnailer{places: make(chan struct{}, programsMax), timeMax: programTimeMax}
	if found, err := exec.LookPath(program); err == nil {
		m.program = found
	}
	return m
}

// Available says whether there is a program to make pictures with.
func (m *Thumbnailer) Available() bool { return m.program != "" }

// Thumbnail is the frame at a tenth of the video in the file, at most 640 pixels wide and 1280 high.
func (m *Thumbnailer) Thumbnail(ctx context.Context, file string) (Picture, error) {
	file, long, err := m.look(file)
	if err != nil {
		return Picture{}, err
	}
	p, err := m.make(ctx, image.Pt(thumbnailWidthMax, thumbnailHeightMax), long/10, file, fit(thumbnailWidthMax, thumbnailHeightMax))
	if errors.Is(err, errNothing) { // The last frame comes before that time.
		p, err = m.make(ctx, image.Pt(thumbnailWidthMax, thumbnailHeightMax), 0, file, fit(thumbnailWidthMax, thumbnailHeightMax))
	}
	return p, err
}

// Spritesheet is ten frames, evenly spaced, in a grid of five by two; a tile is at most 320 pixels wide and 640 high.
func (m *Thumbnailer) Spritesheet(ctx context.Context, file string) (Picture, error) {
	file, long, err := m.look(file)
	if err != nil {
		return Picture{}, err
	}
	// The picture has the frame in the middle of each tenth: the filter shifts the video by half a tenth and takes a frame for each.
	micros := long.Microseconds()
	filter := fmt.Sprintf("setpts=PTS-STARTPTS-%d/1000000/TB,fps=fps=%d/%d:start_time=0:round=up,%s,tile=%dx%d",
		micros/(2*frames), int64(frames*time.Second/time.Microsecond), micros, fit(tileWidthMax, tileHeightMax), columns, rows)
	return m.make(ctx, image.Pt(columns*tileWidthMax, rows*tileHeightMax), 0, file, filter)
}

// look finds out what has to be known of the video before the program is run.
func (m *Thumbnailer) look(file string) (string, time.Duration, error) {
	if m.program == "" {
		return "", 0, ErrUnavailable
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return "", 0, fmt.Errorf("media: finding the file: %w", err)
	}
	f, err := os.Open(file)
	if err != nil {
		return "", 0, fmt.Errorf("media: opening the file: %w", err)
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return "", 0, fmt.Errorf("media: looking at the file: %w", err)
	}
	long, err := Duration(f, stat.Size())
	if err != nil {
		return "", 0, err
	}
	if long < videoTimeMin {
		return "", 0, fmt.Errorf("%w: it takes %v", ErrVideo, long)
	}
	return file, long, nil
}

// fit scales a frame down into a box, in the shape in which it is shown, and for the colours that a JPEG has.
func fit(width, height int) string {
	wide := fmt.Sprintf("max(2\\,2*trunc(min(iw*sar\\,min(%d\\,%d*dar))/2))", width, height)
	high := fmt.Sprintf("max(2\\,min(%d\\,2*round(ow/dar/2)))", height)
	return "scale=w=" + wide + ":h=" + high + ":flags=area:out_color_matrix=bt601:out_range=pc,setsar=1,format=yuvj420p"
}

// make runs the program for one picture, and looks at what it wrote: a picture in the bounds asked for, or an error.
func (m *Thumbnailer) make(ctx context.Context, most image.Point, at time.Duration, file, filter string) (Picture, error) {
	arguments := []string{
		"-nostdin", "-hide_banner", "-loglevel", "error", "-max_alloc", strconv.Itoa(allocBytesMax),
		// This limit of processor time ends the program when the gateway has died.
		"-timelimit", strconv.Itoa(int(m.timeMax/time.Second) + 1),
		"-protocol_whitelist", "file", "-f", "mp4", "-max_pixels", strconv.Itoa(videoPixelsMax), "-threads", "1",
		"-ss", strconv.FormatInt(at.Microseconds(), 10) + "us", "-i", "file:" + file,
		"-map", "0:v:0", "-an", "-sn", "-dn", "-map_metadata", "-1", "-filter_threads", "1", "-vf", filter, "-frames:v", "1",
		"-threads", "1", "-c:v", "mjpeg", "-q:v", "3", "-flags:v", "+bitexact", "-f", "image2pipe", "pipe:1",
	}
	out, err := m.run(ctx, arguments)
	if err != nil {
		return Picture{}, err
	}
	if len(out) == 0 {
		return Picture{}, fmt.Errorf("%w: %w", ErrVideo, errNothing)
	}
	c, err := jpeg.DecodeConfig(bytes.NewReader(out))
	if err != nil {
		return Picture{}, fmt.Errorf("%w: the program wrote no JPEG in its %d bytes", ErrVideo, len(out))
	}
	if c.Width > most.X || c.Height > most.Y {
		return Picture{}, fmt.Errorf("%w: it has %d by %d pixels, more than %d by %d", ErrVideo, c.Width, c.Height, most.X, most.Y)
	}
	return Picture{Type: typeJPEG, Data: out}, nil
}

const (
	complaintBytesMax = 500 // An error repeats this much of the program's message.
	nicePriority      = 5   // Answers to callers come first, but a busy machine must not starve the program past its time.
)

var errTooMuch = errors.New("the program wrote too much")

// bounded keeps what a program writes, up to a bound. Past it a strict one fails, which ends the program, and another forgets.
type bounded struct {
	kept   []byte
	most   int
	strict bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.most - len(b.kept)
	if b.strict && len(p) > room {
		return 0, errTooMuch
	}
	b.kept = append(b.kept, p[:min(len(p), room)]...)
	return len(p), nil
}

// run waits for a place and runs the program, with nothing of our environment, for a bounded time.
func (m *Thumbnailer) run(ctx context.Context, arguments []string) ([]byte, error) {
	select {
	case m.places <- struct{}{}:
		defer func() { <-m.places }()
	case <-ctx.Done():
		return nil, fmt.Errorf("media: waiting for a place: %w", ctx.Err())
	}
	limited, cancel := context.WithTimeout(ctx, m.timeMax)
	defer cancel()
	out, said := &bounded{most: outputBytesMax, strict: true}, &bounded{most: complaintBytesMax}
	cmd := exec.CommandContext(limited, m.program, arguments...) //nolint:gosec // the operator's program, our arguments
	cmd.Env = []string{"LC_ALL=C"}
	cmd.Stdout, cmd.Stderr = out, said
	cmd.WaitDelay = programCloseMax
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("media: starting the program: %w", err)
	}
	yield(cmd.Process.Pid)
	err := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("media: making a picture: %w", ctx.Err())
	case limited.Err() != nil:
		return nil, fmt.Errorf("%w: the program took longer than %v", ErrVideo, m.timeMax)
	case err != nil:
		return nil, fmt.Errorf("%w: %w: %s", ErrVideo, err, strings.TrimSpace(strings.ToValidUTF8(string(said.kept), "?")))
	}
	return out.kept, nil
}
