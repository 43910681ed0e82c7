package views_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"umg/views/stories"
	"umg/views/ui"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// draw is a story as HTML.
func draw(t *testing.T, s stories.Story) string {
	t.Helper()
	var b strings.Builder
	if err := s.Render(ui.System, false).Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// hashed finds the names of assets, which change with their content and not with the page.
var hashed = regexp.MustCompile(`/static/([a-z-]+)-[0-9a-f]{12}`)

// tidy is a page with a line for each block and its text. The elements within a text, icons and controls stand in the line of
// their text, and code keeps its own lines.
func tidy(page string) []string {
	page = hashed.ReplaceAllString(page, "/static/$1")
	z := html.NewTokenizer(strings.NewReader(page))
	var lines []string
	depth, code, icon := 0, false, false
	joins := false // the last line takes the text that follows
	opens := false // the last line begins with the innermost open block
	add := func(text string) { lines = append(lines, strings.Repeat(" ", depth)+text) }
	join := func(text string) {
		if joins {
			lines[len(lines)-1] += text
			return
		}
		add(strings.TrimLeft(text, " "))
		joins, opens = true, false
	}
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return strings.Split(strings.Join(lines, "\n"), "\n")
		}
		raw := string(z.Raw())
		name, _ := z.TagName()
		tag := string(name)
		icon = icon || tag == "svg" && strings.Contains(raw, `class="icon`)
		switch {
		case kind == html.TextToken && code:
			join(raw)
		case kind == html.TextToken:
			if text := spaces.ReplaceAllString(raw, " "); text != " " || joins && !opens {
				join(text)
			}
		case icon, inline[tag]:
			join(raw)
			icon = icon && (tag != "svg" || kind != html.EndTagToken)
		case kind == html.EndTagToken:
			depth = max(depth-1, 0)
			code = code && tag != "pre"
			if opens {
				lines[len(lines)-1] += raw
			} else {
				add(raw)
			}
			joins, opens = false, false
		default:
			add(raw)
			block := kind == html.StartTagToken && !void[tag]
			joins, opens, code = block, block, code || tag == "pre"
			if block {
				depth++
			}
		}
	}
}

var spaces = regexp.MustCompile(`\s+`)

var void = map[string]bool{"meta": true, "link": true, "input": true, "br": true, "wbr": true, "hr": true, "img": true}

// inline are the elements that stand within a text.
var inline = map[string]bool{"a": true, "abbr": true, "b": true, "bdi": true, "br": true, "code": true, "em": true, "i": true, "kbd": true,
	"mark": true, "small": true, "span": true, "strong": true, "sub": true, "sup": true, "time": true, "wbr": true}

const (
	// A golden file lists all siblings of one kind up to a number. Of more it has only the first of each shape. Short siblings, such as
	// the choices of a list, have at most shortLinesMax lines each.
	repeatsMax       = 3
	repeatsKept      = 1
	shortRepeatsMax  = 12
	shortRepeatsKept = 6
	shortLinesMax    = 2
)

// withoutRepeats leaves out what repeats: of many blocks of one kind and class in a row the first ones of each shape stay, and the number
// of the others.
func withoutRepeats(lines []string) []string {
	var out []string
	for i := 0; i < len(lines); {
		kind, size := blockAt(lines, i)
		if kind == "" {
			out = append(out, lines[i])
			i++
			continue
		}
		starts, next := []int{i}, i+size
		for next < len(lines) {
			k, n := blockAt(lines, next)
			if k != kind {
				break
			}
			starts, next = append(starts, next), next+n
		}
		seen := map[string]int{}
		more, most, kept := 0, repeatsMax, repeatsKept
		if next-i <= len(starts)*shortLinesMax {
			most, kept = shortRepeatsMax, shortRepeatsKept
		}
		for j, start := range starts {
			end := next
			if j+1 < len(starts) {
				end = starts[j+1]
			}
			if len(starts) > most {
				shape := shapeOf(lines[start:end])
				if seen[shape]++; seen[shape] > kept {
					more++
					continue
				}
			}
			out = append(out, lines[start])
			if end > start+1 {
				out = append(out, withoutRepeats(lines[start+1:end])...)
			}
		}
		if more > 0 {
			out = append(out, kind+"… "+strconv.Itoa(more)+" more")
		}
		i = next
	}
	return out
}

var (
	tagOf   = regexp.MustCompile(`<(/?[a-z][a-z0-9-]*)[^>]*>`)
	classOf = regexp.MustCompile(` class="[^"]*"`)
)

// shapeOf is the tags and the classes of a block, without its texts and other attributes.
func shapeOf(lines []string) string {
	var shape strings.Builder
	for _, line := range lines {
		for _, tag := range tagOf.FindAllStringSubmatch(line, -1) {
			shape.WriteString("<" + tag[1] + classOf.FindString(tag[0]) + ">")
		}
	}
	return shape.String()
}

var blockStart = regexp.MustCompile(`^( *)<([a-z][a-z0-9]*)(?: [^>]*?class="([^"]*)")?`)

// blockAt is the kind of the block that begins in a line, as its indentation, tag and class, and the number of its lines. The kind is
// empty for a line that begins none.
func blockAt(lines []string, i int) (kind string, size int) {
	m := blockStart.FindStringSubmatch(lines[i])
	if m == nil {
		return "", 1
	}
	closing := m[1] + "</" + m[2] + ">"
	if strings.HasSuffix(lines[i], "</"+m[2]+">") || void[m[2]] {
		return m[1] + "<" + m[2] + " " + m[3] + "> ", 1
	}
	for n := i + 1; n < len(lines); n++ {
		if lines[n] == closing {
			return m[1] + "<" + m[2] + " " + m[3] + "> ", n - i + 1
		}
	}
	return "", 1
}

// framed are stories that are compared with all that surrounds them. Of the others only what is theirs is kept, so that a
// change of the shell is seen in a few files and not in all.
var framed = map[string]bool{"overview": true, "sign-in": true, "not-found": true, "not-found-out": true, "status-one": true, "status-many": true}

// own is the part of a page that is not the frame's. A story that is no page is all its own.
func own(page string) string {
	_, inside, found := strings.Cut(page, "<main ")
	if !found {
		return page
	}
	inside, _, _ = strings.Cut(inside, "</main>")
	return "<main " + inside + "</main>"
}

const (
	goldenLinesMax = 600 // bytes of a file; a longer one is not read
	// goldenSumMax bounds the lines of all files together.
	goldenSumMax = 60_000
)

// wholePage is a story whose page is kept whole.
type wholePage struct {
	name  string
	lines []string
}

// TestStoriesLookAsAgreed compares every story with its golden file. The first story of a page is kept whole, and each other one as
// what it adds to and takes from the page of its group that is most like it. A word of the shell or of a page is therefore in
// few files, and not in one for each state of the page.
func TestStoriesLookAsAgreed(t *testing.T) {
	t.Parallel()
	whole := map[string][]wholePage{}
	sum := 0
	for _, s := range stories.All() {
		page := draw(t, s)
		if !framed[s.Name] {
			page = own(page)
		}
		lines := withoutRepeats(tidy(page))
		kept := lines
		base := mostLike(lines, whole[s.Group])
		if change := difference(base.lines, lines); base.name != "" && !framed[s.Name] && len(change) < len(lines)*3/4 {
			kept = append([]string{"differs from " + base.name}, change...)
		} else {
			whole[s.Group] = append(whole[s.Group], wholePage{s.Name, lines})
		}
		sum += compareWithGolden(t, s.Name, kept)
	}
	if sum > goldenSumMax {
		t.Errorf("the golden files have %d lines, %d are allowed: keep what differs and not the page around it", sum, goldenSumMax)
	}
}

// mostLike is the page that has most of the lines, the first of several.
func mostLike(lines []string, pages []wholePage) (best wholePage) {
	most := -1
	for _, p := range pages {
		count := map[string]int{}
		for _, l := range p.lines {
			count[l]++
		}
		same := 0
		for _, l := range lines {
			if count[l] > 0 {
				count[l]--
				same++
			}
		}
		if shared := 2*same - len(p.lines); best.name == "" || shared > most {
			best, most = p, shared
		}
	}
	return best
}

// compareWithGolden compares lines with the golden files of a name, or writes them. What is longer than a file may be goes on in
// a second file, a third and so on. It returns the number of lines.
func compareWithGolden(t *testing.T, name string, lines []string) int {
	t.Helper()
	lines = strings.Split(strings.Join(lines, "\n"), "\n")
	for part := 1; part == 1 || len(lines) > goldenLinesMax*(part-1); part++ {
		file := filepath.Join("testdata", name+".html")
		if part > 1 {
			file = filepath.Join("testdata", name+"."+strconv.Itoa(part)+".html")
		}
		got := strings.Join(lines[goldenLinesMax*(part-1):min(goldenLinesMax*part, len(lines))], "\n") + "\n"
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%s has no golden file; run the test with -update and look at it: %v", name, err)
		} else if got != string(want) {
			t.Errorf("%s changed; look at it and run with -update if that is meant\n%s", name, firstDifference(string(want), got))
		}
	}
	return len(lines)
}

var named = regexp.MustCompile(` ((?:id|data-testid)="[^"]*")`)

// difference lists the lines that a page adds to another one (+) and lacks (-). Before each run of them stands the id or the
// test id of the nearest element above.
func difference(base, page []string) []string {
	from := 0
	for from < len(base) && from < len(page) && base[from] == page[from] {
		from++
	}
	end := 0
	for end < len(base)-from && end < len(page)-from && base[len(base)-1-end] == page[len(page)-1-end] {
		end++
	}
	a, b := base[from:len(base)-end], page[from:len(page)-end]
	width := len(b) + 1
	longest := make([]int32, (len(a)+1)*width) // the lengths of the common lines of a[i:] and b[j:]
	for i, lineA := range slices.Backward(a) {
		for j, lineB := range slices.Backward(b) {
			if lineA == lineB {
				longest[i*width+j] = longest[(i+1)*width+j+1] + 1
			} else {
				longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
			}
		}
	}
	var out []string
	placed := false
	place := func(j int) {
		if placed {
			return
		}
		placed = true
		for j = from + j - 1; j >= 0; j-- {
			if m := named.FindStringSubmatch(page[j]); m != nil {
				out = append(out, "@ "+m[1])
				return
			}
		}
		out = append(out, "@ the beginning")
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j, placed = i+1, j+1, false
		case j == len(b) || i < len(a) && longest[(i+1)*width+j] >= longest[i*width+j+1]:
			place(j)
			out = append(out, "-"+a[i])
			i++
		default:
			place(j)
			out = append(out, "+"+b[j])
			j++
		}
	}
	return out
}

// TestEveryGoldenFileHasItsStory keeps files of stories that are gone from staying behind, and files from becoming too long.
func TestEveryGoldenFileHasItsStory(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "*.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name, _, _ := strings.Cut(filepath.Base(file), ".")
		if _, ok := stories.Find(name); !ok {
			t.Errorf("%s belongs to no story", file)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n"); n > goldenLinesMax {
			t.Errorf("%s has %d lines, %d are allowed", file, n, goldenLinesMax)
		}
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return "want " + w[i] + "\ngot  " + g[i]
		}
	}
	return "one is longer than the other"
}
