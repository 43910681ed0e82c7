package usagereader

import (
	"bytes"
	_ "embed" // The table of readers is embedded.
	"fmt"
	"maps"
	"slices"

	"gopkg.in/yaml.v3"

	"umg/app/llm"
)

//go:embed readers.yaml
var table []byte

// file is the table. Its comments explain the members.
type file struct {
	Words   map[string]map[string]string          `yaml:"words"`
	Known   []string                              `yaml:"known"`
	Readers map[string]map[llm.Style]*layoutEntry `yaml:"readers"`
}

// layoutEntry says where one provider keeps its counts in one style.
type layoutEntry struct {
	Like         string              `yaml:"like"`
	Merge        string              `yaml:"merge"`
	Cache        string              `yaml:"cache"`
	CacheOutside []string            `yaml:"cache_outside_when"`
	Reasoning    string              `yaml:"reasoning"`
	Excess       string              `yaml:"reasoning_excess"`
	Output       string              `yaml:"output"`
	Holders      []string            `yaml:"holders"`
	Usage        map[string][]string `yaml:"usage"`
	Terms        map[string]string   `yaml:"terms"`
	Answer       map[string][]string `yaml:"answer"`
	AnswerTerms  map[string]string   `yaml:"answer_terms"`
	Known        []string            `yaml:"known"`
	Unpriced     []string            `yaml:"unpriced"`
	NotInUsage   []string            `yaml:"answer_unpriced"`
}

// parse reads a table and compiles each layout. An unknown word is an error.
func parse(text []byte) (map[string]map[llm.Style]*layout, error) {
	var f file
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true) // The decoder also rejects duplicate members.
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("usagereader: the table: %w", err)
	}
	all := map[string]map[llm.Style]*layout{}
	for name, styles := range f.Readers {
		all[name] = map[llm.Style]*layout{}
		for style := range styles {
			entry, err := f.entry(name, style, 0)
			if err == nil {
				all[name][style], err = entry.compile(&f)
			}
			if err != nil {
				return nil, fmt.Errorf("usagereader: %s, %s: %w", name, style, err)
			}
		}
	}
	return all, nil
}

// likeMax bounds how many layouts may refer to each other.
const likeMax = 4

// entry returns a layout with the members of the layouts that it is like.
func (f *file) entry(name string, style llm.Style, depth int) (*layoutEntry, error) {
	one := f.Readers[name][style]
	if one == nil {
		return nil, fmt.Errorf("there is no layout of %s in the style %s", name, style)
	}
	if one.Like == "" {
		return one, nil
	}
	if depth == likeMax {
		return nil, fmt.Errorf("layouts refer to each other more than %d times", likeMax)
	}
	base, err := f.entry(one.Like, style, depth+1)
	if err != nil {
		return nil, err
	}
	return &layoutEntry{
		Merge: or(one.Merge, base.Merge), Cache: or(one.Cache, base.Cache), Reasoning: or(one.Reasoning, base.Reasoning),
		Excess: or(one.Excess, base.Excess), Output: or(one.Output, base.Output),
		CacheOutside: slices.Concat(base.CacheOutside, one.CacheOutside), Holders: slices.Concat(base.Holders, one.Holders),
		Usage: both(base.Usage, one.Usage), Terms: both(base.Terms, one.Terms),
		Answer: both(base.Answer, one.Answer), AnswerTerms: both(base.AnswerTerms, one.AnswerTerms),
		Known: slices.Concat(base.Known, one.Known), Unpriced: slices.Concat(base.Unpriced, one.Unpriced),
		NotInUsage: slices.Concat(base.NotInUsage, one.NotInUsage),
	}, nil
}

func or(own, inherited string) string {
	if own == "" {
		return inherited
	}
	return own
}

// both returns the members of two maps. The second one wins.
func both[V any](base, own map[string]V) map[string]V {
	all := maps.Clone(base)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, own)
	return all
}
