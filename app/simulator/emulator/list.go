package emulator

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// listRule is a list of models; providers.yaml describes the members.
type listRule struct {
	Path    string     `yaml:"path"`
	Array   string     `yaml:"array"`
	ID      string     `yaml:"id"`
	Prefix  string     `yaml:"prefix"`
	Context string     `yaml:"context"`
	Row     object     `yaml:"row"`
	Around  object     `yaml:"around"`
	Only    string     `yaml:"only"`
	Pages   *listPages `yaml:"pages"`
	Open    bool       `yaml:"open"`
}

// listPages is how a list is divided into pages.
type listPages struct {
	// Parameter has the place where a page begins, and Size how many rows it has.
	Parameter string `yaml:"parameter"`
	Size      string `yaml:"size"`
	// Rows is the size of a page without Size, and RowsMax the largest.
	Rows    int `yaml:"rows"`
	RowsMax int `yaml:"rows_max"`
	// Next and More are members of a page. ByID means that a page begins after the id in Parameter, and not at a place.
	Next string `yaml:"next"`
	More string `yaml:"more"`
	ByID bool   `yaml:"by_id"`
}

// contextTokens is the context that lists state.
const contextTokens = 131072

// ListMore adds made-up models to the lists of a provider, in place of those that were added before. They cannot be called.
func (e *Emulator) ListMore(provider string, count int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.more[provider] = count
}

// serveList answers a request for a list of models. It reports false when the path is not that of one.
func (x *exchange) serveList(path string) bool {
	i := slices.IndexFunc(x.provider.Lists, func(l *listRule) bool { return l.Path == path })
	if i < 0 || x.r.Method != http.MethodGet {
		return false
	}
	x.record.Wire = "list"
	page, bad := x.answerList(x.provider.Lists[i])
	switch {
	case bad != nil:
		x.fail(bad)
	case x.fault == Stall:
		<-x.r.Context().Done()
	case x.fault == Cut:
		x.cut()
	case x.fault == Broken:
		x.sendBroken(http.StatusOK, page)
	default:
		x.sendJSON(http.StatusOK, page)
	}
	return true
}

// answerList checks a request for a list, and makes the page that it asks for.
func (x *exchange) answerList(l *listRule) (object, *refusal) {
	if !l.Open {
		if bad := x.authenticate(); bad != nil {
			return nil, bad
		}
	}
	x.fault = x.e.faultOf(x.record.Provider, x.record.Path, nil)
	if _, isError := x.provider.Errors[x.fault]; isError {
		return nil, refuse(x.fault)
	}
	for name, values := range x.provider.Needs {
		if !slices.Contains(values, x.r.Header.Get(name)) {
			return nil, refuse("request", "message", name+": header is required")
		}
	}
	return x.page(l)
}

// page makes the page of a list that the request asks for.
func (x *exchange) page(l *listRule) (object, *refusal) {
	ids := x.listed(l)
	page := object{}
	maps.Copy(page, l.Around)
	from, to := 0, len(ids)
	if p := l.Pages; p != nil {
		rows, start := p.Rows, x.r.URL.Query().Get(p.Parameter)
		if n, err := strconv.Atoi(x.r.URL.Query().Get(p.Size)); err == nil {
			rows = n
		}
		if rows < 1 || rows > p.RowsMax {
			return nil, refuse("request", "message", p.Size+" is out of range")
		}
		switch {
		case start == "":
		case p.ByID:
			from = slices.Index(ids, start) + 1
		default:
			n, err := strconv.Atoi(strings.TrimPrefix(start, "page-"))
			if err != nil || n > len(ids) {
				return nil, refuse("request", "message", p.Parameter+" is not a page")
			}
			from = n
		}
		to = min(from+rows, len(ids))
		p.end(page, ids, to)
	}
	list := make([]object, 0, to-from)
	for _, id := range ids[from:to] {
		row := object{l.ID: l.Prefix + id}
		maps.Copy(row, l.Row)
		if l.Context != "" {
			row[l.Context] = contextTokens
		}
		list = append(list, row)
	}
	page[l.Array] = list
	return page, nil
}

// end adds the members that say how the list goes on after a row.
func (p *listPages) end(page object, ids []string, to int) {
	switch {
	case p.ByID && to > 0:
		page[p.Next] = ids[to-1]
	case !p.ByID && to < len(ids):
		page[p.Next] = fmt.Sprintf("page-%d", to)
	}
	if p.More != "" {
		page[p.More] = to < len(ids)
	}
}

// listed are the models of a list in order.
func (x *exchange) listed(l *listRule) []string {
	if x.fault == Empty {
		return nil
	}
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(x.provider.Models)) {
		if strings.Contains(id, l.Only) {
			ids = append(ids, id)
		}
	}
	x.e.mu.Lock()
	defer x.e.mu.Unlock()
	for i := range x.e.more[x.record.Provider] {
		ids = append(ids, fmt.Sprintf("%smodel-%05d", l.Only, i))
	}
	return ids
}

// sendBroken sends the first half of an answer as if it were whole.
func (x *exchange) sendBroken(status int, body object) {
	text, err := json.Marshal(body)
	if err != nil {
		panic("emulator: an answer cannot be written: " + err.Error())
	}
	x.setHeaders("application/json")
	x.record.Status = status
	x.w.WriteHeader(status)
	_, _ = x.w.Write(text[:len(text)/2])
}
