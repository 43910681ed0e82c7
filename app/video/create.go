package video

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"umg/app"
	"umg/app/asset"
	"umg/app/catalog"
	"umg/app/postgres"
	"umg/app/provider"
	"umg/app/provider/videoapi"
	"umg/app/ratelimit"
	"umg/app/telemetry"
	"umg/billing"
	"umg/billing/failpoint"
)

const tokenBytes = 24 // A callback token has this many random bytes.

// Created is a job that was taken, and what is left of its model's limit.
type Created struct {
	Job      Job
	Requests ratelimit.Window
	Upstream time.Duration // Upstream is the time that providers took to answer.

	model    string
	attempts int
	fault    *provider.Fault
}

// made is what is known of a call that has a plan.
func (p *plan) made(job Job, slot *ratelimit.Slot) Created {
	made := Created{Job: job, Upstream: p.asked, model: p.model.ID, attempts: p.attempts, fault: p.fault}
	if slot != nil {
		made.Requests = slot.Requests()
	}
	return made
}

// plan is a call that was understood and found right: all that is known before anything is held.
type plan struct {
	params        createParams
	model         *catalog.Model
	source        *jobRow // The call changes this video. It is nil for a new video.
	sourceParam   string  // This parameter of the call names the source.
	routes        []*catalog.Route
	width, height int
	card          billing.RateCard
	cost          app.Amount
	image         *videoapi.Image
	assets        []asset.Reference
	attemptTrace
}

// Create makes a job. What is wrong with a call is said before anything is held; then the hold and the job are one
// transaction, and the provider is asked. A caller who leaves after that still has the job. A provider that may have
// taken it, but did not say so, is never asked twice: the worker finds out.
func (s *Service) Create(ctx context.Context, c Call) (Created, error) {
	ctx, span := s.o.Tracer.Call(ctx, telemetry.Generate, c.Headers, s.o.Now())
	if span == nil {
		return s.create(ctx, c)
	}
	made, err := s.create(ctx, c)
	e := telemetry.Ending{
		RequestID: c.RequestID, Model: made.model, Output: "video", Provider: made.Job.Provider, Attempts: made.attempts, Outcome: "accepted",
	}
	if err != nil {
		e.Outcome, e.Error = "refused", app.AsError(err).Code
		if made.fault != nil { // A provider may use any error code for its refusal.
			e.Outcome, e.Error = "failed", string(made.fault.Class)
		}
	}
	span.End(&e)
	return made, err
}

// create is Create, without the span.
func (s *Service) create(ctx context.Context, c Call) (Created, error) {
	if c.ID != "" {
		if job, found, err := s.existingJob(ctx, &c); found || err != nil {
			return Created{Job: job}, err
		}
	}
	p, err := s.prepare(ctx, &c)
	if err != nil {
		return Created{}, err
	}
	slot, err := s.enter(&c, p.model, false)
	if err != nil {
		return p.made(Job{}, slot), err
	}
	defer slot.Release(0)
	if err = s.resolveAssets(ctx, &c, p); err != nil {
		return p.made(Job{}, slot), err
	}
	if p.image, err = s.firstFrame(ctx, &c, p); err != nil {
		return p.made(Job{}, slot), err
	}
	row, err := s.open(ctx, &c, p)
	if err != nil {
		return p.made(Job{}, slot), err
	}
	failpoint.At(failpoint.C18)
	job, err := s.order(ctx, p, row)
	return p.made(job, slot), err
}

// existingJob finds the job of a call that came before under the same id.
func (s *Service) existingJob(ctx context.Context, c *Call) (Job, bool, error) {
	row, found, err := find(ctx, s.db, c.Principal.AccountID, c.ID)
	if err != nil || !found {
		return Job{}, false, err
	}
	if row.State == Failed && row.DeletedAt != nil {
		return Job{}, true, app.Errorf(app.Upstream, "upstream_error", "%s", row.ErrorMessage)
	}
	job, err := row.job()
	return job, true, err
}

const millisecondsPerSecond = 1000 // The meter of seconds counts milliseconds.

// open holds the credit and inserts the job in one transaction. A database that answers is given time, because calls of one account wait
// for each other there. A database that does not answer is not asked again, so the caller gets an error within 3 s.
func (s *Service) open(ctx context.Context, c *Call, p *plan) (*jobRow, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openMax)
	defer cancel()
	row, err := s.newRow(c, p)
	if err != nil {
		return nil, err
	}
	for tries := range opensMax {
		once, done := context.WithTimeout(ctx, silentMax)
		err = s.openOnce(once, c, p, row)
		done()
		if err != nil && tries < recallsMax && app.KindOf(err) == app.Unfunded && s.recall(ctx, c) {
			continue // The credit that replicas return from their leases may be enough.
		}
		if err == nil || !isStore(err) || ctx.Err() != nil {
			break
		}
		found, lost := s.isStored(ctx, row, fromServer(err))
		if found {
			return row, nil // The job was stored, and only the answer of the database was lost.
		}
		if lost != nil && !fromServer(err) {
			break
		}
	}
	return row, err
}

// isStored reports whether a job is in the store after all. A store that said nothing before is not waited for long.
func (s *Service) isStored(ctx context.Context, row *jobRow, answers bool) (bool, error) {
	most := silentFindMax
	if answers {
		most = silentMax
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	_, found, err := find(ctx, s.db, row.AccountID, row.ID)
	return found && err == nil, err
}

// fromServer reports whether the store itself said what went wrong.
func fromServer(err error) bool {
	_, said := errors.AsType[*pq.Error](err)
	return said
}

// recall asks for credit that waits in leases, and waits for it. It says whether there was time.
func (s *Service) recall(ctx context.Context, c *Call) bool {
	for _, creditAccountID := range [...]string{c.Principal.AccountID, c.Principal.BudgetID} {
		if creditAccountID == "" {
			continue
		}
		if err := s.o.Ledger.ReclaimLeases(ctx, creditAccountID); err != nil {
			return false
		}
	}
	return app.Sleep(ctx, recallWait) == nil
}

// openOnce fails without a trace where many calls of one account wait for its row longer than a statement may.
func (s *Service) openOnce(ctx context.Context, c *Call, p *plan, row *jobRow) error {
	return postgres.StoreError("video: create a job", postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		hold, err := s.o.Ledger.HoldFor(ctx, tx, billing.HoldRequest{
			ID: row.ID, AccountID: row.AccountID, BudgetID: c.Principal.BudgetID, Want: p.cost, Uncharged: c.Principal.Uncharged,
		}, holdFor)
		if err != nil {
			return err
		}
		row.Hold = hold.Amount
		if err := checkJobs(ctx, tx, c, p.model, row.CreatedAt); err != nil {
			return err
		}
		return insert(ctx, tx, row)
	}))
}

// checkJobs refuses a job beyond what an account may run at once or start in a day. The caller holds the row of the
// account's credit, so that calls of one account count one after the other.
func checkJobs(ctx context.Context, tx *sqlx.Tx, c *Call, m *catalog.Model, now time.Time) error {
	factor := int64(max(c.LimitFactor, 1))
	if most := m.Limits.JobsRunning * factor; most > 0 {
		var jobs int64 // The count includes hidden jobs.
		err := tx.GetContext(ctx, &jobs, `select count(*) from video_jobs where account_id = $1 and model = $2 and `+running,
			c.Principal.AccountID, m.ID)
		if err != nil {
			return postgres.StoreError("video: running jobs", err)
		}
		if jobs >= most {
			return app.Errorf(app.Exhausted, "rate_limit_exceeded",
				"This account may render %s of %s at a time, and does. Wait for one to finish, or delete one.", videoCount(most), m.ID).
				After(runningRetryAfter)
		}
	}
	if most := m.Limits.JobsPerDay * factor; most > 0 {
		made, oldest, err := jobsSince(ctx, tx, c.Principal.AccountID, m.ID, now.Add(-day))
		if err != nil {
			return err
		}
		if made >= most {
			wait := oldest.Add(day).Sub(now)
			return app.Errorf(app.Exhausted, "rate_limit_exceeded",
				"This account may make %s of %s in 24 hours, and has. The next is possible in %s.", videoCount(most), m.ID, waitText(wait)).
				After(min(max(wait, time.Second), retryAfterMax))
		}
	}
	return nil
}

// jobsSince counts the jobs of an account and a model that were made since a moment, and when the first of them was. What
// no provider has taken does not count.
func jobsSince(ctx context.Context, q postgres.Queryer, accountID, model string, since time.Time) (n int64, first time.Time, err error) {
	err = q.QueryRowxContext(ctx, `
		select count(*), coalesce(min(created_at), $3) from video_jobs
		where account_id = $1 and model = $2 and created_at > $3 and (state <> 'failed' or upstream_id is not null)`,
		accountID, model, since).Scan(&n, &first)
	return n, first, postgres.StoreError("video: jobs of a day", err)
}

// insert keeps a new job. Columns that a new job does not have are left to their defaults.
func insert(ctx context.Context, q postgres.Queryer, r *jobRow) error {
	_, err := q.ExecContext(ctx, `
		insert into video_jobs (id, account_id, key_id, user_id, model, prompt, size, seconds, end_user, remixed_from, image_type,
			asset_ids, provider, style, upstream_model, state, rate_card_id, hold_nanos, due_at, deadline_at, callback_token, created_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)`,
		r.ID, r.AccountID, r.KeyID, r.UserID, r.Model, r.Prompt, r.Size, r.Seconds, r.EndUser, r.RemixedFrom, r.ImageType,
		append(pq.StringArray{}, r.Assets...), r.Provider, string(r.Style), r.UpstreamModel, string(r.State), r.RateCardID,
		int64(r.Hold), r.DueAt, r.DeadlineAt, r.CallbackToken, r.CreatedAt)
	return postgres.StoreError("video: insert", err)
}

func (s *Service) newRow(c *Call, p *plan) (*jobRow, error) {
	token := make([]byte, tokenBytes)
	if _, err := io.ReadFull(s.o.Random, token); err != nil {
		return nil, fmt.Errorf("video: token: %w", err)
	}
	now := s.now()
	due, secret := now.Add(abandonedAfter), base64.RawURLEncoding.EncodeToString(token)
	row := &jobRow{
		ID: c.ID, AccountID: c.Principal.AccountID, KeyID: c.Principal.KeyID, UserID: c.Principal.UserID, Model: p.model.ID,
		Prompt: p.params.prompt, Size: p.params.size, Seconds: p.params.seconds, EndUser: p.params.endUser, State: Creating,
		RateCardID: p.card.ID, DueAt: &due, DeadlineAt: now.Add(s.o.VerdictMax), CallbackToken: &secret, CreatedAt: now,
	}
	if row.ID == "" {
		row.ID = s.o.IDs.New(idPrefix)
	}
	if p.source != nil {
		row.RemixedFrom = &p.source.ID
	}
	if p.image != nil {
		row.ImageType = p.image.Type
	}
	for _, one := range p.assets {
		row.Assets = append(row.Assets, one.ID)
	}
	row.useRoute(p.routes[0])
	return row, nil
}

// useRoute notes the route that is tried.
func (r *jobRow) useRoute(to *catalog.Route) {
	r.Provider, r.Style, r.UpstreamModel = to.Provider.ID, to.Style, to.Model
}

// order asks one provider after the other, until one has taken the job or may have.
func (s *Service) order(ctx context.Context, p *plan, row *jobRow) (Job, error) {
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(s.o.Waits.CreateMax, createStandard))
	defer cancel()
	var last *provider.Fault
	for _, route := range p.routes[:min(len(p.routes), attemptsMax)] {
		if last != nil {
			if last.Retry == provider.Nowhere || asking.Err() != nil {
				break
			}
			row.useRoute(route)
			if err := s.recordTarget(ctx, row); err != nil { // The store must know the provider before the provider gets the request.
				return Job{}, err
			}
		}
		task, fault := s.ask(asking, p, route, s.upstreamRequest(p, row))
		switch {
		case fault == nil:
			failpoint.At(failpoint.C19)
			return s.markSubmitted(ctx, row, task)
		case videoapi.Ambiguous(fault):
			return s.markUncertain(ctx, row, fault)
		}
		last = fault
	}
	return Job{}, s.refuse(ctx, p, row, last)
}

// upstreamRequest is the job in the words of an upstream.
func (s *Service) upstreamRequest(p *plan, row *jobRow) videoapi.CreateRequest {
	o := row.order()
	for _, one := range p.assets {
		o.Assets = append(o.Assets, videoapi.Asset{ID: one.UpstreamID, Kind: string(one.Kind)})
	}
	o.Image, o.Callback = p.image, strings.TrimRight(s.o.BaseURL, "/")+"/callbacks/videos/"+*row.CallbackToken
	if source := p.source; source != nil {
		o.Source = &videoapi.Source{URL: source.heard().Video}
		if source.UpstreamID != nil {
			o.Source.ID = *source.UpstreamID
		}
	}
	return o
}

// ask asks one provider to take a job, and notes how long that took.
func (s *Service) ask(ctx context.Context, p *plan, route *catalog.Route, o videoapi.CreateRequest) (videoapi.Task, *provider.Fault) {
	p.attempts++
	began := s.o.Now()
	ctx, span := s.o.Tracer.Attempt(ctx, route, p.attempts)
	task, fault := s.o.Upstreams.Create(ctx, route, o)
	span.End(fault)
	p.asked += s.o.Now().Sub(began)
	p.fault = fault
	return task, fault
}

// attemptTrace is what is noted of the providers that a call was handed to.
type attemptTrace struct {
	attempts int
	asked    time.Duration   // This is the time that providers took to answer.
	fault    *provider.Fault // This is the fault of the last attempt.
}

// Quote is what a job would cost.
type Quote struct {
	Model, Size     string
	Seconds         int
	RateCardID      string
	PerSecond, Cost app.Amount
}

// Quote goes the way of Create as far as the hold: a call that is wrong is refused in the same words, and one that is
// right is priced. Nothing is written and no provider is asked.
func (s *Service) Quote(ctx context.Context, c Call) (Quote, error) {
	p, err := s.prepare(ctx, &c)
	if err != nil {
		return Quote{}, err
	}
	slot, err := s.enter(&c, p.model, true)
	if err != nil {
		return Quote{}, err
	}
	defer slot.Release(0)
	if err := s.resolveAssets(ctx, &c, p); err != nil {
		return Quote{}, err
	}
	if _, err := s.firstFrame(ctx, &c, p); err != nil {
		return Quote{}, err
	}
	second, err := costOf(p.card, 1)
	if err != nil {
		return Quote{}, err
	}
	return Quote{
		Model: p.model.ID, Size: p.params.size, Seconds: p.params.seconds, RateCardID: p.card.ID, PerSecond: second, Cost: p.cost,
	}, nil
}

// order is what the provider was asked for, as far as it helps to find the render again.
func (r *jobRow) order() videoapi.CreateRequest {
	o := videoapi.CreateRequest{
		Reference: r.ID, Model: r.UpstreamModel, Prompt: r.Prompt, Seconds: r.Seconds, EndUser: r.EndUser, CreatedAt: r.CreatedAt,
	}
	width, height, _ := strings.Cut(r.Size, "x")
	o.Width, _ = strconv.Atoi(width) // The database checks the form of a size.
	o.Height, _ = strconv.Atoi(height)
	return o
}
