package docs

import (
	"os"
	"slices"
	"strings"
	"testing"

	"umg/app/preset"
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
}

func TestAMarkOfAnUnknownPresetIsAnError(t *testing.T) {
	t.Parallel()
	page := "---\ntitle: A\ndescription: B\ngroup: Run\norder: 1\n---\n{{preset nothing}}\n"
	if _, err := OperatorGuide.parse("a", page); err == nil || !strings.Contains(err.Error(), `a: there is no preset "nothing"`) {
		t.Errorf("the error is %v", err)
	}
}
