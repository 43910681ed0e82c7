package emulator

import (
	"bytes"
	_ "embed" // The table of providers is embedded.
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

//go:embed providers.yaml
var providersFile []byte

// table has the providers and the token endpoints.
type table struct {
	Bodies    map[string]errorAnswer            `yaml:"bodies"`
	Providers map[string]*provider              `yaml:"providers"`
	Tokens    map[string]map[string]errorAnswer `yaml:"tokens"`
}

// provider is what a provider accepts and says; providers.yaml describes the members.
type provider struct {
	Auth      []authentication       `yaml:"auth"`
	Models    map[string]int64       `yaml:"models"`
	Paths     []*pathRule            `yaml:"paths"`
	Lists     []*listRule            `yaml:"lists"`
	Members   []string               `yaml:"members"`
	Unknown   string                 `yaml:"unknown"`
	Bound     string                 `yaml:"bound"`
	Refuses   []string               `yaml:"refuses"`
	Choices   []string               `yaml:"choices"`
	Prefix    bool                   `yaml:"prefix"`
	Developer bool                   `yaml:"developer"`
	Images    []string               `yaml:"images"`
	Needs     map[string][]string    `yaml:"needs"`
	Headers   map[string]string      `yaml:"headers"`
	Comment   string                 `yaml:"comment"`
	Cached    int64                  `yaml:"cached"`
	Chat      chatForm               `yaml:"chat"`
	Errors    map[string]errorAnswer `yaml:"errors"`
}

// authentication is a way in which a provider takes a credential.
type authentication struct {
	Kind   string `yaml:"kind"`
	Header string `yaml:"header"`
	Scope  string `yaml:"scope"`
}

// pathRule is a path of a provider.
type pathRule struct {
	Path    string            `yaml:"path"`
	Wire    string            `yaml:"wire"`
	Stream  *bool             `yaml:"stream"`
	Framing string            `yaml:"framing"`
	Query   map[string]string `yaml:"query"`
	Version map[string]string `yaml:"version"`

	pattern *regexp.Regexp
	names   []string
}

// chatForm is how the chat answers of a provider differ from each other.
type chatForm struct {
	Usage       string `yaml:"usage"`
	Asked       bool   `yaml:"asked"`
	Thoughts    string `yaml:"thoughts"`
	Outside     string `yaml:"outside"`
	Provider    string `yaml:"provider"`
	Ticks       bool   `yaml:"ticks"`
	Fingerprint bool   `yaml:"fingerprint"`
	Filters     bool   `yaml:"filters"`
	CacheHit    bool   `yaml:"cache_hit"`
	Times       bool   `yaml:"times"`
	Details     bool   `yaml:"details"`
	Native      bool   `yaml:"native"`
	Cost        bool   `yaml:"cost"`
}

// errorAnswer is an error of a provider. Words that begin with a dollar sign are filled in.
type errorAnswer struct {
	Status   int               `yaml:"status"`
	Headers  map[string]string `yaml:"headers"`
	Body     string            `yaml:"body"`
	Recorded string            `yaml:"recorded"`
}

var providers = mustParse(providersFile)

// mustParse reads the table. The file is part of the program, so an error in it is a mistake of the program.
func mustParse(text []byte) *table {
	var t table
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&t); err != nil {
		panic("emulator: providers.yaml: " + err.Error())
	}
	for name, p := range t.Providers {
		for _, rule := range p.Paths {
			if wires[rule.Wire] == nil {
				panic(fmt.Sprintf("emulator: providers.yaml: %s has a path of the unknown wire %q", name, rule.Wire))
			}
			rule.compile()
		}
		for _, kind := range requiredErrors {
			if p.Errors[kind].Status == 0 {
				panic(fmt.Sprintf("emulator: providers.yaml: %s has no error %q", name, kind))
			}
		}
	}
	return &t
}

// requiredErrors are the errors that each provider has.
var requiredErrors = []string{"key", "model", "request", "path", "rate", "overloaded", "server"}

var variable = regexp.MustCompile(`\{[a-z]+\}`)

// compile makes the pattern of a path. A variable is one segment, or the part of one that ends at a colon.
func (p *pathRule) compile() {
	var b strings.Builder
	at := 0
	for _, place := range variable.FindAllStringIndex(p.Path, -1) {
		b.WriteString(regexp.QuoteMeta(p.Path[at:place[0]]) + `([^/]+)`)
		p.names = append(p.names, p.Path[place[0]+1:place[1]-1])
		at = place[1]
	}
	p.pattern = regexp.MustCompile("^" + b.String() + regexp.QuoteMeta(p.Path[at:]) + "$")
}

// match returns the variables of an escaped path.
func (p *pathRule) match(path string) (map[string]string, bool) {
	found := p.pattern.FindStringSubmatch(path)
	if found == nil {
		return nil, false
	}
	vars := map[string]string{}
	for i, name := range p.names {
		value, err := url.PathUnescape(found[i+1])
		if err != nil {
			return nil, false
		}
		vars[name] = value
	}
	return vars, true
}
