package prompt_test

import (
	"crypto/rand"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/postgres/pgtest"
	"umg/app/prompt"
)

// shelf is a store of prompts with two accounts.
type shelf struct {
	*prompt.Service
	db       *sqlx.DB
	log      *audit.Log
	now      time.Time
	ada, bob app.Principal
}

func setup(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{db: pgtest.New(t), now: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)}
	for _, id := range []string{"ada", "bob"} {
		for _, statement := range []string{
			`insert into users (id, email, password_hash, created_at) values ('user_' || $1, $1 || '@example.com', '', now())`,
			`insert into accounts (id, name, created_at) values ('acct_' || $1, $1, now())`,
		} {
			if _, err := s.db.Exec(statement, id); err != nil {
				t.Fatalf("%v: %s", err, statement)
			}
		}
	}
	s.ada, s.bob = app.Principal{AccountID: "acct_ada", UserID: "user_ada"}, app.Principal{AccountID: "acct_bob", UserID: "user_bob"}
	clock := func() time.Time { return s.now }
	ids := app.IDs{Now: clock, Random: rand.Reader}
	s.log = audit.New(s.db, clock, ids)
	s.Service = prompt.New(s.db, prompt.Options{Audit: s.log, Now: clock, IDs: ids, Random: rand.Reader})
	return s
}

// must takes what a call answers and gives what it answered, in a test that ends when there was an error.
func must[T any](one T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return one
	}
}

func wantKind(t *testing.T, err error, kind app.Kind, code string) {
	t.Helper()
	if e := app.AsError(err); e == nil || e.Kind != kind || e.Code != code {
		t.Errorf("%v, want %s", err, code)
	}
}

func saying(text string) prompt.Content {
	return prompt.Content{Model: "aurora-mini", System: text, Prompt: "{{topic}}"}
}

func TestAPromptHasVersionsAndASaveThatChangesNothingMakesNone(t *testing.T) {
	t.Parallel()
	s, ctx := setup(t), t.Context()
	p := must(s.Create(ctx, s.ada, "  Release   notes ", saying("one")))(t)
	if p.Name != "Release notes" || p.Latest != 1 || p.Author != "ada@example.com" || fmt.Sprint(p.Variables) != "[topic]" {
		t.Errorf("%+v", p)
	}
	if n, err := s.Save(ctx, s.ada, p.ID, 1, saying("one")); n != 1 || err != nil {
		t.Errorf("unchanged: version %d %v", n, err)
	}
	s.now = s.now.Add(time.Minute)
	if n, err := s.Save(ctx, s.ada, p.ID, 1, saying("two")); n != 2 || err != nil {
		t.Errorf("changed: version %d %v", n, err)
	}
	_, err := s.Save(ctx, s.ada, p.ID, 1, saying("mine"))
	wantKind(t, err, app.Conflict, prompt.ErrNewer)
	if n, err := s.Save(ctx, s.ada, p.ID, 0, saying("mine")); n != 3 || err != nil {
		t.Errorf("saved anyway: version %d %v", n, err)
	}
	if n, err := s.Restore(ctx, s.ada, p.ID, 1); n != 4 || err != nil {
		t.Errorf("restored: version %d %v", n, err)
	}
	v := must(s.Version(ctx, s.ada, p.ID, 4))(t)
	if !reflect.DeepEqual(v.Content, saying("one")) || v.Restored != 1 || v.Author != "ada@example.com" {
		t.Errorf("%+v", v)
	}
	list := must(s.Versions(ctx, s.ada, p.ID))(t)
	if len(list) != 4 || list[0].Number != 4 || list[3].Number != 1 || list[0].Content.System != "" {
		t.Errorf("%+v", list)
	}
}

func TestSavesAtTheSameTimeLoseNothing(t *testing.T) {
	t.Parallel()
	s, ctx := setup(t), t.Context()
	p := must(s.Create(ctx, s.ada, "race", saying("start")))(t)
	const authors = 8
	var saved, refused int
	var lock sync.Mutex
	var all sync.WaitGroup
	for i := range authors {
		all.Go(func() {
			_, err := s.Save(ctx, s.ada, p.ID, 1, saying(fmt.Sprint("author ", i)))
			lock.Lock()
			defer lock.Unlock()
			switch e := app.AsError(err); {
			case err == nil:
				saved++
			case e.Code == prompt.ErrNewer:
				refused++
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list := must(s.Versions(ctx, s.ada, p.ID))(t); saved != 1 || refused != authors-1 || len(list) != 2 {
		t.Errorf("%d saved, %d refused, %d versions", saved, refused, len(list))
	}
}

func TestPromptsAreSearchedRenamedCopiedAndDeleted(t *testing.T) {
	t.Parallel()
	s, ctx := setup(t), t.Context()
	long := strings.Repeat("ä", 80)
	p := must(s.Create(ctx, s.ada, long, saying("one")))(t)
	_ = must(s.Create(ctx, s.bob, "bob's", saying("one")))(t)
	copied := must(s.Duplicate(ctx, s.ada, p.ID))(t)
	if copied.Name != strings.Repeat("ä", 73)+" (copy)" || copied.ID == p.ID {
		t.Errorf("the copy is called %q", copied.Name)
	}
	if err := s.Rename(ctx, s.ada, p.ID, "100% sure_thing"); err != nil {
		t.Fatal(err)
	}
	for words, want := range map[string]int{"": 2, "SURE": 1, "%": 1, "_": 1, "aurora": 2, "bob": 0, "\x00": 0, "\\": 0} {
		if page := must(s.List(ctx, s.ada, words, 10, 0))(t); page.Total != want || len(page.Prompts) != want {
			t.Errorf("%q finds %d of %d", words, len(page.Prompts), page.Total)
		}
	}
	if page := must(s.List(ctx, s.ada, "", 1, 1))(t); page.Total != 2 || len(page.Prompts) != 1 {
		t.Errorf("%+v", page)
	}
	for _, name := range []string{"", " \t", strings.Repeat("a", 81), "a\x00b", "\xff"} {
		_, err := s.Create(ctx, s.ada, name, saying(""))
		wantKind(t, err, app.Invalid, "invalid_value")
	}
	if err := s.Delete(ctx, s.ada, p.ID); err != nil {
		t.Fatal(err)
	}
	_, err := s.Version(ctx, s.ada, p.ID, 1)
	wantKind(t, err, app.NotFound, "prompt_not_found")
}

func TestAnotherAccountsPromptIsNotThere(t *testing.T) {
	t.Parallel()
	s, ctx := setup(t), t.Context()
	p := must(s.Create(ctx, s.ada, "ada's", saying("secret")))(t)
	share, _, err := s.Share(ctx, s.ada, p.ID, 1, s.now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{p.ID, "prompt_\x00", ""} {
		_, get := s.Get(ctx, s.bob, id)
		_, version := s.Version(ctx, s.bob, id, 1)
		_, save := s.Save(ctx, s.bob, id, 0, saying("stolen"))
		_, restore := s.Restore(ctx, s.bob, id, 1)
		_, duplicate := s.Duplicate(ctx, s.bob, id)
		_, _, made := s.Share(ctx, s.bob, id, 1, s.now.Add(time.Hour))
		for _, err := range []error{get, version, save, restore, duplicate, made, s.Rename(ctx, s.bob, id, "mine"), s.Delete(ctx, s.bob, id),
			s.Revoke(ctx, s.bob, id, share.ID)} {
			wantKind(t, err, app.NotFound, "prompt_not_found")
		}
	}
	if list := must(s.Shares(ctx, s.bob, p.ID))(t); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

func TestLimitsAreSaidAndHeld(t *testing.T) {
	t.Parallel()
	s, ctx := setup(t), t.Context()
	p := must(s.Create(ctx, s.ada, "many", saying("one")))(t)
	if _, err := s.db.Exec(`update prompts set latest = 200`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Exec(`update prompt_versions set number = 200`); err != nil {
		t.Fatal(err)
	}
	_, err := s.Save(ctx, s.ada, p.ID, 200, saying("two"))
	wantKind(t, err, app.Conflict, "prompts_exhausted")
	if _, err := s.db.Exec(`
		insert into prompts (id, account_id, name, latest, created_at, updated_at)
		select 'prompt_' || n, 'acct_ada', 'n', 1, now(), now() from generate_series(1, 499) n`); err != nil {
		t.Fatal(err)
	}
	_, err = s.Create(ctx, s.ada, "one more", saying("one"))
	wantKind(t, err, app.Conflict, "prompts_exhausted")
	_, err = s.Save(ctx, s.ada, p.ID, 200, prompt.Content{System: strings.Repeat("x", prompt.FileBytesMax)})
	wantKind(t, err, app.Invalid, "invalid_prompt")
	_, err = s.Save(ctx, s.ada, p.ID, 200, prompt.Content{System: strings.Repeat("\n", prompt.FileBytesMax*2/3)})
	wantKind(t, err, app.Invalid, "prompt_too_large")
}

func TestALinkShowsOneVersionUntilItEnds(t *testing.T) {
	t.Parallel()
	s, ctx := setup(t), t.Context()
	p := must(s.Create(ctx, s.ada, "shared", saying("one")))(t)
	_ = must(s.Save(ctx, s.ada, p.ID, 1, saying("two")))(t)
	share, token, err := s.Share(ctx, s.ada, p.ID, 1, s.now.Add(24*time.Hour))
	if err != nil || len(token) != 32 {
		t.Fatalf("%q %v", token, err)
	}
	shown := must(s.Open(ctx, token))(t)
	if shown.Name != "shared" || shown.Content.System != "one" {
		t.Errorf("%+v", shown)
	}
	list := must(s.Shares(ctx, s.ada, p.ID))(t)
	if len(list) != 1 || list[0].ViewedAt == nil || !list[0].ViewedAt.Equal(s.now) || list[0].Author != "ada@example.com" {
		t.Errorf("%+v", list)
	}
	var kept int
	if err := s.db.Get(&kept, `select count(*) from prompt_shares where encode(token_hash, 'escape') like '%' || $1 || '%'`, token); err != nil || kept != 0 {
		t.Errorf("the token itself is kept: %v", err)
	}
	unknown := func(what string, token string) {
		t.Helper()
		_, err := s.Open(ctx, token)
		if e := app.AsError(err); e == nil || *e != *app.Errorf(app.NotFound, "not_found", "There is no such page.") {
			t.Errorf("%s: %v", what, err)
		}
	}
	unknown("another token", strings.Repeat("A", 32))
	unknown("no token", "")
	if _, err := s.db.Exec(`update accounts set frozen_at = now() where id = 'acct_ada'`); err != nil {
		t.Fatal(err)
	}
	unknown("a frozen account", token)
	if _, err := s.db.Exec(`update accounts set frozen_at = null`); err != nil {
		t.Fatal(err)
	}
	s.now = s.now.Add(24 * time.Hour)
	unknown("an end that has come", token)
	s.now = s.now.Add(-time.Hour)
	_ = must(s.Open(ctx, token))(t)
	if err := s.Revoke(ctx, s.ada, p.ID, share.ID); err != nil {
		t.Fatal(err)
	}
	unknown("a revoked link", token)
	wantKind(t, s.Revoke(ctx, s.ada, p.ID, share.ID), app.NotFound, "prompt_not_found")
	for _, until := range []time.Time{s.now, s.now.AddDate(1, 0, 3)} {
		_, _, err := s.Share(ctx, s.ada, p.ID, 1, until)
		wantKind(t, err, app.Invalid, "invalid_value")
	}
	_, _, err = s.Share(ctx, s.ada, p.ID, 9, s.now.Add(time.Hour))
	wantKind(t, err, app.NotFound, "prompt_not_found")
	entries := must(s.log.List(ctx, "acct_ada", audit.Filter{Limit: 10}))(t).Entries
	var actions []string
	for _, e := range entries {
		actions = append(actions, string(e.Action))
		if strings.Contains(fmt.Sprint(e), token) {
			t.Error("the audit log has the token")
		}
	}
	slices.Sort(actions) // All entries have the same time.
	if got := strings.Join(actions, " "); got != "prompt.created prompt.share_revoked prompt.shared" {
		t.Error(got)
	}
}
