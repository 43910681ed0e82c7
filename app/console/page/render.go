package page

import (
	"bytes"

	"github.com/a-h/templ"
)

// Render saves the session and writes a page. It renders into memory first, so that a failure never leaves half a page.
func (r *Renderer) Render(p *Page, status int, component templ.Component) error {
	if err := r.SaveSession(p); err != nil {
		return err
	}
	return p.HTML(status, component)
}

// Show renders the page of a view, or returns the error with which the view was read.
func Show[V any](r *Renderer, p *Page, status int, draw func(V) templ.Component, v V, err error) error {
	if err != nil {
		return err
	}
	return r.Render(p, status, draw(v))
}

// HTML writes a page without saving the session. It renders into memory first, and compresses what holds no secret.
func (p *Page) HTML(status int, component templ.Component) error {
	var b bytes.Buffer
	if err := component.Render(p.Request().Context(), &b); err != nil {
		return err
	}
	sent, err := compress(p.Response().Header(), p.Request().Header.Get("Accept-Encoding"), b.Bytes())
	if err != nil {
		return err
	}
	return p.Blob(status, "text/html; charset=UTF-8", sent)
}

// SaveSession saves the values of the page's session and sets its cookie.
func (r *Renderer) SaveSession(p *Page) error {
	return r.o.Sessions.Save(p.Request(), p.Response(), p.Session)
}
