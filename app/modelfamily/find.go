package modelfamily

import (
	"cmp"
	"strings"

	"umg/app/llm"
)

// nameless is the part of a public id for names that have no letter or digit.
const nameless = "model"

// Find returns the family of a model, by the preset of its provider and the provider's name of it. The preset may be empty: the family
// then has no style. It reports false when no family has the name; the family then has only the parts of the public id and the style.
func Find(preset, model string) (Family, bool) {
	f := load()
	name, variant := f.plainName(preset, model)
	style := f.style(preset, model)
	owner := ""
	if before, after, ok := strings.Cut(name, "/"); ok {
		owner, name = before, after
		if known, ok := f.Owners[owner]; ok {
			owner = known
		}
	}
	for i := range f.Families {
		if !f.Families[i].Models.matches(name) {
			continue
		}
		found := f.Families[i]
		if found.Owner == "" {
			found.Owner = owner
		}
		found.Owner = cmp.Or(publicName(found.Owner), publicName(preset), nameless)
		found.Style, found.Name, found.Variant = style, cmp.Or(publicName(name), nameless), variant
		return found, true
	}
	return Family{
		Owner: cmp.Or(publicName(owner), publicName(preset), nameless), Name: cmp.Or(publicName(name), nameless), Variant: variant, Style: style,
	}, false
}

// plainName is the name of a model in small letters, without what a preset adds to it, and the place to which it binds calls.
func (f *file) plainName(preset, model string) (name, variant string) {
	name = strings.ToLower(model)
	if rules := f.preset(preset); rules != nil {
		if rules.Variant.Regexp != nil {
			if found := rules.Variant.FindStringSubmatchIndex(name); found != nil {
				variant = name[found[2]:found[3]]
				name = name[:found[0]] + name[found[1]:]
			}
			if rules.Anywhere.Regexp != nil && rules.Anywhere.MatchString(variant) {
				variant = ""
			}
		}
		name = respell(name, rules.Names)
	}
	return respell(name, f.Spellings), variant
}

func respell(name string, rules []spelling) string {
	for _, r := range rules {
		name = r.From.ReplaceAllString(name, r.To)
	}
	return name
}

// style is the style in which a preset serves a model; empty when no rule has the model.
func (f *file) style(preset, model string) llm.Style {
	rules := f.preset(preset)
	if rules == nil {
		return ""
	}
	for _, r := range rules.Styles {
		if r.Models.matches(strings.ToLower(model)) {
			return r.Style
		}
	}
	return ""
}

// nameMax is the longest name in a public id.
const nameMax = 63

// publicName spells a name as public ids allow it: small letters, digits, dots, hyphens and underscores.
func publicName(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			b.WriteRune(r)
		case strings.ContainsRune("._-", r):
			if b.Len() > 0 {
				b.WriteRune(r)
			}
		case b.Len() > 0:
			b.WriteByte('-')
		}
	}
	out := b.String()
	if len(out) > nameMax {
		out = out[:nameMax]
	}
	return strings.TrimRight(out, "._-")
}
