package gateway

import (
	"net/http"
	"slices"
	"strings"

	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/dialect/translate"
	"umg/app/llm"
)

// forwardedHeaders are sent unchanged to providers of the messages style, except for trial features that change the price. Clients
// and providers may use any spelling that the catalog's aliases list.
var forwardedHeaders = [...]string{versionHeader, betaHeader}

const (
	versionHeader   = "vendorb-version"
	betaHeader      = "vendorb-beta"
	versionStandard = "2023-06-01"        // This version has all parameters.
	versionMember   = "anthropic_version" // This member has the version where a provider takes it in the body.
)

// upstreamHeader returns the headers of the call for a provider of the messages style, under every spelling that the catalog
// knows. They are the headers of a client of that style. When there is no version among them or in the provider's own headers, it
// adds the standard version, which such a provider demands. It returns the trial features apart where the provider takes them in the body.
func (c *call) upstreamHeader(route *catalog.Route, x *translate.Exchange) (header http.Header, bodyBetas []string) {
	if x.Upstream() != llm.Messages {
		return nil, nil
	}
	names := c.gateway.o.Snapshot()
	out := make(http.Header, 2*len(forwardedHeaders))
	for _, name := range forwardedHeaders {
		spellings := names.Spellings(name)
		_, values := c.clientHeader(spellings)
		if name == betaHeader {
			values, _ = splitBetas(values, route.Extras)
			if route.Wire != nil && route.Wire.Body.Betas != "" {
				bodyBetas = betaNames(values)
				continue
			}
		}
		if values == nil && name == versionHeader && !namesVersion(route, spellings) {
			values = []string{versionStandard}
		}
		for _, to := range spellings {
			if values != nil {
				out[to] = values
			}
		}
	}
	return out, bodyBetas
}

// namesVersion reports whether the version is among the provider's own headers, under one of the spellings, or in the body.
func namesVersion(route *catalog.Route, spellings []string) bool {
	if hasHeader(route.Provider.Headers, spellings) {
		return true
	}
	w := route.Wire
	return w != nil && (w.Body.Add[versionMember] != "" || hasHeader(w.Headers, spellings))
}

func hasHeader(headers map[string]string, spellings []string) bool {
	for name := range headers {
		if slices.ContainsFunc(spellings, func(s string) bool { return strings.EqualFold(name, s) }) {
			return true
		}
	}
	return false
}

// betaNames are the trial features in the values of a header.
func betaNames(values []string) (names []string) {
	for _, value := range values {
		for name := range strings.SplitSeq(value, ",") {
			if name = strings.TrimSpace(name); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// clientHeader returns the values that the client gave a header, and the spelling under which it did.
func (c *call) clientHeader(spellings []string) (name string, values []string) {
	if c.request.Style != llm.Messages {
		return "", nil
	}
	for _, name := range spellings {
		if values := c.request.Headers.Values(name); len(values) > 0 {
			return name, values
		}
	}
	return "", nil
}

// splitBetas separates the trial features that are sent upstream from those that switch extras on which the route does not serve. A
// header value without features of the second kind stays as it is.
func splitBetas(values []string, served llm.ExtraSet) (kept, extra []string) {
	for _, value := range values {
		var left []string
		split := false
		for name := range strings.SplitSeq(value, ",") {
			if dialect.IsExtraBeta(strings.TrimSpace(name), served) {
				extra, split = append(extra, strings.TrimSpace(name)), true
			} else {
				left = append(left, strings.TrimSpace(name))
			}
		}
		if split {
			value = strings.Join(left, ",")
		}
		if value != "" {
			kept = append(kept, value)
		}
	}
	return kept, extra
}
