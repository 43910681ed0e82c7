package video

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"mime"
	"os"
	"slices"
	"strings"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/media"
	"umg/app/provider"
	"umg/app/provider/videoapi"
	"umg/billing"
)

// These limits apply to copies of content.
const (
	copyTries       = 8                // Each pause doubles the one before, and all of them make about half an hour.
	copyRetryFactor = 8                // This factor multiplies the first pause after a fault.
	oursRetryAfter  = 30 * time.Second // The pause is this long after faults that the provider did not cause.
	movieBytesMax   = 2 << 30

	movieType    = "video/mp4"
	spoolPattern = "umg-video-*.mp4"
	spoolAgeMax  = time.Hour // An older spool file belongs to a process that was killed.
	notedMember  = "delivered_seconds"
)

// movieTypes are what upstreams call an MP4. The bytes decide.
var movieTypes = []string{movieType, "application/mp4", "application/octet-stream", "binary/octet-stream", ""}

// These errors describe unusable content and a lost claim.
var (
	errLost    = errors.New("video: another worker has taken the job over")
	errEmpty   = errors.New("the content is empty")
	errTooLong = errors.New("the content is too large")
)

// storedContent is content that lies in storage.
type storedContent struct {
	files  map[Variant]File
	length time.Duration // This is the duration of the video. Zero means that the file has none.
	late   bool          // The pictures took too long and are made after the job has ended.
}

// storeContent copies what was rendered to storage and ends the job. Failures of the provider are counted and end the job at
// last; ours are not, as the customer's video should not die of them before its deadline.
func (s *Service) storeContent(ctx context.Context, r *jobRow) (*postponed, error) {
	copying, l := s.holdClaim(ctx, r)
	got, f, err := s.copyContent(copying, r, l)
	l.end()
	switch {
	case ctx.Err() != nil:
		return s.released(r), nil //nolint:nilerr // to be stopped is no failure
	case l.isLost():
		return nil, nil
	case err != nil:
		s.o.Log.Warn("storing video content failed", "video_id", r.ID, "error", err)
		if s.now().Before(r.DeadlineAt) {
			return &postponed{r, s.afterOurs(err), r.Tries}, nil
		}
		return nil, s.finish(ctx, r, giveUp(r))
	case f != nil:
		return s.recopy(ctx, r, f)
	}
	return nil, s.finish(ctx, r, s.delivered(r, got))
}

// recopy is when to try a copy again, or the end of trying.
func (s *Service) recopy(ctx context.Context, r *jobRow, f *provider.Fault) (*postponed, error) {
	s.work.copyFaults.Add(1)
	s.o.Log.Warn("fetching video content failed", "video_id", r.ID, "provider", r.Provider, "tries", r.Tries+1, "error", f)
	if r.Tries+1 >= copyTries {
		return nil, s.finish(ctx, r, unavailable())
	}
	return &postponed{r, s.jittered(s.waits().RetryMin * copyRetryFactor << r.Tries), r.Tries + 1}, nil
}

func unavailable() jobResult {
	e := failure(billing.ReasonVideoUnavailable, codeContent,
		"The video was made, but the provider did not hand it out. Nothing was charged; please try again.")
	e.purge = true
	return e
}

// delivered is the end of a job whose content is stored. A film that is shorter than asked for costs as much less.
func (s *Service) delivered(r *jobRow, got storedContent) jobResult {
	content, _ := json.Marshal(got.files) //nolint:errchkjson // strings and numbers
	e := success(r)
	e.with = set{"content": string(content)}
	if got.late {
		e.with["upstream"], e.with["due_at"] = upstreamState{Files: r.heard().Files, PicturesDue: true}.encode(), s.now()
	}
	if got.length > 0 && got.length+lengthTolerance < time.Duration(r.Seconds)*time.Second {
		e.reason = billing.ReasonVideoShorter
		e.seconds = int((got.length + time.Second - 1) / time.Second)
		e.cost = share(r.Hold, e.seconds, r.Seconds)
		e.with["metadata"] = withDeliveredSeconds(r.Metadata, e.seconds)
		s.o.Log.Warn("video shorter than requested", "video_id", r.ID, "provider", r.Provider,
			"seconds", r.Seconds, "delivered_seconds", e.seconds)
	}
	return e
}

// withDeliveredSeconds is a job's metadata with the length that was delivered.
func withDeliveredSeconds(metadata []byte, seconds int) string {
	members := map[string]json.RawMessage{}
	_ = json.Unmarshal(metadata, &members) // Invalid metadata is replaced by the note alone.
	if members == nil {
		members = map[string]json.RawMessage{}
	}
	members[notedMember] = json.RawMessage(fmt.Sprint(seconds))
	text, _ := json.Marshal(members) //nolint:errchkjson // members that were parsed
	return string(text)
}

// copyContent copies the film and its pictures. The fault is the provider's, the error is ours.
func (s *Service) copyContent(ctx context.Context, r *jobRow, l *heldClaim) (storedContent, *provider.Fault, error) {
	route, f := s.route(r)
	if f != nil {
		return storedContent{}, nil, f
	}
	task := r.task()
	if r.Tries > 0 { // The addresses of content expire.
		if task, f = s.refreshTask(ctx, route, task); f != nil {
			return storedContent{}, f, nil
		}
	}
	spool, err := os.CreateTemp("", spoolPattern)
	if err != nil {
		return storedContent{}, nil, err
	}
	defer func() { _, _ = spool.Close(), os.Remove(spool.Name()) }()
	size, f, err := s.fetchMovie(ctx, route, task, spool)
	if f != nil || err != nil {
		return storedContent{}, f, err
	}
	if err := l.renew(ctx); err != nil {
		return storedContent{}, nil, err
	}
	movie, err := s.put(ctx, r, Movie, movieType, size, io.NewSectionReader(spool, 0, size))
	if err != nil {
		return storedContent{}, nil, err
	}
	got := storedContent{files: map[Variant]File{Movie: movie}}
	if got.length, err = media.Duration(spool, size); err != nil { // Without a duration, the job is charged for the requested seconds.
		s.o.Log.Warn("video duration missing", "video_id", r.ID, "provider", r.Provider, "error", err)
	}
	got.late = s.keepPictures(ctx, r, route, task, spool.Name(), s.waits().PicturesMax, got.files)
	return got, nil, context.Cause(l.ctx)
}

// refreshTask asks once more where the files are. Another verdict than before is none: the first one stands.
func (s *Service) refreshTask(ctx context.Context, route *catalog.Route, task videoapi.Task) (videoapi.Task, *provider.Fault) {
	asking, cancel := context.WithTimeout(ctx, answerMax)
	defer cancel()
	said, f := s.o.Upstreams.Status(asking, route, task.ID)
	if f != nil {
		return task, f
	}
	if said.State == videoapi.Succeeded {
		said.ID = cmp.Or(said.ID, task.ID)
		return said, nil
	}
	return task, nil
}

// spoolWriter remembers the errors of writing, which are ours, unlike those of reading.
type spoolWriter struct {
	io.Writer

	err error
}

func (w *spoolWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil {
		w.err = err
	}
	return n, err
}

// fetchMovie copies the film to a file, and believes nothing: an answer that is cut, empty or a page is no film.
func (s *Service) fetchMovie(ctx context.Context, route *catalog.Route, task videoapi.Task, to *os.File) (int64, *provider.Fault, error) {
	file, f := s.o.Upstreams.Open(ctx, route, task, videoapi.Video)
	if f != nil {
		return 0, f, nil
	}
	defer func() { _ = file.Close() }()
	if !slices.Contains(movieTypes, mediaType(file.Type)) {
		return 0, provider.NewFault(provider.ClassContent, fmt.Errorf("the content is of type %q", file.Type)), nil
	}
	if file.Size > movieBytesMax {
		return 0, provider.NewFault(provider.ClassTooLarge, errTooLong), nil
	}
	out := &spoolWriter{Writer: to}
	n, err := io.Copy(out, io.LimitReader(file, movieBytesMax+1))
	var cause error
	class := provider.ClassContent
	switch {
	case out.err != nil:
		return 0, nil, fmt.Errorf("video: spool: %w", out.err)
	case err != nil:
		class, cause = provider.FaultOf(ctx, err).Class, err
	case n == 0:
		cause = errEmpty
	case n > movieBytesMax:
		class, cause = provider.ClassTooLarge, errTooLong
	case file.Size >= 0 && n != file.Size:
		cause = fmt.Errorf("the content has %d bytes in place of %d", n, file.Size)
	case !media.IsMP4(to):
		cause = errors.New("the content is no MP4")
	default:
		return n, nil, nil
	}
	return 0, provider.NewFault(class, cause), nil
}

func mediaType(header string) string {
	kind, _, err := mime.ParseMediaType(header)
	if err != nil {
		return strings.ToLower(strings.TrimSpace(header))
	}
	return kind
}

// lengthTolerance is how much shorter than requested a video may be at the full price, because codecs work in whole frames.
const lengthTolerance = 500 * time.Millisecond

// share returns the part of an amount for some of its seconds, rounded up as every price is.
func share(whole app.Amount, seconds, of int) app.Amount {
	if seconds >= of || whole <= 0 {
		return whole
	}
	hi, lo := bits.Mul64(uint64(whole), uint64(max(seconds, 0)))
	part, rest := bits.Div64(hi, lo, uint64(of))
	if rest > 0 {
		part++
	}
	return app.Amount(part)
}

// isLost reports whether another worker has the job. The context of the copy does not tell, because the goroutine that renews may end it
// before the reason has reached it.
func (l *heldClaim) isLost() bool { return errors.Is(context.Cause(l.ctx), errLost) }
