package prompt

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	cellsMax = 4_000_000 // The table of a comparison has at most this many cells. Longer texts count as wholly different.
	sumShown = 4         // This many bytes of a hash distinguish two images of one size.
)

// Section is a part of a prompt as text: its settings, its system prompt, its conversation.
type Section struct {
	Title string
	Text  string
}

// Sections are the prompt as people read and compare it. Those that say nothing are left out.
func (c *Content) Sections() []Section {
	var settings, talk strings.Builder
	for _, one := range [][2]string{
		{"model", c.Model}, {"style", c.Style}, {"format", c.Format}, {"schema name", c.SchemaName}, {"tool choice", c.ToolChoice},
	} {
		if one[1] != "" {
			settings.WriteString(one[0] + ": " + one[1] + "\n")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.Params)) {
		settings.WriteString(key + ": " + c.Params[key] + "\n")
	}
	for i, t := range c.Turns {
		talk.WriteString("── " + strconv.Itoa(i+1) + " · " + t.Role + "\n" + t.written())
	}
	var variables strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.Variables)) {
		variables.WriteString(name + ": " + c.Variables[name] + "\n")
	}
	message := Turn{Text: c.Prompt, Image: c.Image}
	var all []Section
	for _, s := range []Section{
		{"Settings", settings.String()}, {"System prompt", c.System}, {"Conversation", talk.String()}, {"Message", message.written()},
		{"Variables", variables.String()}, {"Tools", Indented(c.Tools)}, {"Schema", Indented(c.Schema)},
	} {
		if s.Text = strings.TrimSuffix(s.Text, "\n"); s.Text != "" {
			all = append(all, s)
		}
	}
	return all
}

func (t Turn) written() string {
	var b strings.Builder
	if t.Call != "" {
		b.WriteString("result of " + t.Call + "\n")
	}
	if t.Image != "" {
		b.WriteString(ImageWords(t.Image) + "\n")
	}
	if t.Text != "" {
		b.WriteString(t.Text + "\n")
	}
	for _, call := range t.Calls {
		b.WriteString("calls " + call.Name + " " + call.Arguments + "\n")
	}
	return b.String()
}

// ImageWords name an image without showing it.
func ImageWords(image string) string {
	kind, data, inline := strings.Cut(strings.TrimPrefix(image, "data:"), ";base64,")
	if !inline {
		return "image at " + image
	}
	sum := sha256.Sum256([]byte(data))
	const kilo = 1000
	return kind + ", " + strconv.Itoa((base64.StdEncoding.DecodedLen(len(data))+kilo-1)/kilo) + " kB, " + hex.EncodeToString(sum[:sumShown])
}

// Indented is a JSON text as people read it.
func Indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if len(raw) == 0 || json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// LineKind says where a line stands.
type LineKind uint8

// These are the kinds of lines.
const (
	Same LineKind = iota
	Removed
	Added
)

// Line is one line of a comparison.
type Line struct {
	Kind LineKind
	Text string
}

// Change is what became of a section.
type Change struct {
	Title string
	Lines []Line
}

// Diff compares two contents, section by section and line by line. Sections that are the same are part of it.
func Diff(from, to Content) []Change {
	before, after := from.Sections(), to.Sections()
	var changes []Change
	for _, title := range []string{"Settings", "System prompt", "Conversation", "Message", "Variables", "Tools", "Schema"} {
		if a, b := linesOf(before, title), linesOf(after, title); len(a)+len(b) > 0 {
			changes = append(changes, Change{title, diffLines(a, b)})
		}
	}
	return changes
}

func linesOf(all []Section, title string) []string {
	for _, s := range all {
		if s.Title == title {
			return strings.Split(s.Text, "\n")
		}
	}
	return nil
}

func diffLines(a, b []string) []Line {
	var head, tail []Line
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head, a, b = append(head, Line{Same, a[0]}), a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail, a, b = append(tail, Line{Same, a[len(a)-1]}), a[:len(a)-1], b[:len(b)-1]
	}
	slices.Reverse(tail)
	return slices.Concat(head, diffMiddle(a, b), tail)
}

// diffMiddle keeps the longest common run of lines.
func diffMiddle(a, b []string) []Line {
	var lines []Line
	i, j := 0, 0
	if len(a) > 0 && len(b) > 0 && (len(a)+1)*(len(b)+1) <= cellsMax {
		width := len(b) + 1
		common := make([]int32, (len(a)+1)*width)
		for x, of := range slices.Backward(a) {
			for y, with := range slices.Backward(b) {
				if of == with {
					common[x*width+y] = common[(x+1)*width+y+1] + 1
				} else {
					common[x*width+y] = max(common[(x+1)*width+y], common[x*width+y+1])
				}
			}
		}
		for i < len(a) && j < len(b) {
			switch {
			case a[i] == b[j]:
				lines = append(lines, Line{Same, a[i]})
				i, j = i+1, j+1
			case common[(i+1)*width+j] >= common[i*width+j+1]:
				lines = append(lines, Line{Removed, a[i]})
				i++
			default:
				lines = append(lines, Line{Added, b[j]})
				j++
			}
		}
	}
	for ; i < len(a); i++ {
		lines = append(lines, Line{Removed, a[i]})
	}
	for ; j < len(b); j++ {
		lines = append(lines, Line{Added, b[j]})
	}
	return lines
}
