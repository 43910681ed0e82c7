package console

import (
	"net/http"
	"strings"
	"time"

	"umg/app"
	"umg/app/account"
	"umg/app/llm"
	"umg/views"
	"umg/views/ui"
)

const (
	keysPath    = consolePath + "/keys"
	lately      = 24 * time.Hour // a key used since is in use
	maskEllipse = "…"
)

func (c *Console) keys(p *page) error {
	keys, err := c.listKeys(p)
	if err != nil {
		return err
	}
	return c.render(p, http.StatusOK, views.KeysPage(views.Keys{Shell: c.shell(p), Keys: keys}))
}

func (c *Console) listKeys(p *page) ([]views.Key, error) {
	found, err := c.o.Accounts.Keys(p.Request().Context(), p.user.Principal())
	if err != nil {
		return nil, err
	}
	keys := make([]views.Key, len(found))
	for i, k := range found {
		keys[i] = viewKey(k)
	}
	return keys, nil
}

func viewKey(k account.Key) views.Key {
	return views.Key{
		ID: k.ID, Name: k.Name, Masked: k.Prefix + maskEllipse + k.LastFour, Env: k.Env, ErrorMode: string(k.ErrorMode), Disabled: k.Disabled,
		CreatedAt: k.CreatedAt, CreatedBy: k.CreatedBy, LastUsed: k.LastUsedAt, ExpiresAt: k.ExpiresAt,
	}
}

func (c *Console) newKey(p *page) error {
	return c.render(p, http.StatusOK, views.KeyNewPage(views.KeyNew{Shell: c.shell(p), Form: views.NewKeyForm()}))
}

// createKey answers with the secret itself instead of leading to another page: it is shown once and kept nowhere.
func (c *Console) createKey(p *page) error {
	form := views.KeyForm{Name: p.FormValue("name"), Env: p.FormValue("env"), Mode: p.FormValue("mode")}
	fromOverview := p.FormValue("from") == "overview"
	key, secret, err := c.o.Accounts.CreateKey(p.Request().Context(), p.user.Principal(), account.KeySpec{
		Name: form.Name, Env: form.Env, ErrorMode: account.ErrorMode(form.Mode),
	})
	if err != nil {
		if err := explainKey(&form, err); err != nil {
			return err
		}
		if fromOverview {
			return c.renderOverview(p, http.StatusUnprocessableEntity, form, nil)
		}
		return c.render(p, http.StatusUnprocessableEntity, views.KeyNewPage(views.KeyNew{Shell: c.shell(p), Form: form}))
	}
	fresh := views.FreshKey{Key: viewKey(key), Secret: secret}
	if fromOverview {
		return c.renderOverview(p, http.StatusOK, views.NewKeyForm(), &fresh)
	}
	keys, err := c.listKeys(p)
	if err != nil {
		return err
	}
	return c.render(p, http.StatusOK, views.KeyCreatedPage(views.KeyCreated{
		Shell: c.shell(p), Fresh: fresh, Call: c.sampleCall(secret), Language: language(p), Keys: keys,
	}))
}

// explainKey puts a refusal beside the field it concerns; other faults come back as they are.
func explainKey(form *views.KeyForm, err error) error {
	refusal := app.AsError(err)
	switch {
	case refusal.Kind != app.Invalid && refusal.Kind != app.Conflict:
		return err
	case refusal.Param == "name":
		form.NameError = refusal.Message
	case refusal.Param == "env":
		form.EnvError = refusal.Message
	case refusal.Param == "error_mode":
		form.ModeError = refusal.Message
	default:
		form.FormError = refusal.Message
	}
	return nil
}

// sampleCall is the cheapest way to try the API: the model with the lowest price for a word out.
func (c *Console) sampleCall(secret string) views.Call {
	call := views.Call{BaseURL: c.apiURL(), Key: secret}
	if m, ok := c.o.Catalog.Snapshot().Cheapest(llm.Chat); ok {
		call.Model = m.ID
	}
	return call
}

func language(p *page) string {
	cookie, err := p.Cookie(languageCookie)
	if err != nil {
		return ""
	}
	return cookie.Value
}

func (c *Console) disableKey(p *page) error {
	return c.switchKey(p, true, "Key disabled. Programs that use it are refused.")
}

func (c *Console) enableKey(p *page) error { return c.switchKey(p, false, "Key enabled.") }

func (c *Console) switchKey(p *page, disabled bool, done string) error {
	if err := c.o.Accounts.DisableKey(p.Request().Context(), p.user.Principal(), p.Param("id"), disabled); err != nil {
		return err
	}
	return c.say(p, ui.Success, done, keysPath)
}

// deletion finds the key that the page is about among the account's own.
func (c *Console) deletion(p *page) (views.KeyDelete, error) {
	keys, err := c.listKeys(p)
	if err != nil {
		return views.KeyDelete{}, err
	}
	for _, k := range keys {
		if k.ID == p.Param("id") {
			inUse := k.LastUsed != nil && c.o.Now().Sub(*k.LastUsed) < lately
			return views.KeyDelete{Shell: c.shell(p), Key: k, TypeName: inUse}, nil
		}
	}
	return views.KeyDelete{}, app.Errorf(app.NotFound, "key_not_found", "There is no such key.")
}

func (c *Console) askDeleteKey(p *page) error {
	d, err := c.deletion(p)
	if err != nil {
		return err
	}
	return c.render(p, http.StatusOK, views.KeyDeletePage(d))
}

// sameAsShown compares a typed name with a key's the way a browser shows it: blanks in a row are one.
func sameAsShown(typed, name string) bool {
	return strings.Join(strings.Fields(typed), " ") == strings.Join(strings.Fields(name), " ")
}

func (c *Console) deleteKey(p *page) error {
	d, err := c.deletion(p)
	if err != nil {
		return err
	}
	if d.TypeName && !sameAsShown(p.FormValue("name"), d.Key.Name) {
		d.NameError = "Type the name exactly as it is shown: " + d.Key.Name
		return c.render(p, http.StatusUnprocessableEntity, views.KeyDeletePage(d))
	}
	if err := c.o.Accounts.DeleteKey(p.Request().Context(), p.user.Principal(), d.Key.ID); err != nil {
		return err
	}
	return c.say(p, ui.Success, d.Key.Name+" was deleted.", keysPath)
}
