package videoapi

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json"

	"umg/app/catalog"
	"umg/app/llm"
	"umg/app/provider"
)

// protocol writes the requests and reads the answers of one kind of upstream. The kind of a task is what its protocol must know of the task
// in addition to the answer.
type protocol interface {
	create(root, model string, o CreateRequest, source string) (call provider.Call, kind string, err error)
	// status reports false for an id that is not one of the protocol.
	status(root, id string) (call provider.Call, kind string, ok bool)
	read(raw []byte, kind string) (Task, error)
	// source returns how a remix names its source. It is empty when the source does not have that.
	source(from Source) string
	// file returns the path or the address of a file. It is empty for a file that the upstream does not make.
	file(root string, t Task, v Variant) string
}

// canceler is a protocol that can cancel tasks.
type canceler interface {
	// cancel reports false for a task that cannot be canceled.
	cancel(root, id string) (call provider.Call, ok bool)
}

// finder is a protocol that can find the task of a request whose answer was lost.
type finder interface {
	// find returns the calls that may find the task of a request.
	find(root string, o CreateRequest) []lookup
	// found returns the tasks in the answer of a look-up that may be those of the request.
	found(raw []byte, kind, model string, o CreateRequest) ([]Task, error)
}

// style is a protocol with its settings.
type style struct {
	protocol

	root     string          // Root is the root of the paths, unless the catalog has another.
	assets   bool            // The protocol can name assets.
	codes    map[string]int  // Codes has the statuses of codes in error bodies.
	messages []messageStatus // Messages has the statuses of messages of errors without a code.
}

// lookup is one call that may find a task.
type lookup struct {
	call provider.Call
	kind string
}

// messageStatus is the status of errors with a text in their message.
type messageStatus struct {
	part   string // Part is in lower case.
	status int
}

// styles has the styles that make videos.
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

// jsonBody writes a value as JSON into a payload. Room is the expected size.
func jsonBody(value any, room int) (*provider.Payload, error) {
	p := provider.NewPayload(room)
	if err := json.MarshalWrite((*body)(p), value); err != nil {
		p.Release()
		return nil, err
	}
	return p, nil
}

// body is a writer that appends to a payload.
type body provider.Payload

func (b *body) Write(piece []byte) (int, error) {
	b.Data = append(b.Data, piece...)
	return len(piece), nil
}

// bodyBytes returns the expected size of a request as JSON.
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

// aspectRatio returns the aspect ratio of a request. Another ratio becomes the widest or the tallest one.
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

// isPathID reports whether an id may be part of a path. Only ids of operations have slashes.
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
