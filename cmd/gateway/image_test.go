package main

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

const opsPort = "9464"

// pinned matches an image with a full version.
var pinned = regexp.MustCompile(`^[a-z]+:\d+\.\d+[\w.-]*$`)

func readRoot(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheImageHoldsNoSecretAndNoRoot(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(readRoot(t, "Dockerfile"), "\\\n", " ")
	found, user := map[string]int{}, ""
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		found[word]++
		switch word {
		case "FROM":
			if image, _, _ := strings.Cut(rest, " "); !pinned.MatchString(image) {
				t.Errorf("%s is not pinned", image)
			}
		case "USER":
			user = rest
		case "EXPOSE":
			if strings.Contains(rest, opsPort) {
				t.Error("the ops port is exposed")
			}
		case "ENV", "ARG":
			for _, name := range append(secretNames(t), "PASSWORD", "SECRET", "TOKEN") {
				if strings.Contains(rest, name) {
					t.Errorf("%s sets %s", word, name)
				}
			}
		}
	}
	if user == "" || strings.HasPrefix(user, "0") || user == "root" || found["HEALTHCHECK"] != 1 {
		t.Errorf("it runs as %q, with %d health checks", user, found["HEALTHCHECK"])
	}
	ignored := strings.Fields(readRoot(t, ".dockerignore"))
	for _, want := range []string{".git", ".data", "secrets"} {
		if !slices.Contains(ignored, want) {
			t.Errorf("%s goes into the layers of the build", want)
		}
	}
}

func TestTheCompositionKeepsSecretsInFiles(t *testing.T) {
	t.Parallel()
	var file struct {
		Services map[string]struct {
			Image       string
			Environment map[string]string
			Ports       []string
			Healthcheck struct{ Test []string }
			Grace       time.Duration `yaml:"stop_grace_period"`
		}
	}
	if err := yaml.Unmarshal([]byte(readRoot(t, "compose.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	// The image's first start runs a server on a socket alone while it makes the database, and stops that server again.
	if test := file.Services["postgres"].Healthcheck.Test; !slices.Contains(test, "127.0.0.1") {
		t.Errorf("the health check %v passes before Postgres can be reached", test)
	}
	field, _ := reflect.TypeFor[Config]().FieldByName("DrainTimeout")
	drain, err := time.ParseDuration(field.Tag.Get("default"))
	if grace := file.Services["gateway"].Grace; err != nil || grace <= drain {
		t.Errorf("the gateway is killed after %s, while streams may run for %s: %v", grace, drain, err)
	}
	known := configVariables()
	for name, s := range file.Services {
		if s.Image != "" && !pinned.MatchString(s.Image) {
			t.Errorf("%s: %s is not pinned", name, s.Image)
		}
		for variable, value := range s.Environment {
			if slices.Contains(secretNames(t), variable) || strings.Contains(variable, "PASSWORD") && !strings.HasSuffix(variable, fileSuffix) || value == "trust" {
				t.Errorf("%s: %s=%s is a secret, or takes its place", name, variable, value)
			}
			if name == "gateway" && !slices.Contains(known, variable) {
				t.Errorf("%s is no setting", variable)
			}
		}
		for _, port := range s.Ports {
			if strings.HasSuffix(port, opsPort) || !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s publishes %s", name, port)
			}
		}
	}
}
