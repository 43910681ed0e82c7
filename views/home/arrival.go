package home

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"umg/views"
	"umg/views/codesample"
)

// Arrival is a recent call, shown while a user sets up a program: an answered call, or one that was refused before authentication.
type Arrival struct {
	At      time.Time
	ID      string
	Method  string
	Route   string
	KeyName string // KeyName is empty for an unknown key.
	Style   string
	Model   string
	Status  int
	Code    string         // Code is the error code; empty for an answered call.
	Reason  string         // Reason tells causes of one code apart; it may be empty.
	Logged  *views.Request // Logged is the usage record; nil for a call without one.
	Unknown bool           // Unknown means that the call came from the reader's address with an unknown key.
}

// Fix is what was wrong with a call, and how it is put right.
type Fix struct {
	Cause string `yaml:"cause"`
	Text  string `yaml:"text"`
	Link  string `yaml:"link"` // Link is the address of the fix; it may be empty.
	Label string `yaml:"label"`
}

//go:embed fixes.yaml
var fixesText string

// knownFixes are what is wrong with calls.
type knownFixes struct {
	Codes   map[string]Fix `yaml:"codes"`   // Codes are by the code of the error.
	Reasons map[string]Fix `yaml:"reasons"` // Reasons are by the reason why a request had no valid key.
}

// fixes has the text of fixes.yaml.
var fixes = sync.OnceValue(func() (known knownFixes) {
	text := strings.ReplaceAll(fixesText, "$KEY_VARIABLE", codesample.KeyVariable)
	if err := yaml.Unmarshal([]byte(text), &known); err != nil {
		panic(fmt.Sprintf("home: fixes.yaml: %v", err))
	}
	return known
})

// Fix is what was wrong with the call, and how it is put right.
func (a Arrival) Fix() Fix {
	if f, ok := fixes().Reasons[a.Reason]; ok {
		return f
	}
	return FixOf(a.Code)
}

// FixOf is the cause of an error and its remedy.
func FixOf(code string) Fix {
	if f, ok := fixes().Codes[code]; ok {
		return f
	}
	if text, ok := views.ErrorCauses[code]; ok {
		return Fix{Cause: text, Text: "The message of the answer says more.", Link: "/console/requests", Label: "See your requests"}
	}
	return Fix{Cause: "It was refused with “" + code + "”", Text: "The message of the answer says more."}
}

// call is the call in a line: method and path.
func (a Arrival) call() string { return a.Method + " " + a.Route }

func (a Arrival) answered() bool {
	return a.Code == "" && (a.Logged == nil || a.Logged.Outcome == "succeeded")
}
