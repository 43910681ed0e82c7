package console

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"umg/app"
	"umg/app/account"
	"umg/views"
)

const (
	liveKind       = "text/event-stream"
	livesOfUserMax = 6   // parallel streams of one reader
	livesMax       = 300 // parallel streams of this replica
	liveAgeMax     = 10 * time.Minute
	liveBeatEvery  = 15 * time.Second
	liveLookMax    = 5 * time.Second  // timeout of one poll
	liveStallMax   = 10 * time.Second // timeout of one write to the browser
	liveRetryAfter = 30 * time.Second
	liveFaultsMax  = 3 // consecutive failed polls after which the stream ends
	liveSeenMax    = 200
	liveLost       = "last" // the parameter with the last event id, for a browser that reconnects
	liveHead       = "retry: 2000\n\n"
	liveBeat       = ": still here\n\n"
)

// eventStreams are the open streams of this replica, which are bounded, and end when it leaves.
type eventStreams struct {
	mu     sync.Mutex
	byUser map[string]int
	all    int
	left   chan struct{}
	leave  func()
}

func newLives() *eventStreams {
	l := &eventStreams{byUser: map[string]int{}, left: make(chan struct{})}
	l.leave = sync.OnceFunc(func() { close(l.left) })
	return l
}

// take opens one stream more, or says that there are enough.
func (l *eventStreams) take(user string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.left:
		return false
	default:
	}
	if l.all >= livesMax || l.byUser[user] >= livesOfUserMax {
		return false
	}
	l.all++
	l.byUser[user]++
	return true
}

func (l *eventStreams) give(user string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.byUser[user]--; l.byUser[user] == 0 {
		delete(l.byUser, user)
	}
}

// Leave ends the streams that pages keep open, so that the server can drain; browsers find another replica by themselves.
func (c *Console) Leave() { c.lives.leave() }

// poller reads what is new on a page; false when nothing is.
type poller func(ctx context.Context) (views.LiveEvent, bool, error)

// live answers with what is new on a page, as long as its reader looks at it: server-sent events, whose data is HTML that
// static/src/js/live.js puts into the page. It looks again after every such time and holds nothing in between. The stream
// ends with the session, the reader's role, the process or after ten minutes; browsers connect again by themselves.
func (c *Console) live(p *page, every time.Duration, look poller) error {
	if p.Request().Method == http.MethodHead {
		p.Response().Header().Set(echo.HeaderContentType, liveKind)
		return p.NoContent(http.StatusOK)
	}
	if !c.lives.take(p.user.ID) {
		return app.Errorf(app.Unavailable, "too_many_streams",
			"Too many pages are kept up to date at once. Close some of them, or reload the page when you need it.").After(liveRetryAfter)
	}
	defer c.lives.give(p.user.ID)
	p.place.Leave() // streams have their own limit, so they do not take a place of a call
	h := p.Response().Header()
	h.Set(echo.HeaderContentType, liveKind)
	h.Set("X-Accel-Buffering", "no")
	p.Response().WriteHeader(http.StatusOK)
	controller := http.NewResponseController(p.Response())
	s := liveStream{
		left: c.lives.left, look: look, every: every,
		write: func(text string) error {
			_ = controller.SetWriteDeadline(c.o.Now().Add(liveStallMax))
			if _, err := io.WriteString(p.Response(), text); err != nil {
				return err
			}
			return controller.Flush()
		},
		there: func(ctx context.Context) bool { return c.stillThere(ctx, p) },
	}
	s.run(p.Request().Context())
	return nil
}

// stillThere reports whether the reader is signed in as when the page was opened. A role that changed ends the stream,
// too: the next one is asked for with the new one.
func (c *Console) stillThere(ctx context.Context, p *page) bool {
	session, err := c.o.Sessions.New(p.Request().WithContext(ctx), c.o.Sessions.Name())
	if err != nil || account.UserID(session) != p.user.ID {
		return false
	}
	chosen, _ := session.Values[accountValue].(string)
	user, err := c.o.Accounts.UserIn(ctx, p.user.ID, chosen)
	user, _ = c.reader(user)
	return err == nil && user.AccountID == p.user.AccountID && user.Role == p.user.Role && user.Operator == p.user.Operator
}

// lastSeen is how far the reader has come: what the browser says when it connects again, or what the page says when it does.
func lastSeen(p *page) string {
	id := p.Request().Header.Get("Last-Event-ID")
	if id == "" {
		id = p.QueryParam(liveLost)
	}
	if len(id) > liveSeenMax {
		return ""
	}
	return id
}

// liveStream is one open stream.
type liveStream struct {
	write func(text string) error
	there func(ctx context.Context) bool
	look  poller
	every time.Duration
	left  <-chan struct{}
}

// run polls and writes until the client leaves or the stream reaches its maximum age.
func (s *liveStream) run(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, liveAgeMax)
	defer cancel()
	if s.write(liveHead) != nil {
		return
	}
	looks, beats := time.NewTicker(s.every), time.NewTicker(liveBeatEvery)
	defer looks.Stop()
	defer beats.Stop()
	for faults := 0; faults < liveFaultsMax; {
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
				if s.write(liveBeat) != nil {
					return
				}
			case <-looks.C:
				waiting = false
			}
		}
	}
}

// once looks once. A look that fails is tried again, one that is not the reader's any more is not.
func (s *liveStream) once(ctx context.Context) (gone, failed bool) {
	ctx, cancel := context.WithTimeout(ctx, liveLookMax)
	defer cancel()
	if !s.there(ctx) {
		return true, false
	}
	event, found, err := s.look(ctx)
	if err != nil || !found {
		return false, err != nil
	}
	var html bytes.Buffer
	if event.HTML != nil {
		if err := event.HTML.Render(ctx, &html); err != nil {
			return false, true
		}
	}
	return s.write(liveFrame(event.ID, html.String())) != nil, false
}

// liveFrame is one event. No line of it can be taken for another field.
func liveFrame(id, html string) string {
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
