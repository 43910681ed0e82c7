package catalog

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/app/jsonschema"
	"umg/app/jsontree"
	"umg/app/llm"
)

// codeInvalid is the error code of a parameter with a wrong value.
const codeInvalid = "invalid_request_error"

// pageSizeMax bounds a page of models. A larger limit is lowered to it.
const pageSizeMax = 1000

// listEntry is one model in the list that the tools of all vendors read.
type listEntry struct {
	ID            string `json:"id"`
	Object        string `json:"object"`
	Type          string `json:"type"`
	Created       int64  `json:"created"`
	CreatedAt     string `json:"created_at"`
	OwnedBy       string `json:"owned_by"`
	Name          string `json:"name"`
	DisplayName   string `json:"display_name"`
	Description   string `json:"description"`
	CanonicalSlug string `json:"canonical_slug"`
	Kind          Kind   `json:"kind"`
	Availability  string `json:"availability"`
	// Status is an extension: the state of the model, which the API replaces by that of now.
	Status          string            `json:"status"`
	ContextLength   *int64            `json:"context_length"`
	ContextWindow   *int64            `json:"context_window"`
	MaxOutputTokens *int64            `json:"max_output_tokens"`
	MaxTokens       *int64            `json:"max_tokens"`
	Architecture    architecture      `json:"architecture"`
	Capabilities    []string          `json:"capabilities"`
	Protocols       []llm.Style       `json:"protocols"`
	Pricing         map[string]string `json:"pricing"`
	PricingSKUs     map[string]string `json:"pricing_skus,omitempty"`
	// Prices and PriceConditions are extensions: the whole price list, with units and words.
	Prices              []listedPrice     `json:"prices"`
	PriceConditions     []listedCondition `json:"price_conditions,omitempty"`
	SupportedParameters []string          `json:"supported_parameters"`
	SupportedSizes      []string          `json:"supported_sizes,omitempty"`
	SupportedSeconds    []int64           `json:"supported_seconds,omitempty"`
	// MaxAssets is an extension: how many assets the asset_ids of a video may name.
	MaxAssets        int                  `json:"max_assets,omitempty"`
	TopProvider      topProvider          `json:"top_provider"`
	PerRequestLimits *struct{}            `json:"per_request_limits"`
	RateLimits       map[string]int64     `json:"rate_limits"`
	DeprecationDate  *string              `json:"deprecation_date"`
	DeprecatedAt     *string              `json:"deprecated_at"`
	ShutdownDate     *string              `json:"shutdown_date"`
	Successor        string               `json:"successor,omitempty"`
	ContractHashes   map[llm.Style]string `json:"contract_hashes,omitempty"`
	// Endpoints are the paths of models that no style calls.
	Endpoints []string `json:"endpoints,omitempty"`
	// Fallbacks are the models that serve when no provider of this one answers.
	Fallbacks []string `json:"fallbacks,omitempty"`
}

type architecture struct {
	InputModalities  []string `json:"input_modalities"`
	OutputModalities []string `json:"output_modalities"`
	Modality         string   `json:"modality"`
	Tokenizer        string   `json:"tokenizer"`
}

type topProvider struct {
	ContextLength       *int64 `json:"context_length"`
	MaxCompletionTokens *int64 `json:"max_completion_tokens"`
	IsModerated         bool   `json:"is_moderated"`
}

// pricingNames are the names of meters in the list. Other meters are in pricing_skus.
var pricingNames = []struct{ meter, word string }{
	{"input_tokens", "prompt"}, {"output_tokens", "completion"}, {"cache_read_tokens", "input_cache_read"},
	{"cache_write_tokens", "input_cache_write"}, {"reasoning_tokens", "internal_reasoning"}, {"requests", "request"},
	{"web_searches", "web_search"},
}

var skuNames = []struct{ meter, word string }{
	{"images", "per-image"}, {"seconds", "per-second"}, {"characters", "per-character"},
}

// render makes the entry of a model. It cannot fail, because the entry has only strings and integers.
func (m *Model) render() []byte {
	e := listEntry{
		ID: m.ID, Object: "model", Type: "model", Created: m.CreatedAt.Unix(), CreatedAt: m.CreatedAt.UTC().Format(time.RFC3339),
		OwnedBy: m.Owner, Name: m.Name, DisplayName: m.Name, Description: m.Description, Kind: m.Kind,
		CanonicalSlug: m.ID,
		Availability:  m.availability(),
		Status:        m.status(),
		ContextLength: orNull(m.ContextTokens), ContextWindow: orNull(m.ContextTokens),
		MaxOutputTokens: orNull(m.MaxOutputTokens), MaxTokens: orNull(m.MaxOutputTokens),
		Architecture: architecture{
			InputModalities: m.InputModalities, OutputModalities: m.OutputModalities, Tokenizer: "Other",
			Modality: strings.Join(m.InputModalities, "+") + "->" + strings.Join(m.OutputModalities, "+"),
		},
		Capabilities: m.Capabilities, Protocols: append([]llm.Style{}, m.served...), Pricing: m.pricing(), PricingSKUs: m.pricingSKUs(),
		Prices: m.listedPrices(), PriceConditions: m.listedConditions(),
		SupportedParameters: m.supportedParameters(), SupportedSizes: m.Sizes, SupportedSeconds: m.Seconds, MaxAssets: m.AssetsMax,
		TopProvider: topProvider{ContextLength: orNull(m.ContextTokens), MaxCompletionTokens: orNull(m.MaxOutputTokens)},
		RateLimits:  m.rateLimits(), DeprecationDate: formatted(m.DeprecatedAt, time.DateOnly),
		ShutdownDate: formatted(m.ShutdownAt, time.DateOnly), DeprecatedAt: formatted(m.DeprecatedAt, time.RFC3339),
		Successor: m.Successor, Fallbacks: m.Fallbacks,
	}
	for style, c := range m.contracts {
		if m.Serves(style) {
			if e.ContractHashes == nil {
				e.ContractHashes = map[llm.Style]string{}
			}
			e.ContractHashes[style] = c.Hash()
		}
	}
	if m.ServesVideos() {
		e.ContractHashes = map[llm.Style]string{VideosStyle: m.video.Hash()}
		e.Endpoints = []string{"/v1/videos"}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		panic("catalog: an entry of texts and integers cannot be printed: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

func (m *Model) availability() string {
	switch {
	case !m.Available:
		return string(Coming)
	case m.Paused:
		return "paused"
	default:
		return string(Available)
	}
}

// statusUnserved is the status of a model without a provider that can be used.
const statusUnserved = "unavailable"

// status is the state of the model as far as the catalog decides it.
func (m *Model) status() string {
	if m.Available && !m.Paused && !m.Answers() {
		return statusUnserved
	}
	return m.availability()
}

// EntryWithStatus returns the entry of the list with another status. A paused model has this availability too.
func (m *Model) EntryWithStatus(status string, paused bool) []byte {
	availability := m.availability()
	if paused {
		availability = "paused"
	}
	return bytes.Replace(m.ListEntry(), statusMembers(m.availability(), m.status()), statusMembers(availability, status), 1)
}

// statusMembers are the two members of an entry that have the state. Quotes in texts are escaped, so no text looks like them.
func statusMembers(availability, status string) []byte {
	return []byte(`"availability":"` + availability + `","status":"` + status + `"`)
}

func orNull(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// formatted is a time in UTC in a layout, and null for none.
func formatted(t *time.Time, layout string) *string {
	if t == nil {
		return nil
	}
	return new(t.UTC().Format(layout))
}

// pricing returns exact decimal dollars per unit. Free meters are 0, because tools add up all entries.
func (m *Model) pricing() map[string]string {
	p := map[string]string{"currency": "USD", "prompt": "0", "completion": "0", "image": "0", "request": "0"}
	for _, n := range pricingNames {
		if price, ok := m.Prices[n.meter]; ok {
			p[n.word] = price.PerUnit()
		}
	}
	if price, ok := m.Prices["images"]; ok {
		p["image"] = price.PerUnit()
	}
	return p
}

// pricingSKUs returns the prices of meters other than tokens, with an entry for each size with a price of its own.
func (m *Model) pricingSKUs() map[string]string {
	skus := map[string]string{}
	for _, n := range skuNames {
		word := n.word
		if m.Kind == KindVideo && n.meter == "seconds" {
			word = "per-video-second"
		}
		if price, ok := m.Prices[n.meter]; ok {
			skus[word] = price.PerUnit()
		}
		for size, rates := range m.SizePrices {
			if price, ok := rates[n.meter]; ok {
				skus[word+"-"+size] = price.PerUnit()
			}
		}
	}
	return skus
}

// supportedParameters returns the parameters of every text model, followed by those of the model.
func (m *Model) supportedParameters() []string {
	if m.Kind != KindText {
		return append([]string{}, m.Parameters...)
	}
	return append([]string{"stream", "max_tokens"}, m.Parameters...)
}

func (m *Model) rateLimits() map[string]int64 {
	limits := map[string]int64{}
	for word, n := range map[string]int64{
		"rpm": m.Limits.RequestsPerMinute, "tpm": m.Limits.TokensPerMinute, "concurrency": m.Limits.Concurrency,
		"rpd": m.Limits.RequestsPerDay, "jobs_per_day": m.Limits.JobsPerDay, "jobs_running": m.Limits.JobsRunning,
	} {
		if n > 0 {
			limits[word] = n
		}
	}
	return limits
}

// List returns the body of GET /v1/models for a caller who may use some models. Models that are only announced are left out, because
// tools offer all listed models to their users.
func (s *Snapshot) List(may func(id string) bool) []byte {
	if may == nil && s.list != nil {
		return s.list
	}
	return s.renderList(may)
}

// ETag returns the entity tag of the list of all models. It is empty when the snapshot keeps no list.
func (s *Snapshot) ETag() string { return s.etag }

// ETag returns the entity tag of a body.
func ETag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

func (s *Snapshot) listed(may func(id string) bool) []*Model {
	all := make([]*Model, 0, len(s.models))
	for _, m := range s.models {
		if m.Available && !m.ended(s.loadedAt) && m.IsAllowed(may) {
			all = append(all, m)
		}
	}
	return all
}

func (s *Snapshot) renderList(may func(id string) bool) []byte {
	return renderPage(s.listed(may), false, (*Model).ListEntry)
}

func renderPage(models []*Model, more bool, entry func(*Model) []byte) []byte {
	b := []byte(`{"object":"list","has_more":` + strconv.FormatBool(more) + `,"first_id":`)
	if len(models) == 0 {
		return append(b, `null,"last_id":null,"data":[]}`...)
	}
	b = jsontree.AppendQuoted(b, models[0].ID)
	b = append(b, `,"last_id":`...)
	b = jsontree.AppendQuoted(b, models[len(models)-1].ID)
	b = append(b, `,"data":[`...)
	for i, m := range models {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, entry(m)...)
	}
	return append(b, "]}"...)
}

// Page selects a part of the list. The zero Page is the whole list.
type Page struct {
	// Limit of zero means no limit.
	Limit         int
	After, Before string
	// Kind of the models; empty means all kinds.
	Kind Kind
	// Style selects the models that answer in it, in the layout of the style. Empty means all models, in the common layout.
	Style llm.Style
}

// ParsePage reads limit, after, after_id, before_id and kind. It ignores other parameters.
func ParsePage(q url.Values) (Page, error) {
	p := Page{After: cmp.Or(q.Get("after"), q.Get("after_id")), Before: q.Get("before_id"), Kind: Kind(q.Get("kind"))}
	if p.Kind != "" && !slices.Contains(knownKinds, string(p.Kind)) {
		return Page{}, app.Errorf(app.Invalid, codeInvalid, "kind must be %s, not %s.",
			jsonschema.QuotedList(knownKinds), jsonschema.Excerpt([]byte(p.Kind))).At("kind")
	}
	if p.After != "" && p.Before != "" {
		return Page{}, app.Errorf(app.Invalid, codeInvalid, "before_id cannot be combined with after or after_id.").At("before_id")
	}
	var err error
	p.Limit, err = pageSize(q, "limit", 1)
	return p, err
}

// pageSize reads the size of a page. It is zero when the query has none.
func pageSize(q url.Values, name string, least int) (int, error) {
	raw := q.Get(name)
	if raw == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(raw)
	if err != nil || n < least {
		return 0, app.Errorf(app.Invalid, codeInvalid, "%s must be an integer from 1 to %d, not %s.",
			name, pageSizeMax, jsonschema.Excerpt([]byte(raw))).At(name)
	}
	return min(n, pageSizeMax), nil
}

// ListPage returns one page of List in the order of the list. It returns an *app.Error when After or Before names no model of the list.
func (s *Snapshot) ListPage(may func(id string) bool, p Page) ([]byte, error) {
	if p == (Page{}) {
		return s.List(may), nil
	}
	all := slices.DeleteFunc(s.listed(may), func(m *Model) bool {
		return p.Kind != "" && m.Kind != p.Kind || p.Style != "" && !m.Serves(p.Style)
	})
	page, more, err := p.of(all)
	if err != nil {
		return nil, err
	}
	entry := (*Model).ListEntry
	if p.Style == llm.Messages {
		entry = func(m *Model) []byte { return m.MessagesEntry(s.loadedAt) }
	}
	return renderPage(page, more, entry), nil
}

// of returns the page of a list, and whether there are more models in the direction of the page.
func (p Page) of(all []*Model) (page []*Model, more bool, err error) {
	find := func(param, id string) (int, error) {
		i := slices.IndexFunc(all, func(m *Model) bool { return m.ID == id })
		if i < 0 {
			return 0, app.Errorf(app.Invalid, codeInvalid, "%s names no model of the list: %s.", param, jsonschema.Excerpt([]byte(id))).At(param)
		}
		return i, nil
	}
	if p.Before != "" {
		i, err := find("before_id", p.Before)
		if err != nil {
			return nil, false, err
		}
		all = all[:i]
		if p.Limit > 0 && len(all) > p.Limit {
			return all[len(all)-p.Limit:], true, nil
		}
		return all, false, nil
	}
	if p.After != "" {
		i, err := find("after", p.After)
		if err != nil {
			return nil, false, err
		}
		all = all[i+1:]
	}
	if p.Limit > 0 && len(all) > p.Limit {
		return all[:p.Limit], true, nil
	}
	return all, false, nil
}
