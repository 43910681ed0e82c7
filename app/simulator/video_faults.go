package simulator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The calls of a video service, as the directive "on" names them.
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
	on      []string // the calls it strikes; none means create, remix and asset-create, or content when content is set
	content string   // how the file goes wrong
	late    bool     // the render is made although the create call goes wrong

	timed     bool
	render    time.Duration // how long the render takes, when timed
	held      bool          // Held keeps the render from ending until a test releases it.
	failCode  string
	never     bool
	vanish    bool
	backwards bool
	claims    bool
	saying    int64 // the progress it says, when claims
	flip      bool
	noStills  bool
	shortFilm int64
	oddWord   bool
	created   bool          // dates are called created
	callback  string        // none, twice or lie
	files     string        // where file addresses begin
	expiry    time.Duration // how long a file address is good
	members   bool          // Members adds unknown members to an asset.
}

// videoDirectives is the part of the grammar of faults that only videos know; the package comment explains each.
var videoDirectives = map[string]func(f *fault, v string) error{
	"on":             setOn,
	"content":        oneOf(func(f *fault) *string { return &f.content }, "short", "empty", "slow", "html", "wrong-type"),
	"late-create":    flag(func(f *fault) *bool { return &f.late }),
	"render":         setRender,
	"fail":           word(func(f *fault) *string { return &f.failCode }),
	"never":          flag(func(f *fault) *bool { return &f.never }),
	"vanish":         flag(func(f *fault) *bool { return &f.vanish }),
	"backwards":      flag(func(f *fault) *bool { return &f.backwards }),
	"progress":       setProgress,
	"flip":           flag(func(f *fault) *bool { return &f.flip }),
	"no-stills":      flag(func(f *fault) *bool { return &f.noStills }),
	"short-film":     number(1, shortSecondsMax, func(f *fault) *int64 { return &f.shortFilm }),
	"unknown-status": flag(func(f *fault) *bool { return &f.oddWord }),
	"created":        flag(func(f *fault) *bool { return &f.created }),
	"callback":       oneOf(func(f *fault) *string { return &f.callback }, "none", "twice", "lie"),
	"files":          word(func(f *fault) *string { return &f.files }),
	"members":        flag(func(f *fault) *bool { return &f.members }),
	"file-expiry":    wait(0, func(f *fault) *time.Duration { return &f.expiry }),
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

func setOn(f *fault, v string) error {
	known := []string{onCreate, onStatus, onContent, onCancel, onList, onRemix, onAssetCreate, onAssetGet, onAssetList, onAssetDelete}
	for one := range strings.SplitSeq(v, ",") {
		if !slices.Contains(known, one) {
			return fmt.Errorf("unknown call %q; known are %s", one, strings.Join(known, ", "))
		}
		f.on = append(f.on, one)
	}
	return nil
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

func setProgress(f *fault, v string) error {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < -shownProgressMax || n > shownProgressMax {
		return fmt.Errorf("needs a number from %d to %d, has %q", -shownProgressMax, shownProgressMax, v)
	}
	f.claims, f.saying = true, n
	return nil
}

// settleVideo completes what directives leave open once all of them are read.
func (f *fault) settleVideo() {
	spoiled := f.hold || f.slowFirst > 0 || f.truncated || f.breaking != "" || f.malformedAt > 0 || f.hugeLine > 0 || f.gzip > 0 || f.drip > 0
	if f.late && f.whole == "" && !spoiled {
		f.whole = "stall"
	}
	if f.content != "" && len(f.on) == 0 {
		f.on = []string{onContent}
	}
}

// concernsText reports whether a fault may strike a text call: those that name calls of a video service may not.
func (f *fault) concernsText() bool { return len(f.on) == 0 }

// concerns reports whether a fault may strike a call of a video service.
func (f *fault) concerns(call string) bool {
	if len(f.on) == 0 {
		return call == onCreate || call == onRemix || call == onAssetCreate
	}
	return slices.Contains(f.on, call)
}

// shapes reports whether a fault says anything of the render itself.
func (f *fault) shapes() bool {
	v := f.videoFault
	return v.timed || v.held || v.failCode != "" || v.never || v.vanish || v.backwards || v.claims || v.flip || v.noStills ||
		v.shortFilm > 0 || v.oddWord || v.created || v.callback != "" || v.files != "" || v.expiry > 0 || v.members
}

// videoCall is a call of a video service, as far as it matters for faults.
type videoCall struct {
	name     string
	header   string // the value of X-Simulate, which always means this call
	provider string
	prompt   *prompt // the prompt of the render that the call is about; an empty one for a list
	render   string  // id of that render, empty while there is none
}

// sources are the specs of a call, the first of which counts.
func (c *videoCall) sources() []string {
	return []string{c.header, c.prompt.modelSpec, c.prompt.textSpec}
}

// strike finds the fault of a call: of its header, its model name, its prompt, or the table, in this order; specs that
// concern other calls are passed over. Calls about one render are counted apart from those about another.
func (t *faults) strike(c *videoCall) (*fault, error) {
	for i, spec := range c.sources() {
		if spec == "" {
			continue
		}
		f, err := parseFault(spec)
		if err != nil {
			return nil, err
		}
		if here := i == 0 && len(f.on) == 0; !here && !f.concerns(c.name) {
			continue
		}
		key := "key\x00" + f.key
		if f.key == "" {
			key = strings.Join([]string{"spec", c.provider, c.prompt.model, spec, c.render}, "\x00")
		}
		if !t.spend(key, f) {
			return &fault{}, nil
		}
		return f, nil
	}
	e, ok := t.match(c.provider, c.prompt.model, func(f *fault) bool { return f.concerns(c.name) })
	if ok && t.spend(e.key(), e.fault) {
		return e.fault, nil
	}
	return &fault{}, nil
}

// shape finds the fault that a new render has for its life. One that strikes the call that makes it is spent with
// that; one that is about other calls only is always there.
func (t *faults) shape(c *videoCall, struck *fault) *fault {
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
