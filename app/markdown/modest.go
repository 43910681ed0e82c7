package markdown

import "strings"

// These bounds limit the work for a text. Searches for the ends of links take as long as links times the size of their paragraph,
// and a row of a table is filled up to the number of its columns.
const (
	searchedBytesMax = 32 << 20
	tableCellsMax    = 50_000
)

// modest reports whether a text can be read as Markdown in bounded time. It is strict about what only hostile texts have:
// lines that open dozens of lists, thousands of links that never end, tables of a handful of bytes a row and many columns.
func modest(markdown string) bool {
	var links, size, searched, columns, cells int
	for line := range strings.Lines(markdown) {
		open, indent := prefix(line)
		if open > markersMax || indent > indentColumnsMax {
			return false
		}
		if strings.TrimSpace(line) == "" {
			links, size, columns = 0, 0, 0
			continue
		}
		if delimiter(line) {
			columns = max(columns, strings.Count(line, "|")+1)
		}
		cells += columns
		searched -= links * size
		links += strings.Count(line, "](") + strings.Count(line, "]:")
		size += len(line)
		if searched += links * size; searched > searchedBytesMax || cells > tableCellsMax {
			return false
		}
	}
	return true
}

// prefix counts the quotes and lists that a line may open, and the columns in front of its text.
func prefix(line string) (open, columns int) {
	digits := 0
	for i := range len(line) {
		switch c := line[i]; {
		case c == ' ':
			columns++
		case c == '\t':
			columns += 4
		case c == '>':
			open++
		case c >= '0' && c <= '9':
			if digits++; digits > 9 {
				return open, columns
			}
			continue
		case (c == '-' || c == '+' || c == '*') && followed(line, i), (c == '.' || c == ')') && digits > 0 && followed(line, i):
			open++
		default:
			return open, columns
		}
		digits = 0
	}
	return open, columns
}

func followed(line string, i int) bool {
	return i+1 == len(line) || line[i+1] == ' ' || line[i+1] == '\t' || line[i+1] == '\n'
}

// delimiter reports whether a line may stand below the head of a table.
func delimiter(line string) bool {
	return strings.Contains(line, "-") && strings.Trim(line, "|:-> \t\n*+.)0123456789") == ""
}
