package video

import (
	"slices"
	"strings"
	"testing"
	"time"

	"umg/app"
)

func idsOf(jobs []Job) (ids []string) {
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

func (b *bench) list(q Query) Page {
	b.Helper()
	page, err := b.service.List(b.Context(), b.account, q)
	b.must(err)
	return page
}

func TestAListIsWalkedWhileJobsComeAndGo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var kept []string
	for range 50 {
		b.clock.Advance(time.Second)
		kept = append(kept, b.keep(Queued).ID)
	}
	for _, ascending := range []bool{false, true} {
		var seen []string
		q := Query{Limit: 7, Ascending: ascending}
		for more := true; more; {
			page := b.list(q)
			more = page.More
			if len(page.Jobs) == 0 || len(page.Jobs) > 7 {
				t.Fatalf("a page of %d", len(page.Jobs))
			}
			ids := idsOf(page.Jobs)
			seen = append(seen, ids...)
			q.After = ids[len(ids)-1]
			b.must(b.service.Delete(t.Context(), b.account, q.After)) // The job of the cursor is deleted.
			if !ascending {
				b.clock.Advance(time.Second)
				b.keep(Queued) // Newer jobs arrive, which belong before the first page.
			}
		}
		if !ascending {
			slices.Reverse(seen)
		}
		if !slices.IsSorted(seen) || !ascending && !slices.Equal(seen, kept) {
			t.Errorf("ascending %t: seen %d of %d, or not in order", ascending, len(seen), len(kept))
		}
	}
}

func TestAListIsFiltered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	start := b.clock.Now()
	b.clock.Advance(time.Minute)
	a := b.keep(Uncertain, func(r *jobRow) { r.Prompt = `A 100% red_fish\` })
	b.clock.Advance(time.Minute)
	middle := b.clock.Now()
	b.clock.Advance(time.Minute)
	c := b.keep(Storing, func(r *jobRow) { r.Model, r.RemixedFrom = "test/two", &a.ID })
	d := b.keep(Completed, func(r *jobRow) { r.Prompt = "A BIRD" })
	e := b.keep(Failed)
	stranger := b.fund(0)
	b.keep(Queued, func(r *jobRow) { r.AccountID = stranger })
	for name, want := range map[string]struct {
		q   Query
		ids []string
	}{
		"all":              {Query{}, []string{a.ID, c.ID, d.ID, e.ID}},
		"queued":           {Query{Status: "queued"}, []string{a.ID}},
		"in progress":      {Query{Status: "in_progress"}, []string{c.ID}},
		"completed":        {Query{Status: "completed"}, []string{d.ID}},
		"failed":           {Query{Status: "failed"}, []string{e.ID}},
		"model":            {Query{Model: "test/two"}, []string{c.ID}},
		"unknown model":    {Query{Model: "none"}, nil},
		"remixes":          {Query{RemixedFrom: a.ID}, []string{c.ID}},
		"search":           {Query{Search: "bird"}, []string{d.ID}},
		"percent":          {Query{Search: "0% r"}, []string{a.ID}},
		"only percent":     {Query{Search: "%"}, []string{a.ID}},
		"underscore":       {Query{Search: "_"}, []string{a.ID}},
		"backslash":        {Query{Search: `\`}, []string{a.ID}},
		"quote":            {Query{Search: "'"}, nil},
		"since":            {Query{CreatedAfter: middle}, []string{c.ID, d.ID, e.ID}},
		"until":            {Query{CreatedBefore: middle}, []string{a.ID}},
		"before all":       {Query{CreatedBefore: start}, nil},
		"of everything":    {Query{Status: "completed", Search: "bird", Model: "test/film", CreatedAfter: middle}, []string{d.ID}},
		"behind unknown":   {Query{After: "video_00000000000000000000000000", Ascending: true}, []string{a.ID, c.ID, d.ID, e.ID}},
		"nothing behind":   {Query{After: "video_00000000000000000000000000"}, nil},
		"behind the first": {Query{After: a.ID, Ascending: true}, []string{c.ID, d.ID, e.ID}},
	} {
		got := idsOf(b.list(want.q).Jobs)
		slices.Sort(got)
		slices.Sort(want.ids)
		if !slices.Equal(got, want.ids) {
			t.Errorf("%s: %v, want %v", name, got, want.ids)
		}
	}
	for param, q := range map[string]Query{
		"limit": {Limit: 101}, "after": {After: "x'"}, "status": {Status: "done"}, "remixed_from_video_id": {RemixedFrom: "1"},
		"search": {Search: strings.Repeat("a", searchRunesMax+1)}, "model": {Model: "a\x00"},
	} {
		_, err := b.service.List(t.Context(), b.account, q)
		wantError(t, err, app.Invalid, codeInvalid, param)
	}
	_, err := b.service.List(t.Context(), b.account, Query{Limit: -1})
	wantError(t, err, app.Invalid, codeInvalid, "limit")
}

func TestAPageHasTwentyJobsAndSaysWhetherMoreFollow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 21 {
		b.keep(Queued)
	}
	if page := b.list(Query{}); len(page.Jobs) != 20 || !page.More {
		t.Errorf("%d jobs, more %t", len(page.Jobs), page.More)
	}
	if page := b.list(Query{Limit: 21}); len(page.Jobs) != 21 || page.More {
		t.Errorf("%d jobs, more %t", len(page.Jobs), page.More)
	}
	if page := b.list(Query{Limit: 100}); len(page.Jobs) != 21 || page.More {
		t.Errorf("%d jobs, more %t", len(page.Jobs), page.More)
	}
}
