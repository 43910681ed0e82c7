package console

import (
	"cmp"
	"slices"
	"strings"

	"umg/app/console/page"
	"umg/views/ui"
)

// logKeys are the keys of the account as the log and the usage pages name them and filter by them.
type logKeys struct {
	names map[string]string
	byTag map[string][]string
	tagOf map[string]string
	tags  []ui.Option
}

func (c *Console) logKeys(p *page.Page) (logKeys, error) {
	keys, err := c.o.APIKeys.List(p.Request().Context(), p.Principal())
	k := logKeys{names: make(map[string]string, len(keys)), byTag: map[string][]string{}, tagOf: map[string]string{}}
	for i := range keys {
		k.names[keys[i].ID] = keys[i].Name
		if tag := keys[i].Env; tag != "" {
			if k.byTag[tag] == nil {
				k.tags = append(k.tags, ui.Option{Value: tag, Label: tag})
			}
			k.tagOf[keys[i].ID] = tag
			k.byTag[tag] = append(k.byTag[tag], keys[i].ID)
		}
	}
	sortOptions(k.tags)
	return k, err
}

// ofTag returns the keys with a tag. It returns nil without a tag, and an empty list for a tag that no key has.
func (k logKeys) ofTag(tag string) []string {
	if tag == "" {
		return nil
	}
	return append([]string{}, k.byTag[tag]...)
}

func (c *Console) keyNames(p *page.Page) (map[string]string, error) {
	keys, err := c.o.APIKeys.List(p.Request().Context(), p.Principal())
	names := make(map[string]string, len(keys))
	for _, k := range keys {
		names[k.ID] = k.Name
	}
	return names, err
}

// keyName returns the name of a key for pages.
func keyName(id string, names map[string]string) string {
	name, known := names[id]
	switch {
	case id == "":
		return "Playground"
	case !known:
		return "deleted key " + id
	}
	return name
}

func sortOptions(options []ui.Option) {
	slices.SortFunc(options, func(a, b ui.Option) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Label), strings.ToLower(b.Label)), strings.Compare(a.Value, b.Value))
	})
}
