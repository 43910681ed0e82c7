// Package playground serves the pages of the console's playground for text models. The console adds the routes of Console to its own.
package playground

import (
	"net/http"

	"umg/app"
	"umg/app/catalog"
	"umg/app/console/page"
	"umg/app/contentlog"
	"umg/app/gateway"
	"umg/app/prompt"
	"umg/billing/usage"
	"umg/views"
)

// Options are the services behind the pages. All but Prompts are required.
type Options struct {
	Catalog *catalog.Catalog
	Gateway *gateway.Gateway
	Reports *usage.Reports
	Prompts *prompt.Service     // Prompts is nil where prompts are not saved.
	Content *contentlog.Service // Content is nil where no content of calls, and so no run, is stored.
	Now     app.Clock

	// Generate makes a call of the reader and logs its content where the account wants that.
	Generate func(*page.Page, gateway.Call, gateway.StreamWriter) (*gateway.Report, error)
	// KeyHint returns the masked key for code samples. It is empty without a key.
	KeyHint func(*page.Page) (string, error)
	// ViewModels returns the models of the reader's account as pages show them, with their state.
	ViewModels func(*page.Page) []views.Model
}

// Console serves the pages of the playground.
type Console struct {
	*page.Renderer

	o Options
}

// New returns the pages of the playground.
func New(r *page.Renderer, o Options) *Console {
	return &Console{Renderer: r, o: o}
}

// Routes returns the routes of the playground for text models.
func (c *Console) Routes() []page.Route {
	return []page.Route{
		{Method: http.MethodGet, Path: "/playground", Right: app.CallText, Serve: c.show},
		{Method: http.MethodPost, Path: "/playground", Right: app.CallText, Serve: c.submit},
		{Method: http.MethodPost, Path: "/playground/settings", Right: app.CallText, Serve: c.settings},
		{Method: http.MethodPost, Path: "/playground/code", Right: app.CallText, Serve: c.code},
		{Method: http.MethodPost, Path: "/playground/estimate", Right: app.CallText, Serve: c.estimate},
		{Method: http.MethodGet, Path: "/playground/calls/:id", Right: app.CallText, Serve: c.stoppedCall},
	}
}
