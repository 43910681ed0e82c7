package video

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
)

// create makes a job and fails the test when it cannot.
func (b *bench) create(body string) Job {
	b.Helper()
	done, err := b.service.Create(b.Context(), b.call(body))
	b.must(err)
	return done.Job
}

func TestACreatedJobIsHeldAndAskedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	done, err := b.service.Create(t.Context(), b.call(`{"model":"test/film","prompt":"A fish","user":"u-1","unknown":[1]}`))
	b.must(err)
	job := done.Job
	if !wellFormed(job.ID) || job.State.Status() != "queued" || job.Model != "test/film" || job.Prompt != "A fish" || job.EndUser != "u-1" ||
		job.KeyID != "key_1" || job.Hold != 40*app.Cent || job.Cost != nil || job.RateCardID == "" {
		t.Errorf("%+v", job)
	}
	row := b.row(job.ID)
	if row.UpstreamID == nil || row.DueAt == nil || row.Provider != "meridian" || row.CallbackToken == nil || !row.DeadlineAt.Equal(row.CreatedAt.Add(day)) {
		t.Errorf("%+v", row)
	}
	if renders := b.sim.Renders(); len(renders) != 1 || renders[0].ID != *row.UpstreamID || renders[0].Model != "up-film" {
		t.Errorf("%+v", renders)
	}
	b.balance(b.account, startMoney, 40*app.Cent)
	b.books()
}

func TestDefaultsAreResolvedBeforePricingAndSent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	held := app.Amount(0)
	for _, c := range []struct {
		more          string
		width, second int
		cost          app.Amount
	}{
		{``, 1280, 4, 40 * app.Cent},
		{`,"seconds":null,"size":null,"input_reference":null`, 1280, 4, 40 * app.Cent},
		{`,"seconds":"8"`, 1280, 8, 80 * app.Cent},
		{`,"seconds":8`, 1280, 8, 80 * app.Cent},
		{`,"size":"720x1280"`, 720, 4, app.Dollar},
		{`,"size":"720x1280","seconds":8`, 720, 8, 2 * app.Dollar},
	} {
		job := b.create(`{"model":"test/film","prompt":"A fish"` + c.more + `}`)
		renders := b.sim.Renders()
		sent := renders[len(renders)-1]
		if job.Hold != c.cost || job.Seconds != c.second || sent.Seconds != c.second || sent.Width != c.width {
			t.Errorf("%s: %+v, sent %+v", c.more, job, sent)
		}
		held += c.cost
	}
	b.balance(b.account, startMoney, held)
	b.books()
}

func TestEveryStyleTakesAJob(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, model := range []string{"test/film", "test/operations", "test/tasks"} {
		if job := b.create(`{"model":"` + model + `","prompt":"A fish"}`); job.State.Ended() || b.row(job.ID).UpstreamID == nil {
			t.Errorf("%s: %+v", model, job)
		}
	}
	if renders := b.sim.Renders(); len(renders) != 3 || !strings.Contains(renders[2].Callback, "https://gateway.test/callbacks/videos/") {
		t.Errorf("%+v", renders)
	}
	b.books()
}

func TestAWrongCallCostsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	poor := b.fund(app.Cent)
	long := strings.Repeat("a", 32_001)
	for name, c := range map[string]struct {
		body        string
		kind        app.Kind
		code, param string
	}{
		"empty":              {``, app.Invalid, "invalid_json", ""},
		"blank":              {"  \n", app.Invalid, "invalid_json", ""},
		"no object":          {`[1]`, app.Invalid, "invalid_json", ""},
		"broken":             {`{"model":"test/film","prompt":`, app.Invalid, "invalid_json", ""},
		"more behind":        {`{"model":"test/film","prompt":"a"} {}`, app.Invalid, "invalid_json", ""},
		"no model":           {`{"prompt":"a"}`, app.Invalid, codeInvalid, "model"},
		"null model":         {`{"model":null,"prompt":"a"}`, app.Invalid, codeInvalid, "model"},
		"empty model":        {`{"model":"","prompt":"a"}`, app.Invalid, codeInvalid, "model"},
		"number for a model": {`{"model":7,"prompt":"a"}`, app.Invalid, codeInvalid, "model"},
		"unknown model":      {`{"model":"test/flim","prompt":"a"}`, app.NotFound, "model_not_found", "model"},
		"text model":         {`{"model":"test/words","prompt":"a"}`, app.NotFound, "model_not_found", "model"},
		"coming model":       {`{"model":"test/coming","prompt":"a"}`, app.NotFound, "model_not_found", "model"},
		"ended model":        {`{"model":"test/ended","prompt":"a"}`, app.NotFound, "model_not_found", "model"},
		"paused model":       {`{"model":"test/paused","prompt":"a"}`, app.Unavailable, "model_temporarily_unavailable", "model"},
		"no route":           {`{"model":"test/idle","prompt":"a"}`, app.Unavailable, "no_available_provider", ""},
		"no prompt":          {`{"model":"test/film"}`, app.Invalid, codeInvalid, "prompt"},
		"empty prompt":       {`{"model":"test/film","prompt":""}`, app.Invalid, codeInvalid, "prompt"},
		"blank prompt":       {`{"model":"test/film","prompt":" \n "}`, app.Invalid, codeInvalid, "prompt"},
		"zero in prompt":     {`{"model":"test/film","prompt":"a\u0000b"}`, app.Invalid, codeInvalid, "prompt"},
		"long prompt":        {`{"model":"test/film","prompt":"` + long + `"}`, app.Invalid, codeInvalid, "prompt"},
		"number prompt":      {`{"model":"test/film","prompt":7}`, app.Invalid, codeInvalid, "prompt"},
		"twice a prompt":     {`{"model":"test/film","prompt":"a","prompt":"b"}`, app.Invalid, codeInvalid, "prompt"},
		"other size":         {`{"model":"test/film","prompt":"a","size":"1x1"}`, app.Invalid, codeInvalid, "size"},
		"other seconds":      {`{"model":"test/film","prompt":"a","seconds":5}`, app.Invalid, codeInvalid, "seconds"},
		"half seconds":       {`{"model":"test/film","prompt":"a","seconds":4.5}`, app.Invalid, codeInvalid, "seconds"},
		"text of half":       {`{"model":"test/film","prompt":"a","seconds":"4.0"}`, app.Invalid, codeInvalid, "seconds"},
		"unknown source":     {`{"model":"test/film","prompt":"a","remix_video_id":"video_x"}`, app.NotFound, codeMissingVideo, paramRemixed},
		"no id for source":   {`{"model":"test/film","prompt":"a","remix_video_id":"` + "../x" + `"}`, app.NotFound, codeMissingVideo, paramRemixed},
		"a file by id":       {`{"model":"test/film","prompt":"a","input_reference":{"file_id":"f"}}`, app.Invalid, codeInvalid, ""},
		"stream":             {`{"model":"test/film","prompt":"a","stream":true}`, app.Invalid, codeInvalid, "stream"},
	} {
		_, err := b.service.Create(t.Context(), b.call(c.body))
		e, ok := errors.AsType[*app.Error](err)
		if !ok || e.Kind != c.kind || e.Code != c.code || c.param != "" && e.Param != c.param || (name == "unknown model") != (e.Value == "test/flim") {
			t.Errorf("%s: %v (%+v)", name, err, e)
		}
		if _, quoted := b.service.Quote(t.Context(), b.call(c.body)); quoted == nil || quoted.Error() != err.Error() {
			t.Errorf("%s: a quote says %v, a create %v", name, quoted, err)
		}
	}
	call := b.call(`{"model":"test/film","prompt":"a"}`)
	call.Principal.Models = []string{"test/two"}
	_, err := b.service.Create(t.Context(), call)
	wantError(t, err, app.Forbidden, "model_not_allowed", "model")
	call = b.call(`{"model":"test/minutely","prompt":"a"}`)
	call.Principal.AccountID = poor
	refused, err := b.service.Create(t.Context(), call)
	wantError(t, err, app.Unfunded, "insufficient_quota", "")
	if refused.Requests.Limit == 0 {
		t.Error("a refused call does not say what is left of its limit")
	}
	if b.rows(b.account)+b.rows(poor) != 0 || len(b.sim.Renders()) != 0 {
		t.Error("a refused call has left a job")
	}
	b.balance(b.account, startMoney, 0)
	b.balance(poor, app.Cent, 0)
	b.books()
}

func TestARefusedCreateLeavesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	type refusal struct {
		prompt      string
		kind        app.Kind
		code, param string
	}
	cases := []refusal{
		{"guardrail: minors", app.Invalid, "content_policy_violation", "prompt"},
		{"guardrail: copyright", app.Invalid, "content_policy_violation", "prompt"},
		{"guardrail: likeness", app.Invalid, "content_policy_violation", "prompt"},
		{"simulate: status=400\na", app.Invalid, codeInvalid, ""},
		{"simulate: status=404\na", app.Upstream, "upstream_error", ""},
		{"simulate: status=401\na", app.Upstream, "upstream_error", ""},
		{"simulate: status=503\na", app.Upstream, "upstream_error", ""},
		{"simulate: status=429;retry-after=7\na", app.Exhausted, "rate_limit_exceeded", ""},
	}
	for _, model := range []string{"test/film", "test/operations", "test/tasks"} {
		for _, c := range cases {
			body := fmt.Sprintf(`{"model":%q,"prompt":%q}`, model, c.prompt)
			_, err := b.service.Create(t.Context(), b.call(body))
			e, ok := errors.AsType[*app.Error](err)
			if !ok || e.Kind != c.kind || e.Code != c.code || e.Param != c.param || strings.Contains(e.Message, "up-") {
				t.Errorf("%s, %q: %v (%+v)", model, c.prompt, err, e)
			}
		}
	}
	_, err := b.service.Create(t.Context(), b.call(`{"model":"test/refusing","prompt":"a"}`))
	wantError(t, err, app.Upstream, "upstream_error", "")
	if page, err := b.service.List(t.Context(), b.account, Query{}); err != nil || len(page.Jobs) != 0 {
		t.Errorf("%+v, %v", page, err)
	}
	b.balance(b.account, startMoney, 0)
	b.books()
	if records, err := b.reports.Requests(t.Context(), b.account, 100); err != nil || len(records) != 3*len(cases)+1 || records[0].Cost != 0 ||
		records[0].Outcome != "failed" || records[0].ErrorCode != "upstream_error" {
		t.Errorf("%d records, %v", len(records), err)
	}
	var events int
	b.must(b.db.GetContext(t.Context(), &events, `select count(*) from webhook_events`))
	if events != 0 {
		t.Errorf("%d events of jobs whose ids were not returned", events)
	}
}

func TestTheNextRouteIsAskedAndNoted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.control("PUT", "faults", `{"provider":"meridian","spec":"status=503"}`)
	for _, model := range []string{"test/over", "test/two"} {
		row := b.row(b.create(`{"model":"` + model + `","prompt":"A fish"}`).ID)
		if row.Provider != "alpine" || row.UpstreamID == nil || row.State.Status() != "queued" {
			t.Errorf("%s: %+v", model, row)
		}
	}
	_, err := b.service.Create(t.Context(), b.call(`{"model":"test/two","prompt":"guardrail: minors"}`))
	wantError(t, err, app.Invalid, "content_policy_violation", "prompt")
	b.balance(b.account, startMoney, 80*app.Cent)
	b.books()
}

func TestADoubtfulCreateIsNeverSentTwice(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.Waits.CreateMax = 300 * time.Millisecond })
	for i, spec := range []string{"status=500", "status=502", "status=504", "reset", "stall", "late-create;reset"} {
		job := b.create(fmt.Sprintf(`{"model":"test/two","prompt":%q}`, "simulate: "+spec+"\nA fish"))
		row := b.row(job.ID)
		if row.State != Uncertain || job.State.Status() != "queued" || row.UpstreamID != nil || row.DueAt == nil || row.Provider != "meridian" {
			t.Errorf("%s: %+v", spec, row)
		}
		if asked := len(b.sim.Requests()); asked != i+1 {
			t.Errorf("%s: asked %d times", spec, asked-i)
		}
	}
	b.balance(b.account, startMoney, 6*40*app.Cent)
	b.books()
}

func TestFiftyRacersMakeExactlyAsManyJobsAsMayRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var mu sync.Mutex
	var racers sync.WaitGroup
	made, refused := 0, 0
	for range 50 {
		racers.Go(func() {
			call := b.call(`{"model":"test/three","prompt":"A fish"}`)
			call.LimitFactor = 4 // The factor allows twelve jobs, and all calls at once.
			_, err := b.service.Create(b.Context(), call)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				made++
				return
			}
			if e := app.AsError(err); e.Code != "rate_limit_exceeded" || e.Kind != app.Exhausted || e.RetryAfter <= 0 || e.RetryAfter > time.Minute {
				t.Errorf("%v (%+v)", err, e)
			}
			refused++
		})
	}
	racers.Wait()
	if made != 12 || refused != 38 || b.rows(b.account) != 12 {
		t.Errorf("%d made, %d refused, %d kept", made, refused, b.rows(b.account))
	}
	b.balance(b.account, startMoney, 12*40*app.Cent)
	b.books()
}

func TestADayHasSoManyJobs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	body := `{"model":"test/daily","prompt":"A fish"}`
	_, err := b.service.Create(t.Context(), b.call(`{"model":"test/daily","prompt":"guardrail: minors"}`))
	wantError(t, err, app.Invalid, "content_policy_violation", "prompt") // A refused prompt does not count towards the daily limit.
	first := b.create(body)
	b.must(b.service.Delete(t.Context(), b.account, first.ID)) // A deleted job still counts towards the daily limit.
	b.clock.Advance(time.Hour)
	b.create(body)
	_, err = b.service.Create(t.Context(), b.call(body))
	if e := wantError(t, err, app.Exhausted, "rate_limit_exceeded", ""); e.RetryAfter != time.Minute || !strings.Contains(e.Message, "23 h") {
		t.Errorf("%+v", e)
	}
	if b.rows(b.account) != 3 {
		t.Errorf("%d jobs are kept", b.rows(b.account))
	}
	b.clock.Advance(23 * time.Hour)
	b.create(body)
	b.books()
}

func TestCallsHaveALimitOfTheirOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	body := `{"model":"test/minutely","prompt":"A fish"}`
	done, err := b.service.Create(t.Context(), b.call(body))
	if err != nil || done.Requests.Limit != 2 || done.Requests.Remaining != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	for range 5 {
		if _, err := b.service.Quote(t.Context(), b.call(body)); err != nil {
			t.Fatalf("a quote took from the limit of calls: %v", err)
		}
	}
	b.create(body)
	_, err = b.service.Create(t.Context(), b.call(body))
	wantError(t, err, app.Exhausted, "rate_limit_exceeded", "")
	b.balance(b.account, startMoney, 80*app.Cent)
}

// leaver ends a call's context when the call has passed every check and is about to hold.
type leaver struct {
	io.Reader

	leave context.CancelFunc
}

func (l *leaver) Read(p []byte) (int, error) {
	l.leave()
	return l.Reader.Read(p)
}

func TestACallerWhoLeavesStillHasTheJob(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, leave := context.WithCancel(t.Context())
	left := b.replica(func(o *Options) { o.Random = &leaver{o.Random, leave} })
	done, err := left.Create(ctx, b.call(`{"model":"test/film","prompt":"A fish"}`))
	b.must(err)
	if ctx.Err() == nil || b.row(done.Job.ID).UpstreamID == nil {
		t.Error("the job is not at its provider")
	}
	b.balance(b.account, startMoney, 40*app.Cent)
	b.books()
}

func TestTheSameIDIsTheSameJob(t *testing.T) {
	t.Parallel()
	b := setup(t)
	call := b.call(`{"model":"test/film","prompt":"A fish"}`)
	call.ID = b.ids.New(idPrefix)
	for range 2 {
		if done, err := b.service.Create(t.Context(), call); err != nil || done.Job.ID != call.ID {
			t.Fatalf("%+v, %v", done, err)
		}
	}
	refused := b.call(`{"model":"test/film","prompt":"guardrail: minors"}`)
	refused.ID = b.ids.New(idPrefix)
	_, err := b.service.Create(t.Context(), refused)
	wantError(t, err, app.Invalid, "content_policy_violation", "prompt")
	if _, err = b.service.Create(t.Context(), refused); err == nil {
		t.Error("a refused job was made after all")
	}
	if b.rows(b.account) != 2 || len(b.sim.Renders()) != 1 {
		t.Errorf("%d jobs, %d renders", b.rows(b.account), len(b.sim.Renders()))
	}
	b.balance(b.account, startMoney, 40*app.Cent)
	b.books()
}

func TestAStoreThatIsAwayIsSaidSo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	away, err := sqlx.Open("postgres", "host=127.0.0.1 port=1 user=unknown dbname=none sslmode=disable connect_timeout=1")
	b.must(err)
	defer func() { _ = away.Close() }()
	b.service = New(away, b.o)
	id := b.ids.New(idPrefix)
	for name, try := range map[string]func() error{
		"create": func() error {
			_, err := b.service.Create(t.Context(), b.call(`{"model":"test/film","prompt":"a"}`))
			return err
		},
		"get":    func() error { _, err := b.service.Get(t.Context(), b.account, id); return err },
		"list":   func() error { _, err := b.service.List(t.Context(), b.account, Query{}); return err },
		"delete": func() error { return b.service.Delete(t.Context(), b.account, id) },
		"open":   func() error { _, _, err := b.service.Open(t.Context(), b.account, id, Movie); return err },
		"usage":  func() error { _, _, err := b.service.Usage(t.Context(), b.account); return err },
	} {
		if e := app.AsError(try()); e == nil || e.Kind != app.Unavailable || e.Code != "service_unavailable" {
			t.Errorf("%s: %+v", name, e)
		}
	}
	if len(b.sim.Renders()) != 0 {
		t.Error("a provider was asked for a job that is not kept")
	}
}
