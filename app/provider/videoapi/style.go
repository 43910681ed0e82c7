package videoapi

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json"

	"umg/app/catalog"
	"umg/app/llm"
	"umg/app/provider"
)

// style is how one kind of upstream is spoken to: plain functions that word requests and read answers. The client sends.
// A kind is what a style must know of a task beside its answer.
type style struct {
	root     string // the root of its paths, unless the catalog has another
	create   func(root, model string, o CreateRequest, source string) (call provider.Call, kind string, err error)
	status   func(root, id string) (call provider.Call, kind string, ok bool)
	cancel   func(root, id string) (call provider.Call, ok bool)
	find     func(root string, o CreateRequest) []lookup
	found    func(raw []byte, kind, model string, o CreateRequest) ([]Task, error)
	read     func(raw []byte, kind string) (Task, error)
	source   func(from Source) string                    // what a remix names, empty when the source does not say
	assets   bool                                        // the style can name material assets
	file     func(root string, t Task, v Variant) string // path or address, empty for a file it does not make
	codes    map[string]int                              // statuses that codes in error bodies stand for
	messages []messageStatus                             // statuses that messages of plain refusals stand for
}

// lookup is one call that may tell what became of an order.
type lookup struct {
	call provider.Call
	kind string
}

// messageStatus is a status that a message stands for.
type messageStatus struct {
	part   string // in lower case
	status int
}

// styles are all of them. A route of another style makes no videos.
var styles = map[llm.Style]*style{
	catalog.VideosStyle:     &videos,
	catalog.OperationsStyle: &operations,
	catalog.TasksStyle:      &tasks,
}

func videoStyle(r *catalog.Route) (*style, *provider.Fault) {
	if s := styles[r.Style]; s != nil {
		return s, nil
	}
	f := provider.NewFault(provider.ClassSetup, errStyle)
	f.Unsent = true
	return nil, f
}

func (s *style) rootOf(r *catalog.Route) string { return cmp.Or(r.Provider.Paths[r.Style], s.root) }

// jsonBody makes a payload of a value. Room is what it is expected to take.
func jsonBody(value any, room int) (*provider.Payload, error) {
	p := provider.NewPayload(room)
	if err := json.MarshalWrite((*body)(p), value); err != nil {
		p.Release()
		return nil, err
	}
	return p, nil
}

// body appends what is written to a payload.
type body provider.Payload

func (b *body) Write(piece []byte) (int, error) {
	b.Data = append(b.Data, piece...)
	return len(piece), nil
}

// bodyBytes is about what an order takes as JSON.
func bodyBytes(o CreateRequest) int {
	room := len(o.Prompt) + len(o.Prompt)/8 + 1<<10
	if o.Image != nil {
		room += len(o.Image.Data)*4/3 + 4
	}
	return room
}

// aspectRatios are the aspect ratios that upstreams have names for.
var aspectRatios = []struct {
	width, height int
	name          string
}{{16, 9, "16:9"}, {9, 16, "9:16"}, {1, 1, "1:1"}, {4, 3, "4:3"}, {3, 4, "3:4"}}

// aspectRatio is the aspect ratio of an order. A size between two of them takes the wide or the tall one.
func aspectRatio(o CreateRequest) string {
	for _, s := range aspectRatios {
		if o.Width*s.height == o.Height*s.width {
			return s.name
		}
	}
	if o.Width > o.Height {
		return "16:9"
	}
	return "9:16"
}

// isPathID reports whether an id can stand in a path. Only operations have slashes in theirs.
func isPathID(id string, slashes bool) bool {
	if id == "" || len(id) > idBytesMax {
		return false
	}
	for part := range strings.SplitSeq(id, "/") {
		if part == "" || part == "." || part == ".." || !slashes && len(part) != len(id) {
			return false
		}
		for _, c := range []byte(part) {
			if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("_-.~:=+@", rune(c)) {
				return false
			}
		}
	}
	return true
}
