package operator

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"umg/app"
	"umg/app/catalog"
	"umg/app/catalog/change"
	"umg/app/console/page"
	"umg/app/library"
	"umg/app/preset"
	"umg/app/provider/credentialstore"
	"umg/views"
	operatorpages "umg/views/operator"
	"umg/views/ui"
)

const (
	addressBytes = 500
	nameRunesMax = 100
	fieldWith    = "with_"
	fieldSecret  = "secret_"
	// credentialJSON is the kind of auth whose credential is JSON of several lines.
	credentialJSON = "google"
)

// newProvider shows the form of a preset.
func (c *Console) newProvider(p *page.Page) error {
	known, ok := preset.Find(p.Param("preset"))
	if !ok {
		return page.ErrNotFound()
	}
	form, err := c.providerForm(p, known, p.QueryParams(), "")
	if err != nil {
		return err
	}
	form.ID = form.freeID(known.ID)
	form.Source = operatorpages.CredentialPasted
	form.Reference = usualReference(known, form.with)
	return c.renderProviderForm(p, http.StatusOK, form)
}

// providerForm is a form that is being filled in.
type providerForm struct {
	operatorpages.NewProvider
	preset *preset.Preset
	file   catalog.File
	// with has the values of fields that are no secrets.
	with map[string]string
}

// providerForm reads the form's values that are no secrets from a query or from a sent form, in which their names have a prefix.
func (c *Console) providerForm(p *page.Page, known *preset.Preset, values url.Values, prefix string) (*providerForm, error) {
	ctx := p.Request().Context()
	file, err := catalog.Export(ctx, c.o.DB)
	if err != nil {
		return nil, err
	}
	lib, err := library.Load(ctx, c.o.DB)
	if err != nil {
		return nil, err
	}
	f := &providerForm{preset: known, file: file, with: map[string]string{}}
	f.Shell = c.Shell(p)
	// The theme form returns to this path.
	f.Path = views.NewProviderPath + "/" + known.ID
	f.Preset, f.Docs = presetCard(known, lib, &file), known.Docs
	for i := range known.Fields {
		field := &known.Fields[i]
		value := strings.TrimSpace(values.Get(prefix + field.ID))
		switch {
		case field.Secret || !field.AppliesTo(f.with):
			continue
		case len(field.Options) > 0:
			if !slices.Contains(field.Options, value) {
				value = field.Options[0]
			}
			f.Choice = choiceOf(field, value)
		case len(value) > addressBytes || !app.Storable(value):
			value = ""
		}
		if value != "" {
			f.with[field.ID] = value
		}
		if len(field.Options) == 0 {
			f.Fields = append(f.Fields, operatorpages.PresetField{
				ID: field.ID, Label: field.Label, Value: value, Example: field.Example, Required: field.Required,
			})
		}
	}
	settings := known.Expand(known.WithExamples(f.with))
	f.AddressOf = settings.Base
	if known.Base == "{address}" {
		f.AddressOf = "" // The address is a field of the preset.
	}
	for _, id := range settings.Auth.Credential {
		i := slices.IndexFunc(known.Fields, func(field preset.Field) bool { return field.ID == id })
		f.Secrets = append(f.Secrets, operatorpages.PresetField{
			ID: id, Label: known.Fields[i].Label, Required: known.Fields[i].Required, Lines: settings.Auth.Kind == credentialJSON,
		})
	}
	return f, nil
}

// optionLabel is an option of a preset in words.
func optionLabel(option string) string {
	label := strings.ReplaceAll(option, "_", " ")
	return strings.ReplaceAll(strings.ToUpper(label[:1])+label[1:], "Api ", "API ")
}

// choiceOf is a field with options.
func choiceOf(field *preset.Field, value string) *operatorpages.ProviderChoice {
	choice := &operatorpages.ProviderChoice{ID: field.ID, Label: field.Label, Value: value}
	for _, option := range field.Options {
		choice.Options = append(choice.Options, ui.Option{Value: option, Label: optionLabel(option)})
	}
	return choice
}

// freeID is an id that no provider has, beginning with that of the preset.
func (f *providerForm) freeID(base string) string {
	isTaken := func(id string) bool {
		return slices.ContainsFunc(f.file.Providers, func(p catalog.FileProvider) bool { return p.ID == id })
	}
	id := base
	for n := 2; isTaken(id); n++ {
		id = base + "-" + strconv.Itoa(n)
	}
	return id
}

// usualReference is the reference to the variables that tools of the provider use.
func usualReference(known *preset.Preset, with map[string]string) string {
	var parts []string
	for _, id := range known.Expand(known.WithExamples(with)).Auth.Credential {
		i := slices.IndexFunc(known.Fields, func(field preset.Field) bool { return field.ID == id })
		if field := &known.Fields[i]; field.Required && field.Env != "" {
			parts = append(parts, "${"+field.Env+"}")
		}
	}
	return strings.Join(parts, ":")
}

func (c *Console) renderProviderForm(p *page.Page, status int, f *providerForm) error {
	return c.Render(p, status, operatorpages.NewProviderPage(f.NewProvider))
}

// addProvider stores a provider as a draft, or shows the form again with what is invalid. A valid credential is stored in both cases.
func (c *Console) addProvider(p *page.Page) error {
	known, ok := preset.Find(p.Param("preset"))
	if !ok {
		return page.ErrNotFound()
	}
	values, err := p.FormParams()
	if err != nil {
		return err
	}
	f, err := c.providerForm(p, known, values, fieldWith)
	if err != nil {
		return err
	}
	f.ID, f.Name = strings.TrimSpace(values.Get("id")), strings.TrimSpace(values.Get("name"))
	f.Address, f.Source = strings.TrimSpace(values.Get("address")), operatorpages.CredentialPasted
	f.Reference = strings.TrimSpace(values.Get("reference"))
	if f.Reference == "" {
		f.Reference = usualReference(known, f.with)
	}
	if values.Get("source") == operatorpages.CredentialReference {
		f.Source = operatorpages.CredentialReference
	}
	added := catalog.FileProvider{
		ID: f.ID, Name: f.Name, Preset: known.ID, With: maps.Clone(f.with), BaseURL: f.Address, Disabled: true,
	}
	if len(added.With) == 0 {
		added.With = nil
	}
	if err := c.takeCredential(p, f, &added, values); err != nil {
		return err
	}
	f.check(&added)
	if f.hasErrors() {
		return c.renderProviderForm(p, http.StatusUnprocessableEntity, f)
	}
	action := catalog.HistoryAction{By: p.User.Email, Note: "Add the provider " + added.ID + " as a draft", BelowCost: true}
	_, err = catalog.Edit(p.Request().Context(), c.o.DB, action, 0, func(file catalog.File) (catalog.File, error) {
		return change.AddProvider(file, added)
	})
	if refusal := app.AsError(err); err != nil && refusal.Kind == app.Conflict && refusal.Param == "id" {
		f.IDError = refusal.Message
		return c.renderProviderForm(p, http.StatusUnprocessableEntity, f)
	}
	return c.Done(p, err, "Stored "+added.ID+" as a draft.", views.ProviderPath(added.ID, "test"))
}

// takeCredential sets the credential of the provider as a reference. It stores a pasted one when it is valid.
func (c *Console) takeCredential(p *page.Page, f *providerForm, added *catalog.FileProvider, values url.Values) error {
	if len(f.Secrets) == 0 {
		return nil
	}
	sources, err := c.o.References(p.Request().Context())
	if err != nil {
		return err
	}
	if f.Source == operatorpages.CredentialReference {
		f.takeReference(added, strings.TrimSpace(values.Get("reference")), sources)
		return nil
	}
	list, err := c.o.Credentials.List(p.Request().Context())
	if err != nil {
		return err
	}
	if one := findCredentialIn(list, values.Get("stored")); one != nil {
		f.Stored, f.Ending = one.Name, one.LastFour
	}
	value, isSent := f.secret(values)
	switch {
	case !isSent && f.Stored != "":
		added.Credential = catalog.SealedPrefix + f.Stored
		return nil
	case !isSent && !f.needsCredential():
		return nil
	case f.secretErrors():
		f.Pasted = isSent
		return nil
	}
	if problem := unusable(added, value, sources); problem != "" {
		f.SecretError, f.Pasted = problem, true
		return nil
	}
	return c.sealCredential(p, f, added, value, list)
}

// takeReference sets the credential to a reference that this server can read.
func (f *providerForm) takeReference(added *catalog.FileProvider, reference string, sources catalog.Sources) {
	added.Credential = reference
	switch {
	case reference != "":
		f.ReferenceError = badReference(added, sources)
	case f.needsCredential():
		f.ReferenceError = "Enter a reference."
	}
}

// unusable is why a value cannot be the credential of a provider, as a sentence; empty when it can.
func unusable(added *catalog.FileProvider, value string, sources catalog.Sources) string {
	if sources.CheckValue == nil {
		return ""
	}
	if err := sources.CheckValue(added.Expanded().Auth, catalog.NewSecret(value)); err != nil {
		return "The credential cannot be used: " + err.Error() + "."
	}
	return ""
}

// sealCredential stores a pasted credential, and sets the credential of the provider to it.
func (c *Console) sealCredential(
	p *page.Page, f *providerForm, added *catalog.FileProvider, value string, list []credentialstore.Credential,
) error {
	name := freeCredential(f, list)
	err := c.o.Credentials.Set(p.Request().Context(), name, value, p.User.Email)
	if refusal, ok := errors.AsType[*app.Error](err); ok && (refusal.Kind == app.Invalid || refusal.Kind == app.Conflict) {
		f.SecretError, f.Pasted = refusal.Message, true
		return nil
	}
	if err != nil {
		return err
	}
	f.Stored, f.Ending, added.Credential = name, "", catalog.SealedPrefix+name
	if list, err = c.o.Credentials.List(p.Request().Context()); err != nil {
		return err
	}
	if one := findCredentialIn(list, name); one != nil {
		f.Ending = one.LastFour
	}
	return nil
}

// findCredentialIn returns the credential with a name; nil when there is none.
func findCredentialIn(list []credentialstore.Credential, name string) *credentialstore.Credential {
	i := slices.IndexFunc(list, func(one credentialstore.Credential) bool { return one.Name == name })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// freeCredential names the sealed credential of a provider. One that an earlier attempt stored and that no provider uses is replaced.
func freeCredential(f *providerForm, list []credentialstore.Credential) string {
	base := f.ID
	if !catalog.IsSealedName(base) {
		base = f.preset.ID
	}
	used := map[string]bool{}
	for i := range list {
		if list[i].Name == f.Stored && len(list[i].Providers) == 0 {
			return f.Stored
		}
		used[list[i].Name] = true
	}
	name := base
	for n := 2; used[name]; n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	if !catalog.IsSealedName(name) {
		return f.preset.ID + "-" + strconv.Itoa(len(list)+1)
	}
	return name
}

// badReference is why a reference cannot be used on this server, as a sentence; empty when it can.
func badReference(added *catalog.FileProvider, sources catalog.Sources) string {
	enabled := *added
	enabled.Disabled = false
	for _, err := range catalog.CheckReferences(catalog.File{Providers: []catalog.FileProvider{enabled}}, sources) {
		if problem, ok := errors.AsType[catalog.FileError](err); ok && strings.HasSuffix(problem.Path, ".credential") {
			return sentence(problem.Text)
		}
	}
	return ""
}

// secret is the credential that was sent. Its parts have colons between them, and parts at its end may be missing.
func (f *providerForm) secret(values url.Values) (value string, isSent bool) {
	parts := make([]string, 0, len(f.Secrets))
	for i := range f.Secrets {
		field := &f.Secrets[i]
		part := strings.TrimSpace(values.Get(fieldSecret + field.ID))
		isSent = isSent || part != ""
		if part == "" && field.Required {
			field.Error = "Enter the " + lowerFirst(field.Label) + "."
		}
		parts = append(parts, part)
	}
	if !isSent && (f.Stored != "" || !f.needsCredential()) {
		for i := range f.Secrets {
			f.Secrets[i].Error = ""
		}
	}
	return strings.TrimRight(strings.Join(parts, ":"), ":"), isSent
}

func (f *providerForm) secretErrors() bool {
	return slices.ContainsFunc(f.Secrets, func(s operatorpages.PresetField) bool { return s.Error != "" })
}

func (f *providerForm) needsCredential() bool {
	return f.preset.Expand(f.preset.WithExamples(f.with)).NeedsCredential
}

// check places what is wrong with the provider beside the fields.
func (f *providerForm) check(added *catalog.FileProvider) {
	if len([]rune(f.Name)) > nameRunesMax || !app.Storable(f.Name) {
		f.NameError = "Enter a name of at most " + strconv.Itoa(nameRunesMax) + " characters."
	}
	next, err := change.AddProvider(f.file, *added)
	if err != nil {
		f.IDError = app.AsError(err).Message
		if f.ID == "" {
			f.IDError = "Enter an id."
		}
		next = catalog.File{Providers: []catalog.FileProvider{*added}}
	}
	prefix := "providers[" + strconv.Itoa(len(next.Providers)-1) + "]."
	for _, problem := range catalog.Check(next) {
		found, ok := errors.AsType[catalog.FileError](problem)
		if !ok {
			f.Problem = problem.Error()
			continue
		}
		path, isOwn := strings.CutPrefix(found.Path, prefix)
		if !isOwn {
			f.Problem = "The catalog in force has a problem of its own: " + found.Error()
			continue
		}
		f.place(path, found.Text)
	}
}

// place puts a problem beside its field, or above the form.
func (f *providerForm) place(path, text string) {
	field, isWith := strings.CutPrefix(path, "with.")
	i := slices.IndexFunc(f.Fields, func(one operatorpages.PresetField) bool { return isWith && one.ID == field })
	switch {
	case i >= 0:
		f.Fields[i].Error = sentence(f.Fields[i].Label + " " + text)
	case path == "id":
		if f.IDError == "" {
			f.IDError = "Enter small letters, digits and hyphens, beginning with a letter or digit."
		}
	case path == "name":
		f.NameError = sentence("The name " + text)
	case path == "base_url":
		f.AddressError = sentence("The address " + text)
	case path == "credential" && f.Source == operatorpages.CredentialReference:
		if f.ReferenceError == "" {
			f.ReferenceError = sentence("The reference " + text)
		}
	case path == "credential":
		if f.SecretError == "" && !f.secretErrors() {
			f.SecretError = "Enter the credential."
		}
	default:
		f.Problem = path + ": " + text
	}
}

func (f *providerForm) hasErrors() bool {
	return f.IDError+f.NameError+f.ReferenceError+f.SecretError+f.AddressError+f.Problem != "" || f.secretErrors() ||
		slices.ContainsFunc(f.Fields, func(one operatorpages.PresetField) bool { return one.Error != "" })
}

// sentence is a text with a capital letter and a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.TrimRight(strings.ToUpper(text[:1])+text[1:], ".") + "."
}

// lowerFirst begins a label in the middle of a sentence. An abbreviation stays as it is.
func lowerFirst(label string) string {
	if len(label) > 1 && strings.ToUpper(label[:2]) == label[:2] {
		return label
	}
	return strings.ToLower(label[:1]) + label[1:]
}

// providerOf is the provider of the catalog in force that the path names, with the catalog and its version.
func (c *Console) providerOf(p *page.Page) (catalog.File, *catalog.FileProvider, int64, error) {
	file, version, err := catalog.ExportVersion(p.Request().Context(), c.o.DB)
	if err != nil {
		return file, nil, 0, err
	}
	i := slices.IndexFunc(file.Providers, func(f catalog.FileProvider) bool { return f.ID == p.Param("id") })
	if i < 0 {
		return file, nil, 0, page.ErrNotFound()
	}
	return file, &file.Providers[i], version, nil
}

// aboutProvider is the provider as the pages of its steps show it.
func aboutProvider(f *catalog.FileProvider, file *catalog.File) operatorpages.ProviderAbout {
	about := operatorpages.ProviderAbout{ID: f.ID, Name: f.Name, Draft: f.Disabled}
	if known, ok := preset.Find(f.Preset); ok && about.Name == "" {
		about.Name = known.Name
	}
	if about.Name == "" {
		about.Name = f.ID
	}
	for i := range file.Models {
		for j := range file.Models[i].Routes {
			about.Draft = about.Draft && file.Models[i].Routes[j].Provider != f.ID
		}
	}
	return about
}
