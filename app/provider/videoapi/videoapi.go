// Package videoapi speaks to the upstreams that make videos, each kind in its own words: the videos style (POST /videos,
// poll, download), the operations style (a long-running operation whose result holds a file address) and the tasks style
// (a task that may call back). It knows their routes, status words, errors and downloads, and gives them one form. It
// does not know jobs, money, storage or clients.
package videoapi

import (
	"context"
	"encoding/json"
	"io"
	"time"
)

// CreateRequest is a video to make, in the gateway's words.
type CreateRequest struct {
	Reference     string // ours, unique; the id of the job
	Model         string // the provider's name of the model
	Prompt        string
	Width, Height int
	Seconds       int
	Image         *Image  // the first frame, nil for none
	Source        *Source // the video to change, nil for a new one
	Assets        []Asset // to make it with; only routes that carry them take such an order
	Callback      string  // address the upstream may call when something changes, empty for none
	EndUser       string
	CreatedAt     time.Time
}

// Image is a picture that was checked: its bytes are of its type and have the measures of the order.
type Image struct {
	Type string // image/jpeg, image/png or image/webp
	Data []byte
}

// Asset is an asset that the upstream keeps and makes the video with; see Carries.
type Asset struct {
	ID   string // the upstream's
	Kind string // image, video or audio
}

// Source is a finished video of the same provider. Styles that take an id use ID, those that take an address URL, those
// that take bytes Open.
type Source struct {
	ID   string // the id of the upstream's task
	URL  string // Files.Video of its task as it was said; the upstream is asked where it is empty
	Open func(ctx context.Context) (io.ReadCloser, error)
}

// State is what an upstream says of a render, in one set of words.
type State uint8

// The states. Unknown words of an upstream are Running: they are no verdict.
const (
	Waiting State = iota
	Running
	Succeeded
	Failed
)

// Problem codes of failed renders.
const (
	Moderated = "moderation_blocked"   // the upstream's guardrails refused the prompt, the image or the result
	Broken    = "generation_failed"    // anything else
	Cancelled = "generation_cancelled" // the upstream was asked to cancel the task
)

// Task is what the upstream said of a render.
type Task struct {
	ID       string
	State    State
	Progress int // percent as said, -1 when it says nothing; not to be trusted
	Code     string
	Message  string // with Failed: for the client
	Files    Files
	Metadata json.RawMessage // what it says beside the result, an object of at most 16 KiB, nil for none
	// What it says it was asked, for look-ups; zero values where it does not say.
	Model, Prompt, Size, Reference string
	Seconds                        int
	CreatedAt                      time.Time
}

// Files says where the results are: addresses, or names only that style understands. It is kept with the job.
type Files struct {
	Video       string `json:"video,omitempty"`
	Thumbnail   string `json:"thumbnail,omitempty"`
	Spritesheet string `json:"spritesheet,omitempty"`
}

// File is a result on its way: the caller reads it to the end and closes it.
type File struct {
	io.ReadCloser

	Type string // the type in the upstream's words
	Size int64  // -1 when it does not say
}
