package page

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"umg/app"
	"umg/app/account"
	"umg/views"
	"umg/views/format"
)

const (
	eventStreamType   = "text/event-stream"
	streamsPerUserMax = 6   // One reader may have this many parallel streams.
	streamsMax        = 300 // One replica serves at most this many parallel streams.
	streamAgeMax      = 10 * time.Minute
	heartbeatEvery    = 15 * time.Second
	pollTimeMax       = 5 * time.Second  // This is the timeout of one poll.
	writeTimeMax      = 10 * time.Second // This is the timeout of one write to the browser.
	streamRetryAfter  = 30 * time.Second
	pollFailuresMax   = 3 // The stream ends after this many consecutive failed polls.
	lastEventIDMax    = 200
	lastEventParam    = "last" // The page sends the last event id in this parameter when it first connects.
	streamPreamble    = "retry: 2000\n\n"
	heartbeat         = ": still here\n\n"
)

// eventStreams counts the open streams of this replica, which are bounded, and ends them when the replica shuts down.
type eventStreams struct {
	mu     sync.Mutex
	byUser map[string]int
	all    int
	left   chan struct{}
	leave  func()
}

func newEventStreams() *eventStreams {
	l := &eventStreams{byUser: map[string]int{}, left: make(chan struct{})}
	l.leave = sync.OnceFunc(func() { close(l.left) })
	return l
}

// take counts one more stream of a user. It returns false when a limit is reached or the replica shuts down.
func (l *eventStreams) take(user string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.left:
		return false
	default:
	}
	if l.all >= streamsMax || l.byUser[user] >= streamsPerUserMax {
		return false
	}
	l.all++
	l.byUser[user]++
	return true
}

// give returns what take counted.
func (l *eventStreams) give(user string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.byUser[user]--; l.byUser[user] == 0 {
		delete(l.byUser, user)
	}
}

// Leave ends the streams that pages keep open, so that the server can drain. Browsers reconnect to another replica.
func (r *Renderer) Leave() { r.streams.leave() }

// Poll reads what is new on a page. It returns false when nothing is.
type Poll func(ctx context.Context) (views.LiveEvent, bool, error)

// StreamEvents answers with server-sent events that keep a page up to date while its reader looks at it. Their data is HTML that
// static/src/js/live.js puts into the page. It polls at the given interval and holds nothing in between. The stream ends with the
// session, the reader's role, the process or after ten minutes. Browsers reconnect by themselves.
func (r *Renderer) StreamEvents(p *Page, every time.Duration, poll Poll) error {
	if p.Request().Method == http.MethodHead {
		p.Response().Header().Set("Content-Type", eventStreamType)
		return p.NoContent(http.StatusOK)
	}
	if !r.streams.take(p.User.ID) {
		return app.Errorf(app.Unavailable, "too_many_streams",
			"Too many pages are kept up to date at once. Close some of them, or reload the page when you need it.").After(streamRetryAfter)
	}
	defer r.streams.give(p.User.ID)
	p.Place.Leave() // Streams have a limit of their own, so they need no place in admission control.
	h := p.Response().Header()
	h.Set("Content-Type", eventStreamType)
	h.Set("X-Accel-Buffering", "no")
	p.Response().WriteHeader(http.StatusOK)
	controller := http.NewResponseController(p.Response())
	s := eventStream{
		left: r.streams.left, poll: poll, every: every, region: p.Region(),
		write: func(text string) error {
			_ = controller.SetWriteDeadline(r.o.Now().Add(writeTimeMax))
			if _, err := io.WriteString(p.Response(), text); err != nil {
				return err
			}
			return controller.Flush()
		},
		there: func(ctx context.Context) bool { return r.sessionUnchanged(ctx, p) },
	}
	s.run(p.Request().Context())
	return nil
}

// sessionUnchanged reports whether the reader is signed in with the account and role of the time when the page was opened. A changed
// role ends the stream, and the browser's next stream gets the new role.
func (r *Renderer) sessionUnchanged(ctx context.Context, p *Page) bool {
	session, err := r.o.Sessions.New(p.Request().WithContext(ctx), r.o.Sessions.Name())
	if err != nil || account.UserID(session) != p.User.ID {
		return false
	}
	chosen, _ := session.Values[AccountValue].(string)
	user, err := r.o.Accounts.UserIn(ctx, p.User.ID, chosen)
	user, _ = r.Reader(user)
	return err == nil && user.AccountID == p.User.AccountID && user.Role == p.User.Role && user.Operator == p.User.Operator
}

// AcceptsEvents reports whether the client asks for server-sent events.
func (p *Page) AcceptsEvents() bool {
	return strings.HasPrefix(p.Request().Header.Get("Accept"), eventStreamType)
}

// LastEventID returns the id of the last event that the reader received: the browser sends it when it reconnects, and the page names it
// when it connects first.
func (p *Page) LastEventID() string {
	id := p.Request().Header.Get("Last-Event-ID")
	if id == "" {
		id = p.QueryParam(lastEventParam)
	}
	if len(id) > lastEventIDMax {
		return ""
	}
	return id
}

// eventStream is one open stream.
type eventStream struct {
	write func(text string) error
	there func(ctx context.Context) bool // This function reports whether the reader is still signed in.
	poll  Poll
	every time.Duration
	// Region is how the reader sees numbers and days.
	region format.Region
	left   <-chan struct{} // The channel is closed when the replica shuts down.
}

// run polls and writes until the client leaves or the stream reaches its maximum age.
func (s *eventStream) run(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, streamAgeMax)
	defer cancel()
	if s.write(streamPreamble) != nil {
		return
	}
	looks, beats := time.NewTicker(s.every), time.NewTicker(heartbeatEvery)
	defer looks.Stop()
	defer beats.Stop()
	for faults := 0; faults < pollFailuresMax; {
		gone, failed := s.once(ctx)
		if gone {
			return
		}
		faults++
		if !failed {
			faults = 0
		}
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return
			case <-s.left:
				return
			case <-beats.C:
				if s.write(heartbeat) != nil {
					return
				}
			case <-looks.C:
				waiting = false
			}
		}
	}
}

// once polls once. It returns gone when the stream must end, and failed when the poll failed and is to be repeated.
func (s *eventStream) once(ctx context.Context) (gone, failed bool) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeMax)
	defer cancel()
	if !s.there(ctx) {
		return true, false
	}
	event, found, err := s.poll(ctx)
	if err != nil || !found {
		return false, err != nil
	}
	var html bytes.Buffer
	if event.HTML != nil {
		if err := event.HTML.Render(ctx, &html); err != nil {
			return false, true
		}
	}
	return s.write(eventFrame(event.ID, string(s.region.Localize(html.Bytes())))) != nil, false
}

// eventFrame formats one event. No line of the HTML can be read as another field.
func eventFrame(id, html string) string {
	var b strings.Builder
	if id != "" && !strings.ContainsAny(id, "\r\n\x00") {
		b.WriteString("id: " + id + "\n")
	}
	for line := range strings.SplitSeq(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(html), "\n") {
		b.WriteString("data: " + line + "\n")
	}
	b.WriteString("\n")
	return b.String()
}
