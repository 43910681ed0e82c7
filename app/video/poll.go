package video

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"umg/app/postgres"
	"umg/app/provider"
	"umg/app/provider/videoapi"
	"umg/billing"
)

// Before a job is lost, its provider must have denied it so often and for so long: right after a create, and while a
// provider moves to other servers, a single 404 means nothing.
const (
	denialsMin = 5
	denialMin  = 5 * time.Minute
	progressOf = 99 // A running job shows at most this progress.
)

// upstreamState is what the gateway remembers of the provider's answers between two steps.
type upstreamState struct {
	videoapi.Files

	Denials     int        `json:"denials,omitempty"` // Denials counts consecutive denials.
	DeniedSince *time.Time `json:"denied_since,omitempty"`
	PicturesDue bool       `json:"pictures_due,omitempty"` // The job was completed before all its pictures were made.
}

func (r *jobRow) heard() upstreamState {
	var h upstreamState
	if len(r.Upstream) > 0 {
		_ = json.Unmarshal(r.Upstream, &h) // This package has written the JSON, so that decoding succeeds.
	}
	return h
}

func (h upstreamState) encode() string {
	text, _ := json.Marshal(h) //nolint:errchkjson // strings, a number and a time
	return string(text)
}

// look asks how a render is going and keeps what is new.
func (s *Service) look(ctx context.Context, r *jobRow) (*postponed, error) {
	route, f := s.route(r)
	var task videoapi.Task
	if f == nil {
		asking, cancel := context.WithTimeout(ctx, answerMax)
		task, f = s.o.Upstreams.Status(asking, route, *r.UpstreamID)
		cancel()
	}
	switch {
	case f == nil && task.State == videoapi.Succeeded:
		return nil, s.rendered(ctx, r, task)
	case f == nil && task.State == videoapi.Failed:
		return nil, s.finish(ctx, r, verdict(r, task))
	case r.DeletedAt != nil && r.CancelledAt == nil && ctx.Err() == nil:
		return s.cancel(ctx, r)
	case f != nil && denied(f):
		return s.denial(ctx, r, f)
	case f != nil:
		return s.retryLater(ctx, r, f)
	}
	if late, err := s.expired(ctx, r); late {
		return nil, err
	}
	return s.running(ctx, r, task)
}

// expired ends a job that has had no verdict until its deadline.
func (s *Service) expired(ctx context.Context, r *jobRow) (bool, error) {
	if s.now().Before(r.DeadlineAt) {
		return false, nil
	}
	return true, s.finish(ctx, r, giveUp(r))
}

// running keeps the state and the progress of a job that goes on. Neither goes back, whatever the provider says.
func (s *Service) running(ctx context.Context, r *jobRow, task videoapi.Task) (*postponed, error) {
	due := s.nextLook(r)
	progress := max(r.Progress, min(task.Progress, progressOf))
	if task.State == videoapi.Running && r.State == Queued {
		now := s.now()
		_, _, err := move(ctx, s.db, r.ID, InProgress,
			set{"progress": progress, "started_at": now, "tries": 0, "due_at": due, "claimed_until": now})
		return nil, err
	}
	if progress > r.Progress {
		return nil, setProgress(ctx, s.db, r, progress, s.now(), due)
	}
	if r.heard().Denials > 0 {
		return nil, setUpstream(ctx, s.db, r, upstreamState{Files: r.heard().Files}.encode(), s.now(), due)
	}
	return &postponed{r, due, 0}, nil
}

// setProgress keeps what a running job has come to, without a change of its state.
func setProgress(ctx context.Context, q postgres.Queryer, r *jobRow, progress int, now, due time.Time) error {
	_, err := q.ExecContext(ctx, `
		update video_jobs set progress = greatest(progress, $3), tries = 0, claimed_until = $4,
			due_at = case when due_at = $5 then $6 else least(due_at, $6) end
		where id = $1 and state = $2 and claimed_until = $7`,
		r.ID, string(r.State), progress, now, r.DueAt, due, r.ClaimedUntil)
	return postgres.StoreError("video: set progress", err)
}

// setUpstream keeps what is known of a job at its provider, and gives the job back.
func setUpstream(ctx context.Context, q postgres.Queryer, r *jobRow, upstream string, now, due time.Time) error {
	_, err := q.ExecContext(ctx, `
		update video_jobs set upstream = $2, claimed_until = $3, due_at = $4, tries = tries + 1
		where id = $1 and claimed_until = $5`,
		r.ID, upstream, now, due, r.ClaimedUntil)
	return postgres.StoreError("video: set upstream", err)
}

// rendered starts the copying of the job's content. It ends the job when the job was deleted.
func (s *Service) rendered(ctx context.Context, r *jobRow, task videoapi.Task) error {
	if r.DeletedAt != nil {
		return s.finish(ctx, r, success(r))
	}
	with := set{"upstream": upstreamState{Files: task.Files}.encode(), "tries": 0, "claimed_until": nil}
	if len(task.Metadata) > 0 {
		with["metadata"] = string(task.Metadata)
	}
	if r.StartedAt == nil {
		with["started_at"] = s.now()
	}
	_, _, err := move(ctx, s.db, r.ID, Storing, with)
	return err
}

// verdict is the end of a job that its provider says has failed.
func verdict(r *jobRow, task videoapi.Task) jobResult {
	said := strings.ReplaceAll(task.Message, r.UpstreamModel, r.Model) // The client knows the model by this name.
	reason := billing.ReasonVideoFailed
	if r.CancelledAt != nil {
		reason = billing.ReasonVideoDeleted
	}
	e := failure(reason, cmp.Or(task.Code, videoapi.Broken), public(said, "The provider could not make the video."))
	if len(task.Metadata) > 0 {
		e.with = set{"metadata": string(task.Metadata)}
	}
	return e
}

// denied reports whether a provider says that it has no such render.
func denied(f *provider.Fault) bool {
	return f.Err != nil && (f.Err.Status == http.StatusNotFound || f.Err.Status == http.StatusGone)
}

// denial counts how often the provider has said that it does not know the job. After it was asked to stop, one denial is enough.
func (s *Service) denial(ctx context.Context, r *jobRow, f *provider.Fault) (*postponed, error) {
	if r.CancelledAt != nil {
		return nil, s.finish(ctx, r, failure(billing.ReasonVideoDeleted, videoapi.Cancelled,
			"The video was deleted before it was made. Nothing was charged."))
	}
	s.work.faults.Add(1)
	now, h := s.now(), r.heard()
	h.Denials++
	if h.DeniedSince == nil {
		h.DeniedSince = &now
	}
	if h.Denials >= denialsMin && now.Sub(*h.DeniedSince) >= denialMin {
		return nil, s.finish(ctx, r, failure(billing.ReasonVideoLost, codeLost,
			"The provider lost the job. Nothing was charged; please try again."))
	}
	if late, err := s.expired(ctx, r); late {
		return nil, err
	}
	return nil, setUpstream(ctx, s.db, r, h.encode(), now, s.backOff(h.Denials, f))
}
