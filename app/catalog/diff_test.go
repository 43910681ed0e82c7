package catalog

import (
	"slices"
	"testing"

	"umg/app/llm"
)

// TestChangesOfEntriesAreThoseOfAllTheirLeaves compares every two models of the default catalog with and without leaving out
// first what is the same in both.
func TestChangesOfEntriesAreThoseOfAllTheirLeaves(t *testing.T) {
	t.Parallel()
	f := parse(t, string(Default()))
	for i := range f.Models {
		for j := range f.Models {
			quick, err := changes("model ", f.Models[i], f.Models[j])
			if err != nil {
				t.Fatal(err)
			}
			whole, err := leafChanges("model ", f.Models[i], f.Models[j])
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(quick, whole) || (len(whole) == 0) != (i == j) {
				t.Errorf("%s and %s differ in %q, or all their leaves in %q", f.Models[i].ID, f.Models[j].ID, quick, whole)
			}
		}
	}
	for i := range f.Providers {
		for j := range f.Providers {
			quick, errQuick := changes("provider ", f.Providers[i], f.Providers[j])
			whole, errWhole := leafChanges("provider ", f.Providers[i], f.Providers[j])
			if errQuick != nil || errWhole != nil || !slices.Equal(quick, whole) {
				t.Errorf("%s and %s differ in %q, or all their leaves in %q", f.Providers[i].ID, f.Providers[j].ID, quick, whole)
			}
		}
	}
}

// TestEqualFilesArePrintedTheSame compares files that are the same in print though not in memory, and files that are not.
func TestEqualFilesArePrintedTheSame(t *testing.T) {
	t.Parallel()
	f := parse(t, smallFile)
	alike := parse(t, smallFile)
	alike.Models[0].Seconds, alike.Models[1].Styles = []int64{}, []llm.Style{}
	alike.Providers[0].Headers = map[string]string{}
	if same, err := equal(f, alike); err != nil || !same {
		t.Errorf("files with absent and empty lists: %t, %v", same, err)
	}
	for name, raw := range map[string]string{
		"alias": with(t, "x-acme-key: authorization", "x-key: authorization"), "provider": with(t, "name: North", "name: Nord"),
		"model": with(t, "0.15 per 1M", "0.16 per 1M"), "route": with(t, "weight: 3", "weight: 4"), "empty": "",
	} {
		if same, err := equal(f, parse(t, raw)); err != nil || same {
			t.Errorf("another %s: %t, %v", name, same, err)
		}
	}
}
