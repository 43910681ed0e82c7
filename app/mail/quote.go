package mail

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// quoteRunesMax bounds the length of a text by another user in a mail.
const quoteRunesMax = 60

// These signs, also in the forms of other scripts, make mail programs turn words into links. A dot or colon before a blank or at
// the end makes no link.
const (
	dots   = ".．。｡․"
	colons = ":：﹕"
	ats    = "@＠﹫"
)

// Quote returns how a mail shows a text that another user wrote, such as the name of an account: in quotation marks, on one line,
// at most 60 characters long, without characters that do not show, and with nothing that a mail program makes a link of. The letter
// says beside it who wrote the text; see WrittenBy.
func Quote(text string) string {
	var b strings.Builder
	runes := []rune(visible(text))
	for i, r := range runes[:min(len(runes), quoteRunesMax)] {
		joins := i+1 < len(runes) && !unicode.IsSpace(runes[i+1])
		switch {
		case strings.ContainsRune(dots, r) && joins:
			b.WriteString("[.]")
		case strings.ContainsRune(colons, r) && joins:
			b.WriteString("[:]")
		case strings.ContainsRune(ats, r):
			b.WriteString("[at]")
		case strings.ContainsRune("“”„‟\"", r): // A text must not end its own quotation.
			b.WriteByte('\'')
		default:
			b.WriteRune(r)
		}
	}
	if len(runes) > quoteRunesMax {
		b.WriteString("…")
	}
	return "“" + b.String() + "”"
}

// visible is the text with single blanks, and without what does not show: controls, marks of direction, bytes that are no text.
func visible(text string) string {
	shown := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(shown), " ")
}

// WrittenBy is the sentence that a letter with a quotation has about it.
func WrittenBy(author string) string {
	return "The text in quotation marks was written by " + author + ", not by us."
}

// plainAddress is an address without signs that a mail program could take for the path of a link.
var plainAddress = regexp.MustCompile(`^[a-z0-9._+-]{1,64}@[a-z0-9.-]{1,190}$`)

// ShowAddress returns how a mail shows the address of a person other than its reader: as it is, or as a quotation when it has
// characters that addresses seldom have.
func ShowAddress(address string) string {
	if plainAddress.MatchString(address) {
		return address
	}
	return Quote(address)
}
