package catalog

import (
	"cmp"
	"maps"
	"strings"

	"umg/app/llm"
	"umg/app/preset"
)

// Wire is how calls of one style go to a provider with a preset. It never changes.
type Wire struct {
	preset.Wire
	// Auth is that of the provider, with the service of the style.
	Auth Auth
}

// ModelList is where a provider lists models. Only the base, the headers and the auth of its wire are set. It never changes.
type ModelList struct {
	preset.ModelList
	Wire Wire
}

// BaseURL is the base URL of the calls of the route, without a slash at its end.
func (r *Route) BaseURL() string {
	if r.Wire != nil {
		return r.Wire.Base
	}
	return r.Provider.BaseURL
}

// checkPreset checks the name of the preset and the values of its fields.
func (v *FileProvider) checkPreset(p problems) {
	if v.Preset == "" {
		if len(v.With) > 0 {
			p.addf("with", "has no effect without preset")
		}
		return
	}
	known, ok := preset.Find(v.Preset)
	if !ok {
		p.oneOf("preset", v.Preset, preset.IDs())
		return
	}
	problems := known.Check(v.With, referenceForm.MatchString)
	for _, problem := range problems {
		p.addf("with."+problem.Field, "%s", problem.Text)
	}
	if len(problems) > 0 || !v.hasPresetAuth() {
		return
	}
	settings := known.Expand(v.With)
	switch kind := AuthKind(settings.Auth.Kind); {
	case v.Credential == "" && settings.NeedsCredential:
		p.addf("credential", "is missing; preset %s needs it", v.Preset)
	case v.Credential != "" && !kind.HasCredential():
		p.addf("credential", "is never sent with auth of kind %s; leave it out", kind)
	}
}

// hasPresetAuth reports whether the provider takes its credential as its preset says.
func (v *FileProvider) hasPresetAuth() bool { return v.Auth == (Auth{}) && v.CredentialHeader == "" }

// Expanded is the provider with the members of its preset. Fields without a known value have their examples in it, so that it can be
// checked, and has the auth and the styles that are used.
func (v *FileProvider) Expanded() FileProvider {
	known, ok := preset.Find(v.Preset)
	if !ok {
		return *v
	}
	x := *v
	x.With = maps.Clone(v.With)
	maps.DeleteFunc(x.With, func(_, value string) bool { return referenceForm.MatchString(value) })
	x.With = known.WithExamples(x.With)
	x, _ = x.expand(known)
	return x
}

// resolvePreset returns the provider with the members of its preset, and how its calls go to it. Fill returns the text of a field with the
// values of its references, and add gets what is wrong with a field. Earlier is the preset that an upgrade has changed and that is still in
// force; nil for that of the program.
func (v *FileProvider) resolvePreset(
	earlier *preset.Preset, fill func(field, text string) string, add func(field, text string),
) (*FileProvider, map[llm.Style]*Wire, []*ModelList) {
	if v.Preset == "" {
		return v, nil, nil
	}
	known, ok := preset.Find(v.Preset)
	if earlier != nil {
		known, ok = earlier, true
	}
	if !ok {
		add("preset", v.Preset+" is not known to this program")
		return v, nil, nil
	}
	filled := *v
	filled.With = make(map[string]string, len(v.With))
	for _, field := range sortedKeys(v.With) {
		filled.With[field] = fill("with."+field, v.With[field])
	}
	for _, problem := range known.Check(filled.With, nil) {
		if v.With[problem.Field] == "" || filled.With[problem.Field] != "" { // A reference without a value was added by fill.
			add("with."+problem.Field, problem.Text)
		}
	}
	filled.BaseURL = fill("base_url", v.BaseURL)
	expanded, wires := filled.expand(known)
	return &expanded, wires, filled.lists(known.Expand(filled.With).Lists, expanded.Auth)
}

// expand returns the provider with the members of its preset where it has none of its own, and how its calls go to it.
func (v *FileProvider) expand(known *preset.Preset) (FileProvider, map[llm.Style]*Wire) {
	s, x := known.Expand(v.With), *v
	x.Name, x.BaseURL = cmp.Or(v.Name, known.Name), cmp.Or(v.BaseURL, s.Base)
	x.Usage, x.AfterCancel = cmp.Or(v.Usage, known.Usage), cmp.Or(v.AfterCancel, AfterCancel(known.AfterCancel))
	if v.hasPresetAuth() {
		x.Auth = authOf(&s.Auth)
	}
	x.Headers = s.Headers
	maps.Copy(x.Headers, v.Headers)
	if len(v.Styles) == 0 {
		x.Styles = sortedKeys(s.Wires)
	}
	wires := make(map[llm.Style]*Wire, len(s.Wires))
	for style, w := range s.Wires {
		wires[style] = v.wire(style, w, x.Auth)
	}
	return x, wires
}

// wire is how calls of a style go to the provider: as the preset says, but for the members of the provider itself.
func (v *FileProvider) wire(style llm.Style, w *preset.Wire, auth Auth) *Wire {
	out := &Wire{Wire: *w, Auth: auth}
	out.Base = cmp.Or(strings.TrimRight(v.BaseURL, "/"), w.Base)
	if path := v.Paths[style]; path != "" {
		out.Path, out.StreamPath = path, path
	}
	if v.hasPresetAuth() && auth.Kind == AuthSigV4 {
		out.Auth.Service = cmp.Or(w.Service, auth.Service)
	}
	for name := range v.Headers {
		delete(out.Headers, name)
	}
	return out
}

// lists are where the provider lists its models: as the preset says, but for the members of the provider itself.
func (v *FileProvider) lists(all []preset.List, auth Auth) (lists []*ModelList) {
	for i := range all {
		one := &ModelList{ModelList: all[i].ModelList, Wire: Wire{Wire: all[i].Wire, Auth: auth}}
		one.Wire.Base = strings.TrimRight(cmp.Or(v.BaseURL, one.Wire.Base), "/")
		for name := range v.Headers {
			delete(one.Wire.Headers, name)
		}
		lists = append(lists, one)
	}
	return lists
}

// usualLists are the lists of a provider without a preset, which is taken to list its models as most servers do.
func usualLists(base string, auth Auth) []*ModelList {
	return []*ModelList{{ModelList: preset.UsualList(), Wire: Wire{Wire: preset.Wire{Base: base}, Auth: auth}}}
}

// authOf is the auth of a preset in the form of the catalog.
func authOf(a *preset.Auth) Auth {
	return Auth{
		Kind: AuthKind(a.Kind), Header: a.Header, Parameter: a.Parameter, Service: a.Service, Region: a.Region, Scope: a.Scope,
		Tenant: a.Tenant, ClientID: a.ClientID, Authority: a.Authority,
	}
}
