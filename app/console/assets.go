package console

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/app/asset"
	"umg/app/console/page"
	"umg/views/codesample"
	videopages "umg/views/videos"
)

const (
	assetsPath         = page.ConsolePath + "/assets"
	assetsDeleteMax    = 100             // One form deletes at most this many assets.
	assetAskMax        = 3 * time.Second // A page waits this long for the answer of the provider.
	assetExtraBytesMax = 16 << 10        // A page shows at most this many bytes of the provider's further fields.
)

// assetRoutes are the pages about assets.
func (c *Console) assetRoutes() []page.Route {
	const (
		all = "/assets"
		one = all + "/:id"
	)
	a := page.Area{Right: app.UseAssets, Missing: c.o.Assets == nil}
	return []page.Route{
		a.Get(all, c.assets), a.Post(all, c.createAsset), a.Get(all+"/new", c.newAsset),
		a.Post(all+"/delete", c.deleteAssets), a.Get(one, c.asset), a.Get(one+"/preview", c.assetPreview),
		a.Get(one+"/delete", c.askDeleteAsset), a.Post(one+"/delete", c.deleteAsset),
	}
}

func (c *Console) assets(p *page.Page) error {
	q := videopages.ParseAssetQuery(p.QueryParams())
	if p.Request().URL.RequestURI() != q.Path() {
		p.ReplaceURL(q.Path())
	}
	ctx, who := p.Request().Context(), p.Principal()
	found, err := c.o.Assets.List(ctx, who, asset.Filter{
		Page: q.Page, Size: q.Size, Kind: asset.Kind(q.Kind), State: asset.State(q.State), Text: q.Text,
	})
	if err != nil {
		return err
	}
	l := videopages.Assets{Shell: c.Shell(p), Query: q, Total: found.Total, Max: asset.LiveMax, Call: c.assetCall(p)}
	for _, a := range found.Assets {
		l.Assets = append(l.Assets, viewAsset(a))
	}
	if l.Live, err = c.o.Assets.Live(ctx, who.AccountID); err != nil {
		return err
	}
	l.Closed = c.assetsClosed(p, l.Live)
	return c.Render(p, http.StatusOK, videopages.AssetsPage(l))
}

func viewAsset(a asset.Asset) videopages.Asset {
	return videopages.Asset{
		ID: a.ID, Kind: string(a.Kind), Name: a.Name, URL: a.URL, State: string(a.State), Reason: a.Reason, MediaType: a.MediaType,
		Bytes: a.Bytes, Width: a.Width, Height: a.Height, UpstreamID: a.UpstreamID, Extra: extraText(a.Extra), CreatedAt: a.CreatedAt,
	}
}

// extraText returns an object indented over several lines. It is empty for an object without members.
func extraText(object json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Indent(&b, object, "", "  "); err != nil || b.String() == "{}" || b.String() == "null" {
		return ""
	}
	if b.Len() > assetExtraBytesMax {
		return strings.ToValidUTF8(b.String()[:assetExtraBytesMax], "") + "\n…"
	}
	return b.String()
}

// assetsClosed returns why the account cannot make an asset right now, or nil if it can.
func (c *Console) assetsClosed(p *page.Page, live int) *videopages.AssetClosed {
	_, kept := c.o.Catalog.Snapshot().AssetProvider()
	switch {
	case p.User.Frozen:
		return videopages.AssetsFrozen()
	case live >= asset.LiveMax:
		return videopages.AssetsFull(asset.LiveMax)
	case !kept:
		return videopages.AssetsUnkept()
	default:
		return nil
	}
}

// assetCall is a sample call of the first model that takes assets. It names a key only to readers who may see keys.
func (c *Console) assetCall(p *page.Page) codesample.AssetCall {
	call := codesample.AssetCall{BaseURL: c.APIURL(), Language: p.Language()}
	for _, m := range c.videoModels(p) {
		if m.Assets > 0 && m.Callable() {
			call.Model, call.Size, call.Seconds = m.ID, m.Sizes[0], m.Seconds[0]
			break
		}
	}
	if p.Principal().Rights.Has(app.ManageKeys) {
		if hint, err := c.keyHint(p); err == nil {
			call.KeyHint = hint
		}
	}
	return call
}

func (c *Console) newAsset(p *page.Page) error {
	live, err := c.o.Assets.Live(p.Request().Context(), p.User.AccountID)
	if err != nil {
		return err
	}
	return c.renderAssetForm(p, http.StatusOK, videopages.AssetNew{
		Form: videopages.AssetForm{Kind: videopages.AssetImage}, Closed: c.assetsClosed(p, live),
	})
}

func (c *Console) renderAssetForm(p *page.Page, status int, n videopages.AssetNew) error {
	n.Shell = c.Shell(p)
	return c.Render(p, status, videopages.AssetNewPage(n))
}

func (c *Console) createAsset(p *page.Page) error {
	form := videopages.AssetForm{
		Kind: p.FormValue("type"), URL: strings.TrimSpace(p.FormValue("url")), Name: strings.TrimSpace(p.FormValue("name")),
	}
	made, err := c.o.Assets.Create(p.Request().Context(), p.Principal(), asset.Spec{
		Kind: asset.Kind(form.Kind), URL: form.URL, Name: form.Name,
	})
	if err != nil {
		return c.refuseAsset(p, form, err)
	}
	return c.leave(p, "The asset is registered. It can be used as soon as it is active.", videopages.AssetPath(made.ID))
}

// refuseAsset shows the form again with the refusal beside the field that it is about. A fault of the provider is shown above the form.
func (c *Console) refuseAsset(p *page.Page, form videopages.AssetForm, err error) error {
	refusal := app.AsError(err)
	switch {
	case refusal.Kind == app.Internal || refusal.Kind == app.Canceled:
		return err
	case refusal.Code == "asset_limit_reached":
		return c.renderAssetForm(p, http.StatusForbidden, videopages.AssetNew{Closed: videopages.AssetsFull(asset.LiveMax)})
	case refusal.Code == "account_frozen":
		return c.renderAssetForm(p, http.StatusForbidden, videopages.AssetNew{Closed: videopages.AssetsFrozen()})
	case refusal.Param == "asset_type":
		form.KindError = "Choose what the file is: a picture, a film or a sound."
	case refusal.Param == "url" && refusal.Missing:
		form.URLError = "Enter the address at which the file can be fetched."
	case refusal.Param == "url":
		form.URLError = refusal.Message
	case refusal.Param == "name":
		form.NameError = refusal.Message
	default:
		form.FormError = refusal.Message
	}
	return c.renderAssetForm(p, http.StatusUnprocessableEntity, videopages.AssetNew{Form: form})
}

// asset shows one asset. If the asset is neither active nor failed, the provider is asked for its state first. If the provider does not
// answer in time, the page shows the last known state.
func (c *Console) asset(p *page.Page) error {
	ctx, who, id := p.Request().Context(), p.Principal(), p.Param("id")
	found, err := c.o.Assets.Peek(ctx, who, id)
	if err != nil {
		return c.gone(p, err)
	}
	d := videopages.AssetDetail{Call: c.assetCall(p)}
	if found.State != asset.Active && found.State != asset.Failed {
		asking, cancel := context.WithTimeout(ctx, assetAskMax)
		defer cancel()
		fresh, err := c.o.Assets.Get(asking, who, id)
		switch {
		case err == nil:
			found = fresh
		case app.KindOf(err) == app.NotFound:
			return c.gone(p, err)
		default:
			d.NotAsked = "The provider could not be asked how it is now. It is asked again by itself."
		}
	}
	d.Shell, d.Asset = c.Shell(p), viewAsset(found)
	return c.Render(p, http.StatusOK, videopages.AssetPage(d))
}

func (c *Console) askDeleteAsset(p *page.Page) error {
	found, err := c.o.Assets.Peek(p.Request().Context(), p.Principal(), p.Param("id"))
	if err != nil {
		return err
	}
	d := videopages.AssetDelete{Shell: c.Shell(p), Assets: []videopages.Asset{viewAsset(found)}}
	return c.Render(p, http.StatusOK, videopages.AssetDeletePage(d))
}

func (c *Console) deleteAsset(p *page.Page) error {
	return c.Done(p, c.o.Assets.Delete(p.Request().Context(), p.Principal(), p.Param("id")), "The asset was deleted.", assetsPath)
}

// deleteAssets asks about the assets that are ticked, and deletes them when the reader is sure.
func (c *Console) deleteAssets(p *page.Page) error {
	ctx, who := p.Request().Context(), p.Principal()
	found, sure, err := ticked(p, assetsDeleteMax, func(id string) (asset.Asset, error) { return c.o.Assets.Peek(ctx, who, id) })
	if err != nil {
		return err
	}
	if !sure {
		d := videopages.AssetDelete{Shell: c.Shell(p)}
		for _, one := range found {
			d.Assets = append(d.Assets, viewAsset(one))
		}
		return c.Render(p, http.StatusOK, videopages.AssetDeletePage(d))
	}
	deleted, err := deleteEach(found, func(a asset.Asset) error { return c.o.Assets.Delete(ctx, who, a.ID) })
	done := strconv.Itoa(deleted) + " assets were deleted."
	if deleted == 1 {
		done = "The asset was deleted."
	}
	return c.Done(p, err, done, assetsPath)
}

// ticked finds what is ticked in a list, and reports whether the reader is sure about it. What was deleted before is left out.
func ticked[V any](p *page.Page, idsMax int, find func(id string) (V, error)) (found []V, sure bool, _ error) {
	form, err := p.FormParams()
	if err != nil {
		return nil, false, app.Errorf(app.Invalid, "invalid_body", "The form could not be read.").Because(err)
	}
	for _, id := range form["id"][:min(len(form["id"]), idsMax)] {
		one, err := find(id)
		switch {
		case err == nil:
			found = append(found, one)
		case app.KindOf(err) != app.NotFound:
			return nil, false, err
		}
	}
	return found, form.Get("sure") == "true" && len(found) > 0, nil
}

// deleteEach returns how many were deleted. One that is not there any more is no error.
func deleteEach[V any](list []V, remove func(V) error) (deleted int, _ error) {
	for _, one := range list {
		err := remove(one)
		if err != nil && app.KindOf(err) != app.NotFound {
			return deleted, err
		}
		if err == nil {
			deleted++
		}
	}
	return deleted, nil
}
