package simulator

import (
	"slices"
	"strings"
	"sync"
)

const (
	// faultEntriesMax bounds the fault table.
	faultEntriesMax = 1024
	// faultKeysMax bounds how many specs are counted at once; beyond it all counts start at zero again.
	faultKeysMax = 8192
)

// faultEntry is a row of the fault table: what happens to the requests of a provider and a model. Empty means any.
type faultEntry struct {
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	Spec     string `json:"spec"`

	fault *fault
}

// faults is the fault table, and the count of what was spent of each fault.
type faults struct {
	mu      sync.Mutex
	entries []faultEntry
	spent   map[string]int64
}

// put adds a row or replaces the one with the same provider and model, and resets its count. It reports false when the table is full.
func (t *faults) put(e faultEntry) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.spent, e.key())
	for i := range t.entries {
		if t.entries[i].Provider == e.Provider && t.entries[i].Model == e.Model {
			t.entries[i] = e
			return true
		}
	}
	if len(t.entries) >= faultEntriesMax {
		return false
	}
	t.entries = append(t.entries, e)
	return true
}

// clear removes the rows with this provider and model, and its count; nil removes everything, every count too.
func (t *faults) clear(only *faultEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if only == nil {
		t.entries, t.spent = nil, nil
		return
	}
	delete(t.spent, only.key())
	t.entries = slices.DeleteFunc(t.entries, func(e faultEntry) bool {
		return e.Provider == only.Provider && e.Model == only.Model
	})
}

func (t *faults) all() []faultEntry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.entries)
}

// match finds the row that names the request most closely: provider and model, provider, model, any. Rows whose fault
// is not wanted do not count.
func (t *faults) match(provider, model string, wanted func(*fault) bool) (faultEntry, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	best, found := -1, faultEntry{}
	for _, e := range t.entries {
		if e.Provider != "" && e.Provider != provider || e.Model != "" && e.Model != model || !wanted(e.fault) {
			continue
		}
		rank := 0
		if e.Provider != "" {
			rank += 2
		}
		if e.Model != "" {
			rank++
		}
		if rank > best {
			best, found = rank, e
		}
	}
	return found, best >= 0
}

func (e faultEntry) key() string { return "table\x00" + e.Provider + "\x00" + e.Model }

// spend counts one request against a fault and reports whether the fault still strikes.
func (t *faults) spend(key string, f *fault) bool {
	if f.times == 0 && f.skip == 0 && f.every == 0 {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.spent == nil || len(t.spent) >= faultKeysMax {
		t.spent = make(map[string]int64)
	}
	t.spent[key]++
	n := t.spent[key]
	if n <= f.skip || f.times > 0 && n > f.skip+f.times {
		return false
	}
	return f.every == 0 || (n-f.skip)%f.every == 1
}

// strike finds the fault of a call: of its header, its model name, its prompt, or the table, in this order; specs that
// concern other calls are passed over. Calls about one render are counted apart from those about another.
func (t *faults) strike(c *faultCall) (*fault, error) {
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
