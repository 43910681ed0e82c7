package operator

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"umg/app/library"
)

// choicesKept bounds the lists of choices in memory. One of a long list takes a few megabytes.
const choicesKept = 4

// choiceKey says what a list of choices was made from.
type choiceKey struct {
	provider, preset, library string
	// with are the values of the provider's fields, on which costs depend.
	with     string
	listedAt time.Time
}

// choiceCache keeps the choices of the providers that operators look at, because to make those of a long list takes longer than a page
// should. Its zero value is empty. No one changes a list that it returns.
type choiceCache struct {
	mu   sync.Mutex
	keys []choiceKey // The last one was used last.
	all  map[choiceKey][]library.Choice
}

// of returns the list of a key, and calls list when it is not known. An error of list is returned.
func (c *choiceCache) of(key choiceKey, list func() ([]library.Choice, error)) ([]library.Choice, error) {
	c.mu.Lock()
	found, isKnown := c.all[key]
	c.touch(key, isKnown)
	c.mu.Unlock()
	if isKnown {
		return found, nil
	}
	found, err := list()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[choiceKey][]library.Choice{}
	}
	if _, isKnown := c.all[key]; !isKnown {
		c.keys = append(c.keys, key)
	}
	c.all[key] = found
	for len(c.keys) > choicesKept {
		delete(c.all, c.keys[0])
		c.keys = slices.Delete(c.keys, 0, 1)
	}
	return found, nil
}

// touch makes a known key the one that was used last.
func (c *choiceCache) touch(key choiceKey, isKnown bool) {
	if i := slices.Index(c.keys, key); isKnown && i >= 0 {
		c.keys = append(slices.Delete(c.keys, i, i+1), key)
	}
}

// sortedChoices orders choices by family and id. Those that the library does not know come last.
func sortedChoices(choices []library.Choice) []library.Choice {
	slices.SortStableFunc(choices, func(a, b library.Choice) int {
		return cmp.Or(compareTrue(a.Known, b.Known), strings.Compare(familyOf(&a), familyOf(&b)), strings.Compare(a.ID, b.ID))
	})
	return choices
}

// compareTrue orders true before false.
func compareTrue(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
