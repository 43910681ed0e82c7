package server

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"umg/api"
	"umg/app/meter"
)

// lineFields takes the fields of the line of a request, in their order.
type lineFields interface {
	// text adds a text, and leaves out an empty one.
	text(name, value string)
	number(name string, n int64)
	milliseconds(name string, d time.Duration)
}

// log writes the one line of a request. It never holds a path or query as the caller wrote it, a body or a key.
func (s *Server) log(x *endedRequest) {
	level := x.level()
	if s.lines == nil {
		fields := attributes(make([]slog.Attr, 0, 28))
		x.describe(&fields)
		s.o.Log.LogAttrs(x.request.Context(), level, "request", fields...)
		return
	}
	line, _ := jsonLines.Get().(*jsonLine)
	line.begin(s.o.Now(), level)
	x.describe(line)
	s.lines.Add(line.end(), level >= slog.LevelWarn)
	jsonLines.Put(line)
}

// level is an error for failures that an operator has to see.
func (x *endedRequest) level() slog.Level {
	if x.Err != nil && x.Cause != nil && isServerFault(x.Err.Kind) {
		return slog.LevelError
	}
	return slog.LevelInfo
}

// describe gives the fields of the line of a request.
func (x *endedRequest) describe(f lineFields) {
	f.text("request_id", x.RequestID)
	f.text("client_request_id", clientRequestID(x.request.Header))
	f.text("method", method(x.request.Method))
	f.text("route", x.route)
	f.text("account_id", x.AccountID)
	f.text("key_id", x.KeyID)
	f.text("style", x.Style)
	f.text("model", x.Model)
	f.text("fallback_of", x.Result.FallbackOf)
	f.text("provider", x.Result.Provider)
	f.number("status", int64(x.status))
	if x.Err != nil {
		f.text("error_kind", api.KindWord(x.Err.Kind))
		f.text("error_code", x.Err.Code)
		if x.level() == slog.LevelError {
			f.text("cause", shorten(x.Cause.Error()))
		}
	}
	f.text("outcome", x.Result.Outcome)
	f.milliseconds("duration_ms", x.took)
	f.text("fault", string(x.Result.Fault))
	if x.Result.Attempts > 0 {
		f.number("attempts", int64(x.Result.Attempts))
		f.milliseconds("upstream_ms", x.Result.Upstream)
	}
	if x.Overhead > 0 {
		f.milliseconds("gateway_ms", x.Overhead)
	}
	if x.FirstByte > 0 {
		f.milliseconds("first_byte_ms", x.FirstByte)
	}
	if x.Model != "" && x.Style != "" {
		u := &x.Result.Usage
		f.number("input_tokens", u[meter.InputTokens]+u[meter.CacheReadTokens]+u[meter.CacheWriteTokens])
		f.number("output_tokens", u[meter.OutputTokens]+u[meter.ReasoningTokens])
		f.number("cost_nanos", int64(x.Result.Cost))
	}
}

// attributes are the fields for a logger.
type attributes []slog.Attr

func (a *attributes) text(name, value string) {
	if value != "" {
		*a = append(*a, slog.String(name, value))
	}
}

func (a *attributes) number(name string, n int64) { *a = append(*a, slog.Int64(name, n)) }

func (a *attributes) milliseconds(name string, d time.Duration) {
	*a = append(*a, slog.Float64(name, float64(d.Microseconds())/1000))
}

// jsonLine is a line in the bytes that slog.JSONHandler writes. Every request has one, and slog takes ten times as long for it.
type jsonLine struct{ b []byte }

var jsonLines = sync.Pool{New: func() any { return &jsonLine{} }}

func (l *jsonLine) begin(at time.Time, level slog.Level) {
	l.b = append(l.b[:0], `{"time":"`...)
	l.b = at.AppendFormat(l.b, time.RFC3339Nano)
	l.b = append(l.b, `","level":"`...)
	l.b = append(append(l.b, level.String()...), `","msg":"request"`...)
}

// end ends the line. Its bytes are good until the line begins again.
func (l *jsonLine) end() []byte {
	l.b = append(l.b, "}\n"...)
	return l.b
}

func (l *jsonLine) name(name string) {
	l.b = append(append(append(l.b, `,"`...), name...), `":`...)
}

func (l *jsonLine) text(name, value string) {
	if value == "" {
		return
	}
	l.name(name)
	for i := range len(value) {
		if c := value[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			l.quote(value)
			return
		}
	}
	l.b = append(append(append(l.b, '"'), value...), '"')
}

// quote appends a text with escapes, which few lines have.
func (l *jsonLine) quote(value string) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) //nolint:errchkjson // A string always has an encoding.
	l.b = append(l.b, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}

func (l *jsonLine) number(name string, n int64) {
	l.name(name)
	l.b = strconv.AppendInt(l.b, n, 10)
}

// milliseconds appends milliseconds with up to three decimals, which is the shortest form of the same number as a float.
func (l *jsonLine) milliseconds(name string, d time.Duration) {
	l.name(name)
	micros := d.Microseconds()
	if micros < 0 {
		l.b, micros = append(l.b, '-'), -micros
	}
	l.b = strconv.AppendInt(l.b, micros/1000, 10)
	if fraction := micros % 1000; fraction > 0 {
		l.b = append(l.b, '.')
		for unit := int64(100); fraction > 0; unit /= 10 {
			l.b = append(l.b, byte('0'+fraction/unit))
			fraction %= unit
		}
	}
}
