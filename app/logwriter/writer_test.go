package logwriter_test

import (
	"bytes"
	"errors"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"umg/app/logwriter"
)

// output is a log's output. It blocks while its gate is closed, and notes the size of each write.
type output struct {
	gate   chan struct{}
	mu     sync.Mutex
	text   bytes.Buffer
	writes int
	fails  error
}

func (o *output) Write(p []byte) (int, error) {
	if o.gate != nil {
		<-o.gate
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writes++
	if o.fails != nil {
		return 0, o.fails
	}
	return o.text.Write(p)
}

func (o *output) read() (text string, writes int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String(), o.writes
}

func TestLinesAreWrittenTogetherSoonAfterTheyWereAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out output
		w := logwriter.New(&out, time.Now)
		for range 3 {
			w.Add([]byte("line\n"), false)
		}
		if text, _ := out.read(); text != "" {
			t.Errorf("%q was written before its time", text)
		}
		time.Sleep(5 * time.Millisecond)
		synctest.Wait()
		if text, writes := out.read(); text != "line\nline\nline\n" || writes != 1 {
			t.Errorf("%d writes of %q", writes, text)
		}
		w.Add([]byte("urgent\n"), true)
		synctest.Wait()
		if text, writes := out.read(); !strings.HasSuffix(text, "urgent\n") || writes != 2 {
			t.Errorf("an urgent line: %d writes of %q", writes, text)
		}
	})
}

func TestALineOfALoggerIsWrittenAtOnceAndAfterEarlierLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out output
		h := logwriter.NewHandler(&out, time.Now)
		h.Lines().Add([]byte("earlier\n"), false)
		slog.New(h).Info("later")
		if text, writes := out.read(); writes != 1 || !strings.HasPrefix(text, "earlier\n") || !strings.Contains(text, "later") {
			t.Errorf("%d writes of %q", writes, text)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if _, writes := out.read(); writes != 1 {
			t.Errorf("%d writes when nothing waits", writes)
		}
	})
}

func TestManyLinesAreWrittenBeforeTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out output
		w := logwriter.New(&out, time.Now)
		for range 33 {
			w.Add(bytes.Repeat([]byte("x"), 1<<10), false)
		}
		synctest.Wait()
		if text, _ := out.read(); len(text) < 32<<10 {
			t.Errorf("%d bytes written", len(text))
		}
		if err := w.Flush(); err != nil {
			t.Error(err)
		}
		if text, _ := out.read(); len(text) != 33<<10 {
			t.Errorf("%d bytes written after a flush", len(text))
		}
		time.Sleep(time.Second)
	})
}

func TestABlockedOutputHoldsNoCallerAndTheLossIsCounted(t *testing.T) {
	out := output{gate: make(chan struct{})}
	w := logwriter.New(&out, time.Now)
	line := append(bytes.Repeat([]byte("x"), 1<<10-1), '\n')
	const added = 3 << 10 // 3 MiB, of which at most two buffers of 1 MiB are kept
	for range added {
		w.Add(line, false)
	}
	close(out.gate)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	text, _ := out.read()
	written := strings.Count(text, "xx\n")
	lost := regexp.MustCompile(`"level":"WARN","msg":"log lines lost because the output blocked","lines":(\d+)`).FindStringSubmatch(text)
	if lost == nil {
		t.Fatalf("%d lines written, and no word of those that were lost", written)
	}
	if n, _ := strconv.Atoi(lost[1]); written+n != added || len(text) > 2<<20+1<<10 {
		t.Errorf("%d lines written and %s lost, of %d", written, lost[1], added)
	}
}

func TestAFailureToWriteIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("no space left")
		w := logwriter.New(&output{fails: broken}, time.Now)
		if _, err := w.Write([]byte("line\n")); !errors.Is(err, broken) {
			t.Errorf("error %v", err)
		}
	})
}
