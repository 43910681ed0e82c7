package playground

import (
	"cmp"
	"slices"
	"strings"

	"umg/app"
	"umg/app/jsontree"
	playpages "umg/views/playground"
)

const paramDepthMax = 3

// paramWords are the settings that the playground offers first, by the keys that the styles' names have in common.
var paramWords = []string{"max", "temperature", "effort", "budget", "verbosity", "topp", "topk", "stop", "seed"}

// paramAliases give the names of one setting in the four styles one key, so that its value stays when the style changes.
var paramAliases = map[string]string{
	"maxtokens": "max", "maxcompletiontokens": "max", "maxoutputtokens": "max", "reasoningeffort": "effort", "thinkinglevel": "effort",
	"thinkingbudget": "budget", "stopsequences": "stop",
}

// paramsElsewhere are members that the playground has another place for, or that say nothing in it.
var paramsElsewhere = map[string]bool{
	"stream": true, "streamoptions": true, "n": true, "candidatecount": true, "store": true, "servicetier": true, "logprobs": true,
	"toplogprobs": true, "responselogprobs": true, "paralleltoolcalls": true, "maxtoolcalls": true, "tools": true, "toolchoice": true,
	"toolconfig": true, "metadata": true, "background": true, "truncation": true, "functions": true, "functioncall": true, "audio": true,
	"websearchoptions": true, "responsejsonschema": true, "responseschema": true, "responsemimetype": true, "modalities": true,
	"responsemodalities": true, "include": true, "cachecontrol": true, "promptcacheretention": true, "enableenhancedcivicanswers": true,
	"speechconfig": true, "imageconfig": true, "audiotimestamp": true, "mediaresolution": true, "prompt": true, "conversation": true,
}

func paramKey(name string) string {
	key := strings.ToLower(strings.ReplaceAll(name, "_", ""))
	return cmp.Or(paramAliases[key], key)
}

// paramsOf are the settings of a contract that one field of a form can hold: numbers, words, switches and lists of texts.
func paramsOf(schema []byte) []playpages.Param {
	root := jsontree.ParseFirst(schema)
	r := schemaReader{root}
	var params []playpages.Param
	r.collect(root, "", 0, &params)
	rank := func(p playpages.Param) int {
		if i := slices.Index(paramWords, p.Key); i >= 0 {
			return i
		}
		return len(paramWords)
	}
	slices.SortStableFunc(params, func(a, b playpages.Param) int { return rank(a) - rank(b) })
	for i := range params {
		params[i].First = rank(params[i]) < len(paramWords)
	}
	return params
}

func (r schemaReader) collect(n *jsontree.Value, prefix string, depth int, params *[]playpages.Param) {
	properties := n.Get("properties")
	if properties == nil || depth > paramDepthMax {
		return
	}
	for i, name := range properties.Names {
		member, _ := r.resolve(properties.Items[i])
		key := paramKey(name)
		if paramsElsewhere[key] || r.unsupported(member) || member.Get("deprecated").Word() == "true" {
			continue
		}
		known := func(p playpages.Param) bool { return p.Key == key }
		if p, ok := r.param(prefix+name, key, member); ok && !slices.ContainsFunc(*params, known) {
			*params = append(*params, p)
		}
		r.collect(member, prefix+name+".", depth+1, params)
	}
}

// param is the form field of a member, if it can be one. A member with one possible value is no choice.
func (r schemaReader) param(path, key string, n *jsontree.Value) (playpages.Param, bool) {
	p := playpages.Param{
		Path: path, Key: key, Text: n.Get("description").Word(), Default: n.Get("default").Word(), Bounds: strings.Join(allowed(n), ", "),
		Min: bounded(n.Get("minimum")), Max: bounded(n.Get("maximum")),
	}
	if p.Default == "null" {
		p.Default = ""
	}
	for _, v := range n.Get("enum").List() {
		if w := v.Word(); w != "" && w != "null" {
			p.Options = append(p.Options, w)
		}
	}
	types := r.types(n)
	switch {
	case len(p.Options) > 1 && slices.Equal(types, []string{"string"}):
		p.Kind = playpages.ParamEnum
	case n.Get("enum") != nil || n.Get("const") != nil || len(types) == 0:
		return p, false
	case slices.Equal(types, []string{"integer"}):
		p.Kind = playpages.ParamInteger
	case slices.Equal(types, []string{"number"}):
		p.Kind = playpages.ParamNumber
	case slices.Equal(types, []string{"boolean"}):
		p.Kind = playpages.ParamBoolean
	case slices.Contains(types, "array of strings") && key == "stop" && n.Get("maxItems").Word() != "0":
		p.Kind = playpages.ParamList
	default:
		return p, false
	}
	return p, true
}

func bounded(n *jsontree.Value) string {
	if word := n.Word(); len(strings.TrimPrefix(word, "-")) <= boundDigitsMax {
		return word
	}
	return ""
}

// paramValue returns the parameter's value in the text of a form, or nil without one. An error names what is expected.
func paramValue(p playpages.Param, text string) (*jsontree.Value, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	wrong := func(what string) error {
		return app.Errorf(app.Invalid, "invalid_request_error", "%s", what).At(p.Path)
	}
	switch p.Kind {
	case playpages.ParamNumber, playpages.ParamInteger:
		if t := jsontree.ParseFirst([]byte(text)); t != nil && t.Kind == '0' && t.Text == text {
			return t, nil
		}
		example := cmp.Or(p.Default, map[playpages.ParamKind]string{playpages.ParamNumber: "0.5", playpages.ParamInteger: "1024"}[p.Kind])
		return nil, wrong(p.Path + " must be a number, such as " + example + ".")
	case playpages.ParamBoolean:
		return jsontree.Bool(text == "true"), nil
	case playpages.ParamList:
		list := jsontree.ParseFirst([]byte("[]"))
		for line := range strings.Lines(text) {
			if line = strings.TrimRight(line, "\r\n"); line != "" {
				list.Items = append(list.Items, jsontree.Text(line))
			}
		}
		return list, nil
	default:
		for _, o := range p.Options { // The styles write the same word with different case.
			if strings.EqualFold(o, text) {
				return jsontree.Text(o), nil
			}
		}
		return nil, nil // The value belongs to the style that was chosen before.
	}
}
