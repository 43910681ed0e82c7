package preset

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files and the table of the guide")

// golden compares a text with that of a file.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; read the difference and run the test with -update:\n%s", file, got)
	}
}

// TestAddressesAreThoseOfTheProviders has the method, the address and the changes of each call that presets make.
func TestAddressesAreThoseOfTheProviders(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, p := range All() {
		for i, choice := range p.Choices() {
			with := p.WithExamples(choice)
			if problems := p.Check(with, nil); len(problems) > 0 {
				t.Errorf("%s: the examples have problems: %v", p.ID, problems)
			}
			s := p.Expand(with)
			fmt.Fprintf(&b, "%s %v\n  auth %s\n", p.ID, with, strings.Join(strings.Fields(fmt.Sprintln(s.Auth.Kind, s.Auth.Header, s.Auth.Service,
				s.Auth.Region, s.Auth.Tenant, s.Auth.ClientID, s.Auth.Scope, s.Auth.Credential)), " "))
			if i > 0 {
				continue // The options of fields change nothing but the credential.
			}
			for _, style := range slices.Sorted(maps.Keys(s.Wires)) {
				w := s.Wires[style]
				for _, call := range []struct{ name, path string }{{"whole", w.Path}, {"stream", w.StreamPath}, {"count", w.CountPath}} {
					if call.path != "" {
						fmt.Fprintf(&b, "  %s %s POST %s\n", style, call.name, w.Base+w.WithModel(call.path, "vendor/model@1:0"))
					}
				}
				for _, line := range []struct {
					name  string
					value any
					has   bool
				}{
					{"service", w.Service, w.Service != ""}, {"headers", w.Headers, len(w.Headers) > 0},
					{"body", w.Body, !w.Body.IsZero()}, {"count body", w.CountBody, !w.CountBody.IsZero()},
					{"framing", w.Framing, w.Framing != framingSSE},
				} {
					if line.has {
						fmt.Fprintf(&b, "    %s %+v\n", line.name, line.value)
					}
				}
			}
			for i := range s.Lists {
				l := &s.Lists[i]
				fmt.Fprintf(&b, "  list GET %s%s %s[].%s %v\n", l.Wire.Base, l.Path, l.List, l.ID, l.Wire.Headers)
			}
		}
	}
	golden(t, "testdata/addresses.txt", b.String())
}

// folders are those of the recorded answers of a preset, where they are not called like it.
var folders = map[string][]string{"vertex": {"vertex", "vertex-anthropic"}, "azure-foundry": {"azure"}}

// otherRecordings are recorded exchanges about something else than text, and those of an API that has a successor.
var otherRecordings = regexp.MustCompile(`^(azure/deployment-call|gemini/video\.\d+|xai/video\.\d+|vertex/(token-exchange|[a-z-]+\.1))\.json$`)

// TestStylesAreCheckedAgainstRecordedAnswers compares addresses with those of recorded exchanges: a style says that it is checked when, and
// only when, there are some.
func TestStylesAreCheckedAgainstRecordedAnswers(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../provider/recordings/testdata/providers/index.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct{ File, URL string }
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, p := range All() {
		in := folders[p.ID]
		if in == nil {
			in = []string{p.ID}
		}
		for style, s := range p.Styles {
			base := p.Base
			if s.Base != "" {
				base = s.Base
			}
			paths := []string{s.Path, s.StreamPath}
			if s.Count != nil {
				paths = append(paths, s.Count.Path)
			}
			var forms []*regexp.Regexp
			for _, one := range paths {
				if one != "" {
					forms = append(forms, addressForm(base+one))
				}
			}
			found := Never
			for _, row := range rows {
				isTheirs := slices.Contains(in, path.Dir(row.File))
				if isTheirs && slices.ContainsFunc(forms, func(f *regexp.Regexp) bool { return f.MatchString(row.URL) }) {
					found, known[row.File] = Recorded, true
				}
			}
			if s.Checked != found {
				t.Errorf("%s says that the style %s is checked %s, and it is %s", p.ID, style, s.Checked, found)
			}
		}
	}
	for _, row := range rows {
		folder := path.Dir(row.File)
		_, isPreset := Find(folder)
		if row.URL != "" && (isPreset || folder == "vertex-anthropic") && !known[row.File] && !otherRecordings.MatchString(row.File) {
			t.Errorf("no preset has the address %s of %s", row.URL, row.File)
		}
	}
	if len(known) < 100 {
		t.Errorf("only %d recorded exchanges are compared", len(known))
	}
}

// addressForm matches the addresses of a template.
func addressForm(template string) *regexp.Regexp {
	quoted := regexp.QuoteMeta(template)
	return regexp.MustCompile("^" + regexp.MustCompile(`\\\{[a-z_]+\\\}`).ReplaceAllString(quoted, `[^/?]+`) + "$")
}

func TestModelsInPaths(t *testing.T) {
	t.Parallel()
	const arn = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1"
	for _, c := range []struct {
		escapes           bool
		path, model, want string
	}{
		{true, "/model/{model}/invoke", arn, "/model/arn:aws:bedrock:us-east-1:123456789012:application-inference-profile%2Fa1/invoke"},
		{true, "/m/{model}:rawPredict", "claude@1 ?#%", "/m/claude@1%20%3F%23%25:rawPredict"},
		{false, "/models/{model}:x", "tuned/a b", "/models/tuned/a%20b:x"},
		{true, "/chat", arn, "/chat"},
	} {
		w := Wire{EscapesModel: c.escapes}
		if got := w.WithModel(c.path, c.model); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestHostsOfLocations(t *testing.T) {
	t.Parallel()
	p, _ := Find("vertex")
	for location, host := range map[string]string{
		"global": "aiplatform.googleapis.com", "us": "aiplatform.us.rep.googleapis.com", "eu": "aiplatform.eu.rep.googleapis.com",
		"europe-west4": "europe-west4-aiplatform.googleapis.com",
	} {
		s := p.Expand(map[string]string{"project": "p", "location": location})
		if s.Base != "https://"+host || !strings.Contains(s.Wires["native"].Path, "/locations/"+location+"/") {
			t.Errorf("%s: %s %s", location, s.Base, s.Wires["native"].Path)
		}
	}
}
