package videos

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

const (
	promptMax    = 32_000
	frames       = 10 // frames of a spritesheet
	frameColumns = 5
	pollEvery    = "every 2s"
)

// The statuses of a video, as clients know them.
const (
	VideoQueued    = "queued"
	VideoRunning   = "in_progress"
	VideoCompleted = "completed"
	VideoFailed    = "failed"
)

// The files of a video.
const (
	VideoMovie       = "video"
	VideoThumbnail   = "thumbnail"
	VideoSpritesheet = "spritesheet"
)

// Video is one video job of the account.
type Video struct {
	ID, Model, Prompt, Size string
	Seconds                 int
	Status                  string
	Storing                 bool // rendered, and being stored
	Progress                int  // percent
	ErrorCode, ErrorMessage string
	PerSecond               app.Amount  // zero when its price is no longer known
	Held                    app.Amount  // hold while it runs
	Cost                    *app.Amount // nil until it has ended
	RemixedFrom             string
	Assets                  []string // ids of the assets in the request
	FirstFrame              bool     // the request had a first frame
	KeyID, Person           string   // the key or the user that asked for it
	CreatedAt               time.Time
	StartedAt, EndedAt      *time.Time
	ExpiresAt               *time.Time
	Gone                    bool // its content was deleted
	Files                   []File
}

// File is one stored file of a video.
type File struct {
	Variant string
	Type    string
	Bytes   int64
}

func (v Video) path() string { return Path(v.ID) }

// Path is the page of a video.
func Path(id string) string { return views.VideosPath + "/" + id }

func (v Video) domID() string { return "video-" + v.ID }

// content is the address of one of its files.
func (v Video) content(variant string) string {
	return v.path() + "/content?variant=" + variant
}

func (v Video) download(variant string) string { return v.content(variant) + "&download=true" }

func (v Video) file(variant string) (File, bool) {
	i := slices.IndexFunc(v.Files, func(f File) bool { return f.Variant == variant })
	if i < 0 || v.Gone {
		return File{}, false
	}
	return v.Files[i], true
}

func (v Video) has(variant string) bool { _, ok := v.file(variant); return ok }

func (v Video) running() bool { return v.Status == VideoQueued || v.Status == VideoRunning }

// verdict is the badge of a video.
func (v Video) verdict() views.Badge {
	switch {
	case v.Status == VideoCompleted && v.Gone:
		return views.Badge{Tone: ui.Warning, Text: "Expired"}
	case v.Status == VideoCompleted:
		return views.Badge{Tone: ui.Success, Text: "Completed"}
	case v.Status == VideoFailed:
		return views.Badge{Tone: ui.Danger, Text: "Failed"}
	case v.Status == VideoRunning && v.Storing:
		return views.Badge{Tone: ui.Info, Text: "Saving"}
	case v.Status == VideoRunning:
		return views.Badge{Tone: ui.Info, Text: "In progress"}
	default:
		return views.Badge{Tone: ui.Plain, Text: "Queued"}
	}
}

// dimensions are the two numbers of a size such as 1280x720; zero when it is none.
func dimensions(size string) (width, height int) {
	w, h, _ := strings.Cut(size, "x")
	width, err := strconv.Atoi(w)
	if err != nil {
		return 0, 0
	}
	if height, err = strconv.Atoi(h); err != nil {
		return 0, 0
	}
	return width, height
}

// sizeLabel is a size as people write it.
func sizeLabel(size string) string { return strings.Replace(size, "x", " × ", 1) }

// shape is the class that gives a frame the proportions of a size.
func shape(size string) string {
	w, h := dimensions(size)
	switch {
	case w == 0 || h == 0:
		return "wide"
	case w == h:
		return "square"
	case w > h:
		return "wide"
	default:
		return "tall"
	}
}

// shapeWord is the orientation of a size in a word.
func shapeWord(size string) string {
	return map[string]string{"wide": "Wide", "tall": "Tall", "square": "Square"}[shape(size)]
}

// sum is how the price of a video comes about, such as 8 s × $0.10 = $0.80.
func sum(seconds int, perSecond, total app.Amount) string {
	return format.Seconds(seconds) + " × " + format.Dollars(perSecond) + " = " + format.Dollars(total)
}

// bill is what the video cost, or will, in one phrase.
func (v Video) bill() string {
	switch {
	case v.Cost == nil:
		return format.Dollars(v.Held) + " held"
	case v.Status == VideoFailed && *v.Cost == 0:
		return "Not charged"
	default:
		return format.Dollars(*v.Cost)
	}
}

// took is how long it took, or has taken so far.
func (v Video) took(now time.Time) time.Duration {
	if v.EndedAt != nil {
		return v.EndedAt.Sub(v.CreatedAt)
	}
	return max(now.Sub(v.CreatedAt), 0)
}

// Elapsed is a running time in whole seconds that the page updates.
func Elapsed(d time.Duration) string {
	s := int64(d / time.Second)
	if s < 60 {
		return strconv.FormatInt(s, 10) + " s"
	}
	if s < 3600 {
		return strconv.FormatInt(s/60, 10) + " min " + strconv.FormatInt(s%60, 10) + " s"
	}
	return strconv.FormatInt(s/3600, 10) + " h " + strconv.FormatInt(s%3600/60, 10) + " min"
}

// failure is what a failed video says: a title in plain words, and what to do about it.
type failure struct{ title, advice string }

// failures explain the error codes of failed videos.
var failures = map[string]failure{
	"moderation_blocked": {
		"Stopped by the content policy",
		"The provider found something in the prompt, the picture or the result that its policy does not allow. " +
			"Change the prompt and make it again.",
	},
	"content_policy_violation": {
		"Stopped by the content policy",
		"The provider found something in the prompt or the picture that its policy does not allow. Change the prompt and make it again.",
	},
	"upstream_error": {
		"The provider could not make it",
		"The fault is not in your request. Make it again, or choose another model.",
	},
	"upstream_job_lost": {
		"The provider lost the job",
		"It does not know the job any more. The fault is not in your request; make it again.",
	},
	"upstream_status_unavailable": {
		"The provider gave no answer",
		"It did not say in time what became of the job. Make it again, or choose another model.",
	},
	"content_unavailable": {
		"The finished video could not be saved",
		"It was rendered, but could not be fetched from the provider. Make it again.",
	},
}

// failed is why a video failed.
func (v Video) failed() failure {
	if f, ok := failures[v.ErrorCode]; ok {
		return f
	}
	return failure{"The video could not be made", "Make it again, or choose another model."}
}

// charge says what a failed video cost.
func (v Video) charge() string {
	if v.Cost != nil && *v.Cost > 0 {
		return "You were charged " + format.Dollars(*v.Cost) + " for what was delivered."
	}
	if v.Held > 0 {
		return "Not charged. The " + format.Dollars(v.Held) + " that was reserved is released."
	}
	return "Not charged."
}

// absent is why a file cannot be had.
func (v Video) absent(variant string) string {
	switch {
	case v.Status == VideoFailed:
		return "The video failed."
	case v.running():
		return "The video is not finished yet."
	case v.Gone:
		return "It was kept until its expiry date."
	case variant == VideoMovie:
		return "It is not in storage."
	default:
		return "None was made of this video."
	}
}

// variantWord names a file.
var variantWord = map[string]string{VideoMovie: "Video", VideoThumbnail: "Thumbnail", VideoSpritesheet: "Spritesheet"}

// fileNote is a file's kind and size.
func fileNote(f File) string {
	_, kind, _ := strings.Cut(f.Type, "/")
	if kind == "" {
		return format.FileSize(f.Bytes)
	}
	return strings.ToUpper(kind) + ", " + format.FileSize(f.Bytes)
}

// title is the prompt as a heading.
func (v Video) title() string {
	if line := strings.Join(strings.Fields(v.Prompt), " "); line != "" {
		return format.Truncate(line, 80)
	}
	return "Video"
}

// storedWords is an amount of storage, with a decimal from a megabyte on.
func storedWords(bytes int64) string {
	const mega, giga = 1_000_000, 1_000_000_000
	switch {
	case bytes >= giga:
		return format.Decimal(bytes/(giga/10), 1) + " GB"
	case bytes >= mega:
		return format.Decimal(bytes/(mega/10), 1) + " MB"
	default:
		return format.FileSize(bytes)
	}
}

// showsSum says whether seconds times price is what the video costs.
func (v Video) showsSum() bool {
	total := v.Held
	if v.Cost != nil {
		total = *v.Cost
	}
	return total > 0 && v.PerSecond*app.Amount(v.Seconds) == total
}

func (v Video) sum() string { return sum(v.Seconds, v.PerSecond, v.PerSecond*app.Amount(v.Seconds)) }

// by names the key or the person that created the video.
func (v Video) by() string {
	switch {
	case v.KeyID != "":
		return "the key " + v.Person
	case v.Person != "":
		return v.Person + ", in the console"
	default:
		return "the console"
	}
}
