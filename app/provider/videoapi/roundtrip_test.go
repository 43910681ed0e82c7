package videoapi

import (
	"bytes"
	"image"
	"image/png"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"umg/app/catalog"
	"umg/app/llm"
	"umg/app/simulator"
)

// places are where the simulator serves the styles.
var places = map[llm.Style]string{
	catalog.VideosStyle: "/meridian/v1", catalog.OperationsStyle: "/boreal/v1beta", catalog.TasksStyle: "/kestrel/v1",
}

// studio is a simulator with a clock, in one style.
type studio struct {
	*testing.T

	client *Client
	route  *catalog.Route
	passed *atomic.Int64 // The unit is nanoseconds.
}

const renderTime = 10 * time.Second

func open(t *testing.T, style llm.Style) *studio {
	t.Helper()
	s := &studio{T: t, passed: &atomic.Int64{}}
	server := httptest.NewServer(simulator.New(simulator.Options{
		Key: canary, Render: renderTime, Now: func() time.Time { return monday.Add(time.Duration(s.passed.Load())) },
	}))
	t.Cleanup(server.Close)
	s.route = route(style, server.URL)
	s.route.Provider.BaseURL = server.URL + places[style]
	s.client = client(t)
	return s
}

// plain is an order that every style takes.
func plain(prompt string) CreateRequest {
	return CreateRequest{Reference: "video_1", Model: "model-1", Prompt: prompt, Width: 1280, Height: 720, Seconds: 8, CreatedAt: monday}
}

func (s *studio) create(o CreateRequest) Task {
	s.Helper()
	task, f := s.client.Create(soon(s.T), s.route, o)
	if f != nil {
		s.Fatal(f)
	}
	return task
}

func (s *studio) status(id string) Task {
	s.Helper()
	task, f := s.client.Status(soon(s.T), s.route, id)
	if f != nil {
		s.Fatal(f)
	}
	return task
}

// finish waits until a render is done, on the simulator's clock.
func (s *studio) finish(id string) Task {
	s.Helper()
	s.passed.Add(int64(2 * renderTime))
	task := s.status(id)
	if task.State != Succeeded {
		s.Fatalf("%+v", task)
	}
	return task
}

func (s *studio) film(task Task) string {
	s.Helper()
	f, fault := s.client.Open(soon(s.T), s.route, task, Video)
	if fault != nil {
		s.Fatal(fault)
	}
	size := f.Size
	got := read(s.T, f)
	if f.Type != "video/mp4" || size != int64(len(got)) || len(got) < 12 || got[4:8] != "ftyp" {
		s.Errorf("%s, %d of %d bytes", f.Type, len(got), size)
	}
	return got
}

func eachStyle(t *testing.T, run func(s *studio)) {
	t.Helper()
	for style := range places {
		t.Run(string(style), func(t *testing.T) {
			t.Parallel()
			run(open(t, style))
		})
	}
}

func TestAVideoIsMadeFetchedAndChanged(t *testing.T) {
	t.Parallel()
	eachStyle(t, func(s *studio) {
		task := s.create(plain("a fox"))
		if task.State > Running {
			s.Errorf("%+v", task)
		}
		s.passed.Add(int64(renderTime / 2))
		half := s.status(task.ID)
		if half.State != Running || half.Progress == 0 || half.Progress > 99 {
			s.Errorf("half way: %+v", half)
		}
		done := s.finish(task.ID)
		first := s.film(done)
		remix := plain("a red fox")
		remix.Reference, remix.Source = "video_2", &Source{ID: done.ID, URL: done.Files.Video}
		changed := s.finish(s.create(remix).ID)
		if changed.ID == done.ID || s.film(changed) == first {
			s.Error("the remix is its source")
		}
		remix.Reference, remix.Source = "video_3", &Source{ID: done.ID}
		s.create(remix)
	})
}

func TestAVideoIsMadeOfAPicture(t *testing.T) {
	t.Parallel()
	var frame bytes.Buffer
	if err := png.Encode(&frame, image.NewGray(image.Rect(0, 0, 1280, 720))); err != nil {
		t.Fatal(err)
	}
	eachStyle(t, func(s *studio) {
		o := plain("a fox")
		o.Image = &Image{Type: "image/png", Data: frame.Bytes()}
		s.film(s.finish(s.create(o).ID))
		o.Reference = "video_2"
		o.Image = &Image{Type: "image/png", Data: append(slices.Clip(frame.Bytes()), "face"...)}
		if _, f := s.client.Create(soon(s.T), s.route, o); f == nil || f.Err.Code != ContentRefused || f.Err.Param != "input_reference" || Ambiguous(f) {
			s.Errorf("a face: %v", f)
		}
	})
}

func TestGuardrailsRefuseAtOnceOrLate(t *testing.T) {
	t.Parallel()
	eachStyle(t, func(s *studio) {
		for _, kind := range []string{"minors", "copyright", "likeness"} {
			if _, f := s.client.Create(soon(s.T), s.route, plain("guardrail: "+kind)); f == nil || f.Err.Code != ContentRefused || f.Err.Param != "prompt" || Ambiguous(f) {
				s.Errorf("%s: %v", kind, f)
			}
			o := plain("guardrail-late: " + kind)
			o.Reference = kind
			task := s.create(o)
			s.passed.Add(int64(2 * renderTime))
			if late := s.status(task.ID); late.State != Failed || late.Code != Moderated || late.Message == "" {
				s.Errorf("%s, late: %+v", kind, late)
			}
		}
		o := plain("simulate: fail=gpu_lost\na fox")
		o.Reference = "fails"
		task := s.create(o)
		s.passed.Add(int64(2 * renderTime))
		if late := s.status(task.ID); late.State != Failed || late.Code != Broken || late.Message == "" {
			s.Errorf("%+v", late)
		}
	})
}

func TestAnOrderWithoutAnAnswerIsFound(t *testing.T) {
	t.Parallel()
	eachStyle(t, func(s *studio) {
		o := plain("simulate: late-create; reset\na fox")
		_, f := s.client.Create(soon(s.T), s.route, o)
		if f == nil || !Ambiguous(f) {
			s.Fatalf("%v", f)
		}
		tasks, f := s.client.Find(soon(s.T), s.route, o)
		if s.route.Style == catalog.OperationsStyle {
			if f != nil || len(tasks) != 0 {
				s.Errorf("%v, %+v", f, tasks)
			}
			return
		}
		if f != nil || len(tasks) != 1 {
			s.Fatalf("%v, %+v", f, tasks)
		}
		s.film(s.finish(tasks[0].ID))
		o.Reference, o.Prompt = "video_9", "another"
		if tasks, f = s.client.Find(soon(s.T), s.route, o); f != nil || len(tasks) != 0 {
			s.Errorf("an order that was never sent: %v, %+v", f, tasks)
		}
	})
}

func TestARenderIsCalledOff(t *testing.T) {
	t.Parallel()
	eachStyle(t, func(s *studio) {
		task := s.create(plain("a fox"))
		for range 2 { // The second call finds no task.
			if f := s.client.Cancel(soon(s.T), s.route, task.ID); f != nil {
				s.Fatal(f)
			}
		}
		after, f := s.client.Status(soon(s.T), s.route, task.ID)
		switch s.route.Style {
		case catalog.VideosStyle:
			if f == nil || f.Status != 404 || f.Err.Status != 404 {
				s.Errorf("%+v, %v", after, f)
			}
		case catalog.OperationsStyle:
			if f != nil || after.State != Failed || after.Code != Cancelled {
				s.Errorf("%+v, %v", after, f)
			}
		default:
			s.finish(task.ID)
		}
	})
}

func TestUnknownTasksAre404AndUnknownWordsNoVerdict(t *testing.T) {
	t.Parallel()
	eachStyle(t, func(s *studio) {
		o := plain("simulate: unknown-status\na fox")
		task := s.create(o)
		if odd := s.status(task.ID); odd.State != Running && odd.State != Waiting {
			s.Errorf("%+v", odd)
		}
		if _, f := s.client.Status(soon(s.T), s.route, task.ID+"0"); f == nil || f.Err.Status != 404 {
			s.Errorf("%v", f)
		}
	})
}

func TestStillsComeWithTheVideosStyleAlone(t *testing.T) {
	t.Parallel()
	eachStyle(t, func(s *studio) {
		task := s.finish(s.create(plain("a fox")).ID)
		for v, kind := range map[Variant]string{Thumbnail: "image/webp", Spritesheet: "image/jpeg"} {
			f, fault := s.client.Open(soon(s.T), s.route, task, v)
			if s.route.Style != catalog.VideosStyle {
				if fault == nil || fault.Class != "refused" {
					s.Errorf("%v", fault)
				}
				continue
			}
			if fault != nil || !strings.HasPrefix(f.Type, kind) || read(s.T, f) == "" {
				s.Errorf("%v", fault)
			}
		}
	})
}
