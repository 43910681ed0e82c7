package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

// filmsMax are the videos that bodies of this test delete.
const filmsMax = 8

const foreignSecret = "sk-umg-foreign0foreign0foreign0foreign0foreig"

// newAssigner makes the two accounts, and what the one may know of the other.
func newAssigner(t *testing.T, g *harness.Gateway) *assigner {
	t.Helper()
	m := &assigner{tenants: newTenants(t, g)}
	m.db = g.DB(t)
	m.every = everyRow(t, m.db)
	for kind, query := range map[string]string{
		"foreign_user": `select user_id from memberships where account_id = $1 limit 1`,
		"foreign_key":  `select id from api_keys where account_id = $1 limit 1`,
	} {
		var id string
		if err := m.db.Get(&id, query, m.stranger.AccountID); err != nil {
			t.Fatal(err)
		}
		m.things[kind] = id
	}
	m.things["account"], m.things["picture"], m.things["receiver"] = m.owner.AccountID, g.SampleURL("picture.png"), harness.NewWebhookReceiver(t).URL
	m.keeper = harness.SecretPattern.FindString(m.signedIn.Visit(t, "/console/keys", url.Values{"name": {"keeper"}, "mode": {"documented"}, "kind": {"management"}}).Body)
	if m.keeper == "" {
		t.Fatal("there is no key that manages")
	}
	for range filmsMax {
		m.films = append(m.films, harness.TextMember(m.owner.CreateVideo(t, harness.VideoBody(harness.VideosModel, "to be deleted")), "id"))
	}
	for _, id := range m.films {
		m.owner.WaitVideo(t, id)
	}
	m.things["tool"] = "aider"
	m.strange = m.strangeMembers()
	// This is not the key that makes the call.
	m.things["key"] = newKey(t, m).words["key"]
	return m
}

// strangeMembers are what no body has to say.
func (m *assigner) strangeMembers() []extra {
	const when, number = "2001-02-03T04:05:06Z", 98765432198
	stranger := m.theirs("foreign_user")
	list := []extra{
		{"id", "foreign_01foreign00000000000000000"}, {"account_id", m.stranger.AccountID}, {"user_id", stranger},
		{"key_id", m.theirs("foreign_key")}, {"created_by", stranger}, {"created_by_key", m.theirs("foreign_key")}, {"owner_id", stranger},
		{"created_at", when}, {"updated_at", 981173106}, {"deleted_at", when}, {"expires_at", when}, {"expires", 981173106},
		{"verified_at", when}, {"frozen_at", when}, {"disabled_at", when}, {"paid_at", when}, {"rotated_at", when}, {"closed_at", when},
		{"credit", "98765432198"}, {"balance", number}, {"balance_nanos", number}, {"posted_nanos", number}, {"cost_nanos", number},
		{"amount_nanos", number}, {"cents", number}, {"credited_cents", number}, {"held_nanos", 0}, {"limit_factor", number},
		{"operator", true}, {"is_admin", true}, {"verified", true}, {"role", "owner"}, {"rights", []string{"management"}},
		{"scopes", []string{"management"}}, {"state", "completed"}, {"status", "disabled"}, {"secret", foreignSecret},
		{"secret_hash", "foreign-hash"}, {"previous_hash", "foreign-hash"}, {"upstream_id", "foreign-upstream"},
		{"upstream_asset_id", "foreign-upstream"}, {"provider", "foreign-provider"}, {"live", 0}, {"epoch", number}, {"replica_id", "foreign-replica"},
	}
	return list
}

// marks are values that nothing of the account may ever have.
func (m *assigner) marks() []string {
	return []string{
		"foreign", "98765432198", "981173106", "2001-02-03", m.stranger.AccountID, m.theirs("foreign_user"), m.theirs("foreign_key"),
	}
}

// signature is that of the payment service, so that the body is taken for its word.
func (m *assigner) signature(t *testing.T, body string) string {
	t.Helper()
	return m.g.Payments(t).Sign(time.Now(), []byte(body))
}

func (m *assigner) name() string {
	m.made++
	return fmt.Sprintf("mass-%d-%d", m.made, time.Now().UnixNano())
}

// signedUp is a person who has just signed up, with an account of their own.
func signedUp(t *testing.T, m *assigner) scene {
	t.Helper()
	p, email := harness.NewConsoleClient(t, m.g), m.name()+"@example.com"
	p.SignUp(t, email, "correct horse battery staple")
	p.VerifyEmail(t, email)
	return scene{person: p, words: map[string]string{"email": email}}
}

// unproven is a person who has signed up and did not open the link in their mail.
func unproven(t *testing.T, m *assigner) scene {
	t.Helper()
	p, email := harness.NewConsoleClient(t, m.g), m.name()+"@example.com"
	p.SignUp(t, email, "correct horse battery staple")
	_, token, _ := strings.Cut(p.MailedLink(t, "verify_email", email), "?token=")
	return scene{person: p, words: map[string]string{"email": email, "token": token}}
}

func visitor(t *testing.T, m *assigner) scene { return scene{person: harness.NewConsoleClient(t, m.g)} }

// strangerAgain is a person who has signed up and is signed out.
func strangerAgain(t *testing.T, m *assigner) scene {
	t.Helper()
	s := signedUp(t, m)
	s.person = harness.NewConsoleClient(t, m.g)
	return s
}

// mailed is a person who got a link of the given kind by mail. The function ask requests the mail.
func mailed(kind string, ask func(t *testing.T, m *assigner, s scene) (to string)) func(*testing.T, *assigner) scene {
	return func(t *testing.T, m *assigner) scene {
		t.Helper()
		s := signedUp(t, m)
		to := ask(t, m, s)
		_, s.words["token"], _ = strings.Cut(s.person.MailedLink(t, kind, to), "?token=")
		return s
	}
}

func forgets(t *testing.T, _ *assigner, s scene) string {
	t.Helper()
	s.person.Visit(t, "/console/forgot", url.Values{"email": {s.words["email"]}})
	return s.words["email"]
}

func moves(t *testing.T, m *assigner, s scene) string {
	t.Helper()
	to := m.name() + "@example.com"
	s.person.Visit(t, "/console/settings/email", url.Values{"email": {to}, "current_password": {"correct horse battery staple"}})
	return to
}

// enrolled is a person who signs in with codes, and has an unused one.
func enrolled(t *testing.T, m *assigner) scene {
	t.Helper()
	s := signedUp(t, m)
	d, _ := enrols(t, s.person, "correct horse battery staple")
	s.words["code"] = d.code(t)
	return s
}

// halfIn is a person who gave the right password and no code yet.
func halfIn(t *testing.T, m *assigner) scene {
	t.Helper()
	s := enrolled(t, m)
	s.person = harness.NewConsoleClient(t, m.g)
	s.person.SignIn(t, s.words["email"], "correct horse battery staple")
	return s
}

// enrolling is a person to whom the page shows a secret for codes.
func enrolling(t *testing.T, m *assigner) scene {
	t.Helper()
	s := signedUp(t, m)
	const base = "/console/settings/security/codes"
	s.person.Visit(t, base, url.Values{"current_password": {"correct horse battery staple"}})
	found := seedPattern.FindStringSubmatch(s.person.Visit(t, base, nil).Body)
	if found == nil {
		t.Fatal("no secret is shown")
	}
	s.words["code"] = newDevice(t, found[1]).code(t)
	return s
}

// alone is a person without an account.
func alone(t *testing.T, m *assigner) scene {
	t.Helper()
	s := signedUp(t, m)
	m.db.MustExec(`delete from memberships where user_id = (select id from users where email = $1)`, s.words["email"])
	return s
}

// twicePlaced is a person with two sessions, of which the route ends the other one.
func twicePlaced(t *testing.T, m *assigner) scene {
	t.Helper()
	s := signedUp(t, m)
	harness.NewConsoleClient(t, m.g).SignIn(t, s.words["email"], "correct horse battery staple")
	s.words["session"] = m.newest(t, `select s.id from sessions s join users u on u.id = s.user_id where u.email = $1 order by s.created_at desc limit 1`,
		s.words["email"])
	return s
}

func (m *assigner) newest(t *testing.T, query string, args ...any) (id string) {
	t.Helper()
	if err := m.db.Get(&id, query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return id
}

// newKey is a key that one call may spoil.
func newKey(t *testing.T, m *assigner) scene {
	t.Helper()
	name := m.name()
	secret := m.signedIn.CreateKey(t, name)
	id := m.newest(t, `select id from api_keys where account_id = $1 and name = $2`, m.owner.AccountID, name)
	return scene{words: map[string]string{"key": id, "key_name": name, "key_secret": secret}}
}

// keyOfTwo is a key with two secrets.
func keyOfTwo(t *testing.T, m *assigner) scene {
	t.Helper()
	s := newKey(t, m)
	if a := m.signedIn.Visit(t, "/console/keys/"+s.words["key"]+"/rotate", url.Values{"overlap": {"3600"}}); a.Status != http.StatusOK {
		t.Fatalf("rotate: %d %s", a.Status, a.Body)
	}
	return s
}

// newEndpoint is a webhook endpoint that one call may delete.
func newEndpoint(t *testing.T, m *assigner) scene {
	t.Helper()
	h := m.owner.AddWebhook(t, harness.NewWebhookReceiver(t), "video.failed")
	return scene{words: map[string]string{"endpoint": h.ID}}
}

// oneFilm is a video that one call may delete.
func oneFilm(t *testing.T, m *assigner) scene {
	t.Helper()
	if len(m.films) == 0 {
		t.Fatal("there are not enough videos")
	}
	id := m.films[0]
	m.films = m.films[1:]
	return scene{words: map[string]string{"video": id}}
}

// oneAsset is an asset that one call may delete.
func oneAsset(t *testing.T, m *assigner) scene {
	t.Helper()
	return scene{words: map[string]string{"asset": harness.TextMember(m.owner.CreateAsset(t, "image", "picture.png", m.name()), "asset_id")}}
}

// developer is a member whose role may change.
func developer(t *testing.T, m *assigner) scene {
	t.Helper()
	return scene{words: map[string]string{"member": m.newest(t,
		`select user_id from memberships where account_id = $1 and role in ('developer', 'billing') order by user_id limit 1`, m.owner.AccountID)}}
}

// justJoined is a member who has just come, so that every call meets one of the same role.
func justJoined(t *testing.T, m *assigner) scene {
	t.Helper()
	m.member(t, "developer")
	return scene{words: map[string]string{"member": m.newest(t,
		`select user_id from memberships where account_id = $1 order by created_at desc limit 1`, m.owner.AccountID)}}
}

// invited is an invitation that may be sent again.
func invited(t *testing.T, m *assigner) scene {
	t.Helper()
	a := m.g.Call(t, http.MethodPost, "/v1/invitations", `{"email":"`+m.name()+`@example.com","role":"billing"}`, harness.BearerHeader(m.keeper)...)
	id := harness.TextMember(harness.DecodeObject(t, a.Body), "id")
	if a.Status != http.StatusOK || id == "" {
		t.Fatalf("no invitation: %d %s", a.Status, a.Body)
	}
	return scene{words: map[string]string{"invitation": id}}
}

// guest is a member who works in the account.
func guest(t *testing.T, m *assigner) scene { return scene{person: m.member(t, "developer")} }

// asked is a person who was invited and may accept or decline.
func asked(t *testing.T, m *assigner) scene {
	t.Helper()
	s := signedUp(t, m)
	m.g.Call(t, http.MethodPost, "/v1/invitations", `{"email":"`+s.words["email"]+`","role":"billing"}`, harness.BearerHeader(m.keeper)...)
	kind := m.newest(t, `select kind from mails where recipient = $1 and kind <> 'verify_email' order by created_at desc limit 1`, s.words["email"])
	_, s.words["token"], _ = strings.Cut(s.person.MailedLink(t, kind, s.words["email"]), "?token=")
	return s
}

// closing is a person who may delete an account, which they own.
func closing(t *testing.T, m *assigner) scene {
	t.Helper()
	s := signedUp(t, m)
	s.words["name"] = url.QueryEscape(m.newest(t, `select a.name from accounts a join memberships s on s.account_id = a.id
		join users u on u.id = s.user_id where u.email = $1`, s.words["email"]))
	return s
}

// savedPrompt is another prompt with two versions and a link.
func savedPrompt(t *testing.T, m *assigner) scene {
	t.Helper()
	prompt, shared := m.things["prompt"], m.things["shared"]
	m.makePrompt(t)
	words := map[string]string{"prompt": m.things["prompt"], "share": m.newestShare(t), "shared": m.things["shared"]}
	m.things["prompt"], m.things["shared"] = prompt, shared
	return scene{words: words}
}
