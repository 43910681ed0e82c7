package library_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"umg/app/catalog"
	"umg/app/library"
	"umg/app/preset"
	"umg/app/provider/modellist"
)

// sources are the files from which the embedded library is made.
func sources(t *testing.T) library.Files {
	t.Helper()
	files := library.Files{Models: map[string][]byte{}}
	names, err := filepath.Glob("sources/models/*.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d files of models: %v", len(names), err)
	}
	for _, name := range names {
		files.Models[strings.TrimSuffix(filepath.Base(name), ".json")] = read(t, name)
	}
	files.Prices = read(t, "sources/prices/prices.json")
	return files
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestTheEmbeddedLibraryIsMadeFromItsSources(t *testing.T) {
	t.Parallel()
	made, err := library.Build(sources(t))
	if err != nil {
		t.Fatal(err)
	}
	text, err := made.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, read(t, "library.json")) {
		t.Error("library.json is not what the sources make; run go generate ./app/library")
	}
	back, err := library.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := back.Encode(); err != nil || !bytes.Equal(again, text) {
		t.Errorf("the library is not read as it is written: %v", err)
	}
}

// wholeCatalog has every model of the library with a price at every preset, or the others.
func wholeCatalog(t testing.TB, isPriced bool) catalog.File {
	t.Helper()
	var f catalog.File
	at := map[string]int{}
	for _, known := range preset.All() {
		choices := library.Embedded().Choices(known.ID, nil)
		if len(choices) == 0 {
			continue
		}
		f.Providers = append(f.Providers, catalog.FileProvider{
			ID: known.ID, Preset: known.ID, Credential: "${KEY}", With: known.WithExamples(known.Choices()[0]),
		})
		for _, c := range choices {
			if c.Priced != isPriced {
				continue
			}
			m := c.FileModel(known.ID, 1, 11_000)
			if i, ok := at[m.ID]; ok {
				m.Routes[0].Order = len(f.Models[i].Routes) + 1
				f.Models[i].Routes = append(f.Models[i].Routes, m.Routes...)
				continue
			}
			at[m.ID] = len(f.Models)
			f.Models = append(f.Models, m)
		}
	}
	return f
}

func TestEveryPricedModelIsRightForACatalog(t *testing.T) {
	t.Parallel()
	f := wholeCatalog(t, true)
	if len(f.Models) < 200 {
		t.Errorf("%d models are too few", len(f.Models))
	}
	for _, err := range catalog.Check(f) {
		t.Errorf("%v", err)
	}
	text, err := f.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := catalog.ParseFile(text); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d models, %d bytes", len(f.Models), len(text))
}

var _ = modellist.Model{}
