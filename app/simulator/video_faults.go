package simulator

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// onText is a text call. The directive "on" does not name it: a fault that names calls of a video service strikes no text call.
const onText = "text"

// The directive "on" names the calls of a video service with these words.
const (
	onCreate  = "create"
	onStatus  = "status"
	onContent = "content"
	onCancel  = "cancel"
	onList    = "list"
	onRemix   = "remix"

	onAssetCreate = "asset-create"
	onAssetGet    = "asset-get"
	onAssetList   = "asset-list"
	onAssetDelete = "asset-delete"
)

const (
	// shortSecondsMax bounds how long a film of the wrong length is.
	shortSecondsMax = 60
	// renderWaitMax bounds how long a fault may make a render take.
	renderWaitMax = 24 * time.Hour
	// shownProgressMax bounds the wrong progress that a fault may claim, either way.
	shownProgressMax = 1_000_000
)

// videoFault is the part of a fault that only videos know. All but on, content and late belong to the render that was
// made under it, for its life.
type videoFault struct {
	on      []string // On names the calls to strike. None means create, remix and asset-create, or content if content is set.
	content string   // Content is how the file goes wrong.
	late    bool     // The render is made although the create call goes wrong.

	timed     bool
	render    time.Duration // If timed is set, the video takes this long.
	held      bool          // Held keeps the render from ending until a test releases it.
	failCode  string
	never     bool
	vanish    bool
	backwards bool
	claims    bool
	saying    int64 // If claims is set, this is the reported progress.
	flip      bool
	noStills  bool
	shortFilm int64
	oddWord   bool
	created   bool          // Dates are named created.
	callback  string        // Callback is none, twice or lie.
	files     string        // File addresses begin with this.
	expiry    time.Duration // Expiry is how long a file address is valid.
	members   bool          // Members adds unknown members to an asset.
}

func oneOf(field func(*fault) *string, known ...string) func(*fault, string) error {
	return func(f *fault, v string) error {
		if !slices.Contains(known, v) {
			return fmt.Errorf("unknown form %q; known are %s", v, strings.Join(known, ", "))
		}
		*field(f) = v
		return nil
	}
}

func setRender(f *fault, v string) error {
	if v == "hold" {
		f.held = true
		return nil
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 || d > renderWaitMax {
		return fmt.Errorf("needs hold or a duration from 0s to %s, has %q", renderWaitMax, v)
	}
	f.timed, f.render = true, d
	return nil
}

// concerns reports whether a fault may strike a call.
func (f *fault) concerns(call string) bool {
	if len(f.on) == 0 {
		return slices.Contains([]string{onText, onCreate, onRemix, onAssetCreate}, call)
	}
	return slices.Contains(f.on, call)
}

// shapes reports whether a fault says anything of the render itself.
func (f *fault) shapes() bool {
	v := f.videoFault
	return v.timed || v.held || v.failCode != "" || v.never || v.vanish || v.backwards || v.claims || v.flip || v.noStills ||
		v.shortFilm > 0 || v.oddWord || v.created || v.callback != "" || v.files != "" || v.expiry > 0 || v.members
}

// faultCall is a call of a text style or a video service, as far as it matters for faults.
type faultCall struct {
	name     string
	header   string // Header is the value of X-Simulate, which always concerns this call.
	provider string
	prompt   *prompt // Prompt is the prompt of the render in question. It is empty for a list.
	render   string  // Render is the id of that render, or empty.
}

// sources are the specs of a call, the first of which counts.
func (c *faultCall) sources() []string {
	return []string{c.header, c.prompt.modelSpec, c.prompt.textSpec}
}

// shape finds the fault that a new render has for its life. One that strikes the call that makes it is spent with
// that; one that is about other calls only is always there.
func (t *faults) shape(c *faultCall, struck *fault) *fault {
	for _, spec := range c.sources() {
		f, err := parseFault(spec)
		if err != nil || !f.shapes() {
			continue
		}
		return f.boundTo(c.name, struck)
	}
	e, ok := t.match(c.provider, c.prompt.model, (*fault).shapes)
	if !ok {
		return &fault{}
	}
	return e.fault.boundTo(c.name, struck)
}

func (f *fault) boundTo(call string, struck *fault) *fault {
	if f.concerns(call) && struck.spec != f.spec {
		return &fault{}
	}
	return f
}
