package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"umg/api"
	"umg/app"
)

// Console is the web console: its pages, and its page for an error.
type Console interface {
	Mount(g *echo.Group)
	WriteError(c echo.Context, err error) error
	Leave() // Leave ends the streams that pages keep open, so that the server can drain.
}

// Route is the method and the path of one public route.
type Route struct{ Method, Path string }

// router builds the public handler and lists its routes. No other file of the package knows the web framework.
func (s *Server) router() (http.Handler, []Route) {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.Logger.SetOutput(io.Discard) // The log line of each request has all that the framework would log.
	e.IPExtractor = ClientIP(s.o.TrustedProxies)
	e.HTTPErrorHandler = s.writeError
	e.Pre(s.middleware) // It runs before everything else, so that it sees every request and every outcome.
	s.o.API.Mount(e)
	e.GET("/", func(c echo.Context) error { return c.Redirect(http.StatusSeeOther, consolePath) })
	e.HEAD("/", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	if s.o.Static != nil {
		static := echo.WrapHandler(s.o.Static)
		e.GET(staticPath+"/*", static)
		e.HEAD(staticPath+"/*", static)
	}
	if s.o.Manual != nil {
		for path, text := range llmsDocuments {
			serve := func(c echo.Context) error { return s.serveDocument(c.Response(), c.Request(), text) }
			e.GET(path, serve)
			e.HEAD(path, serve)
		}
	}
	if s.o.Console != nil {
		s.o.Console.Mount(e.Group(consolePath, s.sameOrigin()))
	}
	var routes []Route
	for _, r := range e.Routes() {
		if r.Method != echo.RouteNotFound {
			routes = append(routes, Route{r.Method, r.Path})
		}
	}
	return e, routes
}

// middleware runs every request: the request gets an id and limits in time, and at its end one log line.
func (s *Server) middleware(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		l := &api.RequestLog{RequestID: s.o.IDs.New("req"), Started: s.o.Now()}
		api.WithRequestLog(c, l)
		s.limitTime(c.Response().Writer, c.Request(), l.Started)
		s.setCommonHeaders(c.Response().Header(), []string{l.RequestID})
		s.metrics.inFlight.Add(1)
		defer s.metrics.inFlight.Add(-1)
		broken := s.serve(c, l, next)
		s.end(&endedRequest{
			RequestLog: l, request: c.Request(), header: c.Response().Header(), status: c.Response().Status, route: c.Path(),
			took: s.o.Now().Sub(l.Started),
		})
		if broken {
			panic(http.ErrAbortHandler) // This panic makes net/http drop the connection without a log line.
		}
		return nil
	}
}

// serve runs the request and answers its failure, a panic included. It reports a response that broke off half written: only a dropped
// connection tells the client so.
func (s *Server) serve(c echo.Context, l *api.RequestLog, next echo.HandlerFunc) (broken bool) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		broken = c.Response().Committed
		if isAbort(p) {
			broken = true
			return
		}
		s.writeError(s.logPanic(c.Request().Context(), l, p), c)
	}()
	if err := next(c); err != nil {
		s.writeError(err, c)
	}
	return false
}

// isAbort reports whether a panic asks for the connection to be dropped.
func isAbort(p any) bool {
	err, isError := p.(error)
	return isError && errors.Is(err, http.ErrAbortHandler)
}

// logPanic logs a panic, and returns the error that the client gets.
func (s *Server) logPanic(ctx context.Context, l *api.RequestLog, p any) error {
	s.o.Log.LogAttrs(ctx, slog.LevelError, "panic", slog.String("request_id", l.RequestID),
		slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
	return app.AsError(fmt.Errorf("panic: %v", p))
}

// netLog takes what net/http itself logs. A panic outside of requests is an error; the rest concerns single connections.
func (s *Server) netLog() *log.Logger { return log.New(netLines{s}, "", 0) }

type netLines struct{ s *Server }

func (l netLines) Write(line []byte) (int, error) {
	text, stack, _ := strings.Cut(strings.TrimSpace(string(line)), "\n")
	if !strings.Contains(text, "panic serving") {
		l.s.o.Log.Debug("http server", "line", text)
		return len(line), nil
	}
	l.s.o.Log.Error("panic", "panic", text, "stack", stack)
	l.s.countPanic()
	return len(line), nil
}

// countPanic counts a panic that no response tells of.
func (s *Server) countPanic() { s.metrics.errors.WithLabelValues(api.KindWord(app.Internal)).Inc() }

// sameOrigin protects pages: forms are taken from our own pages only, and pages run our own code only.
func (s *Server) sameOrigin() echo.MiddlewareFunc {
	protection := http.NewCrossOriginProtection()
	if s.o.BaseURL != "" {
		if err := protection.AddTrustedOrigin(s.o.BaseURL); err != nil {
			panic("server.New: Options.BaseURL is not an origin: " + err.Error())
		}
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Response()
			setPageHeaders(r.Header())
			r.Before(func() { // A page that is answered with 503 says when to retry, whichever code rendered it.
				if r.Status == http.StatusServiceUnavailable && r.Header().Get(echo.HeaderRetryAfter) == "" {
					unavailable := app.Error{Kind: app.Unavailable}
					r.Header().Set(echo.HeaderRetryAfter, strconv.FormatInt(unavailable.RetrySeconds(), 10))
				}
			})
			if err := protection.Check(c.Request()); err != nil {
				return app.Errorf(app.Forbidden, "cross_origin", "This form was sent from another site, so nothing was done.").Because(err)
			}
			return next(c)
		}
	}
}

// writeError answers a failure as the API or as the console, by the path of the request.
func (s *Server) writeError(err error, c echo.Context) {
	path := c.Request().URL.Path
	isPage := path == consolePath || strings.HasPrefix(path, consolePath+"/") ||
		!api.Owns(path) && strings.Contains(c.Request().Header.Get(echo.HeaderAccept), echo.MIMETextHTML)
	if isPage && s.o.Console != nil {
		api.RequestLogOf(c).Fail(api.Explain(c, err))
		if c.Response().Committed {
			return
		}
		setPageHeaders(c.Response().Header())
		if s.o.Console.WriteError(c, err) == nil {
			return
		}
	}
	_ = s.o.API.WriteError(c, err)
}

// ClientIP returns a function that finds the address of the caller of a request: the peer, or what a trusted proxy reports. Headers
// of any other peer are ignored.
func ClientIP(trusted []netip.Prefix) func(*http.Request) string {
	if len(trusted) == 0 {
		return echo.ExtractIPDirect()
	}
	options := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, p := range trusted {
		_, network, err := net.ParseCIDR(p.Masked().String())
		if err == nil {
			options = append(options, echo.TrustIPRange(network))
		}
	}
	return echo.ExtractIPFromXFFHeader(options...)
}
