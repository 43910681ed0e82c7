// Package apidocs writes the documents about each model: a guide in Markdown for people and an OpenAPI document for programs. New
// makes Documents, which writes a document when it is first requested and keeps it until the catalog changes.
package apidocs

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/llm"
)

// Options of the documents. Now is required.
type Options struct {
	Now app.Clock
	// BaseURL is the scheme and host that examples call. Empty means a placeholder.
	BaseURL string
	// Traits returns what a style can express. Without it documents do not describe what a translation loses.
	Traits func(llm.Style) *llm.Traits
	// Extras lists the members of a style that ask a provider for more than an answer, and what the gateway does with each.
	Extras func(llm.Style) []catalog.Extra
	// Errors returns the status and the body of an error in a style for a request id. Without it there are no examples of errors.
	Errors func(s llm.Style, e *app.Error, requestID string) (status int, body []byte)
}

// Documents writes and caches the documents of the latest snapshot. It is safe for concurrent use.
type Documents struct {
	o      Options
	latest atomic.Pointer[snapshotDocuments]
}

// Document is a text about a model. The caller must not change it.
type Document struct {
	Body []byte
	// Tag is the entity tag of the body.
	Tag string
}

// New makes the documents. It writes none of them yet.
func New(o Options) *Documents {
	if o.Now == nil {
		panic("apidocs.New: Options.Now is required")
	}
	return &Documents{o: o}
}

// snapshotDocuments are the documents of one snapshot.
type snapshotDocuments struct {
	snapshot *catalog.Snapshot
	// byModel holds *modelDocuments by *catalog.Model.
	byModel sync.Map
}

type modelDocuments struct{ markdown, openAPI func() Document }

// Markdown returns the guide to a model: facts, prices, limits, examples and every field of a request.
func (d *Documents) Markdown(s *catalog.Snapshot, m *catalog.Model) Document {
	return d.of(s, m).markdown()
}

// OpenAPI returns an OpenAPI 3.1 document with the schemas that check the requests of a model.
func (d *Documents) OpenAPI(s *catalog.Snapshot, m *catalog.Model) Document {
	return d.of(s, m).openAPI()
}

func (d *Documents) of(s *catalog.Snapshot, m *catalog.Model) *modelDocuments {
	latest := d.latest.Load()
	if latest == nil || latest.snapshot != s {
		latest = &snapshotDocuments{snapshot: s}
		d.latest.Store(latest)
	}
	if known, ok := latest.byModel.Load(m); ok {
		docs, _ := known.(*modelDocuments)
		return docs
	}
	w := &writer{o: d.o, aliases: s.PathAliases()}
	once := func(write func(*catalog.Model) []byte) func() Document {
		return sync.OnceValue(func() Document {
			body := write(m)
			return Document{Body: body, Tag: catalog.ETag(body)}
		})
	}
	kept, _ := latest.byModel.LoadOrStore(m, &modelDocuments{markdown: once(w.writeMarkdown), openAPI: once(w.writeOpenAPI)})
	docs, _ := kept.(*modelDocuments)
	return docs
}

// ContractVersion changes whenever one of the contracts of a model does. It is empty for models that cannot be called.
func ContractVersion(m *catalog.Model) string {
	var hashes []string
	for _, style := range m.Served() {
		hashes = append(hashes, contractOf(m, style).Hash())
	}
	if m.ServesVideos() {
		hashes = append(hashes, m.VideoContract().Hash(), m.RemixContract().Hash())
	}
	return strings.Join(hashes, "-")
}

func contractOf(m *catalog.Model, style llm.Style) *catalog.Contract {
	c, _ := m.Contract(style)
	return c
}

func dayText(t time.Time) string { return t.UTC().Format("2 January 2006") }
