package docs

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"umg/app/preset"
	"umg/app/provider/errorclass"
)

// presetSections are the sections of the page of providers, by the id of the preset whose tables they have.
func presetSections(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("operator/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, section := range strings.Split(string(raw), "\n## ")[1:] {
		for _, m := range presetMark.FindAllStringSubmatch(section, -1) {
			if sections[m[1]] != "" {
				t.Errorf("the preset %s is there twice", m[1])
			}
			sections[m[1]] = section
		}
	}
	return sections
}

// TestThePageOfProvidersHasEveryPreset looks for a section of each preset: what is written by hand, and what comes from the preset.
func TestThePageOfProvidersHasEveryPreset(t *testing.T) {
	t.Parallel()
	sections := presetSections(t)
	page := OperatorGuide.Find("providers").Markdown(map[string]string{"server": "https://gateway.example"})
	for _, p := range preset.All() {
		section := sections[p.ID]
		if title, _, _ := strings.Cut(section, "\n"); title != p.Name {
			t.Errorf("the section of %s has the title %q, not %q", p.ID, title, p.Name)
		}
		for _, part := range []string{"Limits to know:", "rror"} {
			if !strings.Contains(section, part) {
				t.Errorf("the section of %s has no %q", p.ID, part)
			}
		}
		wanted := []string{presetMarkdown(p)}
		for i := range p.Fields {
			wanted = append(wanted, "| `"+p.Fields[i].ID+"` | "+p.Fields[i].Label, p.Fields[i].Env)
		}
		for style, s := range p.Styles {
			row := "| `" + string(style) + "` | `https://"
			if s.Checked == preset.Recorded {
				wanted = append(wanted, row)
			} else if !strings.Contains(presetMarkdown(p), "| no, never with a real answer |") {
				t.Errorf("%s: the page does not say that %s was never compared", p.ID, style)
			}
		}
		for _, text := range append(wanted, p.Docs) {
			if !strings.Contains(page, text) {
				t.Errorf("the page of providers has no %q", text)
			}
		}
	}
	if len(sections) != len(preset.All()) {
		t.Errorf("there are sections of %d presets, and %d presets", len(sections), len(preset.All()))
	}
}

func TestTablesOfAPreset(t *testing.T) {
	t.Parallel()
	p, _ := preset.Find("bedrock")
	text := presetMarkdown(p)
	for _, line := range []string{
		"| `region` | Region, such as `us-east-1` | yes | `AWS_REGION` |",
		"| `credential_type` | Credential: `access_key` or `api_key`; `access_key` if you leave it out | no | – |",
		"| `session` | Session token | no, only with `credential_type: access_key`; secret | `AWS_SESSION_TOKEN` |",
		"| `key` | API key | yes, with `credential_type: api_key`; secret | `AWS_BEARER_TOKEN_BEDROCK` |",
		"| `messages` | `https://bedrock-runtime.{region}.amazonaws.com/model/{model}/invoke` | yes |",
		"| `chat` | `https://bedrock-mantle.{region}.api.aws/v1/chat/completions` | no, never with a real answer |",
		"- The model list is read from `https://bedrock.{region}.amazonaws.com/foundation-models` and " +
			"`https://bedrock.{region}.amazonaws.com/inference-profiles`.",
		"- " + libraryWords(p),
		"- Documentation of the provider: [docs.aws.amazon.com/bedrock](https://docs.aws.amazon.com/bedrock)",
	} {
		if !slices.Contains(strings.Split(text, "\n"), line) {
			t.Errorf("there is no line %q in:\n%s", line, text)
		}
	}
	p, _ = preset.Find("vertex")
	if text = presetMarkdown(p); !strings.Contains(text, "`https://{location}-aiplatform.googleapis.com/v1beta1/projects/") ||
		!strings.Contains(text, "- With `location: eu`, the host is `aiplatform.eu.rep.googleapis.com`.") {
		t.Errorf("the host of Vertex AI is not explained:\n%s", text)
	}
	for id, words := range map[string]string{
		"openrouter": "It has the context length of each model. It answers without a key too",
		"custom":     "The model list is read from `{address}/models`.\n- The model library of this version has none of its models",
		"azure":      "name the models yourself",
		"anthropic":  "- The model library of this version has ",
	} {
		p, _ = preset.Find(id)
		if text = presetMarkdown(p); !strings.Contains(text, words) {
			t.Errorf("the list of %s is not explained:\n%s", id, text)
		}
	}
}

func TestAMarkOfAnUnknownPresetIsAnError(t *testing.T) {
	t.Parallel()
	page := "---\ntitle: A\ndescription: B\ngroup: Run\norder: 1\n---\n{{preset nothing}}\n"
	if _, err := OperatorGuide.parse("a", page); err == nil || !strings.Contains(err.Error(), `a: there is no preset "nothing"`) {
		t.Errorf("the error is %v", err)
	}
}

// TestErrorsOfThePageOfProvidersAreTheOperators classifies each error that the page explains as the gateway does. An error that the gateway
// gives to the client, as its own fault, has no place among those that an operator should act on.
func TestErrorsOfThePageOfProvidersAreTheOperators(t *testing.T) {
	t.Parallel()
	status, quoted, named := regexp.MustCompile(`\b[45]\d\d\b`), regexp.MustCompile(`"([^"]+)"`), regexp.MustCompile("`([^`]+)`")
	found := 0
	for id, section := range presetSections(t) {
		p, ok := preset.Find(id)
		_, rows, _ := strings.Cut(section, "| error | meaning | what to do |")
		if !ok || p.ID == "custom" {
			continue // It has errors of connections, not of a provider.
		}
		for line := range strings.Lines(rows) {
			cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
			message := "x"
			if m := quoted.FindStringSubmatch(cell); m != nil {
				message = strings.ReplaceAll(m[1], "…", "x")
			}
			names := []string{""}
			for _, m := range named.FindAllStringSubmatch(cell, -1) {
				names = append(names, m[1])
			}
			if len(names) > 1 {
				names = names[1:]
			}
			for _, number := range status.FindAllString(cell, -1) {
				for _, name := range names {
					found++
					if m := meaningOf(t, p, number, name, message); m == errorclass.Request || m == errorclass.Filter {
						t.Errorf("%s: the gateway takes %s %s for a mistake of the client", id, number, name)
					}
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d errors are found", found)
	}
}

// meaningOf is the meaning of an error whose name is wherever providers put one.
func meaningOf(t *testing.T, p *preset.Preset, number, name, message string) errorclass.Meaning {
	t.Helper()
	body, err := json.Marshal(map[string]any{"error": map[string]any{
		"code": name, "type": name, "status": name, "message": message, "details": []any{map[string]any{"reason": name}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	code, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	report := errorclass.Read(body)
	return errorclass.Of(p.Usage, stylesOf(p)[0]).Classify(code, http.Header{"X-Amzn-Errortype": {name}}, &report).Meaning
}

// TestThePageOfProvidersQuotesTheTest looks for what the page quotes of a test among what tests can find.
func TestThePageOfProvidersQuotesTheTest(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../provider/check/advice.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var known []struct{ Found, Advice string }
	if err := yaml.Unmarshal(raw, &known); err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, one := range known {
		rows[row(one.Found, one.Advice)] = true
	}
	page, err := os.ReadFile("operator/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| the test says | what to do |\n| --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	lines := strings.Split(table, "\n")
	for _, line := range lines {
		if !rows[line] {
			t.Errorf("no test says this: %s", line)
		}
	}
	if len(lines) < 15 {
		t.Errorf("only %d rows are found", len(lines))
	}
}
