package app

import (
	"fmt"
	"maps"
	"slices"
)

// MissingOption returns an error that names the first option, in alphabetical order, that is not set, such as
// "gateway.New: Options.Limits is required". It returns nil when all are set.
func MissingOption(constructor string, isSet map[string]bool) error {
	for _, option := range slices.Sorted(maps.Keys(isSet)) {
		if !isSet[option] {
			return fmt.Errorf("%s: %s is required", constructor, option)
		}
	}
	return nil
}

// RequireOptions panics with the error of MissingOption. A missing option is a mistake in the code that calls the constructor.
func RequireOptions(constructor string, isSet map[string]bool) {
	if err := MissingOption(constructor, isSet); err != nil {
		panic(err.Error())
	}
}
