package models

import (
	"slices"
	"strconv"

	"umg/views"
	"umg/views/format"
)

// These constants limit one page of the list, so that a long catalog is as quick to draw as a short one.
const (
	pageMax   = 100
	pagesMax  = 1000
	firstPage = 1
)

// pageNumber is the page that an address names; zero for the first.
func pageNumber(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n <= firstPage || n > pagesMax {
		return 0
	}
	return n
}

// modelPage is a part of the models that were found.
type modelPage struct {
	rows         []views.Model
	from, all    int // From is the zero-based index of the first model, and all the number on all pages.
	number, last int
}

// pageOf is the page that the query asks for, or the last one when there are not so many.
func (l List) pageOf(rows []views.Model) modelPage {
	last := max((len(rows)+pageMax-1)/pageMax, firstPage)
	p := modelPage{all: len(rows), last: last, number: min(max(l.Query.Page, firstPage), last)}
	p.from = (p.number - 1) * pageMax
	p.rows = slices.Clone(rows[p.from:min(p.from+pageMax, len(rows))])
	return p
}

func (p modelPage) words() string {
	return format.Count(int64(p.from+1)) + " – " + format.Count(int64(p.from+len(p.rows))) + " of " + format.Count(int64(p.all))
}

// page is the query for another page.
func (q Query) page(number int) Query {
	if q.Page = number; number <= firstPage {
		q.Page = 0
	}
	return q
}
