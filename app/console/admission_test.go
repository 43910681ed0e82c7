package console_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"umg/app/admission"
	"umg/app/console"
	"umg/app/postgres/pgtest"
	"umg/app/ratelimit"
)

// TestVisitorsAreLimitedByAddress asks for every public page and form more often than an address may.
func TestVisitorsAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	addresses := ratelimit.NewAddresses(ratelimit.AddressOptions{Now: time.Now, PagesPerMinute: 5, FormsPerMinute: 5})
	h := newFixture(t, db, db, nil, func(o *console.Options) { o.Addresses = addresses })
	person := h.signedIn("office@example.com")
	visitor := h.visitor()
	for range 5 {
		_, _ = visitor.see("/console/sign-in"), visitor.send("/console/sign-in", url.Values{"email": {"a@example.com"}, "password": {"x"}})
	}
	refused := 0
	for _, r := range console.Routes() {
		if !r.Open {
			continue
		}
		a := visitor.do(r.Method, path(r), map[string]url.Values{http.MethodPost: {}}[r.Method])
		refused++
		wait, err := strconv.Atoi(a.header.Get("Retry-After"))
		if a.status != http.StatusTooManyRequests || err != nil || wait < 1 || wait > 60 ||
			!strings.Contains(a.body, "Too many requests") || !strings.Contains(a.body, "Try again in "+strconv.Itoa(wait)+" s") ||
			!strings.Contains(a.header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s %s: %d %v %.300s", r.Method, r.Path, a.status, a.header, a.body)
		}
	}
	if a := visitor.see("/console/nothing"); refused < 20 || a.status != http.StatusTooManyRequests {
		t.Errorf("of %d public routes; an unknown page: %d", refused, a.status)
	}
	if a := person.see("/console/keys"); a.status != http.StatusOK {
		t.Errorf("a person who is signed in at the same address: %d", a.status)
	}
	if n := addresses.Len(); n != 1 {
		t.Errorf("%d addresses are remembered", n)
	}
}

// TestPagesAreShedWithAPageOfOurs has a person look at a replica that is full, and at one that is late.
func TestPagesAreShedWithAPageOfOurs(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	gate := admission.New(admission.Options{InFlightMax: 100, Busy: 1, LateMax: 10 * time.Millisecond})
	h := newFixture(t, db, db, nil, func(o *console.Options) { o.Gate = gate })
	p := h.signedIn("looker@example.com")
	var places []admission.Place
	for {
		place, err := gate.Enter(false)
		if err != nil {
			break
		}
		places = append(places, place)
	}
	if a := p.see("/console/keys"); a.status != http.StatusOK || len(places) != 100 {
		t.Errorf("a page of a replica without a place for calls, with %d places taken: %d", len(places), a.status)
	}
	for {
		place, err := gate.Enter(true)
		if err != nil {
			break
		}
		places = append(places, place)
	}
	a := p.see("/console/keys")
	if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" || !strings.Contains(a.body, "limit of requests") ||
		strings.Contains(a.body, "looker@example.com") {
		t.Errorf("a page of a full replica: %d %v %.300s", a.status, a.header, a.body)
	}
	for i := range places[1:] {
		places[i+1].Leave()
	}
	for range 100 {
		gate.Look(admission.Sample{Queued: time.Second, Waited: 1000})
	}
	passed := 0
	for range 50 {
		if p.see("/console/keys").status == http.StatusOK {
			passed++
		}
	}
	if passed < 5 || passed > 25 {
		t.Errorf("of 50 pages of a replica that stays late %d are shown", passed)
	}
	if n := gate.InFlight(); n != 1 {
		t.Errorf("%d places are taken after all pages have ended", n)
	}
}
