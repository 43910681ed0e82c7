package refusal

import (
	"slices"
	"strings"
	"time"

	"umg/app"
)

// These limits apply to the texts of a record, in bytes.
const (
	messageBytesMax = 600
	paramBytesMax   = 200
	wordBytesMax    = 200
)

// Record is one refused request.
type Record struct {
	RequestID string
	// AccountID is empty until Run has looked up the secret.
	AccountID, KeyID string
	// Secret is what the request bore as its key. It is never written.
	Secret   string
	At       time.Time
	Method   string
	Route    string // Route is the pattern of the path; empty for a path that no route has.
	Style    string
	Model    string // Model is empty unless the catalog has it.
	Status   int
	Code     string
	Param    string
	Message  string
	Duration time.Duration
	// Represents is how many refusals the record stands for. Zero means one.
	Represents int64
}

// storable bounds the texts of the record, and takes out of them what the caller may have sent.
func (r *Record) storable() {
	if !isFieldPath(r.Param) {
		r.Param = ""
	}
	r.Message = app.MakeStorable(withoutValues(r.Message, r.Param, r.Model), messageBytesMax)
	for _, word := range []*string{&r.RequestID, &r.KeyID, &r.Method, &r.Route, &r.Style, &r.Model, &r.Code} {
		if len(*word) > wordBytesMax || !app.Storable(*word) {
			*word = ""
		}
	}
	if len(r.Code) == 0 {
		r.Code = "error"
	}
	r.Secret = ""
	if r.Status < 400 || r.Status > 599 {
		r.Status = 500
	}
	r.Duration = max(r.Duration, 0)
	r.Represents = max(r.Represents, 1)
}

// isFieldPath reports whether a text can be the path of a field, such as messages[0].content. A member that the caller invented may be
// any text, which is not stored.
func isFieldPath(text string) bool {
	allowed := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.[]", r)
	}
	return len(text) <= paramBytesMax && !strings.ContainsFunc(text, func(r rune) bool { return !allowed(r) })
}

// valueMark takes the place of a value that a message repeats of the request.
const valueMark = "…"

// withoutValues replaces what a message may repeat of the request: quoted texts other than the known ones, addresses of the web and
// e-mail addresses.
func withoutValues(message string, known ...string) string {
	var b strings.Builder
	for message != "" {
		at := strings.IndexAny(message, "\"“")
		if at < 0 {
			b.WriteString(withoutAddresses(message))
			break
		}
		b.WriteString(withoutAddresses(message[:at]))
		quoted := quotedLength(message[at:])
		if text := strings.Trim(message[at:at+quoted], `"`); text != "" && slices.Contains(known, text) {
			b.WriteString(message[at : at+quoted])
		} else {
			b.WriteString(`"` + valueMark + `"`)
		}
		message = message[at+quoted:]
	}
	return b.String()
}

// quotedLength is the length of the quoted text that a text begins with, up to the end when nothing closes the quotes.
func quotedLength(text string) int {
	if rest, curly := strings.CutPrefix(text, "“"); curly {
		if end := strings.Index(rest, "”"); end >= 0 {
			return len("“") + end + len("”")
		}
		return len(text)
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// withoutAddresses replaces the words that are addresses.
func withoutAddresses(text string) string {
	if !strings.Contains(text, "://") && !strings.Contains(text, "@") {
		return text
	}
	words := strings.Split(text, " ")
	for i, word := range words {
		if strings.Contains(word, "://") || strings.Contains(word, "@") {
			words[i] = valueMark
		}
	}
	return strings.Join(words, " ")
}
