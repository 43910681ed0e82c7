package api

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"umg/app"
	"umg/app/asset"
	"umg/app/idempotency"
)

const assetsPath = "/v1/files/vendorx/assets"

// assetRoutes are the four operations on material assets, each a POST with a JSON body, as the service document has them.
func assetRoutes() []Route {
	g := group{app.UseAssets, func(o *Options) bool { return o.Assets != nil }}
	return []Route{
		g.post(assetsPath, withFields((*API).createAsset, "asset_type", "url", "name")),
		g.post(assetsPath+"/get", withFields((*API).getAsset, "asset_id")),
		g.post(assetsPath+"/list", withFields((*API).listAssets, "page", "page_size")),
		g.post(assetsPath+"/delete", withFields((*API).deleteAsset, "asset_id")),
	}
}

// withFields reads the members of the body, whose Content-Type must be JSON.
func withFields(serve func(*API, *call, *members) error, names ...string) func(*API, *call) error {
	return func(a *API, x *call) error {
		if r := x.Request(); r.ContentLength != 0 || len(r.Header["Content-Type"]) > 0 {
			if err := jsonBody(r.Header); err != nil {
				return err
			}
		}
		f, err := a.strict(x, names...)
		if err != nil {
			return err
		}
		return serve(a, x, f)
	}
}

// assetError is why an asset failed.
type assetError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// assetJSON are the members of an asset that are ours. Those after created_at are an extension.
type assetJSON struct {
	ID         string      `json:"asset_id"`
	Kind       asset.Kind  `json:"asset_type"`
	Name       string      `json:"name"`
	URL        string      `json:"url"`
	State      asset.State `json:"status"`
	CreatedAt  int64       `json:"created_at"`
	UpstreamID string      `json:"upstream_asset_id"`
	Error      *assetError `json:"error,omitempty"`
}

// assetBody is an asset as clients see it. Further members that the provider sent follow those of the gateway and cannot replace one.
func assetBody(s asset.Asset) (json.RawMessage, error) {
	own := assetJSON{
		ID: s.ID, Kind: s.Kind, Name: s.Name, URL: s.URL, State: s.State, CreatedAt: s.CreatedAt.Unix(), UpstreamID: s.UpstreamID,
	}
	if s.State == asset.Failed {
		own.Error = &assetError{Code: "asset_failed", Message: s.Reason}
	}
	body, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	var more map[string]json.RawMessage
	if len(s.Extra) > 0 {
		if err := json.Unmarshal(s.Extra, &more); err != nil {
			return nil, err
		}
	}
	body = body[:len(body)-1]
	for _, name := range slices.Sorted(maps.Keys(more)) {
		if slices.ContainsFunc(assetMembers, func(ours string) bool { return strings.EqualFold(ours, name) }) {
			continue
		}
		body = append(body, ","+quoted(name)+":"...)
		body = append(body, more[name]...)
	}
	return append(body, '}'), nil
}

// assetMembers are the names that are ours: those of every asset, and that of the answer to delete.
var assetMembers = []string{"asset_id", "asset_type", "name", "url", "status", "created_at", "upstream_asset_id", "error", "deleted"}

// createAsset serves POST /v1/files/vendorx/assets, once for each Idempotency-Key.
func (a *API) createAsset(x *call, f *members) error {
	var spec asset.Spec
	f.read("asset_type", "a string", &spec.Kind)
	f.read("url", "a string", &spec.URL)
	f.read("name", "a string", &spec.Name)
	if f.err != nil {
		return f.err
	}
	said, err := json.Marshal(f.of) // The same members in another order are the same request.
	if err != nil {
		return err
	}
	describe := func(string) idempotency.Request {
		return idempotency.Request{Operation: "assets", Body: said, ResultID: a.o.IDs.New("asset")}
	}
	body, _, err := a.createOnce(x, describe, func(id string) ([]byte, error) {
		spec.ID = id
		created, err := a.o.Assets.Create(x.Request().Context(), x.principal(), spec)
		if err != nil {
			return nil, err
		}
		return assetBody(created)
	})
	if err != nil {
		return err
	}
	return a.send(x, body)
}

func (a *API) getAsset(x *call, f *members) error {
	id, err := f.assetID()
	if err != nil {
		return err
	}
	found, err := a.o.Assets.Get(x.Request().Context(), x.principal(), id)
	if err != nil {
		return err
	}
	body, err := assetBody(found)
	if err != nil {
		return err
	}
	return a.send(x, body)
}

func (a *API) deleteAsset(x *call, f *members) error {
	id, err := f.assetID()
	if err != nil {
		return err
	}
	if err := a.o.Assets.Delete(x.Request().Context(), x.principal(), id); err != nil {
		return err
	}
	return a.object(x, struct {
		ID      string `json:"asset_id"`
		Deleted bool   `json:"deleted"`
	}{id, true})
}

// assetID is the asset that a body names.
func (f *members) assetID() (id string, err error) {
	f.read("asset_id", "a string", &id)
	if f.err == nil && id == "" {
		e := app.Errorf(app.Invalid, "invalid_request_error", "asset_id is required: the id that create answered with.").At("asset_id")
		e.Missing = true
		return "", e
	}
	return id, f.err
}

func (a *API) listAssets(x *call, f *members) error {
	var filter asset.Filter
	f.page("page", &filter.Page)
	f.page("page_size", &filter.Size)
	if f.err != nil {
		return f.err
	}
	page, err := a.o.Assets.List(x.Request().Context(), x.principal(), filter)
	if err != nil {
		return err
	}
	list := make([]json.RawMessage, len(page.Assets))
	for i, s := range page.Assets {
		if list[i], err = assetBody(s); err != nil {
			return err
		}
	}
	return a.object(x, struct {
		Data  []json.RawMessage `json:"data"`
		Page  int               `json:"page"`
		Size  int               `json:"page_size"`
		Total int               `json:"total"`
	}{list, page.Page, page.Size, page.Total})
}

// page reads a number of the list. Zero is not the same as none.
func (f *members) page(name string, into *int) {
	f.read(name, "a whole number", into)
	if raw := f.of[name]; f.err == nil && raw != nil && string(raw) != "null" && *into == 0 {
		f.err = wrongField(name, "a whole number from 1")
	}
}
