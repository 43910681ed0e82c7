package requests

import (
	"net/url"
	"strconv"
	"strings"

	"umg/views"
)

// The pages that filters are saved of, as they are kept.
const (
	savedUsage    = "usage"
	savedRequests = "requests"

	savedPath     = "/console/views"
	savedNameMost = 60
)

// SavedViews are filters of a page that the reader has named, and those that the page has now.
type SavedViews struct {
	Page  string // empty where views cannot be saved
	List  []SavedView
	Query string // current query of the page, to be saved
	Most  int
}

// SavedView is a name for filters.
type SavedView struct {
	Name, Query string
}

// NewSavedViews are the views of a page whose address is now here. What is kept is read again and written as the page would now, so
// that a view of long ago leads nowhere else.
func NewSavedViews(page, here string, kept []SavedView, most int) SavedViews {
	s := SavedViews{Page: page, Most: most, Query: queryOf(here)}
	for _, v := range kept {
		if query, known := SavedQuery(page, v.Query); known {
			s.List = append(s.List, SavedView{Name: v.Name, Query: query})
		}
	}
	return s
}

// SavedQuery is a query as the page itself writes it, without what it does not know. It says no for a page that has none.
func SavedQuery(page, query string) (string, bool) {
	values, err := url.ParseQuery(query)
	if err != nil {
		values = url.Values{}
	}
	switch page {
	case savedUsage:
		return queryOf(ParseUsageQuery(values).Path()), true
	case savedRequests:
		q := ParseQuery(values)
		q.After = ""
		return queryOf(q.Path()), true
	}
	return "", false
}

// SavedPath is the address of a page with a query.
func SavedPath(page, query string) string {
	path := views.UsagePath
	if page == savedRequests {
		path = views.RequestsPath
	}
	if query == "" {
		return path
	}
	return path + "?" + query
}

func queryOf(address string) string {
	_, query, _ := strings.Cut(address, "?")
	return query
}

// current is the view that the page shows, as far as one does.
func (s SavedViews) current() string {
	for _, v := range s.List {
		if v.Query == s.Query {
			return v.Name
		}
	}
	return ""
}

// menuName is the name of the view that the page shows, and of the menu where it shows none.
func (s SavedViews) menuName() string {
	if name := s.current(); name != "" {
		return name
	}
	return "Views"
}

func (s SavedViews) full() bool { return len(s.List) >= s.Most }

func savedID(i int, what string) string { return "saved-" + what + "-" + strconv.Itoa(i) }
