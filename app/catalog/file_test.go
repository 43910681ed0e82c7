package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/app/llm"
)

// smallFile is a right file with two models; tests break one thing at a time.
const smallFile = `
aliases:
  headers: {x-acme-key: authorization}
  paths: {/v1/acme/videos: videos}
providers:
  - {id: north, name: North, base_url: "${BASE}/north", credential: "${KEY}", timeouts: {connect: 2s}}
  - {id: south, name: South, base_url: "https://south.example/v1", styles: [messages]}
models:
  - id: acme/one
    name: One
    owner: acme
    capabilities: [text]
    input: [text]
    output: [text]
    context_tokens: 1000
    max_output_tokens: 500
    parameters: [temperature, stop, reasoning_effort]
    ranges: {temperature: {max: 1.5}}
    rates: {input_tokens: 0.15 per 1M, output_tokens: 0.60 per 1M}
    released: 2026-05-01
    routes:
      - {provider: north, model: one-1, style: chat}
      - {provider: south, model: one-2, style: messages, order: 2, weight: 3}
  - id: acme/film:fast
    name: Film
    owner: acme
    kind: video
    capabilities: [video]
    input: [text]
    output: [video]
    sizes: [1280x720, 1920x1080]
    seconds: [4, 8]
    rates: {seconds: 0.10 per 1}
    size_rates: {1920x1080: {seconds: 0.25 per 1}}
    availability: coming
    released: 2026-06-01
`

func parse(t testing.TB, raw string) File {
	t.Helper()
	f, err := ParseFile([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFileIsCompletedWithDefaults(t *testing.T) {
	t.Parallel()
	f := parse(t, smallFile)
	if all := Check(f); len(all) > 0 {
		t.Fatalf("a right file has problems: %v", all)
	}
	m := f.Models[0]
	if m.Kind != KindText || m.Availability != Available || !slices.Equal(m.Styles, llm.Styles()) {
		t.Errorf("kind %s, availability %s, styles %v", m.Kind, m.Availability, m.Styles)
	}
	if m.Limits.RequestsPerMinute != 60 || m.Limits.TokensPerMinute != 200_000 {
		t.Errorf("limits %+v", m.Limits)
	}
	if m.Routes[0].Order != 1 || m.Routes[0].Weight != 1 || m.Routes[1].Order != 2 || m.Routes[1].Weight != 3 {
		t.Errorf("routes %+v", m.Routes)
	}
	if film := f.Models[1]; len(film.Styles) != 0 || film.Limits != (Limits{}) {
		t.Errorf("a video model got the defaults of text: %+v", film)
	}
	if got := f.Names(); !slices.Equal(got, []string{"BASE", "KEY"}) {
		t.Errorf("references %v", got)
	}
}

func TestFileSurvivesPrinting(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{smallFile, string(Default()), ""} {
		first, err := parse(t, raw).Bytes()
		if err != nil {
			t.Fatal(err)
		}
		second, err := parse(t, string(first)).Bytes()
		if err != nil {
			t.Fatal(err)
		}
		if string(first) != string(second) {
			t.Errorf("printing is not stable:\n%s\n%s", first, second)
		}
	}
}

func TestFileRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for name, change := range map[string][2]string{
		"a field of a model":    {"owner: acme", "owner: acme\n    colour: red"},
		"a field of a provider": {"name: North", "name: North, secret: hunter2"},
		"a field of a route":    {"model: one-1", "model: one-1, prio: 1"},
		"a top-level field":     {"providers:", "vendors: []\nproviders:"},
		"a float price":         {"0.15 per 1M", "0.15"},
		"an odd quantity":       {"0.15 per 1M", "0.15 per 7"},
		"a price too fine":      {"0.15 per 1M", "0.0000000001 per 1M"},
		"a price with exponent": {"0.15 per 1M", "1e-3 per 1M"},
		"a day":                 {"2026-05-01", "1 May 2026"},
		"a wait":                {"connect: 2s", "connect: 2"},
		"a bound":               {"max: 1.5", "max: warm"},
		"a bound beyond floats": {"max: 1.5", "max: 1e999"},
		"a second document":     {"models:", "---\nmodels:"},
		"a member twice":        {"owner: acme", "owner: acme\n    owner: acme"},
	} {
		raw := strings.Replace(smallFile, change[0], change[1], 1)
		if raw == smallFile {
			t.Fatalf("%s: nothing was changed", name)
		}
		if _, err := ParseFile([]byte(raw)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestCheckNamesEveryProblemWithItsPath(t *testing.T) {
	t.Parallel()
	for i, k := range append(problemCases(), videoCases()...) {
		t.Run(fmt.Sprintf("%02d %s", i, k.path), func(t *testing.T) {
			t.Parallel()
			raw := strings.Replace(smallFile, k.old, k.new, 1)
			if raw == smallFile {
				t.Fatal("nothing was changed")
			}
			f, err := ParseFile([]byte(raw))
			if err != nil {
				t.Fatal(err)
			}
			all := Check(f)
			if !slices.ContainsFunc(all, func(err error) bool {
				p, ok := err.(FileError)
				return ok && p.Path == k.path && strings.Contains(p.Text, k.says)
			}) {
				t.Errorf("no problem %q with %q among %q", k.path, k.says, all)
			}
		})
	}
}

type problemCase struct{ old, new, path, says string }

func problemCases() []problemCase {
	return []problemCase{
		{"id: north", "id: North", "providers[0].id", "small letters"},
		{"id: south", "id: north", "providers[1].id", "twice"},
		{"name: North", "name: ''", "providers[0].name", "missing"},
		{"${BASE}/north", "ftp://north", "providers[0].base_url", "http or https"},
		{"${BASE}/north", "https://u:p@north", "providers[0].base_url", "password"},
		{"${BASE}/north", "https://north/?key=1", "providers[0].base_url", "query"},
		{"${BASE}/north", "${base}/north", "providers[0].base_url", "${NAME}"},
		{"${BASE}/north", "", "providers[0].base_url", "missing"},
		{"${KEY}", "sk-live-123", "providers[0].credential", "never written"},
		{"${KEY}", "Bearer ${KEY}", "providers[0].credential", "never written"},
		{"connect: 2s", "connect: 2h", "providers[0].timeouts.connect", "between"},
		{"connect: 2s", "idle: -1s", "providers[0].timeouts.idle", "between"},
		{"name: South", "name: South, headers: {authorization: Bearer abc}", "providers[1].headers.authorization", "never written"},
		{"name: South", `name: South, headers: {x-a: "a\nb"}`, "providers[1].headers.x-a", "characters"},
		{"name: South", "name: South, headers: {X-A: b}", "providers[1].headers", "lower case"},
		{"name: South", "name: South, credential_header: 'a b'", "providers[1].credential_header", "lower case"},
		{"name: South", "name: South, limits: {concurrency: -1}", "providers[1].limits.concurrency", "between"},
		{"name: South", "name: South, paths: {messages: v1}", "providers[1].paths.messages", "start with /"},
		{"styles: [messages]", "styles: [smoke]", "providers[1].styles", "not one of the styles"},
		{"x-acme-key: authorization", "X-Acme-Key: authorization", "aliases.headers", "lower case"},
		{"x-acme-key: authorization", "x-acme-key: cookie", "aliases.headers.x-acme-key", "not one of"},
		{"x-acme-key: authorization", "authorization: authorization", "aliases.headers", "itself"},
		{"/v1/acme/videos: videos", "v1/acme/videos: videos", "aliases.paths", "not a path"},
		{"/v1/acme/videos: videos", "/v1/acme/videos: films", "aliases.paths./v1/acme/videos", "not one of"},
		{"acme/one", "Acme/One", "models[0].id", "small letters"},
		{"acme/film:fast", "acme/one", "models[1].id", "twice"},
		{"name: One", "name: ''", "models[0].name", "missing"},
		{"owner: acme", "owner: ''", "models[0].owner", "missing"},
		{"released: 2026-05-01", "deprecated: 2026-06-01", "models[0].released", "missing"},
		{"released: 2026-05-01", "released: 2026-05-01\n    deprecated: 2026-06-01\n    shutdown: 2026-05-30", "models[0].shutdown", "before"},
		{"kind: video", "kind: smell", "models[1].kind", "not one of"},
		{"availability: coming", "availability: soon", "models[1].availability", "not one of"},
		{"availability: coming", "availability: available", "models[1].routes", "cannot be available"},
		{"capabilities: [text]", "capabilities: [mind]", "models[0].capabilities", "not one of"},
		{"capabilities: [text]", "capabilities: []", "models[0].capabilities", "empty"},
		{"input: [text]", "input: [text, text]", "models[0].input", "twice"},
		{"output: [text]", "output: [smell]", "models[0].output", "not one of"},
		{"context_tokens: 1000", "context_tokens: 0", "models[0].context_tokens", "between"},
		{"max_output_tokens: 500", "max_output_tokens: 5000", "models[0].max_output_tokens", "between"},
		{"max_output_tokens: 500", "max_output_tokens: 500\n    styles: [chat, chat]", "models[0].styles", "twice"},
		{"max_output_tokens: 500", "max_output_tokens: 500\n    styles: []", "models[0].styles", "empty"},
		{"sizes: [1280x720, 1920x1080]", "sizes: [1280x720, 1920x1080]\n    styles: [chat]", "models[1].styles", "only text"},
		{"parameters: [temperature,", "parameters: [temperature, heat,", "models[0].parameters", "not one of"},
		{"parameters: [temperature,", "parameters: [temperature, stop,", "models[0].parameters", "twice"},
		{"max: 1.5", "max: 2.5", "models[0].ranges.temperature", "wider"},
		{"{temperature: {max: 1.5}}", "{top_p: {max: 0.5}}", "models[0].ranges.top_p", "not one of the model's parameters"},
		{"{temperature: {max: 1.5}}", "{stop: {max: 5}}", "models[0].ranges.stop", "has no maximum"},
		{"effort]\n    ranges: {temperature: {max: 1.5}}", "effort, logprobs]\n    ranges: {logprobs: {default: 1}}", "models[0].ranges.logprobs", "no default"},
		{"{temperature: {max: 1.5}}", "{reasoning_effort: {values: [huge]}}", "models[0].ranges.reasoning_effort", "not a value of any style"},
		{"rates: {input_tokens: 0.15 per 1M, output_tokens: 0.60 per 1M}", "paused: true", "models[0].rates", "without rates"},
		{"input_tokens: 0.15 per 1M", "input_tokens: -0.15 per 1M", "models[0].rates", "between $0"},
		{"input_tokens: 0.15 per 1M", "thoughts: 0.15 per 1M", "models[0].rates", "not a meter"},
		{"output_tokens: 0.60 per 1M", "images: 0.60 per 1", "models[0].rates", "needs a rate of input_tokens and output_tokens"},
		{"{seconds: 0.10 per 1}", "{seconds: 0.10 per 1M}", "models[1].rates", "per 1 or 1K"},
		{"{1920x1080: {", "{640x480: {", "models[1].size_rates.640x480", "not one of the model's sizes"},
		{"1280x720, ", "wide, ", "models[1].sizes", "like 1280x720"},
		{"seconds: [4, 8]", "seconds: [0]", "models[1].seconds", "between"},
		{"rates: {seconds", "limits: {jobs_per_day: -1}\n    rates: {seconds", "models[1].limits.jobs_per_day", "between"},
		{"released: 2026-06-01", "released: 2026-06-01\n    timeout: 2h", "models[1].timeout", "between"},
		{"provider: north, model", "provider: west, model", "models[0].routes[0].provider", `"west" does not exist`},
		{"model: one-1", "model: ''", "models[0].routes[0].model", "missing"},
		{"style: chat", "style: smoke", "models[0].routes[0].style", "not one of the styles"},
		{"style: messages, order: 2", "style: chat, order: 2", "models[0].routes[1].style", "speaks"},
		{"order: 2", "order: -1", "models[0].routes[1].order", "between"},
		{"weight: 3", "weight: 1001", "models[0].routes[1].weight", "between"},
		{"provider: south, model: one-2, style: messages", "provider: north, model: one-1, style: chat", "models[0].routes[1]", "twice"},
	}
}

// videoCases are problems of models that make videos, of what leads to them, and of aliases that are switched off.
func videoCases() []problemCase {
	return []problemCase{
		{"headers: {", "off: [x-api-kee]\n  headers: {", "aliases.off", "not one of the default aliases: anthropic-beta, "},
		{"headers: {", "off: [x-api-key, x-api-key]\n  headers: {", "aliases.off", "twice"},
		{"headers: {", "off: [x-api-key]\n  headers: {x-api-key: authorization, ", "aliases.off", "switched off and set"},
		{"/v1/acme/videos: videos", `"/v1/acme/videos/{id}": videos`, "aliases.paths./v1/acme/videos/{id}", "before /{id}"},
		{"/v1/acme/videos: videos", "/v1/acme/videos/: videos", "aliases.paths./v1/acme/videos/", "all operations"},
		{"styles: [messages]", "styles: [messages, videos, smoke]", "providers[1].styles", "native converse cohere videos operations tasks]"},
		{"styles: [messages]", "prefill: [converse]", "providers[1].prefill", "not one of the styles [chat messages responses native]"},
		{"style: chat", "style: tasks", "models[0].routes[0].style", "not one of the styles [chat messages responses native converse cohere]"},
		{"    sizes: [1280x720, 1920x1080]\n", "", "models[1].sizes", "names the sizes"},
		{"    seconds: [4, 8]\n", "", "models[1].seconds", "names the lengths"},
		{"seconds: [4, 8]", "seconds: [4, 8, 4]", "models[1].seconds", "4 is there twice"},
		{"seconds: [4, 8]", "seconds: [4, 8]\n    parameters: [temperature]", "models[1].parameters", "not one of stream"},
		{"seconds: [4, 8]", "seconds: [4, 8]\n    parameters: [stream]\n    ranges: {stream: {max: 1}}", "models[1].ranges.stream", "has no maximum"},
		{"availability: coming", "routes: [{provider: north, model: film-1}]", "models[1].routes[0].style", `"" is not one of the styles [videos operations tasks]`},
		{"availability: coming", "routes: [{provider: north, model: film-1, style: chat}]", "models[1].routes[0].style", "not one of the styles [videos"},
		{"availability: coming", "routes: [{provider: south, model: film-1, style: videos}]", "models[1].routes[0].style", "speaks"},
		{"[1280x720, 1920x1080]\n    seconds: [4, 8]", "[1280x720, 1920x1080, 960x960]\n    seconds: [4, 8]\n    routes: [{provider: north, model: f, style: operations}]",
			"models[1].routes[0].style", "operations cannot ask for the size 960x960; it knows 1280x720, "},
		{"[1280x720, 1920x1080]\n    seconds: [4, 8]", "[1280x720, 1920x1080, 1024x1792]\n    seconds: [4, 8]\n    routes: [{provider: north, model: f, style: tasks}]",
			"models[1].routes[0].style", "tasks cannot ask for the size 1024x1792; it knows 1280x720, 720x1280, 960x960, "},
		{"kind: video", "kind: image\n    routes: [{provider: north, model: f, style: videos}]", "models[1].routes[0].style", "only text and video"},
		{"name: North", "name: North, assets: {group: 'our group'}", "providers[0].assets.group", "must begin with a letter"},
		{"max_output_tokens: 500", "max_output_tokens: 500\n    assets: 2", "models[0].assets", "only video models"},
		{"seconds: [4, 8]", "seconds: [4, 8]\n    assets: 33", "models[1].assets", "between 1 and 32"},
		{"seconds: [4, 8]", "seconds: [4, 8]\n    assets: -1", "models[1].assets", "between 1 and 32"},
		{"availability: coming", "assets: 2\n    routes: [{provider: north, model: f, style: tasks}]", "models[1].assets", "no route can carry them"},
	}
}

func TestAssetsNeedARouteThatCarriesThem(t *testing.T) {
	t.Parallel()
	keeps := with(t, "name: North", "name: North, assets: {group: ours}", "seconds: [4, 8]", "seconds: [4, 8]\n    assets: 2")
	for style, carries := range map[llm.Style]bool{TasksStyle: true, VideosStyle: false, OperationsStyle: false} {
		f := parse(t, strings.Replace(keeps, "availability: coming", "routes: [{provider: north, model: f, style: "+string(style)+"}]", 1))
		if all := Check(f); len(all) == 0 != carries {
			t.Errorf("style %s: %v", style, all)
		}
	}
	lines, err := Diff(parse(t, smallFile), parse(t, keeps))
	if err != nil || !slices.Contains(lines, "+ provider north assets.group ours") || !slices.Contains(lines, "+ model acme/film:fast assets 2") {
		t.Errorf("%q, %v", lines, err)
	}
}

func TestDiffReadsLikeAChangeLog(t *testing.T) {
	t.Parallel()
	old := parse(t, smallFile)
	if same, err := Diff(old, old); err != nil || len(same) > 0 {
		t.Fatalf("a file differs from itself: %q, %v", same, err)
	}
	next := parse(t, strings.NewReplacer("0.15 per 1M", "0.20 per 1M", "order: 2", "order: 3", "name: South", "name: Süd",
		"[temperature, stop,", "[temperature,", "x-acme-key: authorization", "x-acme-token: authorization",
		"connect: 2s", "idle: 9s").Replace(smallFile))
	next.Models = append(next.Models[1:2:2], next.Models[0], FileModel{ID: "acme/two"})
	got, err := Diff(old, next)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"- aliases.headers.x-acme-key authorization", "+ aliases.headers.x-acme-token authorization",
		"~ provider south name South → Süd", "- provider north timeouts.connect 2s", "+ provider north timeouts.idle 9s",
		"+ model acme/two", "~ model acme/one rates.input_tokens 0.15 per 1M → 0.20 per 1M",
		"~ model acme/one parameters [temperature, stop, reasoning_effort] → [temperature, reasoning_effort]",
		"~ model acme/one routes[south one-2 messages].order 2 → 3", "~ the order of models",
	} {
		if !slices.Contains(got, strings.Replace(want, "0.20", "0.2", 1)) {
			t.Errorf("no line %q in\n%s", want, strings.Join(got, "\n"))
		}
	}
	if len(got) != 10 {
		t.Errorf("%d lines:\n%s", len(got), strings.Join(got, "\n"))
	}
	back, err := Diff(next, old)
	if err != nil || !slices.Contains(back, "- model acme/two") {
		t.Errorf("a removed model is not told: %q, %v", back, err)
	}
}

// FuzzFile proves that no file, however odd, does more than be refused, and that what passes can be loaded.
func FuzzFile(f *testing.F) {
	f.Add([]byte(smallFile))
	contracts, err := newContractBuilder(Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		file, err := ParseFile(raw)
		if err != nil || len(Check(file)) > 0 {
			return
		}
		printed, err := file.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseFile(printed)
		if err != nil {
			t.Fatalf("what was printed cannot be read: %v\n%s", err, printed)
		}
		if lines, err := Diff(file, again); err != nil || len(lines) > 0 {
			t.Fatalf("printing changed the file: %q, %v", lines, err)
		}
		if _, err := snapshotOf(stored{file: again}, nil, contracts, Options{Now: time.Now, Secrets: lookup}); err != nil {
			t.Fatalf("a checked file cannot be loaded: %v", err)
		}
	})
}
