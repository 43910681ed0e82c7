package catalog

import (
	_ "embed" // The default aliases are embedded.
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
)

//go:embed aliases.yaml
var aliasesFile []byte

// defaultAliases are those that unmodified clients need. Every catalog has them but for those that it switches off.
var defaultAliases = sync.OnceValue(func() Aliases {
	var a Aliases
	if err := yaml.Unmarshal(aliasesFile, &a); err != nil {
		panic("catalog: the embedded aliases cannot be read: " + err.Error())
	}
	return a
})

// DefaultAliases are the aliases of a file that names none.
func DefaultAliases() Aliases {
	a := defaultAliases()
	return Aliases{Headers: maps.Clone(a.Headers), Paths: maps.Clone(a.Paths)}
}

// names are the spellings of all aliases, those of headers first.
func (a Aliases) names() []string { return append(sortedKeys(a.Headers), sortedKeys(a.Paths)...) }

// InForce are the aliases that the API answers: the default ones that are not switched off, and those of the file. One of the file
// replaces the default one of its name.
func (a Aliases) InForce() Aliases {
	all := DefaultAliases()
	for _, name := range a.Off {
		delete(all.Headers, name)
		delete(all.Paths, name)
	}
	maps.Copy(all.Headers, a.Headers)
	maps.Copy(all.Paths, a.Paths)
	return all
}

// withoutDefaults are the aliases without those that every catalog has, so that two files with the same aliases in force are equal. What
// is also switched off stays, for the check to find.
func (a Aliases) withoutDefaults() Aliases {
	d := defaultAliases()
	a.Headers, a.Paths = without(a.Headers, d.Headers, a.Off), without(a.Paths, d.Paths, a.Off)
	if a.Off = slices.Sorted(slices.Values(a.Off)); len(a.Off) == 0 {
		a.Off = nil
	}
	return a
}

// without is a map without the entries that defaults has too, but for those that keep names; nil when nothing is left.
func without(own, defaults map[string]string, keep []string) map[string]string {
	var rest map[string]string
	for name, value := range own {
		if defaults[name] == value && !slices.Contains(keep, name) {
			continue
		}
		if rest == nil {
			rest = map[string]string{}
		}
		rest[name] = value
	}
	return rest
}

func checkAliases(p problems, a Aliases) {
	for _, alias := range sortedKeys(a.Headers) {
		if !headerName.MatchString(alias) {
			p.addf("headers", "%q is not the name of a header in lower case", alias)
		}
		if slices.Contains(aliasedHeaders, alias) {
			p.addf("headers", "%q is a header of the service itself", alias)
		}
		p.oneOf("headers."+alias, a.Headers[alias], aliasedHeaders)
	}
	for _, alias := range sortedKeys(a.Paths) {
		if !strings.HasPrefix(alias, "/") || strings.Contains(alias, "//") || strings.ContainsAny(alias, " ?#") {
			p.addf("paths", "%q is not a path", alias)
		}
		if a.Paths[alias] == operationVideos && (strings.Contains(alias, "{") || strings.HasSuffix(alias, "/")) {
			p.addf("paths."+alias, "videos stands for all operations of videos, so the path is what comes before /{id}, "+
				"/{id}/content and /{id}/remix: it holds no { and does not end with /")
		}
		p.oneOf("paths."+alias, a.Paths[alias], aliasedOperations)
	}
	for i, alias := range a.Off {
		_, isHeader := defaultAliases().Headers[alias]
		_, isPath := defaultAliases().Paths[alias]
		switch {
		case !isHeader && !isPath:
			p.addf("off", "%q is not one of the default aliases: %s", alias, strings.Join(defaultAliases().names(), ", "))
		case slices.Contains(a.Off[:i], alias):
			p.addf("off", "%q is there twice", alias)
		case a.Headers[alias] != "" || a.Paths[alias] != "":
			p.addf("off", "%q is switched off and set; leave out one of the two", alias)
		}
	}
}

// modelAliasesMax bounds the aliases of a model.
const modelAliasesMax = 32

// modelAlias is what an alias of a model looks like: the spelling of a provider, which may have capitals and more parts than an id.
var modelAlias = regexp.MustCompile(`^[A-Za-z0-9@][A-Za-z0-9@._:+-]*(/[A-Za-z0-9@][A-Za-z0-9@._:+-]*)*$`)

// modelAliasBytesMax bounds one alias.
const modelAliasBytesMax = 200

// checkModelAliases adds a problem for each alias of a model that is no alias or that names another model too.
func checkModelAliases(p problems, models []FileModel) {
	ids, owners := make(map[string]bool, len(models)), map[string]string{}
	for i := range models {
		ids[models[i].ID] = true
	}
	for i := range models {
		m, at := &models[i], p.at("models[%d]", i)
		if len(m.Aliases) > modelAliasesMax {
			at.addf("aliases", "%d aliases are more than %d", len(m.Aliases), modelAliasesMax)
		}
		for _, alias := range m.Aliases {
			owner, taken := owners[alias]
			switch {
			case !modelAlias.MatchString(alias) || len(alias) > modelAliasBytesMax:
				at.addf("aliases", "%q must be parts of letters, digits and @._:+- with a slash between them, at most %d characters",
					alias, modelAliasBytesMax)
			case alias == m.ID:
				at.addf("aliases", "%q is the id of the model itself", alias)
			case ids[alias]:
				at.addf("aliases", "%q is the id of another model", alias)
			case taken && owner == m.ID:
				at.addf("aliases", "%q is there twice", alias)
			case taken:
				at.addf("aliases", "%q is also an alias of the model %s", alias, owner)
			default:
				owners[alias] = m.ID
			}
		}
	}
}
