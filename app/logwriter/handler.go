package logwriter

import (
	"io"
	"log/slog"

	"umg/app"
)

// Handler is the JSON handler of slog over a Writer. Its lines are written at once, after those that wait.
type Handler struct {
	slog.Handler

	lines *Writer
}

// NewHandler returns the handler of a log on an output. The caller must flush its Lines at the end.
func NewHandler(out io.Writer, now app.Clock) *Handler {
	w := New(out, now)
	return &Handler{Handler: slog.NewJSONHandler(w, nil), lines: w}
}

// Lines takes lines that are encoded by hand, in the same form.
func (h *Handler) Lines() *Writer { return h.lines }
