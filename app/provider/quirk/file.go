package quirk

import (
	"bytes"
	_ "embed" // The table of quirks is embedded.
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"gopkg.in/yaml.v3"

	"umg/app/llm"
	"umg/app/usagereader"
)

//go:embed quirks.yaml
var text []byte

// These members bound the output in a request. The second is the former name.
const (
	boundName       = "max_completion_tokens"
	formerBoundName = "max_tokens"
)

// The usage of a stream comes in one of these ways.
const (
	usageOption = "option"
	usageAlways = "always"
)

// A provider may have another word for these choices of tools.
const (
	choiceRequired = "required"
	choiceNamed    = "named"
)

// A provider may require one of these orders of system messages.
const (
	systemFirst = "first"
	systemOne   = "one"
)

// A provider takes a schema of the answer at one of these levels, below a strict one.
const (
	schemasPlain  = "schema"
	schemasObject = "object"
	schemasNone   = "none"
)

// imagesData means that a provider takes images only as data.
const imagesData = "data"

var (
	// optionalMembers are the members that a provider may not take or may name otherwise. Without any other member, a request is none, or
	// its bound does not hold.
	optionalMembers = []string{
		"frequency_penalty", "logit_bias", "logprobs", "metadata", "n", "parallel_tool_calls", "prediction", "presence_penalty",
		"prompt_cache_key", "reasoning_effort", "safety_identifier", "seed", "service_tier", "stop", "store", "temperature", "top_k",
		"top_logprobs", "top_p", "usage", "user", "verbosity",
	}
	// messageMembers are members of messages of the assistant without which the messages mean the same.
	messageMembers = []string{"reasoning_content", "reasoning", "refusal"}
	effortWords    = []string{"none", "minimal", "low", "medium", "high", "xhigh"}
	choiceWords    = []string{"auto", "none", "any", "required"}
	// endUserMembers are where a style can have the id of the end user.
	endUserMembers = map[llm.Style][]string{
		llm.Chat: {"user", "safety_identifier"}, llm.Responses: {"user", "safety_identifier"}, llm.Messages: {"metadata.user_id"},
	}
	// imageStyles are the styles in which providers fetch images, unless the table says otherwise.
	imageStyles = []llm.Style{llm.Chat, llm.Responses, llm.Messages}
	memberForm  = regexp.MustCompile(`^[a-z][a-z_]*$`)
)

// file is the table. Its comments explain the members.
type file struct {
	Providers map[string]*entry `yaml:"providers"`
}

// entry is in what requests to one provider differ.
type entry struct {
	OutputBound       string            `yaml:"output_bound"`
	StreamUsage       string            `yaml:"stream_usage"`
	Drop              []string          `yaml:"drop"`
	DropWhenReasoning []string          `yaml:"drop_when_reasoning"`
	Rename            map[string]string `yaml:"rename"`
	DeveloperRole     *bool             `yaml:"developer_role"`
	ToolChoice        map[string]string `yaml:"tool_choice"`
	DropInMessages    []string          `yaml:"drop_in_messages"`
	Prefill           string            `yaml:"prefill"`
	System            string            `yaml:"system"`
	Alternation       bool              `yaml:"alternation"`
	Schemas           string            `yaml:"schemas"`
	Reasoning         string            `yaml:"reasoning"`
	Efforts           map[string]string `yaml:"efforts"`
	ThinkText         bool              `yaml:"think_text"`
	// Images says for each style how the provider takes images.
	Images map[llm.Style]string `yaml:"images"`
	// EndUser has the member with the id of the end user in each style.
	EndUser map[llm.Style]string `yaml:"end_user"`
}

// parse reads and compiles the table. An unknown word is an error.
func parse(text []byte) (map[string]*providerRules, error) {
	var f file
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true) // The decoder also rejects duplicate members.
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("quirk: the table: %w", err)
	}
	names := usagereader.Names()
	all := map[string]*providerRules{}
	for _, name := range slices.Sorted(maps.Keys(f.Providers)) {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("quirk: there is no reader of usage %q", name)
		}
		e := f.Providers[name]
		if e == nil {
			return nil, fmt.Errorf("quirk: %s has no members", name)
		}
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("quirk: %s: %w", name, err)
		}
		all[name] = e.compile()
	}
	return all, nil
}

func (e *entry) check() error {
	for _, name := range slices.Concat(e.Drop, e.DropWhenReasoning, slices.Sorted(maps.Keys(e.Rename))) {
		if !slices.Contains(optionalMembers, name) {
			return fmt.Errorf("%q is not a member that can be dropped or renamed", name)
		}
	}
	for from, to := range e.Rename {
		if !memberForm.MatchString(to) || slices.Contains(optionalMembers, to) || slices.Contains(e.Drop, from) {
			return fmt.Errorf("%s cannot become %q", from, to)
		}
	}
	if err := e.checkMaps(); err != nil {
		return err
	}
	if err := e.checkWords(); err != nil {
		return err
	}
	switch {
	case !slices.Contains([]string{"", boundName, formerBoundName}, e.OutputBound):
		return fmt.Errorf("%q is not the name of a bound", e.OutputBound)
	case !slices.Contains([]string{"", usageOption, usageAlways}, e.StreamUsage):
		return fmt.Errorf("%q is not a way in which usage comes", e.StreamUsage)
	case e.isEmpty() && e.EndUser == nil && e.Images == nil:
		return errors.New("it changes no request")
	}
	return nil
}

// checkMaps checks the members that have several words.
func (e *entry) checkMaps() error {
	for choice, word := range e.ToolChoice {
		if choice != choiceRequired && choice != choiceNamed || !slices.Contains(choiceWords, word) {
			return fmt.Errorf("tool_choice has no %q with the word %q", choice, word)
		}
	}
	for style, member := range e.EndUser {
		if !slices.Contains(endUserMembers[style], member) || style == llm.Chat && slices.Contains(e.Drop, member) {
			return fmt.Errorf("requests of the style %q have no end user in %q", style, member)
		}
	}
	for style, word := range e.Images {
		if !slices.Contains(imageStyles, style) || word != imagesData {
			return fmt.Errorf("images of the style %q cannot be %q", style, word)
		}
	}
	for _, name := range e.DropInMessages {
		if !slices.Contains(messageMembers, name) {
			return fmt.Errorf("%q is not a member of messages that can be dropped", name)
		}
	}
	for from, to := range e.Efforts {
		if !slices.Contains(effortWords, from) || !slices.Contains(effortWords, to) {
			return fmt.Errorf("%q cannot be the effort %q", from, to)
		}
	}
	return nil
}

// checkWords checks the members that have one of a few words.
func (e *entry) checkWords() error {
	for _, m := range []struct {
		name, word string
		known      []string
	}{
		{"prefill", e.Prefill, []string{"prefix", "partial"}}, {"system", e.System, []string{systemFirst, systemOne}},
		{"schemas", e.Schemas, []string{schemasPlain, schemasObject, schemasNone}},
		{"reasoning", e.Reasoning, slices.Sorted(maps.Keys(reasoningForms))},
	} {
		if m.word != "" && !slices.Contains(m.known, m.word) {
			return fmt.Errorf("%s cannot be %q", m.name, m.word)
		}
	}
	return nil
}

// isEmpty reports whether chat requests to the provider and its answers do not differ.
func (e *entry) isEmpty() bool {
	hasMembers := e.OutputBound != "" || e.Drop != nil || e.DropWhenReasoning != nil || e.Rename != nil || e.ToolChoice != nil
	hasForms := e.Prefill+e.System+e.Schemas+e.Reasoning != "" || e.Efforts != nil || e.Alternation || e.DropInMessages != nil
	return !hasMembers && !hasForms && e.StreamUsage != usageAlways && !e.refusesDeveloper() && !e.ThinkText
}

func (e *entry) refusesDeveloper() bool { return e.DeveloperRole != nil && !*e.DeveloperRole }

func (e *entry) compile() *providerRules {
	if e.isEmpty() {
		return &providerRules{endUser: e.EndUser, images: e.Images}
	}
	r := Rules{
		outputBound: e.OutputBound, sendsUsageUnasked: e.StreamUsage == usageAlways, drop: e.Drop, dropWhenReasoning: e.DropWhenReasoning,
		rename: e.Rename, refusesDeveloper: e.refusesDeveloper(),
		requiredWord: e.ToolChoice[choiceRequired], namedWord: e.ToolChoice[choiceNamed], thinksInText: e.ThinkText,
		dropInMessages: e.DropInMessages, prefillMember: e.Prefill, systemOrder: e.System, alternates: e.Alternation,
		schemas: e.Schemas, reasoningForm: e.Reasoning, efforts: e.Efforts,
	}
	always := r
	always.alwaysReasons = true
	return &providerRules{usual: &r, alwaysReasoning: &always, endUser: e.EndUser, images: e.Images}
}

func mustParse() map[string]*providerRules {
	all, err := parse(text)
	if err != nil {
		panic(err)
	}
	return all
}
