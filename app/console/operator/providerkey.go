package operator

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"umg/app"
	"umg/app/catalog"
	"umg/app/catalog/change"
	"umg/app/console/page"
	"umg/app/preset"
	"umg/views"
	operatorpages "umg/views/operator"
)

// askKey shows the form that replaces the credential of a provider.
func (c *Console) askKey(p *page.Page) error {
	f, one, version, err := c.providerOf(p)
	if err != nil {
		return err
	}
	v := operatorpages.ProviderKeyForm{CatalogForm: operatorpages.CatalogForm{Version: version}, How: operatorpages.KeyPasted}
	if _, isSealed := sealedName(one.Credential); one.Credential != "" && !isSealed {
		v.How = operatorpages.KeyReference
	}
	v.Reference = one.Credential
	return c.showKey(p, http.StatusOK, &f, one, v)
}

func (c *Console) showKey(
	p *page.Page, status int, f *catalog.File, one *catalog.FileProvider, v operatorpages.ProviderKeyForm,
) error {
	v.Shell, v.ID, v.Name = c.Shell(p), one.ID, providerName(f, one.ID)
	// The theme form returns to this path.
	v.Path = views.ProvidersPath
	v.Sealed, v.Others = keyName(f, one)
	v.Parts = keyParts(one)
	if c.o.Credentials == nil {
		v.Unsealed, v.How = "This server has no secret key, so it stores no credentials.", operatorpages.KeyReference
	}
	return c.Render(p, status, operatorpages.ProviderKeyPage(v))
}

// keyName is the name under which a pasted credential is stored, and the other providers that use it.
func keyName(f *catalog.File, one *catalog.FileProvider) (name string, others []string) {
	name, isSealed := sealedName(one.Credential)
	if !isSealed {
		return ownKeyName(f, one.ID), nil
	}
	return name, slices.DeleteFunc(slices.Clone(f.SealedNames()[name]), func(id string) bool { return id == one.ID })
}

// ownKeyName is a name that no other provider uses.
func ownKeyName(f *catalog.File, id string) string {
	uses := f.SealedNames()
	isFree := func(name string) bool {
		return !slices.ContainsFunc(uses[name], func(other string) bool { return other != id })
	}
	name := id
	for n := 2; !isFree(name); n++ {
		name = id + "-" + strconv.Itoa(n)
	}
	return name
}

// keyParts are the fields of a pasted credential: those of the preset, or one for the whole.
func keyParts(one *catalog.FileProvider) []operatorpages.ProviderField {
	known := presetOf(one)
	if known == nil || one.Auth != (catalog.Auth{}) || one.CredentialHeader != "" {
		return []operatorpages.ProviderField{{Name: "key", Label: "Credential", Required: true}}
	}
	var parts []operatorpages.ProviderField
	for _, id := range known.Expand(one.With).Auth.Credential {
		i := slices.IndexFunc(known.Fields, func(f preset.Field) bool { return f.ID == id })
		if i >= 0 {
			parts = append(parts, operatorpages.ProviderField{Name: id, Label: known.Fields[i].Label, Required: known.Fields[i].Required})
		}
	}
	return parts
}

// replaceKey replaces the credential of a provider, by a pasted one or by a reference.
func (c *Console) replaceKey(p *page.Page) error {
	f, one, inForce, err := c.providerOf(p)
	if err != nil {
		return err
	}
	opened, _ := strconv.ParseInt(p.FormValue("version"), 10, 64)
	v := operatorpages.ProviderKeyForm{
		CatalogForm: operatorpages.CatalogForm{Version: inForce, Errors: map[string]string{}}, How: p.FormValue("how"),
		Reference: strings.TrimSpace(p.FormValue("reference")), Own: p.FormValue("own") == "true",
	}
	if opened != 0 && opened != inForce {
		if v.Conflict, err = c.conflictSince(p.Request().Context(), opened); err != nil {
			return err
		}
		return c.showKey(p, http.StatusConflict, &f, one, v)
	}
	if err := c.o.Accounts.Prove(p.Request().Context(), p.Principal(), p.FormValue("current_password")); err != nil {
		return c.refuseKey(p, &f, one, v, err)
	}
	reference := v.Reference
	if v.How != operatorpages.KeyReference {
		if reference, err = c.storeKey(p, &f, one, v.Own); err != nil {
			return c.refuseKey(p, &f, one, v, err)
		}
	}
	by := catalog.HistoryAction{By: p.User.Email, Note: "Replaced the credential of " + one.ID + ".", BelowCost: true}
	_, err = catalog.Edit(p.Request().Context(), c.o.DB, by, inForce, func(f catalog.File) (catalog.File, error) {
		return setReference(f, one.ID, reference)
	})
	if err != nil {
		return c.refuseKey(p, &f, one, v, err)
	}
	return c.Done(p, nil, "Replaced the credential. All servers use it within a second.", views.ProviderPath(one.ID))
}

// setReference sets the reference of a provider's first credential.
func setReference(f catalog.File, id, reference string) (catalog.File, error) {
	i := slices.IndexFunc(f.Providers, func(one catalog.FileProvider) bool { return one.ID == id })
	if i < 0 {
		return f, page.ErrNotFound()
	}
	next := f.Providers[i]
	next.Credential = reference
	return change.ReplaceProvider(f, next)
}

// storeKey stores a pasted credential and returns its reference.
func (c *Console) storeKey(p *page.Page, f *catalog.File, one *catalog.FileProvider, own bool) (string, error) {
	if c.o.Credentials == nil {
		return "", app.InvalidValue("how", "This server has no secret key, so it stores no credentials.")
	}
	var parts []string
	for _, part := range keyParts(one) {
		value := strings.TrimSpace(p.FormValue("part." + part.Name))
		if value == "" && part.Required {
			return "", app.InvalidValue("part."+part.Name, "Enter the credential.")
		}
		if value != "" {
			parts = append(parts, value)
		}
	}
	name, _ := keyName(f, one)
	if own {
		name = ownKeyName(f, one.ID)
	}
	err := c.o.Credentials.Set(p.Request().Context(), name, strings.Join(parts, ":"), p.User.Email)
	if refusal, ok := page.Refusal(err); ok && refusal.Param == "value" && len(keyParts(one)) > 0 {
		return "", app.InvalidValue("part."+keyParts(one)[0].Name, "%s", refusal.Message)
	}
	return "sealed:" + name, err
}

// refuseKey shows the form again, without the credential, with what is wrong.
func (c *Console) refuseKey(
	p *page.Page, f *catalog.File, one *catalog.FileProvider, v operatorpages.ProviderKeyForm, err error,
) error {
	refusal, isRefusal := errors.AsType[*app.Error](err)
	problem, isProblem := errors.AsType[catalog.FileError](err)
	status := http.StatusUnprocessableEntity
	switch {
	case isProblem && strings.HasSuffix(problem.Path, ".credential"):
		v.Errors["credential"] = "The reference " + problem.Text + "."
	case isProblem:
		v.Problem = problem.Error()
	case !isRefusal:
		return err
	case refusal.Kind == app.Exhausted:
		v.Problem, status = refusal.Message, http.StatusTooManyRequests
	case refusal.Kind == app.Conflict:
		v.Problem, status = refusal.Message, http.StatusConflict
	case refusal.Param != "":
		v.Errors[refusal.Param] = refusal.Message
	default:
		return err
	}
	return c.showKey(p, status, f, one, v)
}
