package video

import (
	"context"
	"strings"

	"umg/app"
	"umg/app/postgres"
	"umg/app/provider"
	"umg/app/provider/videoapi"
	"umg/billing"
)

const (
	recordsMax   = 3 // The worker records the answer after this many failed tries.
	nameBytesMin = 4 // Shorter names of a model are not replaced in messages, because they may be parts of words.
)

// recordTarget notes which provider is asked next for a job that none has taken yet.
func (s *Service) recordTarget(ctx context.Context, r *jobRow) error {
	ctx, cancel := lasting(ctx)
	defer cancel()
	_, err := s.db.ExecContext(ctx, `
		update video_jobs set provider = $2, style = $3, upstream_model = $4 where id = $1 and state = 'creating'`,
		r.ID, r.Provider, string(r.Style), r.UpstreamModel)
	return postgres.StoreError("video: set route", err)
}

// markSubmitted records that a provider has the job. Should the store not take that, the job is still there as one whose fate is
// unknown, and the worker finds it at the provider.
func (s *Service) markSubmitted(ctx context.Context, row *jobRow, task videoapi.Task) (Job, error) {
	now := s.now()
	with := set{
		"upstream_id": task.ID, "due_at": s.nextLook(row), "progress": max(0, min(task.Progress, progressOf)), "tries": 0,
		"provider": row.Provider, "style": string(row.Style), "upstream_model": row.UpstreamModel,
	}
	to := Queued
	if task.State == videoapi.Running || task.State == videoapi.Succeeded {
		to, with["started_at"] = InProgress, now
	}
	if task.State == videoapi.Succeeded || task.State == videoapi.Failed {
		with["due_at"] = now
	}
	return s.record(ctx, row, to, with)
}

// markUncertain records that it is uncertain whether the provider has the job.
func (s *Service) markUncertain(ctx context.Context, row *jobRow, f *provider.Fault) (Job, error) {
	s.o.Log.Warn("video submission uncertain", "video_id", row.ID, "provider", row.Provider, "error", f)
	return s.record(ctx, row, Uncertain, set{"due_at": s.jittered(s.waits().PollMin), "tries": 0})
}

// record moves a job that was just made, and shows it as it is then.
func (s *Service) record(ctx context.Context, row *jobRow, to State, with set) (Job, error) {
	var err error
	for range recordsMax {
		var now jobRow
		var moved bool
		once, cancel := lasting(ctx)
		now, moved, err = move(once, s.db, row.ID, to, with)
		cancel()
		if err == nil && moved {
			return now.job()
		}
		if err == nil {
			break // The worker has recorded the answer first.
		}
	}
	if err != nil {
		s.o.Log.Error("recording video submission failed", "video_id", row.ID, "provider", row.Provider, "error", err)
	}
	row.Content = []byte("{}")
	return row.job()
}

// refuse ends a job that no provider has taken: the credit is free again, the job is hidden, because no client has its id,
// and the client gets the reason.
func (s *Service) refuse(ctx context.Context, p *plan, row *jobRow, f *provider.Fault) error {
	reason := p.refusal(row, f)
	ctx, cancel := lasting(ctx)
	defer cancel()
	end := failure(billing.ReasonVideoRefused, reason.Code, reason.Message)
	now := s.now()
	end.with = set{"deleted_at": now, "purged_at": now}
	if err := s.finish(ctx, row, end); err != nil {
		s.o.Log.Error("ending unsubmitted video job failed", "video_id", row.ID, "error", err)
	}
	return reason
}

// refusal is the client's error after the last attempt.
func (p *plan) refusal(row *jobRow, f *provider.Fault) *app.Error {
	said := *f.Err
	if len(row.UpstreamModel) >= nameBytesMin {
		said.Message = strings.ReplaceAll(said.Message, row.UpstreamModel, p.model.ID)
	}
	for _, one := range p.assets {
		said.Message = strings.ReplaceAll(said.Message, one.UpstreamID, one.ID)
	}
	switch {
	case said.Kind == app.Invalid: // The guardrails and a missing source have messages of their own.
		if said.Param == paramRemixed {
			said.Param = p.sourceParam
		}
		return said.Final()
	case f.Class == provider.ClassRefused && f.Retry == provider.Nowhere:
		return app.Errorf(app.Invalid, codeInvalid, "%s", said.Message).Because(f).Final()
	case said.Kind == app.Exhausted:
		return app.Errorf(app.Exhausted, "rate_limit_exceeded", "%s", said.Message).Because(f).After(f.After)
	}
	return app.Errorf(app.Upstream, "upstream_error",
		"The upstream provider could not take the video. Nothing was charged; please try again.").Because(f)
}
