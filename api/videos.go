package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"umg/app"
	"umg/app/dialect"
	"umg/app/gateway"
	"umg/app/idempotency"
	"umg/app/ratelimit"
	"umg/app/video"
	"umg/billing"
)

const (
	pollHint   = 5 * time.Second
	pollHeader = "poll-hint"
	followMax  = 15 * time.Second // After so much silence, a comment keeps the stream open.
	idParam    = "id"
)

// videoPaths are the three spellings of the video routes: the service document's, its compatibility route, and the guide's
// without a version.
var videoPaths = []string{"/v1/videos", "/v1/vendora/videos", "/videos"}

// videoRoutes are all operations on videos, once for each spelling. The rows whose path lacks an id exist to explain that error.
func videoRoutes() []Route {
	var routes []Route
	makes, uses := group{app.MakeVideos, hasVideos}, group{app.UseVideos, hasVideos}
	for i, base := range videoPaths {
		create, remix := makes.post(base, (*API).createVideo), makes.post(base+"/:id/remix", (*API).remixVideo)
		create.work, remix.work = gateway.VideoWork, gateway.VideoWork
		if i == 0 {
			create.Operation = videosOperation
		}
		routes = append(routes, create, uses.get(base, (*API).listVideos), uses.get(base+"/:id", (*API).getVideo),
			uses.delete(base+"/:id", (*API).deleteVideo), remix, uses.get(base+"/:id/content", (*API).getContent),
			uses.get(base+"/", (*API).missingVideo), uses.delete(base+"/", (*API).missingVideo))
		for _, unserved := range []string{"edits", "extensions", "characters"} {
			routes = append(routes, makes.post(base+"/"+unserved, (*API).unservedVideo))
		}
	}
	wake := group{0, hasVideos}.post("/callbacks/videos/:token", (*API).wakeVideo)
	wake.Open = true
	return append(routes, wake)
}

func hasVideos(o *Options) bool { return o.Videos != nil }

// wakeVideo lets the worker poll a job at once after the callback of a provider. It uses nothing else of the callback.
func (a *API) wakeVideo(x *call) error {
	if err := a.o.Videos.Wake(x.Request().Context(), x.Param("token")); err != nil {
		return err
	}
	return x.NoContent(http.StatusNoContent)
}

func (a *API) missingVideo(*call) error { return noVideoID() }

func noVideoID() error {
	e := app.Errorf(app.Invalid, "missing_required_parameter",
		"The path names no video: put the id that create answered with after /videos/.").At("video_id")
	e.Missing = true
	return e
}

// unservedVideo answers operations that official clients have and this service does not.
func (a *API) unservedVideo(x *call) error {
	return app.Errorf(app.NotFound, "unsupported_endpoint",
		"This gateway does not offer %s for any model. It makes videos at POST /v1/videos and changes them at POST /v1/videos/{id}/remix.",
		shorten(x.Request().URL.Path)).Final()
}

// createVideo serves POST /v1/videos: JSON or a form.
func (a *API) createVideo(x *call) error {
	body, err := a.readVideo(x)
	if err != nil {
		return err
	}
	return a.makeVideo(x, "videos", body)
}

// remixVideo serves POST /v1/videos/{id}/remix. The service document has JSON only, official clients may send a form.
func (a *API) remixVideo(x *call) error {
	source := x.Param(idParam)
	if source == "" {
		return noVideoID()
	}
	body, err := a.readVideo(x)
	if err != nil {
		return err
	}
	body.Source = source
	return a.makeVideo(x, "videos/"+source+"/remix", body)
}

// makeVideo quotes a job, or creates it, once for each Idempotency-Key, and answers with it.
func (a *API) makeVideo(x *call, operation string, c video.Call) error {
	c.Principal, c.LimitFactor, c.Key, c.Place = x.principal(), x.key.LimitFactor, x.keyLimits(), x.slot()
	if dry, err := x.dryRun(); dry || err != nil {
		if err != nil {
			return err
		}
		return a.quoteVideo(x, c)
	}
	if x.key.Frozen {
		return billing.Frozen()
	}
	describe := func(string) idempotency.Request {
		text := string(c.Body) + "\n"
		if c.Upload != nil {
			text += string(c.Upload.Data)
		}
		return idempotency.Request{Operation: operation, Body: []byte(text), ResultID: a.o.IDs.New("video")}
	}
	streams := asksForStream(c.Body)
	var job video.Job
	body, replayed, err := a.createOnce(x, describe, func(id string) ([]byte, error) {
		c.ID, c.Headers, c.RequestID = id, x.Request().Header, x.log.RequestID
		created, err := a.o.Videos.Create(x.Request().Context(), c)
		c.Body, c.Upload = nil, nil // A stream may follow that lasts as long as the job.
		x.place.Shrink()
		x.log.created = created.Upstream
		gateway.SetLimitHeaders(x.Header(), created.Requests, ratelimit.Window{})
		if err != nil {
			return nil, err
		}
		job = created.Job
		x.log.Model, x.log.Result.Provider, x.log.Result.Outcome = job.Model, job.Provider, "accepted"
		if m, known := a.o.Catalog.Snapshot().Model(job.Model); known {
			x.setLifecycleHeaders(m)
		}
		a.setProcessingMs(x.Header(), x.log.setServerTiming(x.Header(), a.now()))
		return videoJSON(job), nil
	})
	switch {
	case err != nil:
		return err
	case streams && replayed != nil:
		return a.resumeVideo(x, replayed.ResultID)
	case streams:
		return a.followVideo(x, job)
	}
	a.hintPoll(x)
	return a.send(x, body)
}

// setProcessingMs sets the same time as one number, under every name that the catalog gives the header.
func (a *API) setProcessingMs(h http.Header, took time.Duration) {
	said := []string{strconv.FormatInt(took.Milliseconds(), 10)}
	for _, name := range a.o.Catalog.Snapshot().Spellings(processingHeader) {
		h[name] = said
	}
}

// quote is the answer to a dry run: what the call would cost, with nothing made and nothing spent.
type quote struct {
	Object         string     `json:"object"`
	Model          string     `json:"model"`
	Size           string     `json:"size"`
	Seconds        string     `json:"seconds"`
	Currency       string     `json:"currency"`
	PricePerSecond app.Amount `json:"price_per_second"`
	CostMin        app.Amount `json:"cost_min"` // CostMin is zero, because videos that fail are free.
	CostMax        app.Amount `json:"cost_max"`
	Cost           app.Amount `json:"cost"` // Cost is for a video that succeeds.
	RateCard       string     `json:"rate_card"`
}

func (a *API) quoteVideo(x *call, c video.Call) error {
	q, err := a.o.Videos.Quote(x.Request().Context(), c)
	if err != nil {
		return err
	}
	body, err := json.Marshal(quote{
		Object: "video.quote", Model: q.Model, Size: q.Size, Seconds: strconv.Itoa(q.Seconds), Currency: "USD",
		PricePerSecond: q.PerSecond, CostMax: q.Cost, Cost: q.Cost, RateCard: q.RateCardID,
	})
	if err != nil {
		return err
	}
	x.log.Model, x.log.Result.Outcome = q.Model, "quoted"
	return x.Blob(http.StatusOK, jsonType, body)
}

// hintPoll sets when a client should poll again, under every name that the catalog gives the header.
func (a *API) hintPoll(x *call) {
	h := x.Header()
	hint := []string{strconv.FormatInt(pollHint.Milliseconds(), 10)}
	for _, name := range a.o.Catalog.Snapshot().Spellings(pollHeader) {
		h[name] = hint
	}
	h["Retry-After"] = []string{strconv.FormatInt(int64(pollHint/time.Second), 10)}
}

// resumeVideo follows the job of a call that is repeated. A stream that has ended is not sent again.
func (a *API) resumeVideo(x *call, id string) error {
	job, err := a.o.Videos.Get(x.Request().Context(), x.key.AccountID, id)
	if err != nil {
		return err
	}
	if job.State.Ended() {
		return app.Errorf(app.Unprocessable, "idempotent_stream_completed",
			"The stream of the call with this Idempotency-Key has ended. GET /v1/videos/%s shows the video.", id).At(keyHeader).Final()
	}
	return a.followVideo(x, job)
}

// followVideo streams the task as events, one for each change a client can see, until it has ended.
func (a *API) followVideo(x *call, job video.Job) error {
	ctx := x.Request().Context()
	out := &responseWriter{x: x, api: a, now: a.now, response: x.Response(), connection: x.Connection()}
	if err := out.Begin(http.StatusOK, eventStream, nil); err != nil {
		return err
	}
	last := ""
	tell := func(j video.Job) error {
		if frame := "data: " + string(videoJSON(j)) + "\n\n"; frame != last {
			last = frame
			return errors.Join(out.Write([]byte(frame)), out.Flush())
		}
		return nil
	}
	for {
		patience, cancel := context.WithTimeout(ctx, followMax)
		err := a.o.Videos.Follow(patience, job.AccountID, job.ID, tell)
		quiet := patience.Err() != nil && ctx.Err() == nil
		cancel()
		if err == nil || ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) {
			return nil // The video has ended, or the client has left.
		}
		if !quiet {
			_, body := dialect.Error(layouts[OpenAIFamily].style, x.explain(err), x.log.RequestID)
			_ = out.Write([]byte("data: " + string(body) + "\n\n"))
			return err
		}
		if err := errors.Join(out.Write([]byte(": keep-alive\n\n")), out.Flush()); err != nil {
			return err
		}
	}
}
