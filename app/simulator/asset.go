package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// assetsService is /v1/assets: pictures, films and sounds that are registered by their address in a resource group, and
// named in tasks by their id.
var assetsService = videoService{
	style: style{name: "assets", idHeader: "X-Request-Id", fail: func(b *buffer, _ *exchange, e failure) { openError(b, e) }},
	key:   bearer,
}

const (
	assetsRoute = "/v1/assets"
	// assetModel is what calls about assets are called in the fault table, which names calls by model.
	assetModel = "assets"
	// assetURLBytesMax is the longest address of a source.
	assetURLBytesMax = 2048
	// assetNameRunesMax is the longest name.
	assetNameRunesMax = 256
	// assetWordBytesMax is the longest name of a group, and the longest reference.
	assetWordBytesMax = 64
	// assetPageMax and assetPageStandard are how many assets a page of the list has at most, and unless asked otherwise.
	assetPageMax      = 100
	assetPageStandard = 20
)

// assetTypes are what can be kept.
var assetTypes = []string{"image", "video", "audio"}

// serveAssets answers every call of the assets service.
func serveAssets(x *exchange) {
	if !x.enter(&assetsService) {
		return
	}
	x.prompt.model = assetModel
	id := x.tail
	switch {
	case id == "" && x.r.Method == http.MethodPost:
		x.createAsset()
	case id == "" && x.r.Method == http.MethodGet:
		x.listAssets()
	case id == "":
		x.wrongMethod("GET, POST")
	case x.r.Method == http.MethodGet:
		if a := x.asset(onAssetGet, id); a != nil {
			x.sendValue(a.object(x.sim.assets.look(a, x.sim.options.Now())))
		}
	case x.r.Method == http.MethodDelete:
		if a := x.asset(onAssetDelete, id); a != nil {
			x.sim.assets.remove(a)
			x.sendValue(map[string]any{"id": a.id, "deleted": true})
		}
	default:
		x.wrongMethod("GET, DELETE")
	}
}

type assetRequest struct {
	Group     string `json:"group_id"`
	Type      string `json:"type"`
	URL       string `json:"url"`
	Name      string `json:"name"`
	Reference string `json:"reference"`
}

// check judges a request as strictly as it says.
func (q *assetRequest) check() *failure {
	for _, member := range []struct{ name, value string }{{"group_id", q.Group}, {"type", q.Type}, {"url", q.URL}} {
		if member.value == "" {
			return missing(member.name)
		}
	}
	u, err := url.Parse(q.URL)
	switch {
	case len(q.Group) > assetWordBytesMax:
		return badRequest("group_id", "group_id is too long.")
	case !slices.Contains(assetTypes, q.Type):
		return badRequest("type", "type must be one of "+strings.Join(assetTypes, ", ")+".")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(q.URL) > assetURLBytesMax:
		return badRequest("url", "url must be a web address of at most "+strconv.Itoa(assetURLBytesMax)+" bytes.")
	case utf8.RuneCountInString(q.Name) > assetNameRunesMax:
		return badRequest("name", "name has more than "+strconv.Itoa(assetNameRunesMax)+" characters.")
	case len(q.Reference) > assetWordBytesMax:
		return badRequest("reference", "reference has more than "+strconv.Itoa(assetWordBytesMax)+" bytes.")
	}
	return nil
}

// words are what faults are read from: the name of an asset, as it is the only text of a call that its caller chooses. As
// names have one line, the fault ends with the first space.
func (q *assetRequest) words() *prompt {
	p := newPrompt(assetModel)
	if rest, ok := strings.CutPrefix(q.Name, "simulate:"); ok {
		p.textSpec, _, _ = strings.Cut(strings.TrimSpace(rest), " ")
	}
	return p
}

func (x *exchange) createAsset() {
	var q assetRequest
	bad := x.readStrict(&q)
	if bad == nil {
		bad = q.check()
	}
	if bad != nil {
		x.fail(*bad)
		return
	}
	call := x.call(onAssetCreate, q.words(), "")
	if !x.strikes(call) {
		return
	}
	late := x.fault.late
	if !late && !x.proceeds() {
		return
	}
	a := &asset{assetRequest: q, id: x.mint("asst_"), provider: x.provider, prompt: call.prompt,
		fault: x.sim.faults.shape(call, x.fault), created: x.sim.options.Now(), takes: x.sim.options.Render}
	if a.fault.timed {
		a.takes = a.fault.render
	}
	kept, full := x.sim.assets.add(a)
	if full {
		x.fail(failure{status: http.StatusForbidden, code: "group_full",
			message: "The resource group '" + q.Group + "' is full: delete assets before you add more.", param: "group_id"})
		return
	}
	if late && !x.proceeds() {
		return
	}
	v := assetView{status: assetProcessing, changed: a.created}
	if kept != a {
		v = x.sim.assets.peek(kept, x.sim.options.Now())
	}
	x.sendValue(kept.object(v))
}

// asset finds an asset and lets the fault of the call strike. It returns nil when the call is over.
func (x *exchange) asset(call, id string) *asset {
	a := x.sim.assets.find(x.provider, id)
	if a == nil {
		x.fail(failure{status: http.StatusNotFound, code: "asset_not_found", message: "There is no asset '" + id + "'.", param: "id"})
		return nil
	}
	if !x.strikes(x.call(call, a.prompt, a.id)) {
		return nil
	}
	if call == onAssetDelete && x.fault.late {
		x.sim.assets.remove(a)
	}
	if !x.proceeds() {
		return nil
	}
	return a
}

// listAssets lists a group, newest first; a reference narrows it to the one asset that has it.
func (x *exchange) listAssets() {
	if !x.strikes(x.call(onAssetList, newPrompt(assetModel), "")) || !x.proceeds() {
		return
	}
	q := x.r.URL.Query()
	if q.Get("group_id") == "" {
		x.fail(*missing("group_id"))
		return
	}
	page, size := 1, assetPageStandard
	for _, one := range []struct {
		name string
		n    *int
		most int
	}{{"page", &page, 1 << 20}, {"page_size", &size, assetPageMax}} {
		word := q.Get(one.name)
		if word == "" {
			continue
		}
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > one.most {
			x.fail(*badRequest(one.name, fmt.Sprintf("%s must be a number from 1 to %d.", one.name, one.most)))
			return
		}
		*one.n = n
	}
	found := x.sim.assets.group(x.provider, q.Get("group_id"), q.Get("reference"))
	from := min((page-1)*size, len(found))
	data, now := []map[string]any{}, x.sim.options.Now()
	for _, a := range found[from:min(from+size, len(found))] {
		data = append(data, a.object(x.sim.assets.peek(a, now)))
	}
	x.sendValue(map[string]any{"data": data, "total": len(found), "page": page, "page_size": size})
}

// object is an asset as its service answers it.
func (a *asset) object(v assetView) map[string]any {
	o := map[string]any{
		"id": a.id, "object": "asset", "group_id": a.Group, "type": a.Type, "url": a.URL, "name": a.Name, "reference": a.Reference,
		"status": v.status, "error": nil, "created_at": a.created.Unix(), "updated_at": v.changed.Unix(),
	}
	if v.status == assetFailed {
		o["error"] = map[string]any{"code": v.code, "message": "The source could not be processed (" + v.code + ")."}
	}
	if a.fault.members {
		o["asset_id"], o["asset_type"], o["deleted"] = "asset_of_another", "hologram", true
		o["labels"], o["usage_left"], o["note"] = []string{"harbour", "dusk"}, json.Number("12.50"), "<b>kept cold</b>"
	}
	return o
}

// assetView is what a look at an asset shows.
type assetView struct {
	status  string
	code    string // Code says why a failed asset failed.
	changed time.Time
}

const (
	// assetsMax is how many assets are kept in all groups together.
	assetsMax = 100_000
	// assetGroupMax is how many a resource group keeps unless the control routes say another number.
	assetGroupMax = 20_000
)

// These are the states of an asset.
const (
	assetProcessing = "processing"
	assetActive     = "active"
	assetFailed     = "failed"
	assetOdd        = "transcoding" // This state is in no provider's documentation.
)

// asset is a source that is kept. What stands below the line changes, under the lock of the assets.
type asset struct {
	assetRequest

	id       string
	provider string
	prompt   *prompt
	fault    *fault
	created  time.Time
	takes    time.Duration

	looks    int
	finished time.Time
	gone     bool
}

// assets are all that are kept. The zero value has none.
type assets struct {
	mu       sync.Mutex
	list     []*asset // The oldest asset is first.
	byID     map[string]*asset
	byName   map[string]*asset // The keys consist of provider, group and reference.
	counts   map[string]int    // The keys consist of provider and group.
	groupMax int               // Zero means assetGroupMax.
	made     int64
	removed  int64
}

func (a *asset) groupKey() string { return a.provider + "\x00" + a.Group }

func (a *asset) nameKey() string { return a.groupKey() + "\x00" + a.Reference }

// add keeps an asset, or finds the one that has its reference already. It reports full when the group has as many as it may.
func (s *assets) add(a *asset) (kept *asset, full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.byName[a.nameKey()]; known != nil && a.Reference != "" {
		return known, false
	}
	most := assetGroupMax
	if s.groupMax > 0 {
		most = s.groupMax
	}
	if len(s.list) >= assetsMax || s.counts[a.groupKey()] >= most {
		return nil, true
	}
	if s.byID == nil {
		s.byID, s.byName, s.counts = map[string]*asset{}, map[string]*asset{}, map[string]int{}
	}
	s.list = append(s.list, a)
	s.byID[a.id] = a
	if a.Reference != "" {
		s.byName[a.nameKey()] = a
	}
	s.counts[a.groupKey()]++
	s.made++
	return a, false
}

// remove forgets an asset; one that is gone already stays so.
func (s *assets) remove(a *asset) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(a)
}

// drop forgets an asset. The mutex is held.
func (s *assets) drop(a *asset) {
	if a.gone {
		return
	}
	a.gone = true
	s.list = slices.DeleteFunc(s.list, func(one *asset) bool { return one == a })
	delete(s.byID, a.id)
	if s.byName[a.nameKey()] == a {
		delete(s.byName, a.nameKey())
	}
	s.counts[a.groupKey()]--
	s.removed++
}

// find looks an asset of a provider up; one that vanished is not found.
func (s *assets) find(provider, id string) *asset {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.byID[id]
	if a == nil || a.provider != provider || a.fault.vanish {
		return nil
	}
	return a
}

// group lists the assets of a group, newest first. A reference that is not empty narrows it to the one that has it.
func (s *assets) group(provider, group, reference string) []*asset {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*asset
	for _, a := range slices.Backward(s.list) {
		if a.provider == provider && a.Group == group && (reference == "" || a.Reference == reference) && !a.fault.vanish {
			found = append(found, a)
		}
	}
	return found
}

// look shows an asset, and counts the look for those that change by looks.
func (s *assets) look(a *asset, now time.Time) assetView {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := a.view(now)
	a.looks++
	return v
}

// peek shows an asset.
func (s *assets) peek(a *asset, now time.Time) assetView {
	s.mu.Lock()
	defer s.mu.Unlock()
	return a.view(now)
}

// view is the state. One that takes no time is still being processed in the answer that registers it, and has ended
// when it is looked at or named. The mutex is held.
func (a *asset) view(now time.Time) assetView {
	ended := !a.finished.IsZero() || !a.fault.never && !a.fault.held && now.Sub(a.created) >= a.takes
	if a.fault.oddWord && a.looks == 0 {
		ended = false
	}
	v := assetView{status: assetProcessing, changed: a.created}
	switch {
	case !ended && a.fault.oddWord:
		v.status = assetOdd
	case !ended:
	case a.fault.failCode != "":
		v.status, v.code = assetFailed, a.fault.failCode
	default:
		v.status = assetActive
	}
	if ended {
		v.changed = a.created.Add(a.takes)
		if !a.finished.IsZero() {
			v.changed = a.finished
		}
	}
	return v
}

// named reports whether a text of the control routes means this asset: its id, its reference, or a part of its name or its address.
func (a *asset) named(text string) bool {
	return text == "" || a.id == text || a.Reference == text || strings.Contains(a.Name, text) || strings.Contains(a.URL, text)
}

// finish ends the processing of those that a text names and returns how many it ended.
func (s *assets) finish(text string, now time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := 0
	for _, a := range s.list {
		if v := a.view(now).status; (v == assetProcessing || v == assetOdd) && !a.fault.never && a.named(text) {
			a.finished = now
			ended++
		}
	}
	return ended
}

// lose forgets those that a text names, as a provider that mislays what it keeps, and returns how many.
func (s *assets) lose(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lost []*asset
	for _, a := range s.list {
		if a.named(text) {
			lost = append(lost, a)
		}
	}
	for _, a := range lost {
		s.drop(a)
	}
	return len(lost)
}
