package preset_test

import (
	"maps"
	"slices"
	"testing"

	"umg/app/preset"
)

func TestProvidersAreFoundByTheVariablesOfTheirTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, preset string
		env          map[string]string
		with         map[string]string
		secrets      []string
	}{
		{"a key", "openai", map[string]string{"OPENAI_API_KEY": "k"}, map[string]string{}, []string{"OPENAI_API_KEY"}},
		{"a further field", "openai", map[string]string{"OPENAI_API_KEY": "k", "OPENAI_PROJECT_ID": "proj_1"},
			map[string]string{"project": "proj_1"}, []string{"OPENAI_API_KEY"}},
		{"a field with a mistake", "openai", map[string]string{"OPENAI_API_KEY": "k", "OPENAI_PROJECT_ID": "my project"}, nil, nil},
		{"an empty key", "openai", map[string]string{"OPENAI_API_KEY": ""}, nil, nil},
		{"keys of a cloud", "bedrock", map[string]string{"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s"},
			map[string]string{"region": "us-east-1", "credential_type": "access_key"}, []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}},
		{"a session", "bedrock", map[string]string{
			"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t",
		}, map[string]string{"region": "us-east-1", "credential_type": "access_key"},
			[]string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}},
		{"the second kind of key", "bedrock", map[string]string{"AWS_REGION": "us-east-1", "AWS_BEARER_TOKEN_BEDROCK": "b"},
			map[string]string{"region": "us-east-1", "credential_type": "api_key"}, []string{"AWS_BEARER_TOKEN_BEDROCK"}},
		{"no region", "bedrock", map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s"}, nil, nil},
		{"a server of one's own", "custom", map[string]string{}, nil, nil},
	} {
		p, _ := preset.Find(c.preset)
		e, found := p.FromEnvironment(func(name string) (string, bool) { value, has := c.env[name]; return value, has })
		if found != (c.secrets != nil) || !slices.Equal(e.Secrets, c.secrets) || found && !maps.Equal(e.With, c.with) {
			t.Errorf("%s: %+v, %t", c.name, e, found)
		}
	}
}

func TestRequiredVariablesAreThoseThatFindAProvider(t *testing.T) {
	t.Parallel()
	named := 0
	for _, p := range preset.All() {
		for _, names := range p.RequiredVariables() {
			named++
			_, found := p.FromEnvironment(func(name string) (string, bool) { return "value", slices.Contains(names, name) })
			if !found {
				t.Errorf("%s is not found by %v", p.ID, names)
			}
		}
	}
	if named < 10 {
		t.Errorf("only %d presets are found by variables", named)
	}
}
