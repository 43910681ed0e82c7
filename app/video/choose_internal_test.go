package video

import (
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/catalog"
)

const privateFilm = `
providers:
  - {id: up, name: Up, base_url: "https://up.example/v1"}
models:
  - {id: test/film, aliases: [film-1], accounts: [acct_ada], name: Film, owner: test, kind: video, capabilities: [video], input: [text],
     output: [video], sizes: [1280x720], seconds: [4], rates: {seconds: 0.10 per 1}, released: 2026-06-01,
     routes: [{provider: up, model: film, style: videos}]}
`

func TestVideosOfPrivateModelsAreMadeForTheirAccountsAlone(t *testing.T) {
	t.Parallel()
	f, err := catalog.ParseFile([]byte(privateFilm))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	s, err := catalog.NewSnapshot(f, catalog.Options{Now: func() time.Time { return now }, Secrets: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"test/film", "film-1"} {
		m, err := choose(s, app.Principal{AccountID: "acct_ada"}, id, now)
		if err != nil || m.ID != "test/film" {
			t.Errorf("ada gets %v, %v", m, err)
		}
		if _, err := choose(s, app.Principal{AccountID: "acct_ada", Models: []string{"film-1"}}, id, now); err != nil {
			t.Errorf("a key that lists the alias: %v", err)
		}
		_, err = choose(s, app.Principal{AccountID: "acct_bob"}, id, now)
		if e := app.AsError(err); e == nil || e.Code != "model_not_found" || strings.Contains(strings.ReplaceAll(e.Message, id, ""), "film") {
			t.Errorf("bob gets %v", err)
		}
	}
}
