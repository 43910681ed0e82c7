package simulator

import (
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// assetsMax is how many assets are kept in all groups together.
	assetsMax = 100_000
	// assetGroupMax is how many a resource group keeps unless the control routes say another number.
	assetGroupMax = 20_000
)

// The words for how far an asset is.
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
	list     []*asset // oldest first
	byID     map[string]*asset
	byName   map[string]*asset // by provider, group and reference
	counts   map[string]int    // by provider and group
	groupMax int               // zero is the usual limit
	made     int64
	removed  int64
}

func (a *asset) groupKey() string { return a.provider + "\x00" + a.Group }

func (a *asset) nameKey() string { return a.groupKey() + "\x00" + a.Reference }

// add keeps an asset, or finds the one that has its reference already. It reports true when there is no room.
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

// view tells the state. One that takes no time is still being processed in the answer that registers it, and has ended
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

// named reports whether a text of the control routes means this asset: its id, its reference, or a part of its name or
// its address.
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
