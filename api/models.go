package api

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"umg/app"
	"umg/app/catalog"
	"umg/app/llm"
)

const (
	modelsCache  = "private, max-age=60"
	markdownType = "text/markdown; charset=utf-8"
)

// listModels answers GET /v1/models from memory: the models that this key may call, in catalog order.
func (a *API) listModels(x *call) error {
	family := a.layoutOf(x)
	if family == NativeFamily {
		return a.listNative(x)
	}
	snapshot, page := a.o.Catalog.Snapshot().For(x.key.AccountID), catalog.Page{}
	if x.Request().URL.RawQuery != "" {
		q := x.Request().URL.Query()
		err := noOtherPaging(q, "Pages are turned with after (or after_id), before_id and limit.", "after_id", "before_id")
		if err != nil {
			return err
		}
		if page, err = catalog.ParsePage(q); err != nil {
			return err
		}
	}
	if family == MessagesFamily {
		page.Style = llm.Messages
	}
	isWhole := page == (catalog.Page{}) && len(x.key.Models) == 0 && snapshot.ETag() != ""
	if isWhole && len(a.changedStatuses(x.Request().Context(), snapshot)) == 0 {
		if takesGzip(x.Request().Header) {
			p := a.compressedList(snapshot.List(nil), snapshot.ETag())
			x.Header().Set("Content-Encoding", "gzip")
			return x.cached(p.body, p.tag)
		}
		return x.cached(snapshot.List(nil), snapshot.ETag())
	}
	body, err := snapshot.ListPage(x.principal().MayUse, page)
	if err != nil {
		return err
	}
	body = a.withStatus(x.Request().Context(), snapshot, body)
	return x.cached(body, catalog.ETag(body))
}

// versionHeader is what clients of the messages style send with every call, in its canonical spelling.
const versionHeader = "vendorb-version"

// nativeClient is how the official clients of the native style begin to name themselves. Some of them list models under /v1.
const nativeClient = "google-genai-sdk/"

// layoutOf chooses the layout of a route about models, and names the headers that decide it in Vary. Clients of the messages style read
// their own layout, and their users choose from the list a model to call in that style.
func (a *API) layoutOf(x *call) ErrorFormat {
	versions := a.o.Catalog.Snapshot().Spellings(versionHeader)
	// The function tagged adds the other headers to Vary.
	x.Header().Set("Vary", strings.Join(append([]string{"User-Agent"}, versions...), ", "))
	x.log.format = OpenAIFamily
	switch {
	case strings.HasPrefix(x.Request().UserAgent(), nativeClient):
		x.log.format = NativeFamily
	case slices.ContainsFunc(versions, func(name string) bool { return len(x.Request().Header[name]) > 0 }):
		x.log.format = MessagesFamily
	}
	return x.log.format
}

// listNative answers GET /v1beta/models: the models that answer in the native style, in its layout.
func (a *API) listNative(x *call) error {
	page, err := catalog.ParseNativePage(x.QueryParams())
	if err != nil {
		return err
	}
	body, err := a.o.Catalog.Snapshot().For(x.key.AccountID).NativeList(x.principal().MayUse, page)
	if err != nil {
		return err
	}
	return x.cached(body, catalog.ETag(body))
}

// getNative answers GET /v1beta/models/{id}.
func (a *API) getNative(x *call) error {
	m, err := a.modelOfPath(x)
	if err == nil && !m.Serves(llm.Native) {
		err = app.Errorf(app.NotFound, "model_not_found",
			"The model %q does not answer in this style. GET /v1beta/models lists those that do.", m.ID).At("model")
	}
	if err != nil {
		return err
	}
	x.setLifecycleHeaders(m)
	return x.cached(m.NativeEntry(), catalog.ETag(m.NativeEntry()))
}

// getModel answers GET /v1/models/{id}. Ids have slashes, which some clients escape and some do not, so the id is
// the whole rest of the path. Models that are only announced are unknown here, as they are not on the list.
func (a *API) getModel(x *call) error {
	family := a.layoutOf(x)
	if family == NativeFamily {
		return a.getNative(x)
	}
	m, err := a.modelOfPath(x)
	if err != nil {
		return err
	}
	x.setLifecycleHeaders(m)
	entry := a.withStatus(x.Request().Context(), a.o.Catalog.Snapshot().For(x.key.AccountID), m.ListEntry())
	if family == MessagesFamily {
		entry = m.MessagesEntry(a.now())
	}
	return x.cached(entry, catalog.ETag(entry))
}

// modelOfPath is the model that the rest of the path names, when it exists and the key may use it.
func (a *API) modelOfPath(x *call) (*catalog.Model, error) {
	id := x.Param("*")
	if x.Request().URL.RawPath != "" { // Without a RawPath, the router has unescaped the path already.
		var err error
		if id, err = url.PathUnescape(id); err != nil {
			id = ""
		}
	}
	if id == "" {
		return nil, app.Errorf(app.Invalid, "missing_required_parameter",
			"The path names no model: GET /v1/models lists them, GET /v1/models/{id} shows one.").At("model")
	}
	return a.findModel(x, id)
}

// findModel is the model that the caller asks about, when it exists and the key may use it.
func (a *API) findModel(x *call, id string) (*catalog.Model, error) {
	m, ok := a.o.Catalog.Snapshot().For(x.key.AccountID).Model(id)
	if !ok || !m.Available {
		e := app.Errorf(app.NotFound, "model_not_found",
			"The model %q does not exist. GET /v1/models lists those this key may use.", shorten(id)).At("model")
		e.Value = id
		return nil, e
	}
	if !m.IsAllowed(x.principal().MayUse) {
		return nil, app.Errorf(app.Forbidden, "model_not_allowed",
			"This key may not use the model %q. GET /v1/models lists those it may use.", id).At("model").Final()
	}
	return m, m.Ended(a.now())
}

// modelID is the id of the model that a filter names, which may be an alias. It returns other texts as they are: records may name models
// that are not in the catalog any more.
func (a *API) modelID(x *call, name string) string {
	if m, known := a.o.Catalog.Snapshot().For(x.key.AccountID).Model(name); known {
		return m.ID
	}
	return name
}

// setLifecycleHeaders sets the headers of a model that is deprecated or will be shut down.
func (x *call) setLifecycleHeaders(m *catalog.Model) {
	for _, h := range m.LifecycleHeaders() {
		x.Header().Set(h.Name, h.Value)
	}
}

// getContract answers GET /v1/model/openapi.json?model=: what the model takes, for programs.
func (a *API) getContract(x *call) error {
	m, err := a.modelOfQuery(x)
	if err != nil {
		return err
	}
	x.setLifecycleHeaders(m)
	doc := a.o.Documents.OpenAPI(a.o.Catalog.Snapshot(), m)
	return x.cached(doc.Body, doc.Tag)
}

// getGuide answers GET /v1/model/api.md?model=: the same for people.
func (a *API) getGuide(x *call) error {
	m, err := a.modelOfQuery(x)
	if err != nil {
		return err
	}
	x.setLifecycleHeaders(m)
	x.mediaType = markdownType
	doc := a.o.Documents.Markdown(a.o.Catalog.Snapshot(), m)
	return x.cached(doc.Body, doc.Tag)
}

// modelOfQuery is the model that the query names.
func (a *API) modelOfQuery(x *call) (*catalog.Model, error) {
	id := x.QueryParam("model")
	if id == "" {
		return nil, app.Errorf(app.Invalid, "missing_required_parameter",
			"The query names no model: add ?model= with an id of GET /v1/models.").At("model")
	}
	return a.findModel(x, id)
}

// cached answers with a body that the caller may keep for a minute, or with 304 when it has it already.
func (x *call) cached(body []byte, tag string) error {
	x.Header().Set("Cache-Control", modelsCache)
	return x.tagged(body, tag)
}

// tagged answers with a body, or with 304 when the caller has it already.
func (x *call) tagged(body []byte, tag string) error {
	h := x.Header()
	h.Set("ETag", tag)
	h.Set("Vary", strings.Join(append(h["Vary"], "Authorization, Origin, Accept-Encoding"), ", "))
	extendWrite(x.Connection(), x.log.Started)
	for _, v := range x.Request().Header.Values("If-None-Match") {
		for t := range strings.SplitSeq(v, ",") {
			if t = strings.TrimPrefix(strings.TrimSpace(t), "W/"); t == tag || t == "*" {
				h.Del("Content-Encoding")
				return x.NoContent(http.StatusNotModified)
			}
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	return x.Blob(http.StatusOK, cmp.Or(x.mediaType, jsonType), body)
}
