package console

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

// TestPagesAreWholeForReadersAndVisitors opens every page of `gateway routes` as a person who may read all of them, and
// the public ones as a visitor: wide and narrow, light and dark. A route without a row fails.
func TestPagesAreWholeForReadersAndVisitors(t *testing.T) {
	t.Parallel()
	m := newReaders(t)
	reader, visitor := reads(t, m.g, m.signedIn), reads(t, m.g, nil)
	var enrolled []string
	paths := map[bool][]string{} // Paths has the pages of operators under true, and all others under false.
	known := 0
	for _, r := range m.routes {
		if r.Area != "console" || r.Method != http.MethodGet {
			continue
		}
		look, ok := pageLooks[r.Path]
		known++
		if !ok {
			t.Errorf("no row for %s: say in pages_rows_test.go how it is opened", r.Path)
			continue
		}
		if look.part != "" {
			continue
		}
		path, _ := intrusion{query: look.query}.fill(t, r.Path, m.theirs)
		switch look.who {
		case "visitor":
			visitor.page(path, http.StatusOK)
		case "enrolled":
			enrolled = append(enrolled, path)
		case "half":
		default:
			paths[r.Operator] = append(paths[r.Operator], path)
			if r.Open {
				visitor.frame(path)
			}
		}
	}
	if known != len(pageLooks) {
		t.Errorf("%d rows for %d addresses", len(pageLooks), known)
	}
	t.Run("as a reader", func(t *testing.T) {
		for operator, list := range paths {
			t.Run(fmt.Sprint("operator ", operator), func(t *testing.T) {
				t.Parallel()
				one := reads(t, m.g, m.signedIn)
				for _, path := range list {
					one.page(path, http.StatusOK)
				}
			})
		}
	})
	m.otherStates(t)
	m.secondStep(t, reader, enrolled)
}

// otherStates opens pages of videos as they look when a video failed, when it takes its time, and when there is no such video.
func (m *tenants) otherStates(t *testing.T) {
	t.Helper()
	failed := harness.TextMember(m.owner.CreateVideo(t, harness.VideoBody("meridian/reel", "guardrail-late: copyright")), "id")
	slow := harness.TextMember(m.owner.CreateVideo(t, harness.VideoBody("meridian/reel", "simulate: render=10m\na ship that takes its time")), "id")
	m.owner.WaitVideo(t, failed)
	r := reads(t, m.g, m.signedIn)
	for _, path := range []string{"/" + failed, "/" + slow, "?view=table"} {
		r.page("/console/videos"+path, http.StatusOK)
	}
	r.titles = map[string]string{}
	r.page("/console/videos?q=zebra", http.StatusOK)
}

// secondStep opens the pages that only those have who enrolled a device, and the one on which its code is asked for.
func (m *tenants) secondStep(t *testing.T, reader *reading, paths []string) {
	t.Helper()
	enrols(t, m.signedIn, m.owner.Password)
	for _, path := range paths {
		reader.page(path, http.StatusOK)
	}
	half := harness.NewConsoleClient(t, m.g)
	half.SignIn(t, m.owner.Email, m.owner.Password)
	reads(t, m.g, half).page("/console/sign-in/code", http.StatusOK)
}

// newReaders is an account with something of everything that has a page.
func newReaders(t *testing.T) *tenants {
	t.Helper()
	g := harness.SharedVideoDemo(t)
	m := &tenants{g: g, owner: harness.NewVideoCustomer(t, g, "reader"), routes: harness.Routes(t), things: map[string]string{
		"model": harness.CheapModel, "tool": "aider", "version": "1", "document": "errors", "guide": "demo", "provider": "meridian",
	}}
	m.things["account"] = m.owner.AccountID
	m.signedIn = m.owner.SignInToConsole(t)
	m.makeThings(t)
	runsIt(t, m.owner)
	m.makeCode(t)
	m.makePrompt(t)
	m.makeLinks(t)
	m.things["paused"], _ = ownModel(t, g)
	if a := m.signedIn.Visit(t, "/console/operator/pause", url.Values{"kind": {"model"}, "id": {m.things["paused"]}, "reason": {"It moves to new servers"}}); a.Status >= 400 {
		t.Fatalf("pause: %d %s", a.Status, a.Body)
	}
	m.signedIn.Visit(t, "/console/settings/security/codes", url.Values{"current_password": {m.owner.Password}})
	return m
}

// makeCode makes a promotion code.
func (m *tenants) makeCode(t *testing.T) {
	t.Helper()
	m.things["promo"], m.things["credential"], m.things["preset"], m.things["queue"] = "READERSCODE", "readers", "anthropic", "mails"
	a := m.signedIn.Visit(t, "/console/operator/credentials", url.Values{"name": {"readers"}, "value": {"a-credential-of-readers"}})
	if a.Status != http.StatusSeeOther {
		t.Fatalf("no credential: %d %s", a.Status, a.Body)
	}
	until := time.Now().UTC().AddDate(0, 1, 0).Format(time.DateOnly)
	form := url.Values{"code": {m.things["promo"]}, "amount": {"10"}, "times": {"500"}, "until": {until}, "days": {"90"}, "reason": {"Spring"}}
	form.Set("current_password", m.owner.Password)
	if a := m.signedIn.Visit(t, "/console/operator/trials/codes", form); a.Status != http.StatusSeeOther {
		t.Fatalf("no code: %d %s", a.Status, a.Body)
	}
}

var sharedLink = regexp.MustCompile(`/console/shared/([A-Za-z0-9_-]+)`)

// makePrompt saves a prompt in two versions, and shares it.
func (m *tenants) makePrompt(t *testing.T) {
	t.Helper()
	pane := url.Values{"model": {harness.CheapModel}, "style": {"chat"}, "system": {"Answer in one word."}, "prompt": {"What is {{thing}}?"},
		"var_thing": {"a lighthouse"}, "name": {"Words"}}
	a := m.signedIn.Visit(t, "/console/prompts", pane)
	_, id, found := strings.Cut(a.Header.Get("Location"), "?prompt=")
	if a.Status != http.StatusSeeOther || !found {
		t.Fatalf("no prompt: %d %s", a.Status, a.Body)
	}
	m.things["prompt"] = id
	pane.Set("prompt", "What is {{thing}}, and what is it for?")
	pane.Set("prompt_id", id)
	pane.Set("prompt_version", "1")
	if a := m.signedIn.Visit(t, "/console/prompts", pane); a.Status != http.StatusSeeOther {
		t.Fatalf("no second version: %d %s", a.Status, a.Body)
	}
	share := m.signedIn.Visit(t, "/console/prompts/"+id+"/share", url.Values{"version": {"2"}, "end": {"7"}})
	link := sharedLink.FindStringSubmatch(share.Body)
	if link == nil {
		t.Fatalf("no link: %d %s", share.Status, share.Body)
	}
	m.things["shared"] = link[1]
}

// makeLinks are unopened mailed links: to confirm an address, to reset a password, to change an address, and to join an account.
func (m *tenants) makeLinks(t *testing.T) {
	t.Helper()
	p := harness.NewConsoleClient(t, m.g)
	email := fmt.Sprintf("links-%d@example.com", time.Now().UnixNano())
	p.SignUp(t, email, "correct horse battery staple")
	p.Visit(t, "/console/forgot", url.Values{"email": {email}})
	m.signedIn.Visit(t, "/console/settings/email", url.Values{"email": {"moved-" + email}, "current_password": {m.owner.Password}})
	invited := m.signedIn.Visit(t, "/console/settings/members/invitations", url.Values{"email": {"invited-" + email}, "role": {"billing"}})
	if invited.Status != http.StatusSeeOther {
		t.Fatalf("invite: %d %s", invited.Status, invited.Body)
	}
	for name, mail := range map[string][2]string{
		"verified": {"verify_email", email}, "reset": {"reset_password", email}, "moved": {"change_email", "moved-" + email},
		"invited": {"invitation", "invited-" + email},
	} {
		_, token, _ := strings.Cut(p.MailedLink(t, mail[0], mail[1]), "?token=")
		m.things[name] = token
	}
}

// emptyPages are those that look different as long as there is nothing.
var emptyPages = []string{
	"", "/playground", "/playground/video", "/videos", "/keys", "/webhooks", "/assets", "/billing", "/billing/ledger", "/usage", "/requests", "/prompts",
	"/limits", "/recipes", "/notifications", "/settings/audit", "/settings/members",
}

// TestPagesOfAnEmptyAccount opens the pages of a person who has just signed up, and the pages of things that do not exist.
func TestPagesOfAnEmptyAccount(t *testing.T) {
	t.Parallel()
	g := harness.SharedVideoDemo(t)
	p := harness.NewConsoleClient(t, g)
	p.SignUp(t, fmt.Sprintf("empty-%d@example.com", time.Now().UnixNano()), "correct horse battery staple")
	r := reads(t, g, p)
	for _, path := range emptyPages {
		r.page("/console"+path, http.StatusOK)
	}
	r.titles = map[string]string{}
	r.page("/console/nothing", http.StatusNotFound)
}
