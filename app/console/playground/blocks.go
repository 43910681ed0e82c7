package playground

import (
	"bytes"
	"strings"

	"umg/app/markdown"
)

const (
	exactBytesMax = 256 << 10 // Only answers up to this size are rendered again as a whole at their end.
	codeIndent    = 4         // This many columns indent a line of code.
	fenceMin      = 3
	noItem        = 1 << 20 // No continuation line can have this indent.
)

// textBlocks finds out, while an answer comes, which blocks of its Markdown have ended: those can be drawn, and what still comes does not
// change them. Where that is in doubt it waits, so that the drawn pieces together are the drawn whole. Each byte is looked at once.
type textBlocks struct {
	open  []byte // This is the text from the start of the first block that has not ended.
	line  int    // This is the offset in open of the first unparsed line.
	seen  int    // The end of the line was searched up to this offset in open.
	state blockState
	blank bool
	quote bool // The block begins with a quote.

	fence      byte // The fence of a fenced block repeats this character fenceCount times.
	fenceCount int
	item       int  // This many columns indent the content of a list's last outermost item.
	bare       bool // The item has no content after its marker.
}

type blockState uint8

const (
	blockNone  blockState = iota // The block has only blank lines so far.
	blockWords                   // The block is a paragraph, a quote or a table.
	blockList
	blockCode // The block is indented code.
	blockFence
)

// add takes a piece of text and returns the blocks that have ended with it.
func (b *textBlocks) add(text string) (ended string) {
	b.open = append(b.open, text...)
	cut := 0
	for {
		end := b.lineEnd()
		if end < 0 {
			break
		}
		before, after := b.look(b.open[b.line:end])
		if before {
			cut = b.line
		}
		b.line = end
		if after {
			cut = end
		}
	}
	if b.outside(b.open[b.line:]) {
		b.begin()
		cut = b.line
	}
	return b.drop(cut)
}

// drop takes what has ended off the front.
func (b *textBlocks) drop(cut int) string {
	if cut == 0 {
		return ""
	}
	ended := string(b.open[:cut])
	b.open = append(b.open[:0], b.open[cut:]...)
	b.line, b.seen = b.line-cut, b.seen-cut
	return ended
}

// rest is what has not ended.
func (b *textBlocks) rest() string { return string(b.open) }

// close ends the last block.
func (b *textBlocks) close() string {
	rest := string(b.open)
	*b = textBlocks{open: b.open[:0]}
	return rest
}

// lineEnd is where the next line begins, or -1 when the current one is not complete.
func (b *textBlocks) lineEnd() int {
	for i := max(b.line, b.seen); i < len(b.open); i++ {
		b.seen = i
		switch b.open[i] {
		case '\n':
			return i + 1
		case '\r':
			if i+1 == len(b.open) {
				return -1
			}
			if b.open[i+1] == '\n' {
				return i + 2
			}
			return i + 1
		}
	}
	return -1
}

// begin starts a new block.
func (b *textBlocks) begin() { b.state, b.blank, b.quote, b.bare = blockNone, false, false, false }

// outside reports whether the beginning of a line already shows that a list has ended before it.
func (b *textBlocks) outside(start []byte) bool {
	columns, words := indented(start)
	return b.state == blockList && b.blank && len(words) > 0 && words[0] != '\r' && columns < min(b.item, codeIndent) &&
		!strings.ContainsRune("-*+0123456789", rune(words[0]))
}

// look reads a line and says whether what came before has ended in front of it, or with it.
func (b *textBlocks) look(line []byte) (before, after bool) {
	columns, words := indented(line)
	words = []byte(strings.TrimRight(string(words), " \t\r\n"))
	switch {
	case b.state == blockFence:
		return false, b.closes(columns, words)
	case len(words) == 0:
		return false, b.blankLine()
	case b.state == blockCode && columns < codeIndent, b.interrupts(columns, words):
		before = true
		b.begin()
	}
	b.blank = false
	if b.state == blockNone {
		after = b.first(columns, words)
	} else {
		after = b.more(columns, words)
	}
	if after {
		b.begin()
	}
	return before, after
}

// closes reports whether a line of a fenced block is its last.
func (b *textBlocks) closes(columns int, words []byte) bool {
	last := columns < codeIndent && len(words) >= b.fenceCount && strings.Trim(string(words), string(rune(b.fence))) == ""
	if last {
		b.begin()
	}
	return last
}

// blankLine reports whether a blank line ends the block.
func (b *textBlocks) blankLine() bool {
	if b.state == blockWords {
		b.begin()
		return true
	}
	if b.state == blockList && b.bare {
		b.item = noItem
	}
	b.blank = true
	return false
}

// interrupts reports whether a line begins a block although no blank line has ended the one before.
func (b *textBlocks) interrupts(columns int, words []byte) bool {
	if columns >= codeIndent && (b.state != blockList || !b.blank) || b.state != blockWords && b.state != blockList {
		return false
	}
	if b.state == blockList {
		return b.endsList(columns, words)
	}
	if isRule(words) && words[0] != '-' || startsBlock(words) && (words[0] != '>' || !b.quote) {
		return true
	}
	_, number, marked := listMark(columns, words)
	return marked && number <= 1 && len(words) > 2
}

// endsList reports whether a line belongs to no item of the list that is open.
func (b *textBlocks) endsList(columns int, words []byte) bool {
	if columns >= b.item {
		return false
	}
	if columns >= codeIndent || isRule(words) {
		return true
	}
	if _, _, marked := listMark(columns, words); marked {
		return false
	}
	return b.blank || b.bare || startsBlock(words)
}

// startsBlock reports whether a line is a heading or begins a quote or a fenced block.
func startsBlock(words []byte) bool {
	if _, n := fenceOf(words); n > 0 {
		return true
	}
	return words[0] == '>' || isHeading(words)
}

// first begins a block with its first line. It reports whether the block has ended with it, too.
func (b *textBlocks) first(columns int, words []byte) bool {
	if columns >= codeIndent {
		b.state = blockCode
		return false
	}
	if char, n := fenceOf(words); n > 0 {
		b.state, b.fence, b.fenceCount = blockFence, char, n
		return false
	}
	if isHeading(words) || isRule(words) {
		return true
	}
	if item, _, marked := listMark(columns, words); marked {
		b.state = blockList
		b.item, b.bare = item, isMark(words)
		return false
	}
	b.state, b.quote = blockWords, words[0] == '>'
	return false
}

// more goes on with a block that has begun. It reports whether the line ends it.
func (b *textBlocks) more(columns int, words []byte) bool {
	switch b.state {
	case blockList:
		if item, _, marked := listMark(columns, words); marked && columns < b.item {
			b.item, b.bare = item, isMark(words)
		} else {
			b.bare = false
		}
	case blockWords:
		if item, _, marked := listMark(columns, words); marked && b.quote && columns < codeIndent {
			b.state, b.item, b.bare = blockList, item, isMark(words) // The line may also continue the quote, so the block waits.
			return false
		}
		// A line below a paragraph makes it a heading.
		return columns < codeIndent && !b.quote && (strings.Trim(string(words), "-") == "" || strings.Trim(string(words), "=") == "")
	}
	return false
}

// indented measures the white space in front of a line.
func indented(line []byte) (columns int, words []byte) {
	for i, c := range line {
		switch c {
		case ' ':
			columns++
		case '\t':
			columns += codeIndent - columns%codeIndent
		case '\n':
			return columns, nil
		default:
			return columns, line[i:]
		}
	}
	return columns, nil
}

// fenceOf is the character that begins a fenced block, and how often; zero when none begins.
func fenceOf(words []byte) (char byte, count int) {
	if words[0] != '`' && words[0] != '~' {
		return 0, 0
	}
	for count < len(words) && words[count] == words[0] {
		count++
	}
	if count < fenceMin || words[0] == '`' && bytes.IndexByte(words[count:], '`') >= 0 {
		return 0, 0
	}
	return words[0], count
}

func isHeading(words []byte) bool {
	level := len(words) - len(strings.TrimLeft(string(words), "#"))
	return level >= 1 && level <= 6 && (len(words) == level || words[level] == ' ' || words[level] == '\t')
}

// isRule reports whether a line is a thematic break.
func isRule(words []byte) bool {
	bare := strings.NewReplacer(" ", "", "\t", "").Replace(string(words))
	return len(bare) >= 3 && strings.ContainsRune("-*_", rune(bare[0])) && strings.Trim(bare, bare[:1]) == ""
}

// listMark reads the mark of a list's item: the columns in front of what belongs to it, and the number it begins with, which is
// one for items without numbers.
func listMark(columns int, words []byte) (item, number int, ok bool) {
	width := 0
	for width < len(words) && width < 9 && words[width] >= '0' && words[width] <= '9' {
		number = number*10 + int(words[width]-'0')
		width++
	}
	switch {
	case width == len(words):
		return 0, 0, false
	case width == 0 && strings.IndexByte("-*+", words[0]) >= 0:
		number = 1
	case width > 0 && (words[width] == '.' || words[width] == ')'):
	default:
		return 0, 0, false
	}
	width++
	space, rest := indented(words[width:])
	switch {
	case len(rest) == 0:
		space = 1
	case space == 0:
		return 0, 0, false
	case space > codeIndent:
		space = 1
	}
	return columns + width + space, number, true
}

// isMark reports whether a line that begins an item has nothing but its mark.
func isMark(words []byte) bool { return strings.Trim(string(words), "-*+0123456789.)") == "" }

// renderMarkdown is a piece of an answer as markup.
func renderMarkdown(text string) markdown.HTML {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return markdown.Untrusted(text)
}
