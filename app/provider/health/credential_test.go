package health_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"umg/app/catalog"
	"umg/app/provider"
	"umg/app/provider/errorclass"
	"umg/app/provider/health"
)

// begin is an attempt that must be let through with a credential.
func begin(t *testing.T, m *health.Monitor, r *catalog.Route, credential int) health.Try {
	t.Helper()
	try, block := m.Begin(r, false)
	if block != "" || try.Credential != credential {
		t.Fatalf("Begin = credential %d, block %q; want credential %d", try.Credential, block, credential)
	}
	return try
}

func TestACredentialThatWasToldToWaitRestsForThatModelAlone(t *testing.T) {
	t.Parallel()
	m, c := monitor()
	r := upstream("first")
	other := *r
	other.Model = "other"
	limited := fault(provider.ClassRateLimited, 429)
	begin(t, m, r, 0).End(limited, 0) // Without a header, the credential waits ten seconds.
	begin(t, m, &other, 0).End(nil, 1)
	limited.After = 3 * time.Second
	begin(t, m, r, 1).End(limited, 0)
	wantBlock(t, m, r, health.CoolingDown)
	if try, block := m.Begin(r, true); block != "" || try.Credential != 1 {
		t.Errorf("a forced attempt has the block %q and credential %d, where the second is free first", block, try.Credential)
	}
	forced, _ := m.Begin(r, true)
	c.advance(time.Second)
	limited.After = time.Second
	forced.End(limited, 0) // A shorter wait does not shorten a longer one.
	wantBlock(t, m, r, health.CoolingDown)
	c.advance(time.Second)
	wantBlock(t, m, r, health.CoolingDown)
	c.advance(time.Second)
	begin(t, m, r, 1).End(nil, 1)
	c.advance(7 * time.Second)
	begin(t, m, r, 0).End(nil, 1)
	if got := m.Report().Upstreams; got[0].State != health.StateClosed && got[1].State != health.StateClosed {
		t.Errorf("limits have ejected: %+v", got)
	}
}

func TestACredentialThatWasRefusedRestsLongerEachTimeUntilItIsTaken(t *testing.T) {
	t.Parallel()
	m, c := monitor()
	r := upstream()
	refused := fault(provider.ClassCredential, 401)
	for _, minutes := range []int{1, 2, 4, 8, 10, 10} {
		try, later := begin(t, m, r, 0), begin(t, m, r, 0)
		try.End(refused, 0)
		later.End(refused, 0) // The second refusal began before the cooldown and changes nothing.
		c.advance(time.Duration(minutes)*time.Minute - time.Nanosecond)
		wantBlock(t, m, r, health.CoolingDown)
		c.advance(time.Nanosecond)
	}
	begin(t, m, r, 0).End(nil, 1)
	begin(t, m, r, 0).End(refused, 0)
	c.advance(time.Minute)
	wantBlock(t, m, r, "")
}

func TestACredentialThatIsForbiddenOneModelServesTheOthers(t *testing.T) {
	t.Parallel()
	m, c := monitor()
	r := upstream()
	other := *r
	other.Model = "other"
	call(t, m, r, fault(provider.ClassCredential, 403))
	wantBlock(t, m, r, health.CoolingDown)
	call(t, m, &other, nil)
	c.advance(10 * time.Second)
	wantBlock(t, m, r, "")
	call(t, m, r, fault(provider.ClassCredential, 402)) // Status 402 means that the provider's account is empty, whatever the model.
	wantBlock(t, m, &other, health.CoolingDown)
}

func TestASuccessWakesACredentialOnlyWhenItBeganDuringTheRest(t *testing.T) {
	t.Parallel()
	m, c := monitor()
	r := upstream()
	early := begin(t, m, r, 0)
	c.advance(time.Second)
	call(t, m, r, fault(provider.ClassRateLimited, 429))
	early.End(nil, 1)
	wantBlock(t, m, r, health.CoolingDown)
	forced, _ := m.Begin(r, true)
	forced.End(nil, 1)
	wantBlock(t, m, r, "")
}

func TestANewCredentialOfTheCatalogIsFreshAndOneThatMovedIsNot(t *testing.T) {
	t.Parallel()
	m, c := monitor()
	old := upstream("first", "second")
	refused := fault(provider.ClassCredential, 401)
	first := begin(t, m, old, 0)
	c.advance(time.Second)
	call(t, m, old, refused)
	call(t, m, old, refused)
	begin(t, m, old, 2).End(nil, 1)

	moved := upstream("new", "second")
	moved.Provider.Credentials[2] = catalog.NewSecret("first")
	begin(t, m, moved, 0).End(refused, 0)
	wantBlock(t, m, moved, health.CoolingDown) // Credentials keep their cooldowns when their positions change.
	first.End(nil, 1)                          // The attempt began before the cooldown and says nothing.
	wantBlock(t, m, moved, health.CoolingDown)

	replaced := upstream()
	replaced.Provider.Credentials[0] = catalog.NewSecret("repaired")
	call(t, m, replaced, nil)

	bare := upstream()
	bare.Provider.Credentials = nil // The provider needs no credential.
	call(t, m, bare, nil)
}

func TestRefusedCredentialsAndEjectionsAreToldWithoutTheSecret(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := &clock{}
	m := health.New(health.Options{Now: c.now, Random: never, Log: slog.New(slog.NewTextHandler(&log, nil))})
	r := upstream("sesame-1")
	refused := fault(provider.ClassCredential, 401)
	refused.Meaning, refused.Advice = errorclass.Account, "the session has ended"
	call(t, m, r, refused)
	eject(t, m, r)
	text := log.String() + fmt.Sprintf("%+v", m.Report())
	for _, want := range []string{"level=ERROR", "credential=1", "status=401", "meaning=account", `advice="the session has ended"`, "level=WARN", "for=30s", "last=server_error"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not told:\n%s", want, text)
		}
	}
	if strings.Contains(text, "sesame") || strings.Count(text, "level=") != 2 {
		t.Errorf("told was:\n%s", text)
	}
	rests := m.Report().Providers[0].CoolingDown
	if len(rests) != 1 || rests[0].Credential != 1 || rests[0].Status != 401 || !rests[0].Until.Equal(c.now().Add(time.Minute)) {
		t.Errorf("resting are %+v", rests)
	}
}

func TestAProvidersOwnLimitsHoldWhateverIsForced(t *testing.T) {
	t.Parallel()
	m, c := monitor()
	r := upstream()
	r.Provider.Limits = catalog.ProviderLimits{Concurrency: 2, RequestsPerMinute: 4}
	one, two := begin(t, m, r, 0), begin(t, m, r, 0)
	wantBlock(t, m, r, health.LimitReached)
	if _, block := m.Begin(r, true); block != health.LimitReached {
		t.Errorf("a forced attempt has the block %q", block)
	}
	one.End(nil, 1)
	two.End(nil, 1)
	c.advance(30 * time.Second)
	call(t, m, r, nil)
	call(t, m, r, nil)
	wantBlock(t, m, r, health.LimitReached) // This minute has four attempts.
	c.advance(30 * time.Second)             // The first two attempts are older than a minute.
	call(t, m, r, nil)
	call(t, m, r, nil)
	wantBlock(t, m, r, health.LimitReached)
	if s := m.Report().Providers[0]; s.AttemptsMinute != 4 || s.RequestsPerMinute != 4 || s.Concurrency != 2 || s.InFlight != 0 {
		t.Errorf("the report says %+v", s)
	}
}

func TestRetriesAreATenthOfTheFirstAttemptsAndAFewAtAllTimes(t *testing.T) {
	t.Parallel()
	m, c := monitor()
	r := upstream()
	if !m.MayRetry("unknown") {
		t.Error("a provider that was never tried may not be retried")
	}
	retries := 0
	for range 1000 {
		try, _ := m.Begin(r, true)
		try.End(broken(), 0)
		if m.MayRetry(r.Provider.ID) {
			retries++
			try, _ = m.Begin(r, true)
			try.End(broken(), 0)
		}
	}
	if retries < 100 || retries > 110 {
		t.Errorf("%d retries for 1000 first attempts that failed", retries)
	}
	if left := m.Report().Providers[0].RetriesLeft; left != 0 {
		t.Errorf("%d retries are left", left)
	}
	c.advance(10 * time.Second)
	for retries = 0; retries < 100 && m.MayRetry(r.Provider.ID); retries++ {
	}
	if retries != 10 {
		t.Errorf("a quiet provider may be retried %d times in ten seconds", retries)
	}
}
