package preset

import (
	"maps"
	"slices"
)

// Environment is what the variables of the environment that tools of a provider use say about it.
type Environment struct {
	// With has the values of the fields without secrets.
	With map[string]string
	// Secrets are the variables with the parts of the credential, in their order.
	Secrets []string
	// Variables are all variables that are used, in the order of the fields.
	Variables []string
}

// FromEnvironment returns what variables say about the provider. It returns false when one that the provider requires has no value, when
// the value of a field is a mistake, and for a provider without a credential. Lookup finds the value of a variable.
func (p *Preset) FromEnvironment(lookup func(name string) (string, bool)) (Environment, bool) {
	for _, choice := range p.Choices() {
		if e, complete := p.environment(lookup, choice); complete {
			return e, true
		}
	}
	return Environment{}, false
}

func (p *Preset) environment(lookup func(string) (string, bool), choice map[string]string) (e Environment, complete bool) {
	e.With = maps.Clone(choice)
	set := map[string]string{}
	for i := range p.Fields {
		f := &p.Fields[i]
		if len(f.Options) > 0 || !holds(f.When, e.With) {
			continue
		}
		value := ""
		if f.Env != "" {
			value, _ = lookup(f.Env)
		}
		switch {
		case value == "" && f.Required:
			return Environment{}, false
		case value == "":
			continue
		case f.Secret:
			set[f.ID] = f.Env
		default:
			e.With[f.ID] = value
		}
		e.Variables = append(e.Variables, f.Env)
	}
	for _, id := range p.Expand(e.With).Auth.Credential {
		if name, ok := set[id]; ok {
			e.Secrets = append(e.Secrets, name)
		}
	}
	return e, len(e.Secrets) > 0 && len(p.Check(e.With, nil)) == 0
}

// RequiredVariables lists the variables without which FromEnvironment finds no provider, of each choice of the preset.
func (p *Preset) RequiredVariables() (all [][]string) {
	for _, choice := range p.Choices() {
		var names []string
		hasSecret, isComplete := false, true
		for i := range p.Fields {
			f := &p.Fields[i]
			if !f.Required || !holds(f.When, choice) {
				continue
			}
			hasSecret, isComplete = hasSecret || f.Secret, isComplete && f.Env != ""
			names = append(names, f.Env)
		}
		if hasSecret && isComplete {
			all = append(all, slices.Clone(names))
		}
	}
	return all
}
