package errorclass

import (
	"net/http"
	"slices"
	"strings"

	"umg/app/llm"
)

// Meaning is what an error of a provider means.
type Meaning string

// These are the meanings of errors.
const (
	Key        Meaning = "key"
	Account    Meaning = "account"
	Quota      Meaning = "quota"
	Rate       Meaning = "rate"
	Overloaded Meaning = "overloaded"
	TooLong    Meaning = "too_long"
	Filter     Meaning = "filter"
	Route      Meaning = "route"
	Request    Meaning = "request"
	Server     Meaning = "server"
)

var meanings = []Meaning{Key, Account, Quota, Rate, Overloaded, TooLong, Filter, Route, Request, Server}

// Cause is why a credential is wrong. It is empty when the table does not say.
type Cause string

// SessionEnded means that the credential was a temporary session, which has ended.
const SessionEnded Cause = "session"

// Table has the rows of a provider. It never changes.
type Table struct{ rows []row }

// Verdict is what a table says of an error.
type Verdict struct {
	Meaning Meaning
	Cause   Cause
	// After are the places where the wait may stand.
	After []Source
}

type statusRange struct{ first, last int }

// row matches an error when each of its members does. An empty member matches every error.
type row struct {
	statuses                                  []statusRange
	code, kind, reason, message, quota, value []pattern
	header                                    string
	means                                     Meaning
	cause                                     Cause
	after                                     []Source
}

var table = mustParse()

// Of returns the table of a provider by its name, or that of its style when the table has no such provider. An unknown style has the
// default table.
func Of(name string, style llm.Style) *Table {
	if t := table.providers[name]; t != nil {
		return t
	}
	if t := table.styles[style]; t != nil {
		return t
	}
	return table.fallback
}

// Classify returns the verdict on an error with a status and the headers of its answer. The status must be that of an error.
func (t *Table) Classify(status int, header http.Header, r *Report) Verdict {
	for i := range t.rows {
		if row := &t.rows[i]; row.matches(status, header, r) {
			return Verdict{row.means, row.cause, row.after}
		}
	}
	return Verdict{Meaning: Server} // The default rows match every status of an error.
}

func (r *row) matches(status int, header http.Header, e *Report) bool {
	inRange := func(s statusRange) bool { return s.first <= status && status <= s.last }
	return (r.statuses == nil || slices.ContainsFunc(r.statuses, inRange)) &&
		matchesAny(r.code, e.Code) && matchesAny(r.kind, e.Type) && matchesAny(r.reason, e.reasons...) &&
		matchesAny(r.message, e.texts...) && matchesAny(r.quota, e.quotas...) && (r.header == "" || matchesAny(r.value, header.Get(r.header)))
}

// matchesAny reports whether one of the values matches one of the patterns. It reports true without patterns.
func matchesAny(list []pattern, values ...string) bool {
	if list == nil {
		return true
	}
	for _, v := range values {
		v = strings.ToLower(v)
		if slices.ContainsFunc(list, func(p pattern) bool { return p.matches(v) }) {
			return true
		}
	}
	return false
}

// pattern is a word in lower case. Its parts stand between the places where any text may be.
type pattern []string

func newPattern(word string) pattern { return strings.Split(strings.ToLower(word), "*") }

func newPatterns(list words) (all []pattern) {
	for _, word := range list {
		all = append(all, newPattern(word))
	}
	return all
}

// matches reports whether a text in lower case matches.
func (p pattern) matches(text string) bool {
	if len(p) == 1 {
		return text == p[0]
	}
	text, found := strings.CutPrefix(text, p[0])
	for _, part := range p[1 : len(p)-1] {
		if !found {
			return false
		}
		_, text, found = strings.Cut(text, part)
	}
	return found && strings.HasSuffix(text, p[len(p)-1])
}
