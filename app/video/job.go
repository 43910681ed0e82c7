// Package video runs video jobs: it creates them, polls their providers, stores the results and charges for them. Callers create and
// read jobs with the methods of Service, and run its worker with Run.
package video

import (
	"encoding/json"
	"slices"
	"time"

	"fmt"

	"umg/app"
)

// State is where a job is. Clients see fewer of them, see Status.
type State string

// These are the states of a job.
const (
	Creating   State = "creating"  // Its credit is held and a provider is being asked.
	Uncertain  State = "uncertain" // The provider may have the job, but gave no answer.
	Queued     State = "queued"
	InProgress State = "in_progress"
	Storing    State = "storing" // The video is rendered, and its content is being copied.
	Completed  State = "completed"
	Failed     State = "failed"
)

// moves are all transitions between states; no other code names them. A final state never changes. A job that was
// deleted before it was rendered skips storing, because its content is not needed.
var moves = map[State][]State{
	Creating:   {Uncertain, Queued, InProgress, Storing, Failed},
	Uncertain:  {Queued, InProgress, Storing, Completed, Failed},
	Queued:     {InProgress, Storing, Completed, Failed},
	InProgress: {Storing, Completed, Failed},
	Storing:    {Completed, Failed},
}

// from lists the states that may become to, for the condition of a transition.
func from(to State) []string {
	var states []string
	for state, next := range moves {
		if slices.Contains(next, to) {
			states = append(states, string(state))
		}
	}
	slices.Sort(states)
	return states
}

// Ended reports whether a state is final.
func (s State) Ended() bool { return s == Completed || s == Failed }

// Status is the state in the four words of the service document.
func (s State) Status() string {
	switch s {
	case Creating, Uncertain, Queued:
		return string(Queued)
	case InProgress, Storing:
		return string(InProgress)
	}
	return string(s)
}

// Problem is why a job failed, for the client.
type Problem struct{ Code, Message string }

// Job is a render as its owner sees it.
type Job struct {
	ID, AccountID, KeyID, UserID string
	Model, Prompt, Size          string
	Seconds                      int
	EndUser                      string
	RemixedFrom                  string   // RemixedFrom is empty if the job has no source.
	ImageType                    string   // ImageType is the type of the first frame. It is empty without one.
	Assets                       []string // Assets may include ids of assets that no longer exist.
	Provider, UpstreamModel      string
	State                        State
	Progress                     int // Progress is in percent and never falls.
	Problem                      Problem
	Metadata                     json.RawMessage // Metadata is the metadata of the provider, or nil.
	Content                      map[Variant]File
	RateCardID                   string
	Hold                         app.Amount
	Cost                         *app.Amount // Cost is nil until the job has ended.
	Times
}

// Times are the moments of a job, in UTC. One that has not come is nil.
type Times struct {
	CreatedAt   time.Time
	StartedAt   *time.Time
	CompletedAt *time.Time // CompletedAt is the end of a failed job, too.
	ExpiresAt   *time.Time // ExpiresAt is when the content is deleted.
	PurgedAt    *time.Time // PurgedAt is when the content was deleted.
	DeletedAt   *time.Time // DeletedAt is when the owner deleted the job.
}

// job is the row as its owner sees it.
func (r *jobRow) job() (Job, error) {
	j := Job{
		ID: r.ID, AccountID: r.AccountID, KeyID: r.KeyID, UserID: r.UserID, Model: r.Model, Prompt: r.Prompt, Size: r.Size,
		Seconds: r.Seconds, EndUser: r.EndUser, ImageType: r.ImageType, Assets: r.Assets, Provider: r.Provider, UpstreamModel: r.UpstreamModel,
		State: r.State, Progress: r.Progress, Problem: Problem{Code: r.ErrorCode, Message: r.ErrorMessage},
		RateCardID: r.RateCardID, Hold: r.Hold, Cost: r.Cost,
		Times: Times{CreatedAt: r.CreatedAt.UTC(), StartedAt: utc(r.StartedAt), CompletedAt: utc(r.CompletedAt),
			ExpiresAt: utc(r.ExpiresAt), PurgedAt: utc(r.PurgedAt), DeletedAt: utc(r.DeletedAt)},
	}
	if r.RemixedFrom != nil {
		j.RemixedFrom = *r.RemixedFrom
	}
	if len(r.Metadata) > 0 {
		j.Metadata = json.RawMessage(r.Metadata)
	}
	if err := json.Unmarshal(r.Content, &j.Content); err != nil {
		return Job{}, fmt.Errorf("video: the content of %s cannot be read: %w", r.ID, err)
	}
	return j, nil
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC())
}
