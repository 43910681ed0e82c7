package app_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"umg/app"
)

func TestAmountPrintsExactly(t *testing.T) {
	t.Parallel()
	for in, want := range map[app.Amount]string{
		0: "0", 1: "0.000000001", 43_000: "0.000043", app.Dollar: "1", -3*app.Dollar - app.Dollar/2: "-3.5",
		math.MaxInt64: "9223372036.854775807", math.MinInt64: "-9223372036.854775808", 10 * app.Cent: "0.1",
	} {
		if got := in.String(); got != want {
			t.Errorf("Amount(%d) = %s, want %s", int64(in), got, want)
		}
	}
}

func TestAmountSurvivesPrinting(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := app.Amount(rapid.Int64Min(math.MinInt64+1).Draw(t, "nanos"))
		got, err := app.ParseAmount(a.String())
		if err != nil || got != a {
			t.Fatalf("ParseAmount(%s) = %d, %v", a, got, err)
		}
	})
}

func TestParseAmountRefusesWhatIsNotMoney(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "-", ".", "1.", ".5", "1e3", "+1", "1,5", "0.0000000001", "9223372037", "1 ", "NaN", "--1"} {
		if got, err := app.ParseAmount(s); err == nil {
			t.Errorf("ParseAmount(%q) = %d, want an error", s, got)
		}
	}
}

func TestClientsAreToldToWaitAtMost59Seconds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind    app.Kind
		after   time.Duration
		wait    time.Duration
		seconds int64
	}{
		{app.Exhausted, 0, 0, 0}, {app.Exhausted, time.Millisecond, time.Millisecond, 1}, {app.Exhausted, 1500 * time.Millisecond, 1500 * time.Millisecond, 2},
		{app.Exhausted, 58*time.Second + 1, 58*time.Second + 1, 59}, {app.Exhausted, time.Minute, 59 * time.Second, 59},
		{app.Exhausted, 24 * time.Hour, 59 * time.Second, 59}, {app.Upstream, 0, 0, 0}, {app.Internal, 0, 0, 0}, {app.Exhausted, -1, 0, 0},
		{app.Unavailable, 0, 5 * time.Second, 5}, {app.Unavailable, -time.Second, 5 * time.Second, 5}, {app.Unavailable, time.Minute, 59 * time.Second, 59},
	} {
		e := app.Errorf(c.kind, "code", "m").After(c.after)
		if e.RetryIn() != c.wait || e.RetrySeconds() != c.seconds {
			t.Errorf("kind %d after %s: %s and %d s, want %s and %d s", c.kind, c.after, e.RetryIn(), e.RetrySeconds(), c.wait, c.seconds)
		}
	}
}

func TestForeignErrorsAreInternalAndSilent(t *testing.T) {
	t.Parallel()
	cause := errors.New("password=hunter2")
	e := app.AsError(cause)
	if e.Kind != app.Internal || strings.Contains(e.Message, "hunter2") {
		t.Fatalf("a foreign error leaks or has kind %d: %q", e.Kind, e.Message)
	}
	if !errors.Is(e, cause) {
		t.Fatal("the operator lost the cause")
	}
	if app.AsError(nil) != nil {
		t.Fatal("nil became an error")
	}
}

func TestIDsSortByTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	ids := app.IDs{Now: func() time.Time { return now }, Random: strings.NewReader(strings.Repeat("x", 64))}
	first := ids.New("req")
	now = now.Add(time.Millisecond)
	second := ids.New("req")
	if !strings.HasPrefix(first, "req_") || len(first) != len("req_")+26 || first >= second {
		t.Fatalf("ids are not prefixed, 26 long and ordered: %s, %s", first, second)
	}
}

func TestPrincipalModelList(t *testing.T) {
	t.Parallel()
	if !(app.Principal{}).MayUse("any") {
		t.Error("an empty list must allow every model")
	}
	p := app.Principal{Models: []string{"a"}}
	if !p.MayUse("a") || p.MayUse("b") {
		t.Error("a list must allow exactly its members")
	}
}

func TestNoErrorIsOfNoKind(t *testing.T) {
	t.Parallel()
	for _, k := range []app.Kind{app.Internal, app.Invalid, app.NotFound, app.Conflict, app.Unavailable} {
		if app.KindOf(nil) == k {
			t.Errorf("no error is of kind %v", k)
		}
	}
}

func TestOnlyTextThatCanBeKeptIsStorable(t *testing.T) {
	for _, s := range []string{"", "a", "日本", "tab\tline\n", "\u0001", "�"} {
		if !app.Storable(s) {
			t.Errorf("%q is refused", s)
		}
	}
	for _, s := range []string{"\x00", "a\x00b", "\xff", "a\xc3", "\xed\xa0\x80"} {
		if app.Storable(s) {
			t.Errorf("%q is taken", s)
		}
	}
}

// TestAMessageRepeatsTheBeginningOfALongText gives texts of a caller to messages, in a type of their own too.
func TestAMessageRepeatsTheBeginningOfALongText(t *testing.T) {
	t.Parallel()
	type word string
	long := strings.Repeat("ü", 2500)
	e := app.Errorf(app.Invalid, "x", "%q and %s are no scopes; send 1 to %d.", long, word(long), 9)
	if len(e.Message) > 1300 || !utf8.ValidString(e.Message) || !strings.HasSuffix(e.Message, "… are no scopes; send 1 to 9.") {
		t.Errorf("%d bytes: %s", len(e.Message), e.Message)
	}
	if e := app.Errorf(app.Invalid, "x", "%s", long); e.Message != long {
		t.Errorf("a whole message of %d bytes has %d", len(long), len(e.Message))
	}
}

func TestTruncatedTextsKeepTheirLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text         string
		limit        int
		runes, bytes string
	}{
		{"", 4, "", ""}, {"abcd", 4, "abcd", "abcd"}, {"abcde", 4, "abc…", "a…"}, {"äöüß", 4, "äöüß", "…"}, {"äöüßa", 4, "äöü…", "…"},
		{"a😀bcdef", 5, "a😀bc…", "a…"},
	} {
		if runes, bytes := app.Truncate(c.text, c.limit), app.TruncateBytes(c.text, c.limit); runes != c.runes || bytes != c.bytes {
			t.Errorf("%q to %d: %q of characters, %q of bytes; want %q and %q", c.text, c.limit, runes, bytes, c.runes, c.bytes)
		}
	}
}

func TestSleepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	began := time.Now()
	if err := app.Sleep(t.Context(), 20*time.Millisecond); err != nil || time.Since(began) < 20*time.Millisecond {
		t.Errorf("slept %s, %v", time.Since(began), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	for _, d := range []time.Duration{time.Hour, 0, -time.Second} { // The context has ended when the second one begins.
		if err := app.Sleep(ctx, d); !errors.Is(err, context.Canceled) {
			t.Errorf("sleeping %s beyond the end of the context: %v", d, err)
		}
	}
}
