// Package logwriter writes the lines of a log, many of them in one write. NewHandler makes a handler for slog, to
// whose Lines other lines can be added.
package logwriter
