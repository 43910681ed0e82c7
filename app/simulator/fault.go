package simulator

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// faultSpecBytesMax bounds the text of a fault.
	faultSpecBytesMax = 4 << 10
	// faultBytesMax bounds every size that a fault may ask for.
	faultBytesMax = 256 << 20
	// faultWaitMax bounds every duration that a fault may ask for.
	faultWaitMax = 10 * time.Minute
	// dripStandard is the time between two bytes of a slow drip.
	dripStandard = time.Second
)

// fault is what goes wrong with one request, by subject. The zero value is no fault.
type fault struct {
	spec string

	strikeCount
	replacement
	modelFault
	delay
	breakOff
	bodyFault
	connectionFault
	usageFault
	videoFault
}

// strikeCount says which requests a fault strikes. The zero value strikes every one.
type strikeCount struct {
	key         string // Faults with the same key share a counter.
	times, skip int64
	every       int64 // The first of this many requests fails.
}

// replacement is what is sent in place of the answer.
type replacement struct {
	whole      string // Whole is the directive that replaces the answer, a key of wholes.
	status     int
	code       string
	retryAfter string
	retryIn    int64
	url        string
}

// modelFault is how the model differs from others: what it refuses, and where its answers end.
type modelFault struct {
	prefill            string // Prefill is refuse or restart. If it is empty, the model continues a begun answer.
	thinking           string // The model takes only this type of thinking, enabled or adaptive. If it is empty, the model takes both.
	noEffort           bool   // The model refuses output_config.effort.
	finish             string // Finish replaces the true reason why an answer ends.
	ignoreMax, endless bool
}

// delay is how the answer is kept back.
type delay struct {
	hold                  bool
	slowFirst, drip, pace time.Duration
}

// breakOff ends an answer in its middle.
type breakOff struct {
	breaking    string // Breaking is reset, cut, stall, chatter, end or error. It is empty for an answer that arrives whole.
	breakAfter  int
	breakTokens bool // BreakTokens means that breakAfter counts tokens, not frames.
}

// bodyFault spoils the body or the frames of a stream.
type bodyFault struct {
	asJSON, asStream, truncated bool
	malformedAt                 int
	noEnd, extra                bool
	hugeLine, gzip              int64
	frames                      []string
}

// connectionFault spoils the headers, or what becomes of the connection after the answer.
type connectionFault struct {
	contentType          string
	headers, headerBytes int64
	keepOpen, closeIdle  bool
}

// usageFault changes the counts of tokens.
type usageFault struct {
	usage              string
	usageOutput        int64
	cached, cacheWrite int64
}

// parseFault reads directives separated by semicolons.
func parseFault(spec string) (*fault, error) {
	if len(spec) > faultSpecBytesMax {
		return nil, fmt.Errorf("fault: more than %d bytes", faultSpecBytesMax)
	}
	f := &fault{spec: spec}
	for one := range strings.SplitSeq(spec, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(one), "=")
		if name == "" {
			continue
		}
		set, ok := directives[name]
		if !ok {
			return nil, fmt.Errorf("fault: unknown directive %q; known are %s", name, strings.Join(slices.Sorted(maps.Keys(directives)), ", "))
		}
		if err := set(f, value); err != nil {
			return nil, fmt.Errorf("fault: %s: %w", name, err)
		}
	}
	if f.status != 0 && f.whole == "" && f.breaking != "error" {
		f.whole = "status"
	}
	spoiled := f.hold || f.slowFirst > 0 || f.truncated || f.breaking != "" || f.malformedAt > 0 || f.hugeLine > 0 || f.gzip > 0 || f.drip > 0
	if f.late && f.whole == "" && !spoiled {
		f.whole = "stall"
	}
	if f.content != "" && len(f.on) == 0 {
		f.on = []string{onContent}
	}
	return f, nil
}

// directives is the grammar of faults; the package comment explains each.
var directives = map[string]func(f *fault, v string) error{
	"times": number(1, 1<<31, func(f *fault) *int64 { return &f.times }),
	"skip":  number(0, 1<<31, func(f *fault) *int64 { return &f.skip }),
	"every": number(2, 1<<31, func(f *fault) *int64 { return &f.every }),
	"key":   word(func(f *fault) *string { return &f.key }),

	"status":        number(400, 599, func(f *fault) *int { return &f.status }),
	"code":          word(func(f *fault) *string { return &f.code }),
	"retry-after":   word(func(f *fault) *string { return &f.retryAfter }),
	"retry-date":    number(1, 86_400, func(f *fault) *int64 { return &f.retryIn }),
	"prefill":       oneOf(func(f *fault) *string { return &f.prefill }, "refuse", "restart"),
	"thinking":      oneOf(func(f *fault) *string { return &f.thinking }, thinkingEnabled, thinkingAdaptive),
	"no-effort":     flag(func(f *fault) *bool { return &f.noEffort }),
	"auth":          func(f *fault, _ string) error { f.whole, f.status = "status", http.StatusUnauthorized; return nil },
	"redirect":      setRedirect,
	"html":          whole("html"),
	"empty":         whole("empty"),
	"reset":         whole("reset"),
	"stall":         whole("stall"),
	"error-in-200":  whole("error-in-200"),
	"bad-header":    whole("bad-header"),
	"gzip":          number(1, faultBytesMax, func(f *fault) *int64 { return &f.gzip }),
	"headers":       number(1, 100_000, func(f *fault) *int64 { return &f.headers }),
	"header-bytes":  number(1, 64<<20, func(f *fault) *int64 { return &f.headerBytes }),
	"content-type":  word(func(f *fault) *string { return &f.contentType }),
	"hold":          flag(func(f *fault) *bool { return &f.hold }),
	"slow-first":    wait(0, func(f *fault) *time.Duration { return &f.slowFirst }),
	"slow-drip":     wait(dripStandard, func(f *fault) *time.Duration { return &f.drip }),
	"pace":          wait(0, func(f *fault) *time.Duration { return &f.pace }),
	"reset-after":   breaking("reset"),
	"cut-after":     breaking("cut"),
	"stall-after":   breaking("stall"),
	"end-after":     breaking("end"),
	"chatter-after": breaking("chatter"),
	"finish":        word(func(f *fault) *string { return &f.finish }),
	"error-after":   breaking("error"),
	"malformed-at":  number(1, 1<<31, func(f *fault) *int { return &f.malformedAt }),
	"no-end":        flag(func(f *fault) *bool { return &f.noEnd }),
	"ok-then-extra": flag(func(f *fault) *bool { return &f.extra }),
	"keep-open":     flag(func(f *fault) *bool { return &f.keepOpen }),
	"close-idle":    flag(func(f *fault) *bool { return &f.closeIdle }),
	"huge-line":     number(1, faultBytesMax, func(f *fault) *int64 { return &f.hugeLine }),
	"frames":        words(func(f *fault) *[]string { return &f.frames }, "crlf", "cr", "bom", "comments", "multiline", "unknown", "split"),

	"context-length":         whole("context-length"),
	"content-filter":         whole("content-filter"),
	"json-instead-of-stream": flag(func(f *fault) *bool { return &f.asJSON }),
	"stream-instead-of-json": flag(func(f *fault) *bool { return &f.asStream }),
	"truncated-json":         flag(func(f *fault) *bool { return &f.truncated }),
	"ignore-max-tokens":      flag(func(f *fault) *bool { return &f.ignoreMax }),
	"endless":                flag(func(f *fault) *bool { return &f.endless }),
	"usage":                  setUsage,
	"cached":                 number(1, 1<<40, func(f *fault) *int64 { return &f.cached }),
	"cache-write":            number(1, 1<<40, func(f *fault) *int64 { return &f.cacheWrite }),

	// Only videos and assets know these.
	"on": words(func(f *fault) *[]string { return &f.on }, onCreate, onStatus, onContent, onCancel, onList, onRemix,
		onAssetCreate, onAssetGet, onAssetList, onAssetDelete),
	"content":     oneOf(func(f *fault) *string { return &f.content }, "short", "empty", "slow", "html", "wrong-type"),
	"late-create": flag(func(f *fault) *bool { return &f.late }),
	"render":      setRender,
	"fail":        word(func(f *fault) *string { return &f.failCode }),
	"never":       flag(func(f *fault) *bool { return &f.never }),
	"vanish":      flag(func(f *fault) *bool { return &f.vanish }),
	"backwards":   flag(func(f *fault) *bool { return &f.backwards }),
	"progress": number(-shownProgressMax, shownProgressMax, func(f *fault) *int64 {
		f.claims = true
		return &f.saying
	}),
	"flip":           flag(func(f *fault) *bool { return &f.flip }),
	"no-stills":      flag(func(f *fault) *bool { return &f.noStills }),
	"short-film":     number(1, shortSecondsMax, func(f *fault) *int64 { return &f.shortFilm }),
	"unknown-status": flag(func(f *fault) *bool { return &f.oddWord }),
	"created":        flag(func(f *fault) *bool { return &f.created }),
	"callback":       oneOf(func(f *fault) *string { return &f.callback }, "none", "twice", "lie"),
	"files":          word(func(f *fault) *string { return &f.files }),
	"members":        flag(func(f *fault) *bool { return &f.members }),
	"file-expiry":    wait(0, func(f *fault) *time.Duration { return &f.expiry }),
}

func flag(field func(*fault) *bool) func(*fault, string) error {
	return func(f *fault, v string) error {
		if v != "" {
			return fmt.Errorf("takes no value, has %q", v)
		}
		*field(f) = true
		return nil
	}
}

func whole(name string) func(*fault, string) error {
	return func(f *fault, _ string) error {
		f.whole = name
		return nil
	}
}

func word(field func(*fault) *string) func(*fault, string) error {
	return func(f *fault, v string) error {
		if v == "" || strings.ContainsAny(v, "\r\n") {
			return fmt.Errorf("needs a value")
		}
		*field(f) = v
		return nil
	}
}

func number[N int | int64](least, most int64, field func(*fault) *N) func(*fault, string) error {
	return func(f *fault, v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < least || n > most {
			return fmt.Errorf("needs a number from %d to %d, has %q", least, most, v)
		}
		*field(f) = N(n)
		return nil
	}
}

func wait(standard time.Duration, field func(*fault) *time.Duration) func(*fault, string) error {
	return func(f *fault, v string) error {
		if v == "" && standard > 0 {
			*field(f) = standard
			return nil
		}
		d, err := time.ParseDuration(v)
		if err != nil || d < 0 || d > faultWaitMax {
			return fmt.Errorf("needs a duration from 0s to %s, has %q", faultWaitMax, v)
		}
		*field(f) = d
		return nil
	}
}

// breaking reads "3" as three frames and "3t" as three tokens.
func breaking(kind string) func(*fault, string) error {
	return func(f *fault, v string) error {
		count, tokens := strings.CutSuffix(v, "t")
		n, err := strconv.Atoi(count)
		if err != nil || n < 0 {
			return fmt.Errorf("needs a number of frames like 3, or of tokens like 3t, has %q", v)
		}
		f.breaking, f.breakAfter, f.breakTokens = kind, n, tokens
		return nil
	}
}

func setRedirect(f *fault, v string) error {
	if v == "" {
		v = "http://169.254.169.254/latest/meta-data/"
	}
	f.whole, f.url = "redirect", v
	return nil
}

// words reads some of the known words, separated by commas.
func words(field func(*fault) *[]string, known ...string) func(*fault, string) error {
	return func(f *fault, v string) error {
		for one := range strings.SplitSeq(v, ",") {
			if !slices.Contains(known, one) {
				return fmt.Errorf("unknown word %q; known are %s", one, strings.Join(known, ", "))
			}
			*field(f) = append(*field(f), one)
		}
		return nil
	}
}

func setUsage(f *fault, v string) error {
	if n, err := strconv.ParseInt(v, 10, 64); err == nil {
		f.usage, f.usageOutput = "claim", n
		return nil
	}
	known := []string{"none", "negative", "huge", "string", "float", "twice", "every", "first"}
	if !slices.Contains(known, v) {
		return fmt.Errorf("unknown form %q; known are %s, or a number of output tokens to claim", v, strings.Join(known, ", "))
	}
	f.usage = v
	return nil
}

// claimed are the counts that the fault reports.
func (f *fault) claimed(u usage) usage {
	if f.usage == "claim" {
		u.output, u.reasoning = f.usageOutput, 0
	}
	return u
}

// count appends a member and its count of tokens, in the form that the fault wants.
func (f *fault) count(b *buffer, member string, n int64) {
	b.raw(member)
	switch f.usage {
	case "negative":
		b.num(-n)
	case "huge":
		b.num(n + 1<<40)
	case "string":
		b.raw(`"`).num(n).raw(`"`)
	case "float":
		b.num(n).raw(".5")
	default:
		b.num(n)
	}
}

// half is the wrong count that a stream with two usage reports sends first.
func (u usage) half() usage {
	return usage{u.input / 2, u.cacheRead / 2, u.cacheWrite / 2, u.output / 2, u.reasoning / 2}
}
