package main

import (
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestConfigurationReferenceIsComplete checks that the operator guide has a row for each flag of the server that is not hidden,
// with its variable and its default.
func TestConfigurationReferenceIsComplete(t *testing.T) {
	t.Parallel()
	const dataDir = "default data folder"
	k, err := kong.New(&commands{}, kong.Vars{"default_data": dataDir})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../app/docs/operator/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, " | "); strings.HasPrefix(line, "| `--") && len(cells) == 4 {
			rows[strings.Join(cells[:3], " | ")] = true
		}
	}
	wanted := 0
	for _, command := range k.Model.Children {
		if command.Name != "serve" {
			continue
		}
		for _, flag := range command.Flags {
			if flag.Hidden || flag.Name == "help" {
				continue
			}
			wanted++
			value := "–"
			if flag.HasDefault && flag.Default != dataDir {
				value = "`" + flag.Default + "`"
			}
			if row := "| `--" + flag.Name + "` | `" + flag.Envs[0] + "` | " + value; !rows[row] {
				t.Errorf("configuration.md has no row that begins with %s", row)
			}
		}
	}
	if wanted < 40 || len(rows) != wanted {
		t.Errorf("configuration.md has %d rows for %d flags", len(rows), wanted)
	}
}
