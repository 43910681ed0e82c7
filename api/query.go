package api

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"umg/app"
)

// queryValueBytesMax bounds a value of a query that narrows a list.
const queryValueBytesMax = 512

var pageParams = []string{"after", "limit"}

// otherPaging are the names by which other APIs turn pages. Lists that take unknown parameters refuse these: a client whose
// cursor is ignored reads the first page without end.
var otherPaging = []string{"before", "before_id", "after_id", "cursor", "offset", "page", "page_size", "page_token", "pageSize", "pageToken", "sort"}

// listParams are the parameters that the list of a route takes. Routes that are not here take what clients add to every call,
// or check their parameters themselves.
var listParams = map[string][]string{
	"/v1/webhook_endpoints":                pageParams,
	"/v1/webhook_endpoints/:id/deliveries": {"after", "limit", "state", "event_type", "object_id"},
	"/v1/webhook_events":                   {"after", "limit", "type", "since"},
	"/v1/keys":                             {"after", "limit", "order"},
	"/v1/members":                          pageParams,
	"/v1/invitations":                      pageParams,
	"/v1/top_ups":                          pageParams,
}

// checkQuery refuses parameters that the list of the route does not take.
func (x *call) checkQuery() error {
	takes, listed := listParams[x.route.Path]
	if !listed || x.Request().Method == http.MethodPost || x.Request().URL.RawQuery == "" {
		return nil
	}
	return onlyParams(x.QueryParams(), takes, queryValueBytesMax)
}

// onlyParams refuses parameters that a list does not take, by name: a misspelled filter that is silently ignored would show
// more than was asked for. It also refuses parameters that come twice, and values of more than bytesMax bytes.
func onlyParams(q url.Values, takes []string, bytesMax int) error {
	for _, name := range slices.Sorted(maps.Keys(q)) {
		switch {
		case !slices.Contains(takes, name):
			return app.Errorf(app.Invalid, "unknown_parameter", "There is no parameter %q here. There are %s.",
				shorten(name), strings.Join(takes, ", ")).At(shorten(name))
		case len(q[name]) > 1:
			return usageError(name, "%s is given %d times; give it once.", name, len(q[name]))
		case len(q.Get(name)) > bytesMax:
			return usageError(name, "%s has more than %d bytes.", name, bytesMax)
		}
	}
	return nil
}

// noOtherPaging refuses the words of other APIs for pages, but for those that the list takes itself.
func noOtherPaging(q url.Values, instead string, takes ...string) error {
	for _, name := range otherPaging {
		if q.Has(name) && !slices.Contains(takes, name) {
			return app.Errorf(app.Invalid, "unknown_parameter", "There is no parameter %q here. %s", name, instead).At(name)
		}
	}
	return nil
}
