package catalog

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"umg/app"
)

func defaultSnapshot(t testing.TB) *Snapshot {
	t.Helper()
	return snapshotFrom(t, parse(t, string(Default())))
}

func snapshotFrom(t testing.TB, f File) *Snapshot {
	t.Helper()
	return snapshotAt(t, f, time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
}

func snapshotAt(t testing.TB, f File, now time.Time) *Snapshot {
	t.Helper()
	return snapshotWith(t, f, Options{Now: func() time.Time { return now }, Secrets: lookup})
}

func snapshotWith(t testing.TB, f File, o Options) *Snapshot {
	t.Helper()
	s, err := NewSnapshot(f, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type listBody struct {
	Object  string           `json:"object"`
	HasMore *bool            `json:"has_more"`
	FirstID *string          `json:"first_id"`
	LastID  *string          `json:"last_id"`
	Data    []map[string]any `json:"data"`
}

func readList(t *testing.T, raw []byte) (listBody, string) {
	t.Helper()
	var b listBody
	if err := json.Unmarshal(raw, &b); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	if b.Object != "list" || b.HasMore == nil || b.Data == nil {
		t.Fatalf("the frame of the list is incomplete: %s", raw)
	}
	var ids []string
	for _, m := range b.Data {
		ids = append(ids, m["id"].(string))
	}
	if len(ids) == 0 && (b.FirstID != nil || b.LastID != nil) || len(ids) > 0 && (*b.FirstID != ids[0] || *b.LastID != ids[len(ids)-1]) {
		t.Fatalf("first and last do not fit: %s", raw)
	}
	return b, strings.Join(ids, " ")
}

func TestTheListHasWhatEveryToolReads(t *testing.T) {
	t.Parallel()
	s := defaultSnapshot(t)
	body, _ := readList(t, s.List(nil))
	var entry map[string]any
	for _, m := range body.Data {
		for _, field := range []string{"id", "object", "type", "created", "created_at", "owned_by", "name", "display_name", "description",
			"canonical_slug", "context_length", "context_window", "max_output_tokens", "max_tokens", "architecture", "capabilities", "protocols",
			"pricing", "supported_parameters", "top_provider", "rate_limits"} {
			if m[field] == nil && (m["kind"] == "text" || field[:3] != "con" && field[:3] != "max") {
				t.Errorf("%v has no %s", m["id"], field)
			}
		}
		for _, field := range []string{"per_request_limits", "deprecation_date"} {
			if _, ok := m[field]; !ok {
				t.Errorf("%v lacks the null of %s", m["id"], field)
			}
		}
		if m["id"] == "meridian/atlas-large" {
			entry = m
		}
	}
	pricing, _ := entry["pricing"].(map[string]any)
	if pricing["prompt"] != "0.0000025" || pricing["completion"] != "0.00001" || pricing["input_cache_read"] != "0.00000125" ||
		pricing["currency"] != "USD" {
		t.Errorf("pricing %v", pricing)
	}
	if entry["created"] != 1778544000.0 || entry["created_at"] != "2026-05-12T00:00:00Z" ||
		entry["canonical_slug"] != entry["id"] {
		t.Errorf("dates %v, %v, %v", entry["created"], entry["created_at"], entry["canonical_slug"])
	}
	if a := entry["architecture"].(map[string]any); a["modality"] != "text+image->text" {
		t.Errorf("architecture %v", a)
	}
	if p := entry["protocols"].([]any); len(p) != 4 || p[0] != "chat" || p[3] != "native" {
		t.Errorf("protocols %v", p)
	}
	if l := entry["rate_limits"].(map[string]any); l["rpm"] != 60.0 || l["tpm"] != 200000.0 {
		t.Errorf("rate limits %v", l)
	}
}

func TestComingModelsHavePricesButAreNotListed(t *testing.T) {
	t.Parallel()
	s := defaultSnapshot(t)
	if strings.Contains(string(s.List(nil)), "cadence") {
		t.Error("a coming model is listed")
	}
	for id, sku := range map[string][2]string{"tessera/canvas": {"per-image", "0.04"}, "meridian/cadence": {"per-character", "0.000015"}} {
		m, _ := s.Model(id)
		var e listEntry
		if err := json.Unmarshal(m.ListEntry(), &e); err != nil || e.Availability != "coming" || e.PricingSKUs[sku[0]] != sku[1] {
			t.Errorf("%s: %v, %v", id, e.PricingSKUs, err)
		}
	}
}

func TestTheListShowsOnlyWhatACallerMayUse(t *testing.T) {
	t.Parallel()
	s := defaultSnapshot(t)
	p := app.Principal{Models: []string{"boreal/fjord-pro", "meridian/atlas-nano", "tessera/canvas"}}
	if _, ids := readList(t, s.List(p.MayUse)); ids != "meridian/atlas-nano boreal/fjord-pro" {
		t.Errorf("listed: %s", ids)
	}
	if _, ids := readList(t, s.List(func(string) bool { return false })); ids != "" {
		t.Errorf("listed: %s", ids)
	}
	if string(s.List(app.Principal{}.MayUse)) != string(s.List(nil)) || s.ETag() != ETag(s.List(nil)) {
		t.Error("a caller who may use everything gets another list or tag")
	}
	if s.ETag() == ETag(s.List(p.MayUse)) {
		t.Error("two lists share a tag")
	}
}

func TestPagesOfTheList(t *testing.T) {
	t.Parallel()
	f := parse(t, smallFile)
	f.Models = f.Models[:1]
	for _, id := range []string{"b", "c", "d", "e"} {
		m := f.Models[0]
		m.ID = id
		f.Models = append(f.Models, m)
	}
	f.Models[0].ID = "a"
	s := snapshotFrom(t, f)
	for query, want := range map[string]string{
		"": "a b c d e", "limit=2": "a b +", "limit=5": "a b c d e", "limit=1000": "a b c d e", "limit=100000": "a b c d e",
		"limit=2&after=b": "c d +", "after_id=c": "d e", "limit=2&after_id=c": "d e", "after=e": "", "before_id=c": "a b",
		"kind=text": "a b c d e", "kind=video": "", "kind=text&limit=2&after=b": "c d +",
		"limit=1&before_id=c": "b +", "before_id=a": "", "client_version=7&limit=1": "a +", "limit=": "a b c d e",
	} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		p, err := ParsePage(q)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		raw, err := s.ListPage(nil, p)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		body, ids := readList(t, raw)
		if *body.HasMore {
			ids += " +"
		}
		if ids != want {
			t.Errorf("%q gives %q, want %q", query, ids, want)
		}
	}
	for query, param := range map[string]string{
		"limit=0": "limit", "limit=-1": "limit", "limit=many": "limit", "limit=1.5": "limit", "after=a&before_id=b": "before_id",
		"kind=books": "kind", "kind=TEXT": "kind", "kind=video&after=a": "after",
		"after=zz": "after", "before_id=zz": "before_id", "limit=" + strings.Repeat("9", 50): "limit",
	} {
		q, _ := url.ParseQuery(query)
		p, err := ParsePage(q)
		if err == nil {
			_, err = s.ListPage(nil, p)
		}
		if e := app.AsError(err); e == nil || e.Kind != app.Invalid || e.Param != param {
			t.Errorf("%q: %v", query, err)
		}
	}
}

func BenchmarkListForOneKey(b *testing.B) {
	s := defaultSnapshot(b)
	p := app.Principal{Models: []string{"boreal/fjord-pro", "meridian/atlas-nano"}}
	for b.Loop() {
		s.List(p.MayUse)
	}
}

func BenchmarkSnapshot(b *testing.B) {
	f := parse(b, string(Default()))
	for b.Loop() {
		snapshotFrom(b, f)
	}
}
