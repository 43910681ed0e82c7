// Command build makes the embedded library from the files in sources. Run it in app/library with go generate.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"umg/app/library"
)

func main() {
	if err := run("sources", "library.json"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(sources, out string) error {
	files := library.Files{Models: map[string][]byte{}}
	names, err := filepath.Glob(filepath.Join(sources, "models", "*.json"))
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		files.Models[strings.TrimSuffix(filepath.Base(name), ".json")] = text
	}
	if files.Prices, err = os.ReadFile(filepath.Join(sources, "prices", "prices.json")); err != nil {
		return err
	}
	made, err := library.Build(files)
	if err != nil {
		return err
	}
	text, err := made.Encode()
	if err != nil {
		return err
	}
	return os.WriteFile(out, text, 0o600)
}
