package check

import (
	"bytes"
	_ "embed" // The table of advice is embedded.
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"umg/app/provider"
	"umg/app/provider/errorclass"
)

//go:embed advice.yaml
var adviceFile []byte

// Steps find these problems themselves.
const (
	problemUnusable     = "unusable"
	problemCatalog      = "catalog"
	problemNoModels     = "no_models"
	problemUnknownStyle = "unknown_style"
	problemClock        = "other_clock"
	problemNoText       = "no_text"
	problemNoStream     = "no_stream"
	problemNoCall       = "no_call"
	problemBadArguments = "bad_arguments"
	problemNoUsage      = "no_usage"
	problemUnreadUsage  = "unread_usage"
	problemCancelled    = "cancelled"
	problemBroken       = "broken"
	problemNoRight      = "no_right"
	problemNoListRight  = "no_list_right"
)

// Advice is a row of the table of advice.
type Advice struct {
	Problem string               `yaml:"problem"`
	Class   []provider.Class     `yaml:"class"`
	Meaning []errorclass.Meaning `yaml:"meaning"`
	Status  []int                `yaml:"status"`
	Words   []string             `yaml:"words"`
	Step    []string             `yaml:"step"`
	// Found is what is wrong, and Advice what to do next; each is a sentence.
	Found  string `yaml:"found"`
	Advice string `yaml:"advice"`
}

var advices = mustParse(adviceFile)

func mustParse(text []byte) (rows []Advice) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&rows); err != nil {
		panic("check: advice.yaml: " + err.Error())
	}
	return rows
}

// AdviceOn returns what a fault of a step means and what to do about it. The step may be empty.
func AdviceOn(f *provider.Fault, step string) Advice {
	said := strings.ToLower(f.ProviderWords() + " " + f.Advice)
	for _, a := range advices {
		if a.isOfFaults() && a.fits(f, step, said) {
			return a
		}
	}
	return adviceOf("setup")
}

// isOfFaults reports whether a row is about faults of the provider. The others are about what steps find themselves.
func (a *Advice) isOfFaults() bool { return a.Class != nil || a.Meaning != nil || a.Status != nil }

func (a *Advice) fits(f *provider.Fault, step, said string) bool {
	return (a.Class == nil || slices.Contains(a.Class, f.Class)) && (a.Meaning == nil || slices.Contains(a.Meaning, f.Meaning)) &&
		(a.Status == nil || slices.Contains(a.Status, f.Status)) && (a.Step == nil || slices.Contains(a.Step, step)) &&
		(a.Words == nil || slices.ContainsFunc(a.Words, func(w string) bool { return strings.Contains(said, w) }))
}

// adviceOf returns the row of a problem.
func adviceOf(problem string) Advice {
	i := slices.IndexFunc(advices, func(a Advice) bool { return a.Problem == problem })
	if i < 0 {
		panic("check: advice.yaml has no problem " + problem)
	}
	return advices[i]
}
