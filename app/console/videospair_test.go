package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
)

const filmsPath = "/console/playground/video"

var onceField = regexp.MustCompile(`name="once" value="([^"]+)"`)

// count is how many videos an account has.
func (s *studio) count(t *testing.T, email string) (n int) {
	t.Helper()
	if err := s.db.GetContext(t.Context(), &n, `
		select count(*) from video_jobs j join memberships m on m.account_id = j.account_id join users u on u.id = m.user_id
		where u.email = $1`, email); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestAFormSentTwiceMakesItsVideosOnce sends one form from several tabs at a time, and the next form makes others.
func TestAFormSentTwiceMakesItsVideosOnce(t *testing.T) {
	t.Parallel()
	s := withVideos(t)
	p := s.signedIn("twice@example.com")
	once := func() string { return onceField.FindStringSubmatch(p.see(filmsPath).body)[1] }
	form := film("a boat", "also", "boreal/drift:pro", "once", once())
	var sent sync.WaitGroup
	for range 3 {
		tab := &person{fixture: p.fixture, cookies: p.cookies, headers: p.headers}
		sent.Go(func() {
			if a := tab.send(filmsPath, form); a.status != http.StatusSeeOther || strings.Count(a.header.Get("Location"), "started=") != 2 {
				t.Errorf("%d %s %v", a.status, a.header.Get("Location"), alerts(a.body))
			}
		})
	}
	sent.Wait()
	if n := s.count(t, "twice@example.com"); n != 2 {
		t.Errorf("%d videos of one form", n)
	}
	limits := p.see("/console/limits").body
	if n := strings.Count(limits, `title="1 of 2 used"`) + strings.Count(limits, "<strong>1</strong> of"); n < 4 {
		t.Errorf("%d limits on videos tell that one is used", n)
	}
	form.Set("once", once())
	form.Del("also")
	p.make(form)
	if n := s.count(t, "twice@example.com"); n != 3 {
		t.Errorf("%d videos after another form", n)
	}
}

// TestOneOfTwoVideosThatIsRefusedLeavesTheOther has credit for the first alone: it is made, and the form goes on with the second.
func TestOneOfTwoVideosThatIsRefusedLeavesTheOther(t *testing.T) {
	t.Parallel()
	s := withVideos(t)
	p := s.signedIn("half@example.com")
	p.make(film("a lake"))
	a := p.send(filmsPath, film("a boat", "also", "boreal/drift:pro", "seconds", "12"))
	has(t, "the answer", a, http.StatusUnprocessableEntity, "boreal/drift:pro: ", "See your balance", "12 s × $0.30 = $3.60", "Video by boreal/drift:fast",
		`<option value="boreal/drift:pro" selected`)
	if n := s.count(t, "half@example.com"); n != 2 {
		t.Errorf("%d videos", n)
	}
}

// TestTheAmountToBeAskedAboveIsTheReaders sets it, and is asked by it; nonsense is said beside the field.
func TestTheAmountToBeAskedAboveIsTheReaders(t *testing.T) {
	t.Parallel()
	s := withVideos(t)
	p := s.signedIn("asked@example.com")
	has(t, "the form", p.see(filmsPath), http.StatusOK, "You are asked before videos that cost more than $5.00")
	for _, wrong := range []string{"", "-1", "five", "2000000", "1e3"} {
		a := p.send("/console/settings/videos", url.Values{"video_ask_above": {wrong}})
		has(t, wrong, a, http.StatusUnprocessableEntity, `id="video-ask-error"`)
	}
	p.wants(p.send("/console/settings/videos", url.Values{"video_ask_above": {"$0"}}), http.StatusSeeOther, "/console/settings")
	form := film("a boat", "also", "boreal/drift:pro")
	has(t, "the question", p.send(filmsPath, form), http.StatusUnprocessableEntity, "You want to be asked each time", "Yes, make both for $1.60",
		`name="agreed" value="1.6"`)
	form.Set("agreed", "0.4")
	has(t, "another price", p.send(filmsPath, form), http.StatusUnprocessableEntity, "This costs $1.60")
	form.Set("agreed", "1.6")
	if a := p.send(filmsPath, form); a.status != http.StatusSeeOther {
		t.Errorf("agreed: %d %v", a.status, alerts(a.body))
	}
	other := s.signedIn("other@example.com")
	has(t, "another user", other.see(filmsPath), http.StatusOK, "more than $5.00")
}
