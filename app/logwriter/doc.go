// Package logwriter writes the lines of a log, many of them in one write. New makes a Writer; pass it to a slog handler, and give the
// lines of requests to Add.
package logwriter
