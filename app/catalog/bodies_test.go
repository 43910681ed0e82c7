package catalog

import (
	_ "embed" // the bodies
	"fmt"
	"strings"
)

// Bodies for a model that supports everything, one a block: a name and the body; in the second file also the field
// at fault and a part of the message.
var (
	//go:embed testdata/accepted.txt
	acceptedText string
	//go:embed testdata/refused.txt
	refusedText string
)

// user wraps members into a body that is otherwise right.
func user(members string) string {
	return `{"model":"acme/all","messages":[{"role":"user","content":"hi"}]` + members + `}`
}

func message(m string) string { return `{"model":"acme/all","messages":[` + m + `]}` }

const oneTool = `{"type":"function","function":{"name":"f"}}`

func acceptedBodies() map[string]string {
	all := map[string]string{
		"white space": " {\n\t\"model\" : \"a\" , \"messages\" : [ { \"content\" : \"x\" , \"role\" : \"user\" } ] }\r\n",
		"metadata":    user(`,"metadata":{"` + strings.Repeat("k", 64) + `":"` + strings.Repeat("é", 512) + `"}`),
		"deepest":     user(`,"x":` + strings.Repeat("[", depthMax-1) + strings.Repeat("]", depthMax-1)),
		"many tools":  user(`,"tools":[` + strings.Repeat(oneTool+",", 200) + oneTool + `]`),
	}
	for block := range strings.SplitSeq(strings.TrimSpace(acceptedText), "\n\n") {
		lines := strings.Split(block, "\n")
		all[lines[0]] = lines[1]
	}
	return all
}

type refused struct{ name, body, param, says string }

func refusedBodies() []refused {
	all := []refused{
		{"metadata value too long", user(`,"metadata":{"a":"` + strings.Repeat("é", 513) + `"}`),
			"metadata.a", "at most 512 characters, not 513"},
		{"case by a Kelvin sign", user(",\"max_to\u212aens\":5"), "max_to\u212aens", `"max_tokens"`},
		{"a list of tools", user(strings.Repeat(" ", 1000) + `,"tools":[` + strings.Repeat(oneTool+",", 99) + `{}]`),
			"tools[99].type", "is required"},
	}
	for block := range strings.SplitSeq(strings.TrimSpace(refusedText), "\n\n") {
		lines := strings.Split(block, "\n")
		if len(lines) != 4 {
			panic(fmt.Sprintf("a block of %d lines: %s", len(lines), block))
		}
		all = append(all, refused{lines[0], lines[1], strings.TrimPrefix(lines[2], "-"), lines[3]})
	}
	return all
}
