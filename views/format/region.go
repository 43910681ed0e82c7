package format

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"umg/app"
)

// Mark follows each separator of a number and each space within a date that this package writes. Localize takes the marks out and writes
// the separators of a region. Without it a text still reads right, as the mark is not visible.
const mark = "\x1f"

// These are layouts of days, for package time.
const (
	DayForm      = "2 " + mark + "Jan " + mark + "2006"
	ShortDayForm = "2 " + mark + "Jan"
	pointMark    = "." + mark
	groupMark    = "," + mark
)

const (
	languagesMax   = 16 // At most this many languages of a browser are tried.
	thousandDigits = 3
	monthBytes     = 3 // The short name of a month has this many bytes.
	yearDigits     = 4
)

// Region is how numbers and days are written for a reader. The zero value writes 1,234.50 and 5 Mar 2026.
type Region struct {
	ID, Name       string
	group, decimal string
	// GroupsFrom is the number of digits from which thousands are apart, and Further that of each group after the first.
	groupsFrom, further int
	day, shortDay       string // These are layouts of package time.
}

// Day is the layout of a day, for the script of the page, and ShortDay that of one without its year.
func (r Region) Day() string { return r.day }

// ShortDay is the layout of a day without its year.
func (r Region) ShortDay() string { return r.shortDay }

// Example is a number and a day as the region writes them.
func (r Region) Example() string {
	return r.String(Count(12345) + pointMark + "67, " + Day(time.Date(2026, time.March, 5, 0, 0, 0, 0, time.UTC)))
}

// regions are those that a reader can choose, with the separators, groups and patterns of CLDR 48. Names of months stay English, as the
// console does.
var regions = []Region{
	{"en-US", "United States", ",", ".", 4, 3, "Jan 2, 2006", "Jan 2"},
	{"en-GB", "United Kingdom", ",", ".", 4, 3, "2 Jan 2006", "2 Jan"},
	{"en-AU", "Australia", ",", ".", 4, 3, "2 Jan 2006", "2 Jan"},
	{"en-CA", "Canada", ",", ".", 4, 3, "Jan 2, 2006", "Jan 2"},
	{"en-IN", "India", ",", ".", 4, 2, "2 Jan 2006", "2 Jan"},
	{"da-DK", "Denmark", ".", ",", 4, 3, "2. Jan 2006", "2. Jan"},
	{"de-DE", "Germany", ".", ",", 4, 3, "02.01.2006", "02.01."},
	{"de-AT", "Austria", "\u00a0", ",", 4, 3, "02.01.2006", "02.01."},
	{"de-CH", "Switzerland", "'", ".", 4, 3, "02.01.2006", "02.01."},
	{"es-ES", "Spain", ".", ",", 5, 3, "2 Jan 2006", "2 Jan"},
	{"fi-FI", "Finland", "\u00a0", ",", 4, 3, "2.1.2006", "2.1."},
	{"fr-FR", "France", "\u202f", ",", 4, 3, "2 Jan 2006", "2 Jan"},
	{"it-IT", "Italy", ".", ",", 5, 3, "2 Jan 2006", "2 Jan"},
	{"ja-JP", "Japan", ",", ".", 4, 3, "2006/01/02", "01/02"},
	{"ko-KR", "South Korea", ",", ".", 4, 3, "2006. 1. 2.", "1. 2."},
	{"nl-NL", "Netherlands", ".", ",", 4, 3, "2 Jan 2006", "2 Jan"},
	{"pl-PL", "Poland", "\u00a0", ",", 5, 3, "2 Jan 2006", "2 Jan"},
	{"pt-BR", "Brazil", ".", ",", 4, 3, "02/01/2006", "02/01"},
	{"sv-SE", "Sweden", "\u00a0", ",", 4, 3, "2 Jan 2006", "2 Jan"},
	{"zh-CN", "China", ",", ".", 4, 3, "2006/1/2", "1/2"},
}

// Regions are those that a reader can choose.
func Regions() []Region { return slices.Clone(regions) }

// FindRegion returns the region of an id such as de-DE, or the first of a language such as de. Found is false where there is none.
func FindRegion(id string) (r Region, found bool) {
	at := slices.IndexFunc(regions, func(r Region) bool { return strings.EqualFold(r.ID, id) })
	if at < 0 && id != "" {
		at = slices.IndexFunc(regions, func(r Region) bool { return len(r.ID) > len(id) && strings.EqualFold(r.ID[:len(id)+1], id+"-") })
	}
	if at < 0 {
		return Region{}, false
	}
	return regions[at], true
}

// RegionOf returns the region that a reader chose, else the first one of the header Accept-Language of their browser.
func RegionOf(chosen, acceptLanguage string) Region {
	if r, found := FindRegion(chosen); found {
		return r
	}
	looked := 0
	for tag := range strings.SplitSeq(acceptLanguage, ",") {
		tag, _, _ = strings.Cut(tag, ";")
		if r, found := FindRegion(strings.TrimSpace(tag)); found {
			return r
		}
		if looked++; looked == languagesMax {
			break
		}
	}
	return Region{}
}

// Marked marks the separators of numbers in a text that another package wrote, such as “$2.50 per 1,000 images”.
func Marked(text string) string {
	var b strings.Builder
	for i := range len(text) {
		b.WriteByte(text[i])
		if inNumber := i > 0 && i+1 < len(text) && isDigit(text[i-1]) && isDigit(text[i+1]); inNumber && (text[i] == ',' || text[i] == '.') {
			b.WriteString(mark)
		}
	}
	return b.String()
}

// Unescaped is JSON of texts of this package that goes into a page, where Localize finds the marks.
func Unescaped(json string) string { return strings.ReplaceAll(json, `\u001f`, mark) }

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// number is a whole number without a sign and digits behind the point, with their separators. No digits mean no point.
func number(whole, fraction string) string {
	whole = strings.ReplaceAll(app.GroupThousands(whole), ",", groupMark)
	if fraction == "" {
		return whole
	}
	return whole + pointMark + fraction
}

// Number prints a decimal number without a sign, such as 1234.50.
func Number(digits string) string {
	whole, fraction, _ := strings.Cut(digits, ".")
	return number(whole, fraction)
}

// Localize writes the numbers and days of a text as the region does. The text is what this package wrote, in the pages around it.
func (r Region) Localize(text []byte) []byte {
	if bytes.IndexByte(text, mark[0]) < 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	for {
		at := bytes.IndexByte(text, mark[0])
		if at < 0 {
			return append(out, text...)
		}
		out, text = append(out, text[:at]...), text[at+1:]
		if r.ID == "" || at == 0 {
			continue
		}
		switch last := len(out) - 1; out[last] {
		case '.':
			out = append(out[:last], r.decimal...)
		case ',':
			out, text = r.grouped(out, text)
		case ' ':
			out, text = r.date(out, text)
		}
	}
}

// String is Localize for a string.
func (r Region) String(text string) string { return string(r.Localize([]byte(text))) }

// Plain is a text as the zero region writes it, for places that are not part of a page.
func Plain(text string) string { return Region{}.String(text) }

// Component renders a component as the region does.
func (r Region) Component(c templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		var page bytes.Buffer
		if err := c.Render(ctx, &page); err != nil {
			return err
		}
		_, err := w.Write(r.Localize(page.Bytes()))
		return err
	})
}

// endDigits is how many digits a text ends with.
func endDigits(text []byte) int {
	n := 0
	for n < len(text) && isDigit(text[len(text)-1-n]) {
		n++
	}
	return n
}

// startsThousand reports whether a text begins with three digits.
func startsThousand(text []byte) bool {
	return len(text) >= thousandDigits && endDigits(text[:thousandDigits]) == thousandDigits
}

// grouped writes a whole number. Before ends with its first digits and a comma, and rest begins with the other ones.
func (r Region) grouped(before, rest []byte) (out, left []byte) {
	if !startsThousand(rest) {
		return before, rest
	}
	head := before[:len(before)-1]
	digits := slices.Clone(head[len(head)-endDigits(head):])
	out = head[:len(head)-len(digits)]
	for {
		digits, rest = append(digits, rest[:thousandDigits]...), rest[thousandDigits:]
		next, more := bytes.CutPrefix(rest, []byte(groupMark))
		if !more || !startsThousand(next) {
			break
		}
		rest = next
	}
	for i, d := range digits {
		if behind := len(digits) - i - thousandDigits; i > 0 && len(digits) >= r.groupsFrom && behind >= 0 && behind%r.further == 0 {
			out = append(out, r.group...)
		}
		out = append(out, d)
	}
	return out, rest
}

// date writes a day. Before ends with its number and a space, and rest begins with the month.
func (r Region) date(before, rest []byte) (out, left []byte) {
	head := before[:len(before)-1]
	day, layout, form, length := head[len(head)-endDigits(head):], "2 Jan", r.shortDay, monthBytes
	if len(rest) < length {
		return before, rest
	}
	text := string(day) + " " + string(rest[:length])
	if year, found := bytes.CutPrefix(rest[length:], []byte(" "+mark)); found && len(year) >= yearDigits {
		text += " " + string(year[:yearDigits])
		layout, form, length = "2 Jan 2006", r.day, length+len(" "+mark)+yearDigits
	}
	at, err := time.Parse(layout, text)
	if err != nil {
		return before, rest
	}
	return at.AppendFormat(head[:len(head)-len(day)], form), rest[length:]
}
