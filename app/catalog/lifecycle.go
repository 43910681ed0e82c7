package catalog

import (
	"strconv"
	"time"

	"umg/app"
)

// httpDate is the layout of a time in HTTP headers. The time must be in UTC.
const httpDate = "Mon, 02 Jan 2006 15:04:05 GMT"

// Header is one header of an answer.
type Header struct{ Name, Value string }

// LifecycleHeaders returns the headers of every answer of a deprecated model: Deprecation (RFC 9745), Sunset (RFC 8594) and Link. There
// are none for other models. The caller must not change them.
func (m *Model) LifecycleHeaders() []Header { return m.lifecycle }

// Ended returns the error of a call to a model that was shut down, and nil before its shutdown.
func (m *Model) Ended(now time.Time) error {
	if !m.ended(now) {
		return nil
	}
	hint := " GET /v1/models lists those that are served."
	if m.Successor != "" {
		hint = " Its successor is " + m.Successor + "."
	}
	return app.Errorf(app.NotFound, "model_not_found", "The model %s was shut down on %s.%s",
		m.ID, spelledDay(*m.ShutdownAt), hint).At("model")
}

func (m *Model) ended(now time.Time) bool { return m.ShutdownAt != nil && !now.Before(*m.ShutdownAt) }

func spelledDay(t time.Time) string { return t.UTC().Format("2 January 2006") }

// guidePath is the path of the guide to a model.
func guidePath(id string) string { return "/v1/model/api.md?model=" + id }

func (m *Model) lifecycleHeaders() []Header {
	if m.DeprecatedAt == nil && m.ShutdownAt == nil {
		return nil
	}
	var all []Header
	if m.DeprecatedAt != nil {
		all = append(all, Header{"Deprecation", "@" + strconv.FormatInt(m.DeprecatedAt.Unix(), 10)})
	}
	if m.ShutdownAt != nil {
		all = append(all, Header{"Sunset", m.ShutdownAt.UTC().Format(httpDate)})
	}
	link := "<" + guidePath(m.ID) + `>; rel="deprecation"; type="text/markdown"`
	if m.Successor != "" {
		link += `, </v1/models/` + m.Successor + `>; rel="successor-version"`
	}
	return append(all, Header{"Link", link})
}

// hasNewlyEnded reports whether a model was shut down after the snapshot was made. Its list still has the model.
func (s *Snapshot) hasNewlyEnded(now time.Time) bool {
	for _, m := range s.models {
		if m.ended(now) && !m.ended(s.loadedAt) {
			return true
		}
	}
	return false
}
