package payments

import (
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// apiVersion is the version of the API that is simulated.
const apiVersion = "2023-10-16"

// endpoint is one route of the API with the parameters it takes.
type endpoint struct {
	route   string
	accepts []string
	serve   func(c *call) (object, *failure)
}

// call is one request to the API.
type call struct {
	sim     *Simulator
	request *http.Request
	form    *form
	now     time.Time
	key     string // Key is the idempotency key.
	id      string
}

func (s *Simulator) handle(e endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		given, failed := s.parameters(r)
		if failed == nil {
			failed = s.authenticate(r)
		}
		if failed != nil {
			failed.write(w)
			return
		}
		s.mu.Lock()
		fault := s.faults.next(r.Method, r.URL.Path)
		s.mu.Unlock()
		switch fault.Mode {
		case faultError:
			(&failure{status: fault.Status, Type: "api_error", Message: "An unknown error occurred."}).write(w)
			return
		case faultStall:
			select {
			case <-r.Context().Done():
			case <-time.After(stallMax):
			}
			panic(http.ErrAbortHandler)
		}
		a := s.answer(e, r, given)
		if fault.Mode == faultLost {
			// The answer breaks off in its middle. Before its beginning the transport of a caller may ask again by itself.
			w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
			_, _ = w.Write(a.body[:len(a.body)/2])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		a.write(w)
	}
}

func (s *Simulator) authenticate(r *http.Request) *failure {
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if user, _, basic := r.BasicAuth(); basic {
		key = user
	}
	if subtle.ConstantTimeCompare([]byte(key), []byte(s.o.Key)) == 1 {
		return nil
	}
	failed := invalid("", "", "Invalid API Key provided: %s", strings.Repeat("*", min(len(key), 20)))
	if key == "" {
		failed.Message = "You did not provide an API key. Send it in the Authorization header, using Bearer auth."
	}
	failed.status = http.StatusUnauthorized
	return failed
}

// parameters are those of the query of a GET, and of the body otherwise.
func (s *Simulator) parameters(r *http.Request) (url.Values, *failure) {
	if r.Method == http.MethodGet || r.Method == http.MethodDelete {
		values, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			return nil, invalid("", "", "The query could not be read.")
		}
		return values, nil
	}
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if r.ContentLength != 0 && kind != "application/x-www-form-urlencoded" {
		return nil, invalid("", "", "Invalid request (check that your POST content type is application/x-www-form-urlencoded).")
	}
	if r.URL.RawQuery != "" {
		return nil, invalid("parameter_unknown", "", "Parameters of a POST belong into its body.")
	}
	if err := r.ParseForm(); err != nil {
		return nil, invalid("", "", "The body could not be read.")
	}
	return r.PostForm, nil
}

// answer serves a call, or repeats what was answered to the same idempotency key.
func (s *Simulator) answer(e endpoint, r *http.Request, given url.Values) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &call{sim: s, request: r, now: s.o.Now(), id: s.newID("req_", 14)}
	if r.Method == http.MethodPost {
		c.key = r.Header.Get("Idempotency-Key")
	}
	mark := r.Method + " " + r.URL.Path + "?" + given.Encode()
	if c.key != "" {
		if before, failed, known := s.keys.look(c.key, mark, c.now); failed != nil {
			return answer{status: failed.status, body: failed.body(), request: c.id, key: c.key}
		} else if known {
			before.replayed = true
			return before
		}
	}
	c.form = newForm(given, slices.Concat(e.accepts, []string{"expand[]"}))
	a := answer{status: http.StatusOK, request: c.id, key: c.key}
	var o object
	failed := c.form.failed
	if failed == nil {
		o, failed = e.serve(c)
	}
	if failed == nil {
		a.body, failed = c.render(o)
	}
	if failed != nil {
		a.status, a.body = failed.status, failed.body()
	}
	if c.key != "" && (failed == nil || failed.final) {
		s.keys.keep(c.key, mark, a, c.now)
	}
	return a
}

// answer is what a call is answered.
type answer struct {
	status   int
	body     []byte
	request  string
	key      string
	replayed bool
}

func (a answer) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Request-Id", a.request)
	h.Set("Stripe-Version", apiVersion)
	if a.key != "" {
		h.Set("Idempotency-Key", a.key)
	}
	if a.replayed {
		h.Set("Idempotent-Replayed", "true")
		h.Set("Original-Request", a.request)
	}
	h.Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

// render writes an object, with the ids replaced that the caller wants to see expanded.
func (c *call) render(o object) ([]byte, *failure) {
	tree := treeOf(o)
	for _, wish := range c.form.list("expand") {
		path := strings.Split(wish, ".")
		if len(path) > expansionDepthMax || !c.sim.expand(tree, path) {
			return nil, invalid("", "expand", "This property cannot be expanded (%s).", wish)
		}
	}
	return encode(tree), nil
}

// encode writes what always has a JSON form.
func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("payments: write an object: " + err.Error())
	}
	return raw
}

// treeOf is an object as JSON knows it.
func treeOf(o any) map[string]any {
	tree := map[string]any{}
	if err := json.Unmarshal(encode(o), &tree); err != nil {
		panic("payments: read an object: " + err.Error())
	}
	return tree
}

// expand replaces the id at the path by its object. A null is left, since there may be something on another day.
func (s *Simulator) expand(tree map[string]any, path []string) bool {
	name := path[0]
	if tree["object"] == "list" && name == "data" && len(path) > 1 {
		all, _ := tree["data"].([]any)
		for _, one := range all {
			if below, ok := one.(map[string]any); !ok || !s.expand(below, path[1:]) {
				return false
			}
		}
		return true
	}
	if extra := s.included(tree, name); extra != nil {
		tree[name] = extra
	}
	value, known := tree[name]
	switch v := value.(type) {
	case nil:
		return known
	case string:
		o := s.store.get(v)
		if o == nil {
			return false
		}
		below := treeOf(o)
		tree[name] = below
		return len(path) == 1 || s.expand(below, path[1:])
	case map[string]any:
		return len(path) > 1 && s.expand(v, path[1:]) || len(path) == 1 && v["object"] != nil
	}
	return false
}

// included are the lists that an object shows only when it is asked for them.
func (s *Simulator) included(tree map[string]any, name string) any {
	id, _ := tree["id"].(string)
	switch o := s.store.get(id).(type) {
	case *session:
		if name == "line_items" {
			return treeOf(list{Object: "list", Data: o.items, URL: "/v1/checkout/sessions/" + id + "/line_items"})
		}
	case *charge:
		if name == "refunds" {
			all := list{Object: "list", Data: []any{}, URL: "/v1/charges/" + id + "/refunds"}
			for r := range latest[*refund](s, "re") {
				if r.Charge == id {
					all.Data = append(all.Data, r)
				}
			}
			return treeOf(all)
		}
	}
	return nil
}

// at is the object that the path of the request names.
func at[T object](c *call, noun string) (T, *failure) {
	id := c.request.PathValue("id")
	o, ok := find[T](c.sim, id)
	if !ok {
		failed := missing(noun, id, "id")
		failed.status = http.StatusNotFound
		return o, failed
	}
	return o, nil
}

// getter answers an object by its id.
func getter[T object](route, noun string) endpoint {
	return endpoint{route: "GET " + route + "/{id}", serve: func(c *call) (object, *failure) {
		return result(at[T](c, noun))
	}}
}
