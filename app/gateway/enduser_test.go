package gateway_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/gateway"
	"umg/app/llm"
)

// endUserBench has a provider of each kind: one that takes an end user in the chat style under its new name, one under the former name, one
// of the messages style, one of the responses style, and one that is not known to take any.
type endUserBench struct {
	*bench
	mu   sync.Mutex
	sent string
}

const endUserModels = `
  - {id: test/new, %[1]s [{provider: openai, model: up, style: chat}]}
  - {id: test/former, %[1]s [{provider: groq, model: up, style: chat}]}
  - {id: test/messages, %[1]s [{provider: anthropic, model: up, style: messages}]}
  - {id: test/responses, %[1]s [{provider: openai, model: up, style: responses}]}
  - {id: test/plain, %[1]s [{provider: plain, model: up, style: chat}]}
  - {id: test/plain-messages, %[1]s [{provider: plain, model: up, style: messages}]}
  - {id: test/refusing, %[1]s [{provider: mistral, model: up, style: chat}]}
`

func setupEndUsers(t *testing.T) *endUserBench {
	t.Helper()
	b := &endUserBench{bench: setup(t, startMoney)}
	b.answerWith(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		b.mu.Lock()
		b.sent = string(body)
		b.mu.Unlock()
		w.WriteHeader(http.StatusBadRequest)
	}))
	providers := ""
	for _, name := range []string{"openai", "groq", "anthropic", "mistral", "plain"} {
		reader := "usage: " + name + ", "
		if name == "plain" {
			reader = ""
		}
		providers += fmt.Sprintf("  - {id: %s, name: %s, %sbase_url: \"${SIM}/%s\", credential: \"${SECRET}\"}\n", name, name, reader, name)
	}
	f, err := catalog.ParseFile([]byte("providers:\n" + providers + "models:" + fmt.Sprintf(endUserModels, recordedTerms)))
	must(t, err)
	snapshot, err := catalog.NewSnapshot(f, catalog.Options{Now: time.Now, Secrets: b.lookup, Log: slog.New(slog.DiscardHandler), Traits: dialect.Traits, Extras: extraRows})
	must(t, err)
	b.options.Snapshot = func() *catalog.Snapshot { return snapshot }
	b.options.EndUserKey = []byte("key")
	b.gateway = gateway.New(b.options)
	return b
}

// upstream returns the request that a provider gets. Members are added to a short request of the style.
func (b *endUserBench) upstream(account string, style llm.Style, model, more string) string {
	b.t.Helper()
	body := map[llm.Style]string{
		llm.Chat: `"messages":[{"role":"user","content":"x"}]`, llm.Messages: `"max_tokens":50,"messages":[{"role":"user","content":"x"}]`,
		llm.Responses: `"input":"x"`, llm.Native: `"contents":[{"parts":[{"text":"x"}]}]`,
	}[style]
	b.mu.Lock()
	b.sent = ""
	b.mu.Unlock()
	_, _, _ = b.generate(gateway.Call{
		ID: b.ids.New("req"), Principal: app.Principal{AccountID: account, KeyID: "key_1"}, Style: style,
		Body: fmt.Appendf(nil, `{"model":%q,"stream":false,%s%s}`, model, more, body),
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sent == "" {
		b.t.Errorf("%s to %s with %s was not sent", style, model, more)
	}
	return b.sent
}

var opaqueID = regexp.MustCompile(`"(user|safety_identifier|user_id)" *: *"([0-9a-f]{32})"`)

// idsIn returns the names of the members with an opaque id, and the id, which is the same in all of them.
func idsIn(t *testing.T, body string) (names, id string) {
	t.Helper()
	for _, found := range opaqueID.FindAllStringSubmatch(body, -1) {
		if names += " " + found[1]; id != "" && id != found[2] {
			t.Errorf("two ids in %s", body)
		}
		id = found[2]
	}
	return strings.TrimPrefix(names, " "), id
}

func TestProvidersGetOpaqueEndUsers(t *testing.T) {
	t.Parallel()
	b := setupEndUsers(t)
	const raw = "jane@acme.example"
	stated := map[llm.Style][]string{
		llm.Chat:      {`"user":"` + raw + `",`, `"safety_identifier":"` + raw + `",`, `"user":"` + raw + `","safety_identifier":"` + raw + `",`},
		llm.Responses: {`"safety_identifier":"` + raw + `",`, `"user":"` + raw + `",`},
		llm.Messages:  {`"metadata":{"user_id":"` + raw + `"},`, `"metadata":{"x":1,"user_id" : "` + raw + `"},`},
		llm.Native:    {""},
	}
	none := map[llm.Style][]string{
		llm.Chat: {"", `"user":null,`}, llm.Responses: {"", `"safety_identifier":null,`}, llm.Native: {""},
		llm.Messages: {"", `"metadata":null,`, `"metadata":{},`, `"metadata":{"user_id":null},`},
	}
	members := map[string]string{"test/new": "safety_identifier", "test/former": "user", "test/messages": "user_id", "test/responses": "safety_identifier"}
	ids := map[string]bool{}
	for model, member := range members {
		for _, style := range llm.Styles() {
			var ofUser, ofAccount string
			for _, more := range stated[style] {
				sent := b.upstream(b.account, style, model, more)
				names, id := idsIn(t, sent)
				if !strings.Contains(names, member) || strings.Contains(sent, raw) || ofUser != "" && id != ofUser {
					t.Errorf("%s to %s with %s: %s", style, model, more, sent)
				}
				ofUser = id
			}
			for _, more := range none[style] {
				names, id := idsIn(t, b.upstream(b.account, style, model, more))
				if names != member || ofAccount != "" && id != ofAccount {
					t.Errorf("%s to %s with %s has %q and %q, want %q", style, model, more, names, id, ofAccount)
				}
				ofAccount = id
			}
			ids[ofUser], ids[ofAccount] = true, true
		}
	}
	if len(ids) != 2 {
		t.Errorf("the ids of one account with and without a user are %v", ids)
	}
}

func TestAccountsDoNotShareEndUsers(t *testing.T) {
	t.Parallel()
	b := setupEndUsers(t)
	other := b.account
	b.open(startMoney)
	for _, more := range []string{"", `"user":"u-1",`} {
		_, first := idsIn(t, b.upstream(b.account, llm.Chat, "test/new", more))
		_, again := idsIn(t, b.upstream(b.account, llm.Chat, "test/former", more))
		_, second := idsIn(t, b.upstream(other, llm.Chat, "test/new", more))
		if first == "" || first != again || first == second || second == "" {
			t.Errorf("with %s the ids are %q, %q and %q", more, first, again, second)
		}
	}
}

// TestOtherProvidersGetNoEndUserUnasked sends requests to providers that are not known to take one, or that refuse the member.
func TestOtherProvidersGetNoEndUserUnasked(t *testing.T) {
	t.Parallel()
	b := setupEndUsers(t)
	for _, c := range []struct {
		style             llm.Style
		model, more, want string
	}{
		{llm.Chat, "test/plain", "", ""}, {llm.Chat, "test/plain", `"user":"jane",`, "user"}, {llm.Chat, "test/refusing", `"user":"jane",`, ""},
		{llm.Chat, "test/plain", `"safety_identifier":"jane",`, "safety_identifier"}, {llm.Chat, "test/plain-messages", `"user":"jane",`, "user_id"},
		{llm.Messages, "test/plain-messages", `"metadata":{"user_id":"jane"},`, "user_id"}, {llm.Messages, "test/plain-messages", `"metadata":{},`, ""},
	} {
		sent := b.upstream(b.account, c.style, c.model, c.more)
		if names, _ := idsIn(t, sent); names != c.want || strings.Contains(sent, "jane") {
			t.Errorf("%s to %s with %s: %s", c.style, c.model, c.more, sent)
		}
	}
}
