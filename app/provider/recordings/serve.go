package recordings

import (
	"bytes"
	"io"
	"maps"
	"net/http"
)

// ServeHTTP answers as the provider did: with its status, its headers, and each frame of a stream by itself.
func (r *Recording) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	_, _ = io.Copy(io.Discard, request.Body)
	r.serve(w, r.Frames())
}

// Cut returns a handler that sends only the first frames of the answer. Then it ends the answer properly, or it breaks the connection.
func (r *Recording) Cut(frames int, breaks bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body)
		r.serve(w, r.Frames()[:frames])
		if breaks {
			panic(http.ErrAbortHandler)
		}
	})
}

func (r *Recording) serve(w http.ResponseWriter, frames [][]byte) {
	maps.Copy(w.Header(), r.Header)
	w.WriteHeader(r.Status)
	flush := http.NewResponseController(w).Flush
	_ = flush()
	for _, frame := range frames {
		_, _ = w.Write(frame)
		_ = flush()
	}
}

// Frames returns the parts of the body that come by themselves: the frames of a stream of events, or the whole body.
func (r *Recording) Frames() (frames [][]byte) {
	if !r.IsEventStream() {
		return [][]byte{r.Body}
	}
	for rest := r.Body; len(rest) > 0; {
		end := len(rest)
		for _, blank := range []string{"\n\n", "\r\n\r\n"} {
			if at := bytes.Index(rest, []byte(blank)); at >= 0 {
				end = min(end, at+len(blank))
			}
		}
		frames = append(frames, rest[:end])
		rest = rest[end:]
	}
	return frames
}
