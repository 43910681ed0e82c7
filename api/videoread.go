package api

import (
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/video"
)

const contentCache = "private, max-age=3600"

// videoObject is a job as clients see it. Every member is always present, and null where it has no value. The service document has both
// created and created_at.
type videoObject struct {
	ID          string          `json:"id"`
	Object      string          `json:"object"`
	CreatedAt   int64           `json:"created_at"`
	Created     int64           `json:"created"`
	Status      string          `json:"status"`
	Model       string          `json:"model"`
	Progress    int             `json:"progress"`
	Prompt      string          `json:"prompt"`
	Seconds     string          `json:"seconds"`
	Size        string          `json:"size"`
	CompletedAt *int64          `json:"completed_at"`
	ExpiresAt   *int64          `json:"expires_at"`
	RemixedFrom *string         `json:"remixed_from_video_id"`
	Error       *videoProblem   `json:"error"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
	Usage       *videoUsage     `json:"usage,omitempty"`
}

type videoProblem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// videoUsage is what an ended job cost.
type videoUsage struct {
	Cost     app.Amount `json:"cost"`
	Currency string     `json:"currency"`
}

func videoView(j video.Job) videoObject {
	o := videoObject{
		ID: j.ID, Object: "video", CreatedAt: j.CreatedAt.Unix(), Created: j.CreatedAt.Unix(), Status: j.State.Status(), Model: j.Model,
		Progress: j.Progress, Prompt: j.Prompt, Seconds: strconv.Itoa(j.Seconds), Size: j.Size, CompletedAt: seconds(j.CompletedAt),
		ExpiresAt: seconds(j.ExpiresAt), Metadata: j.Metadata,
		RemixedFrom: orNull(j.RemixedFrom),
	}
	if j.State == video.Failed {
		o.Error = &videoProblem{Code: j.Problem.Code, Message: j.Problem.Message}
	}
	if j.Cost != nil {
		o.Usage = &videoUsage{Cost: *j.Cost, Currency: "USD"}
	}
	return o
}

// videoJSON cannot fail: metadata was checked to be JSON when it was kept.
func videoJSON(j video.Job) []byte {
	b, err := json.Marshal(videoView(j))
	if err != nil {
		panic("api: a video cannot be printed: " + err.Error())
	}
	return b
}

// getVideo serves GET /v1/videos/{id} from the job's row.
func (a *API) getVideo(x *call) error {
	id := x.Param(idParam)
	if id == "" {
		return noVideoID()
	}
	job, err := a.o.Videos.Get(x.Request().Context(), x.key.AccountID, id)
	if err != nil {
		return err
	}
	x.log.Model = job.Model
	if !job.State.Ended() {
		a.hintPoll(x)
	}
	body := videoJSON(job)
	return x.tagged(body, catalog.ETag(body))
}

// listVideos serves GET /v1/videos.
func (a *API) listVideos(x *call) error {
	q, err := videoQuery(x)
	if err != nil {
		return err
	}
	q.Model = a.modelID(x, q.Model)
	page, err := a.o.Videos.List(x.Request().Context(), x.key.AccountID, q)
	if err != nil {
		return err
	}
	return x.JSON(http.StatusOK, listBody(page.Jobs, page.More, func(j video.Job) string { return j.ID }, videoView))
}

// videoQuery reads the parameters of a list. Unknown parameters are ignored, except those by which other APIs turn pages.
func videoQuery(x *call) (video.Query, error) {
	in := x.QueryParams()
	if err := noOtherPaging(in, "Pages are turned with after (the last_id of the page before), limit and order."); err != nil {
		return video.Query{}, err
	}
	q := video.Query{
		After: in.Get("after"), Limit: pageUsual, Status: in.Get("status"), Model: in.Get("model"),
		Search: in.Get("search"), RemixedFrom: in.Get("remixed_from_video_id"),
	}
	if raw := in.Get("limit"); raw != "" {
		n, err := strconv.Atoi(raw)
		if err != nil || n < 1 || n > pageMax {
			return q, app.Errorf(app.Invalid, "invalid_value", "limit must be an integer from 1 to %d, not %q.", pageMax, shorten(raw)).At("limit")
		}
		q.Limit = n
	}
	switch order := in.Get("order"); order {
	case "", "desc":
	case "asc":
		q.Ascending = true
	default:
		return q, app.Errorf(app.Invalid, "invalid_value", "order must be asc or desc, not %q.", shorten(order)).At("order")
	}
	var err error
	if q.CreatedAfter, err = unixParam(in.Get("created_after"), "created_after"); err != nil {
		return q, err
	}
	q.CreatedBefore, err = unixParam(in.Get("created_before"), "created_before")
	return q, err
}

// unixParam reads Unix seconds; an empty text is no time.
func unixParam(raw, name string) (time.Time, error) {
	if raw == "" {
		return time.Time{}, nil
	}
	n, err := strconv.ParseInt(raw, 10, 48)
	if err != nil || n < 0 {
		return time.Time{}, app.Errorf(app.Invalid, "invalid_value", "%s must be Unix seconds, not %q.", name, shorten(raw)).At(name)
	}
	return time.Unix(n, 0), nil
}

// deleteVideo serves DELETE /v1/videos/{id}.
func (a *API) deleteVideo(x *call) error {
	id := x.Param(idParam)
	if id == "" {
		return noVideoID()
	}
	if err := a.o.Videos.Delete(x.Request().Context(), x.key.AccountID, id); err != nil {
		return err
	}
	return x.JSON(http.StatusOK, map[string]any{"id": id, "object": "video.deleted", "deleted": true})
}

// getContent serves GET /v1/videos/{id}/content with ranges, conditions and HEAD.
func (a *API) getContent(x *call) error {
	id := x.Param(idParam)
	if id == "" {
		return noVideoID()
	}
	variant := video.Movie
	if raw := x.QueryParam("variant"); raw != "" {
		if variant = video.Variant(raw); !slices.Contains(video.Variants(), variant) {
			return app.Errorf(app.Invalid, "invalid_value", "variant must be video, thumbnail or spritesheet, not %q.", shorten(raw)).At("variant")
		}
	}
	blob, job, err := a.o.Videos.Open(x.Request().Context(), x.key.AccountID, id, variant)
	if err != nil {
		return err
	}
	defer func() { _ = blob.Close() }()
	x.log.Model = job.Model
	h := x.Header()
	h.Set("Cache-Control", contentCache)
	h.Set("Vary", "Authorization")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": job.FileName(variant)}))
	return a.serveBlob(x, blob)
}
