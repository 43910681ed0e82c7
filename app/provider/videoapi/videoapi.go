// Package videoapi calls upstreams that make videos. It has one form for three styles: videos (POST /videos, poll, download),
// operations (a long-running operation whose result has the address of a file) and tasks (a task that may call back). Client creates,
// polls, finds and cancels videos, and downloads their files.
package videoapi

import (
	"encoding/json"
	"io"
	"time"
)

// CreateRequest is a request for a video.
type CreateRequest struct {
	Reference     string // Reference is the unique id of the job.
	Model         string // Model is the provider's name of the model.
	Prompt        string
	Width, Height int
	Seconds       int
	Image         *Image  // Image is the first frame; nil means none.
	Source        *Source // Source is the video to change; nil means a new one.
	Assets        []Asset // Assets need a route for which TakesAssets is true.
	Callback      string  // Callback is the address that the upstream may call on a change; empty means none.
	EndUser       string
	CreatedAt     time.Time
}

// Image is an image that was checked: its data has its type, and the size of the request.
type Image struct {
	Type string // Type is image/jpeg, image/png or image/webp.
	Data []byte
}

// Asset is an asset at the upstream that the video is made with.
type Asset struct {
	ID   string // ID is that of the upstream.
	Kind string // Kind is image, video or audio.
}

// Source is a finished video of the same provider. The style decides which field it uses.
type Source struct {
	ID  string // ID is that of the upstream's task.
	URL string // URL is Files.Video of its task. When it is empty, Create asks the upstream.
}

// State is the state of a task.
type State uint8

// These are the states. Unknown states of an upstream are Running.
const (
	Waiting State = iota
	Running
	Succeeded
	Failed
)

// These are the codes of failed tasks.
const (
	Moderated = "moderation_blocked"   // The upstream's guardrails refused the prompt, the image or the result.
	Broken    = "generation_failed"    // The task failed for another reason.
	Cancelled = "generation_cancelled" // The task was cancelled.
)

// Task is a task of an upstream.
type Task struct {
	ID       string
	State    State
	Progress int // Progress is the upstream's percentage, which may be wrong, or -1 when unknown.
	Code     string
	Message  string // Message is the reason of a failure, for the client.
	Files    Files
	Metadata json.RawMessage // Metadata is an object of at most 16 KiB with the unknown members; nil means none.
	// These fields repeat the request, for look-ups. They are zero when the upstream does not repeat them.
	Model, Prompt, Size, Reference string
	Seconds                        int
	CreatedAt                      time.Time
}

// Files has the addresses of the results, or names in the form of the style. It is stored with the job.
type Files struct {
	Video       string `json:"video,omitempty"`
	Thumbnail   string `json:"thumbnail,omitempty"`
	Spritesheet string `json:"spritesheet,omitempty"`
}

// File is a result that is being downloaded. The caller must close it.
type File struct {
	io.ReadCloser

	Type string // Type is the media type that the upstream names.
	Size int64  // Size is -1 when unknown.
}
