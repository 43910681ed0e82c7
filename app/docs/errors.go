package docs

import (
	"bytes"
	_ "embed" // for the table of errors
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
)

const (
	errorsPage = "errors"
	errorsMark = "{{errors}}"
)

//go:embed errors.yaml
var errorsFile []byte

// ErrorCode is one row of the table of errors.
type ErrorCode struct {
	Code   string `yaml:"code"`
	Status string `yaml:"status"` // the HTTP status, or what has failed
	Retry  string `yaml:"retry"`
	Means  string `yaml:"means"`
	Do     string `yaml:"do"`
}

type errorGroup struct {
	Name  string      `yaml:"group"`
	Codes []ErrorCode `yaml:"codes"`
}

type errorTable struct {
	groups []errorGroup
	known  map[string]bool
}

var errorsTable = sync.OnceValue(func() errorTable {
	t := errorTable{known: map[string]bool{}}
	d := yaml.NewDecoder(bytes.NewReader(errorsFile))
	d.KnownFields(true)
	if err := d.Decode(&t.groups); err != nil {
		panic(err) // the file is part of the program
	}
	for _, g := range t.groups {
		for _, e := range g.Codes {
			t.known[e.Code] = true
		}
	}
	return t
})

// ErrorPath is the address at which the documentation explains an error code. For a code of a provider it is the page about all errors.
func ErrorPath(code string) string {
	if !errorsTable().known[code] {
		return Path + "/" + errorsPage
	}
	return Path + "/" + errorsPage + "#" + code
}

// Explanation is what the documentation says of an error code, as text without marks. It returns false for a code of a provider.
func Explanation(code string) (e ErrorCode, found bool) {
	for _, g := range errorsTable().groups {
		for _, e := range g.Codes {
			if e.Code == code {
				e.Means, e.Do = plain(e.Means), plain(e.Do)
				return e, true
			}
		}
	}
	return ErrorCode{}, false
}

// ErrorCodes are all codes that the documentation explains.
func ErrorCodes() []ErrorCode {
	var all []ErrorCode
	for _, g := range errorsTable().groups {
		all = append(all, g.Codes...)
	}
	return slices.Clip(all)
}

// errorsMarkdown is the table as text: a heading for each code, so that links can lead to it.
func errorsMarkdown() string {
	var b strings.Builder
	for _, g := range errorsTable().groups {
		b.WriteString("## " + g.Name + "\n\n")
		for _, e := range g.Codes {
			status := "HTTP " + e.Status
			if e.Status[0] < '0' || e.Status[0] > '9' {
				status = "In a " + e.Status
			}
			b.WriteString("### `" + e.Code + "`\n\n**" + status + "** · Try again: " + e.Retry + "\n\n" + e.Means + "\n\n" + e.Do + "\n\n")
		}
	}
	return b.String()
}
