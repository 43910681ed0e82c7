package setup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"umg/app/catalog"
	"umg/app/preset"
)

// Found is a provider whose credential is in the environment, as a catalog would have it. It has references and no secrets.
type Found struct {
	Preset   *preset.Preset
	Provider catalog.FileProvider
	// Variables are those that are set and used, in the order of the fields.
	Variables []string
}

// Find returns the providers of presets whose required variables are set, in the order of their presets. Addresses has other base URLs
// than those of the presets, by preset.
func Find(env catalog.SecretLookup, addresses map[string]string) (all []Found) {
	for _, p := range preset.All() {
		e, ok := p.FromEnvironment(env)
		if !ok {
			continue
		}
		all = append(all, Found{Preset: p, Variables: e.Variables, Provider: catalog.FileProvider{
			ID: p.ID, Name: p.Name, Preset: p.ID, With: e.With, Credential: credentialOf(env, e.Secrets), BaseURL: addresses[p.ID],
		}})
	}
	return all
}

// credentialOf is the reference of a credential. A variable whose value is the path of a file, as some tools have it, names the file.
func credentialOf(env catalog.SecretLookup, secrets []string) string {
	if len(secrets) == 1 {
		path, _ := env(secrets[0])
		if about, err := os.Stat(path); err == nil && filepath.IsAbs(path) && filepath.Clean(path) == path && about.Mode().IsRegular() {
			return "file:" + path
		}
	}
	references := make([]string, len(secrets))
	for i, name := range secrets {
		references[i] = "${" + name + "}"
	}
	return strings.Join(references, ":")
}

// Usual lists the variables of which one set at least finds a provider, as a person sets them: the names of one provider with " and "
// between them.
func Usual() (names []string) {
	for _, p := range preset.All() {
		for _, variables := range p.RequiredVariables() {
			if text := strings.Join(variables, " and "); !slices.Contains(names, text) {
				names = append(names, text)
			}
		}
	}
	return names
}
