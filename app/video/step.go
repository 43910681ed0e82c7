package video

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lib/pq"

	"umg/app"
	"umg/app/catalog"
	"umg/app/postgres"
	"umg/app/provider"
	"umg/app/provider/videoapi"
	"umg/billing"
)

// These limits apply to the steps of a job. The durations are measured on the injected clock, except for the waits for an answer.
const (
	pollMinStandard  = 2 * time.Second
	pollMaxStandard  = 10 * time.Second
	retryMinStandard = 2 * time.Second
	copyMaxStandard  = 10 * time.Minute
	stopMaxStandard  = 5 * time.Second

	picturesMaxStandard = 5 * time.Second

	answerMax   = 20 * time.Second // A provider must answer a request about a job within this time.
	backOffMax  = time.Minute
	pollShare   = 8 // A job is polled after each eighth of its age.
	seekMin     = 2 * time.Minute
	seekLooks   = 3 // A job that its provider has not listed in so many looks fails.
	creationGap = time.Minute
	overdueMax  = 24 * time.Hour // A job ends at most this long after its deadline, and well before its hold.

	messageRunesMax = 600
)

// These are the codes of failed jobs that the gateway itself sets.
const (
	codeUpstream  = "upstream_error"              // The upstream never took the job.
	codeLost      = "upstream_job_lost"           // The upstream took the job but no longer knows it.
	codeNoVerdict = "upstream_status_unavailable" // The upstream never said how the job ended.
	codeContent   = "content_unavailable"         // The video was made but could not be fetched.
)

// lateCodes are the codes of jobs that failed without a result of the provider, which may still have made the video.
var lateCodes = []string{codeUpstream, codeLost, codeNoVerdict}

// errRoute means that the catalog has no provider of that name any more.
var errRoute = errors.New("video: the provider of the job is not in the catalog")

// errUnusable means that the provider cannot be called from here.
var errUnusable = errors.New("video: the provider of the job cannot be called from this server")

// step does the one thing that a claimed job needs now. What it returns is written together with the results of other steps; it returns nil
// when the step has written everything. A step that is interrupted is done again by the next worker that claims the job.
func (s *Service) step(ctx context.Context, r *jobRow) (*postponed, error) {
	switch {
	case r.State.Ended():
		return s.afterEnd(ctx, r)
	case s.now().After(r.DeadlineAt.Add(overdueMax)): // This ends a job whose steps fail to end it.
		return nil, s.finish(ctx, r, giveUp(r))
	case r.UpstreamID == nil:
		return s.findSubmitted(ctx, r)
	case r.State == Storing && r.DeletedAt == nil:
		return s.storeContent(ctx, r)
	case r.State == Storing: // The job was rendered, and its owner has deleted it.
		return nil, s.finish(ctx, r, success(r))
	}
	return s.look(ctx, r)
}

// retryLater is the result of a step that got no answer: no verdict, only a pause, until the deadline. A step that was cut
// by a stop of the process leaves no trace.
func (s *Service) retryLater(ctx context.Context, r *jobRow, f *provider.Fault) (*postponed, error) {
	if ctx.Err() != nil {
		return s.released(r), nil //nolint:nilerr // to be stopped is no failure
	}
	s.work.faults.Add(1)
	if late, err := s.expired(ctx, r); late {
		return nil, err
	}
	s.o.Log.Debug("video provider call failed", "video_id", r.ID, "provider", r.Provider, "state", r.State,
		"tries", r.Tries, "error", f)
	return &postponed{r, s.backOff(r.Tries, f), r.Tries + 1}, nil
}

// released gives a job back as it was, so that any worker may claim it at once.
func (s *Service) released(r *jobRow) *postponed { return &postponed{r, s.now(), r.Tries} }

// giveUp is the end of a job whose provider gave no result in time.
func giveUp(r *jobRow) jobResult {
	if r.State == Storing {
		return unavailable()
	}
	return failure(billing.ReasonVideoExpired, codeNoVerdict,
		"The provider did not say in time how the video ended. Nothing was charged; please try again.")
}

// route is how the provider that has the job is reached, which may differ from how it was when the job began.
func (s *Service) route(r *jobRow) (*catalog.Route, *provider.Fault) {
	for _, p := range s.o.Snapshot().Providers() {
		if p.ID == r.Provider && p.Unusable != "" {
			return nil, provider.NewFault(provider.ClassSetup, fmt.Errorf("%w: %s", errUnusable, p.Unusable))
		}
		if p.ID == r.Provider {
			return &catalog.Route{Provider: p, Model: r.UpstreamModel, Style: r.Style, Timeouts: p.Timeouts}, nil
		}
	}
	return nil, provider.NewFault(provider.ClassSetup, errRoute)
}

// findSubmitted looks for a job that the provider may have taken without saying so. It is never sent a second time: either its
// render is found, or it is given up.
func (s *Service) findSubmitted(ctx context.Context, r *jobRow) (*postponed, error) {
	route, f := s.route(r)
	order, err := s.searchRequest(ctx, r)
	if err != nil {
		return nil, err
	}
	var tasks []videoapi.Task
	if f == nil {
		asking, cancel := context.WithTimeout(ctx, answerMax)
		tasks, f = s.o.Upstreams.Find(asking, route, order)
		cancel()
	}
	if f != nil {
		p, err := s.retryLater(ctx, r, f)
		if p != nil {
			p.tries = r.Tries // Only polls count towards giving up.
		}
		return p, err
	}
	for _, task := range tasks {
		if !r.mayBe(task, order) {
			continue
		}
		_, won, err := move(ctx, s.db, r.ID, Queued, set{"upstream_id": task.ID, "tries": 0, "claimed_until": nil})
		if coded, ok := errors.AsType[*pq.Error](err); ok && coded.Code == uniqueViolation {
			continue // Another job has that render.
		}
		if won {
			s.o.Log.Info("video job found at provider", "video_id", r.ID, "provider", r.Provider)
		}
		return nil, err
	}
	if r.Tries+1 >= seekLooks && s.now().Sub(r.CreatedAt) >= seekMin {
		return nil, s.finish(ctx, r, failure(billing.ReasonVideoLost, codeUpstream,
			"The provider did not take the job. Nothing was charged; please try again."))
	}
	if r.State == Uncertain {
		return &postponed{r, s.backOff(r.Tries, nil), r.Tries + 1}, nil
	}
	_, _, err = move(ctx, s.db, r.ID, Uncertain, set{"tries": 1, "due_at": s.backOff(0, nil), "claimed_until": nil})
	return nil, err
}

// searchRequest is the order of a job that is looked for: with its source at the provider, if that is still known. Its picture
// is not kept; that it had one is.
func (s *Service) searchRequest(ctx context.Context, r *jobRow) (videoapi.CreateRequest, error) {
	o := r.order()
	if r.ImageType != "" {
		o.Image = &videoapi.Image{Type: r.ImageType}
	}
	if r.RemixedFrom == nil {
		return o, nil
	}
	source, found, err := find(ctx, s.db, r.AccountID, *r.RemixedFrom)
	if found && source.UpstreamID != nil && source.Provider == r.Provider {
		o.Source = &videoapi.Source{ID: *source.UpstreamID}
	}
	return o, err
}

// mayBe reports whether a render may be this job's. A render with the job's reference is. A render without a reference
// may be when it has the same parameters and source. A job with a picture never matches such a render: the gateway
// cannot compare pictures, and the render might show another customer's picture.
func (r *jobRow) mayBe(t videoapi.Task, o videoapi.CreateRequest) bool {
	if t.ID == "" {
		return false
	}
	if t.Reference != "" {
		return t.Reference == r.ID
	}
	if r.ImageType != "" || t.Prompt != r.Prompt || t.CreatedAt.Before(r.CreatedAt.Add(-creationGap)) {
		return false
	}
	if r.RemixedFrom != nil { // The provider names the source, which determines the model and the size.
		return o.Source != nil
	}
	return (t.Model == "" || t.Model == r.UpstreamModel) && (t.Size == "" || t.Size == r.Size) && (t.Seconds == 0 || t.Seconds == r.Seconds)
}

// cancel asks the provider to stop a render that is not needed any more. The provider still decides the result, so the
// gateway asks for the result first: some providers forget a video as soon as they are asked to stop it.
func (s *Service) cancel(ctx context.Context, r *jobRow) (*postponed, error) {
	route, f := s.route(r)
	if f == nil {
		asking, cancel := context.WithTimeout(ctx, answerMax)
		f = s.o.Upstreams.Cancel(asking, route, *r.UpstreamID)
		cancel()
	}
	if f != nil && f.Class != provider.ClassRefused && (r.Tries < cancelTries || ctx.Err() != nil) {
		return s.retryLater(ctx, r, f)
	}
	return nil, setCancelled(ctx, s.db, r, s.now(), s.jittered(s.waits().PollMin))
}

// setCancelled notes that the provider was asked to stop.
func setCancelled(ctx context.Context, q postgres.Queryer, r *jobRow, now, due time.Time) error {
	_, err := q.ExecContext(ctx, `
		update video_jobs set cancelled_at = $2, tries = 0, claimed_until = $2, due_at = $3 where id = $1 and cancelled_at is null`,
		r.ID, now, due)
	return postgres.StoreError("video: set cancelled", err)
}

// uniqueViolation is the condition of a value that another row has.
const uniqueViolation = "23505"

// cancelTries is how often the gateway asks a provider that does not answer to stop. A wrong number costs the platform
// nothing: the gateway polls for the result anyway.
const cancelTries = 3

// public makes a provider's message fit for a client: valid UTF-8, on one line, and short.
func public(message, otherwise string) string {
	message = strings.Join(strings.Fields(strings.ToValidUTF8(strings.ReplaceAll(message, "\x00", ""), "\uFFFD")), " ")
	if runes := []rune(message); len(runes) > messageRunesMax {
		message = string(runes[:messageRunesMax])
	}
	return cmp.Or(message, otherwise)
}

// isStore reports whether an error is the store's, which another try may not meet.
func isStore(err error) bool { return app.KindOf(err) == app.Unavailable }
