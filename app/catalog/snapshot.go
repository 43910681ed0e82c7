package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"umg/app/llm"
	"umg/app/provider/quirk"
	"umg/billing"
)

// A provider and a model that name no waits have these.
const (
	connectDefault   = 5 * time.Second
	firstByteDefault = 60 * time.Second
	idleDefault      = 60 * time.Second
	totalDefault     = 10 * time.Minute
)

// Snapshot is one version of the catalog with everything prepared. It never changes, so that its holder sees one
// consistent state for any length of time.
type Snapshot struct {
	version   int64
	models    []*Model
	byID      map[string]*Model
	providers []*Provider
	aliases   []PathAlias
	spellings map[string][]string
	keys      []string
	list      []byte
	etag      string
	loadedAt  time.Time
	// forms are the forms of all contracts, by their keys.
	forms map[string]*contractForm
	// sealedVersion counts the changes of the sealed credentials.
	sealedVersion int64
	// files are the contents of the files of credentials.
	files map[string]Secret

	// views are what accounts see; nil when all see everything.
	views *views
	// narrowed means that the snapshot is what account sees.
	narrowed bool
	account  string
}

// Version counts the changes of the catalog. Replicas with the same version hold the same catalog.
func (s *Snapshot) Version() int64 { return s.version }

// Model finds a model by its id or by one of its aliases, whether it is available or not. A snapshot of For finds only what its account
// sees.
func (s *Snapshot) Model(id string) (*Model, bool) {
	m, ok := s.byID[id]
	if !ok || s.narrowed && !m.IsVisibleTo(s.account) {
		return nil, false
	}
	return m, true
}

// Models lists all models in catalog order, the coming ones too. The caller must not change the list.
func (s *Snapshot) Models() []*Model { return s.models }

// Providers lists all providers in catalog order. The caller must not change the list.
func (s *Snapshot) Providers() []*Provider { return s.providers }

// Provider finds a provider by its id, whether it can be used or not.
func (s *Snapshot) Provider(id string) (*Provider, bool) {
	return s.findProvider(func(p *Provider) bool { return p.ID == id })
}

func (s *Snapshot) findProvider(is func(*Provider) bool) (*Provider, bool) {
	i := slices.IndexFunc(s.providers, is)
	if i < 0 {
		return nil, false
	}
	return s.providers[i], true
}

// Unusable are the providers that this process cannot call, by id, with the reason: usually a credential is missing in its environment.
// Another process may be able to call them.
func (s *Snapshot) Unusable() map[string]string {
	why := map[string]string{}
	for _, p := range s.providers {
		if p.Unusable != "" {
			why[p.ID] = p.Unusable
		}
	}
	return why
}

// AssetProvider registers new material assets. It is the first provider in catalog order that stores assets and can be used.
func (s *Snapshot) AssetProvider() (*Provider, bool) {
	return s.findProvider(func(p *Provider) bool { return p.AssetGroup != "" && p.Unusable == "" })
}

// Variants lists the models whose ids differ from the given one only after the colon, so that an error about an unknown variant can
// name the known ones.
func (s *Snapshot) Variants(id string) []string {
	base, _, _ := strings.Cut(id, ":")
	var ids []string
	for _, m := range s.models {
		if other, _, _ := strings.Cut(m.ID, ":"); other == base && m.ID != id {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// LoadedAt is when this replica has read the version.
func (s *Snapshot) LoadedAt() time.Time { return s.loadedAt }

// KeyHeaders lists the headers that may have the key when Authorization is absent, in lower case. The caller must not change it.
func (s *Snapshot) KeyHeaders() []string { return s.keys }

// Spellings are a header's canonical name and those of its aliases, in a fixed order. The caller must not change them.
func (s *Snapshot) Spellings(header string) []string {
	if list := s.spellings[http.CanonicalHeaderKey(header)]; list != nil {
		return list
	}
	return []string{http.CanonicalHeaderKey(header)}
}

// PathAlias is another path of an operation, in which {model} matches an id of any number of segments.
type PathAlias struct{ Path, Operation string }

// PathAliases are the other paths that the API answers, the longest first, so that the first match is the most exact. The caller must
// not change them.
func (s *Snapshot) PathAliases() []PathAlias { return s.aliases }

// Route is one provider that serves a model.
type Route struct {
	ID       string
	Provider *Provider
	// Model is the provider's name of the model.
	Model string
	Style llm.Style
	// Wire is how calls go to a provider with a preset; nil for one that gets them as the style has them.
	Wire          *Wire
	Order, Weight int
	Timeouts      Timeouts
	// Extras are the rows of the table of extras of the style that the provider does and the model has a price for.
	Extras llm.ExtraSet
	// Quirks are in what requests to the provider differ; nil when they do not.
	Quirks *quirk.Rules
	// ImagesAsData means that the provider fetches no images by their addresses.
	ImagesAsData bool
	// EndUserMember is where the provider takes the id of an end user; empty when it is not known to take one.
	EndUserMember string
	// CostCard is what the provider charges the operator for calls of the route; nil when that is unknown.
	CostCard *billing.RateCard
}

// Provider is an upstream with its references resolved.
type Provider struct {
	ID, Name string
	// BaseURL has no slash at its end.
	BaseURL string
	// Credentials has at least one entry, which may be empty.
	Credentials []Secret
	// CredentialIDs are the references of the credentials in the file, in their order. They are stable and no secrets.
	CredentialIDs []string
	Proxy         string
	Prefill       []llm.Style
	Breaker       Breaker
	// CredentialHeader is empty for Authorization: Bearer.
	CredentialHeader string
	// Auth is how the credentials are used. Its header is in CredentialHeader.
	Auth    Auth
	Headers map[string]string
	// Paths are the paths below BaseURL that differ from those of the style. Where there is a wire, they are part of it.
	Paths map[llm.Style]string
	// Wires are how calls of each style of the preset go to the provider; nil without a preset.
	Wires map[llm.Style]*Wire
	// Lists are where the provider lists its models; none when it has no list.
	Lists    []*ModelList
	Timeouts Timeouts
	Limits   ProviderLimits
	// AssetGroup is the gateway's resource group for material assets. It is empty when the provider keeps none.
	AssetGroup string
	// UsageReader names the reader of the usage in answers; empty for that of the style.
	UsageReader string
	// AfterCancel is what the provider does when the gateway cancels a request.
	AfterCancel AfterCancel
	// CostIsPrice means that the cost that the provider states in an answer is the price of the call.
	CostIsPrice bool
	// Spend has the spend caps; nil when there are none.
	Spend *FileSpend
	// Unusable is why the routes of the provider cannot be used. It is empty when they can.
	Unusable string

	// totalNamed means that the file sets Timeouts.Total.
	totalNamed bool
}

// Breaker is when a model of a provider is ejected, and for how long.
type Breaker struct {
	Failures, FailurePercent, CallsMin int
	// Ejection is the length of the first ejection.
	Ejection time.Duration
	// EjectionMax bounds later ejections.
	EjectionMax time.Duration
}

// A provider that names no breaker has this one.
const (
	breakerFailuresDefault = 5
	breakerPercentDefault  = 50
	breakerCallsMinDefault = 20
	breakerEjectDefault    = 5 * time.Second
	breakerEjectMaxDefault = 15 * time.Second
)

// Settings are the numbers of a breaker with the defaults of those that are absent. The longest ejection is never shorter than
// the first one.
func (b FileBreaker) Settings() Breaker {
	set := Breaker{
		Failures: cmp.Or(b.Failures, breakerFailuresDefault), FailurePercent: cmp.Or(b.FailurePercent, breakerPercentDefault),
		CallsMin: cmp.Or(b.CallsMin, breakerCallsMinDefault), Ejection: time.Duration(b.Ejection), EjectionMax: time.Duration(b.EjectionMax),
	}
	if set.Ejection == 0 {
		set.Ejection = min(breakerEjectDefault, cmp.Or(set.EjectionMax, breakerEjectMaxDefault))
	}
	set.EjectionMax = cmp.Or(set.EjectionMax, max(breakerEjectMaxDefault, set.Ejection))
	return set
}

// Timeouts are the waits for a provider. Content is zero where no file names it; see ContentMax.
type Timeouts struct{ Connect, FirstByte, Idle, Content, Total time.Duration }

func (t FileTimeouts) withDefaults(base Timeouts) Timeouts {
	return Timeouts{
		Connect: cmp.Or(time.Duration(t.Connect), base.Connect), FirstByte: cmp.Or(time.Duration(t.FirstByte), base.FirstByte),
		Idle: cmp.Or(time.Duration(t.Idle), base.Idle), Content: cmp.Or(time.Duration(t.Content), base.Content),
		Total: cmp.Or(time.Duration(t.Total), base.Total),
	}
}

// SecretLookup finds the value behind a ${NAME} referenceForm.
type SecretLookup func(name string) (string, bool)

// NewSnapshot prepares a file without a database. Each rate card has the id of its model, followed by @1, and each cost card that of its
// route. It returns an error when a contract of the file cannot be made.
func NewSnapshot(f File, o Options) (*Snapshot, error) {
	contracts, err := newContractBuilder(o)
	if err != nil {
		return nil, err
	}
	if f, err = f.withMarkups(); err != nil {
		return nil, err
	}
	return snapshotOf(storedOf(f), nil, contracts, o)
}

// NewDraftSnapshot prepares a file that is not in force, as NewSnapshot does, with the values of credentials from sources.
func NewDraftSnapshot(f File, sources *Sources, o Options) (*Snapshot, error) {
	o.Secrets, o.CheckCredential = sources.Env, sources.CheckValue
	contracts, err := newContractBuilder(o)
	if err != nil {
		return nil, err
	}
	if f, err = f.withMarkups(); err != nil {
		return nil, err
	}
	s := storedOf(f)
	s.sealed = sources.Sealed
	return snapshotOf(s, nil, contracts, o)
}

// storedOf is a file as if it had been stored once. Each rate card has the id of its model, followed by @1, and each cost card that of
// its route.
func storedOf(f File) stored {
	cards, costCards := map[string]string{}, map[string]string{}
	for i := range f.Models {
		m := &f.Models[i]
		cards[m.ID] = m.ID + "@1"
		for _, r := range m.Routes {
			costCards[r.id(m.ID)] = r.id(m.ID) + "@1"
		}
	}
	return stored{file: f, cards: cards, costCards: costCards, version: 1}
}

// snapshotOf prepares everything that a version of the catalog needs. It reuses the contracts of the snapshot before, if there is one,
// whose parameters are the same.
func snapshotOf(s stored, before *Snapshot, contracts *contractBuilder, o Options) (*Snapshot, error) {
	aliases := s.file.Aliases.InForce()
	s.file = s.file.withFamilies()
	snap := &Snapshot{version: s.version, byID: map[string]*Model{}, spellings: map[string][]string{}, loadedAt: o.Now()}
	for _, path := range sortedKeys(aliases.Paths) {
		snap.aliases = append(snap.aliases, PathAlias{Path: path, Operation: aliases.Paths[path]})
	}
	slices.SortStableFunc(snap.aliases, func(a, b PathAlias) int { return len(b.Path) - len(a.Path) })
	set := contracts.set(before)
	providers := map[string]*Provider{}
	snap.sealedVersion, snap.files = s.sealedVersion, map[string]Secret{}
	sources := Sources{Env: o.Secrets, Sealed: s.sealed, CheckValue: o.CheckCredential}
	var err error
	if sources.presets, err = earlierPresets(s.file.Providers, s.presetRecords); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	for i := range s.file.Providers {
		p, r := s.file.Providers[i].resolve(&sources)
		maps.Copy(snap.files, r.files)
		providers[p.ID] = p
		snap.providers = append(snap.providers, p)
	}
	for i := range s.file.Models {
		fm := &s.file.Models[i]
		m, err := fm.prepare(&s, providers, set)
		if err != nil {
			return nil, fmt.Errorf("catalog: model %s: %w", fm.ID, err)
		}
		snap.models = append(snap.models, m)
		snap.byID[m.ID] = m
		for _, alias := range m.Aliases {
			snap.byID[alias] = m
		}
	}
	snap.views = newViews(snap.models)
	for _, alias := range sortedKeys(aliases.Headers) {
		header := http.CanonicalHeaderKey(aliases.Headers[alias])
		if snap.spellings[header] == nil {
			snap.spellings[header] = []string{header}
		}
		snap.spellings[header] = append(snap.spellings[header], http.CanonicalHeaderKey(alias))
		if aliases.Headers[alias] == "authorization" {
			snap.keys = append(snap.keys, alias)
		}
	}
	snap.forms = set.forms
	snap.list = snap.renderList(nil)
	snap.etag = ETag(snap.list)
	return snap, nil
}

// resolve looks up the references of a provider. A missing value makes the provider unusable.
func (v *FileProvider) resolve(sources *Sources) (*Provider, *resolver) {
	r := &resolver{sources: sources}
	v, wires, lists := v.resolvePreset(sources.presets[v.ID], r.fill, func(field, text string) { r.addf(field, "%s", text) })
	r.auth = v.Auth
	p := &Provider{
		ID: v.ID, Name: v.Name, BaseURL: strings.TrimRight(r.fill("base_url", v.BaseURL), "/"),
		Credentials: []Secret{r.credential("credential", v.Credential)}, CredentialIDs: []string{v.Credential},
		CredentialHeader: cmp.Or(v.CredentialHeader, v.Auth.Header), Auth: v.Auth, Headers: map[string]string{},
		Paths: maps.Clone(v.Paths), Wires: wires, Lists: lists, Limits: v.Limits,
		AssetGroup: v.Assets.Group, Proxy: r.fill("proxy", v.Proxy), Prefill: v.Prefill, Breaker: v.Breaker.Settings(),
		UsageReader: v.Usage, AfterCancel: cmp.Or(v.AfterCancel, CancelUnknown), CostIsPrice: v.ProviderCost == CostIsPrice,
		Spend: v.spendCaps(), totalNamed: v.Timeouts.Total > 0,
	}
	if v.Preset == "" {
		p.Lists = usualLists(p.BaseURL, v.Auth)
	}
	p.Timeouts = v.Timeouts.withDefaults(
		Timeouts{Connect: connectDefault, FirstByte: firstByteDefault, Idle: idleDefault, Total: totalDefault})
	for i, one := range v.Credentials {
		p.Credentials = append(p.Credentials, r.credential(fmt.Sprintf("credentials[%d]", i), one))
		p.CredentialIDs = append(p.CredentialIDs, one)
	}
	for _, name := range sortedKeys(v.Headers) {
		p.Headers[name] = r.fill("headers."+name, v.Headers[name])
		if !headerBytes.MatchString(p.Headers[name]) {
			r.addf("headers."+name, "the value has characters that no header may have")
		}
	}
	// A proxy with resolved references may have a name and a password, which a base URL must not have.
	proxyURL, err := url.Parse(p.Proxy)
	if badBase := badURL(p.BaseURL); badBase != "" && len(r.problems) == 0 {
		r.addf("base_url", "%s", badBase)
	}
	if p.Proxy != "" && (err != nil || !isHTTP(proxyURL)) {
		r.addf("proxy", "must be an http or https address")
	}
	p.Unusable = r.reasons()
	if v.Disabled {
		p.Unusable = "disabled in the catalog"
	}
	return p, r
}

func (m *FileModel) prepare(s *stored, providers map[string]*Provider, contracts *contractSet) (*Model, error) {
	out := &Model{
		ID: m.ID, Aliases: m.Aliases, Accounts: m.Accounts, Name: m.Name, Description: m.Description, Owner: m.Owner, Kind: m.Kind,
		Abilities: Abilities{
			Capabilities: m.Capabilities, InputModalities: m.Input, OutputModalities: m.Output, ContextTokens: m.ContextTokens,
			MaxOutputTokens: m.MaxOutputTokens, Styles: m.Styles, Parameters: m.Parameters, Thinking: m.thinkingForms(),
			AssetsMax: int(m.Assets),
		},
		Sizes: m.Sizes, Seconds: m.Seconds, Prices: m.Rates, SizePrices: m.SizeRates, Limits: m.Limits,
		CallPolicy: CallPolicy{
			Timeout: cmp.Or(time.Duration(m.Timeout), totalDefault), OnCut: cmp.Or(m.OnCut, CutRecover), LongerContext: m.LongerContext,
			Fallbacks: m.Fallbacks, Hedge: m.Kind == KindText && (m.Hedge == nil || *m.Hedge),
		},
		Lifecycle: Lifecycle{
			Available: m.Availability == Available, Paused: m.Paused, Notice: m.Notice, CreatedAt: time.Time(m.Released),
			DeprecatedAt: m.Deprecated.pointer(), ShutdownAt: m.Shutdown.pointer(), Successor: m.Successor,
		},
		prepared: prepared{contracts: map[llm.Style]*Contract{}, accounts: m.accountSet()},
	}
	if err := out.price(s.cards[m.ID], m.Conditions, m.Announced); err != nil {
		return nil, err
	}
	for _, r := range m.Routes {
		p := providers[r.Provider]
		if p == nil {
			return nil, fmt.Errorf("provider %s does not exist", r.Provider)
		}
		route := Route{ID: r.id(m.ID), Provider: p, Model: r.Model, Style: r.Style, Order: r.Order, Weight: r.Weight}
		route.Wire = p.Wires[r.Style]
		route.Quirks = quirk.Of(p.UsageReader, r.Style, out.alwaysReasons())
		route.ImagesAsData = quirk.TakesImagesAsData(p.UsageReader, r.Style)
		route.EndUserMember = quirk.EndUserMember(p.UsageReader, r.Style)
		route.Timeouts = r.Timeouts.withDefaults(m.Timeouts.withDefaults(p.Timeouts))
		route.Timeouts.Total = m.attemptTotal(&r, p)
		var err error
		if route.CostCard, err = r.costCard(s.costCards[route.ID]); err != nil {
			return nil, err
		}
		if m.Timeout == 0 {
			out.Timeout = max(out.Timeout, route.Timeouts.Total)
		}
		if p.Unusable != "" {
			out.IdleRoutes = append(out.IdleRoutes, route)
			continue
		}
		out.Routes = append(out.Routes, route)
	}
	slices.SortStableFunc(out.Routes, func(a, b Route) int { return cmp.Compare(a.Order, b.Order) })
	if err := m.prepareContracts(out, contracts); err != nil {
		return nil, err
	}
	out.served = servedStyles(out)
	out.lifecycle = out.lifecycleHeaders()
	out.entry = out.render()
	return out, nil
}

// prepareContracts makes the contracts of a model. They depend on what its routes offer beside answers.
func (m *FileModel) prepareContracts(out *Model, contracts *contractSet) (err error) {
	offered := out.prepareExtras(contracts.builder.extras)
	for _, style := range m.Styles {
		params := m.contractParams()
		params.offered = offered[style]
		c, ok, err := contracts.contract(style, params)
		if err != nil {
			return err
		}
		if ok {
			out.contracts[style] = c
		}
	}
	if m.Kind == KindVideo {
		out.video, out.remix, err = contracts.video(m.contractParams())
	}
	return err
}

// costCard is the card of the route's cost; nil when the cost is unknown.
func (r *FileRoute) costCard(id string) (*billing.RateCard, error) {
	if r.Cost == nil {
		return nil, nil //nolint:nilnil // An unknown cost has no card.
	}
	card, err := newCard(id, r.Cost.Rates, r.Cost.Conditions)
	if err != nil {
		return nil, fmt.Errorf("cost of %s: %w", r.Provider, err)
	}
	return &card, nil
}

func (d Date) pointer() *time.Time {
	if d.IsZero() {
		return nil
	}
	return new(time.Time(d))
}
