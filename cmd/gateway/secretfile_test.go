package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// secretWords are words in the names of secrets.
var secretWords = regexp.MustCompile(`key|secret|password|token|credential|database-url|redis-url|dsn|smtp`)

// notSecrets are flags whose names contain such a word.
var notSecrets = []string{"account-tokens-per-minute", "token-interval", "leak-report-keys", "show-secret", "key-env", "key-file"}

// flagsOf lists the flags of all commands.
func flagsOf(t *testing.T) []*kong.Flag {
	t.Helper()
	parser, err := kong.New(&commands{}, kong.Vars{"default_data": t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var all []*kong.Flag
	if err := kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok {
			all = append(all, flag)
		}
		return next(nil)
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// secretNames are the variables of all secrets.
func secretNames(t *testing.T) []string {
	t.Helper()
	names := slices.Concat(bucketSecrets, collectorSecrets)
	for _, flag := range flagsOf(t) {
		if flag.Tag.Has(secretTag) {
			names = append(names, flag.Envs...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestEveryFlagNamedLikeASecretIsOne(t *testing.T) {
	t.Parallel()
	for _, flag := range flagsOf(t) {
		if secretWords.MatchString(flag.Name) != flag.Tag.Has(secretTag) && !slices.Contains(notSecrets, flag.Name) {
			t.Errorf("--%s: its name says whether it is a secret, and its tag says otherwise", flag.Name)
		}
		kind := flag.Tag.Get(secretTag)
		if flag.Tag.Has(secretTag) && !slices.Contains([]string{secretValue, secretAddress, secretLocal}, kind) {
			t.Errorf("--%s: %q is no kind of secret", flag.Name, kind)
		}
	}
	if names := secretNames(t); len(names) < 13 {
		t.Errorf("only %v are secrets", names)
	}
}

func TestEverySecretCanComeFromAFile(t *testing.T) { //nolint:paralleltest // sets the environment
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, empty := write("good", "the secret\r\n"), write("empty", " \n")
	large := write("large", strings.Repeat("x", secretFileBytesMax+1))
	for _, name := range secretNames(t) {
		t.Run(name, func(t *testing.T) { //nolint:paralleltest // sets the environment
			t.Setenv(name, "")
			t.Setenv(name+fileSuffix, good)
			if got, found, err := secretOf(name); got != "the secret" || !found || err != nil {
				t.Errorf("from a file: %q, %t, %v", got, found, err)
			}
			for path, want := range map[string]string{
				filepath.Join(dir, "missing"): "no such file", empty: "is empty", large: "more than 64 KiB", dir: "not a regular file",
			} {
				t.Setenv(name+fileSuffix, path)
				if _, _, err := secretOf(name); err == nil || !strings.Contains(err.Error(), want) ||
					!strings.Contains(err.Error(), name+fileSuffix) || !strings.Contains(err.Error(), path) {
					t.Errorf("%s: %v, want the variable, the file and %q", path, err, want)
				}
			}
			t.Setenv(name, "CANARY")
			t.Setenv(name+fileSuffix, good)
			if _, _, err := secretOf(name); err == nil || !strings.Contains(err.Error(), "both set") || strings.Contains(err.Error(), "CANARY") {
				t.Errorf("both set: %v", err)
			}
			t.Setenv(name+fileSuffix, "")
			if got, found, err := secretOf(name); got != "CANARY" || !found || err != nil {
				t.Errorf("from the environment: %q, %t, %v", got, found, err)
			}
		})
	}
}

// TestCommandsReadTheFilesOfSecrets parses command lines whose secrets are in files.
func TestCommandsReadTheFilesOfSecrets(t *testing.T) { //nolint:paralleltest // sets the environment
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte("redis://:CANARY@127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	parse := func(args ...string) (commands, error) {
		var line commands
		parser, err := kong.New(&line, kong.Vars{"default_data": t.TempDir()}, kong.Resolvers(kong.ResolverFunc(secretFromFile)))
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.Parse(args)
		if err == nil {
			log.Reset()
			warnOfSecrets(parsed, slog.New(slog.NewTextHandler(&log, nil)))
		}
		return line, err
	}
	t.Setenv("REDIS_URL_FILE", path)
	line, err := parse("serve")
	if err != nil || line.Serve.RedisURL != "redis://:CANARY@127.0.0.1:1" || log.Len() > 0 {
		t.Errorf("REDIS_URL_FILE: %q, %v, %s", line.Serve.RedisURL, err, log.String())
	}
	if line, err = parse("serve", "--redis-url", "redis://a:CANARY@other"); err != nil || line.Serve.RedisURL != "redis://a:CANARY@other" {
		t.Errorf("a flag beside a file: %q, %v", line.Serve.RedisURL, err)
	}
	if text := log.String(); !strings.Contains(text, "--redis-url") || !strings.Contains(text, "REDIS_URL_FILE") || strings.Contains(text, "CANARY") {
		t.Errorf("a password on the command line: %s", text)
	}
	if _, err = parse("serve", "--redis-url", "redis://other"); err != nil || log.Len() > 0 {
		t.Errorf("an address without a password: %v, %s", err, log.String())
	}
	t.Setenv("REDIS_URL_FILE", path+".missing")
	if _, err = parse("serve"); err == nil || !strings.Contains(err.Error(), "REDIS_URL_FILE") {
		t.Errorf("a missing file: %v", err)
	}
	t.Setenv("REDIS_URL_FILE", "")
	t.Setenv("UMG_STRIPE_KEY_FILE", path)
	if line, err = parse("credit", "refund", "topup_1", "1", "--reason", "x"); err != nil || line.Credit.Refund.StripeKey == "" {
		t.Errorf("a required secret: %v", err)
	}
	if _, err = parse("serve"); err != nil {
		t.Errorf("the file of a known secret: %v", err)
	}
	t.Setenv("UMG_STRIPE_KEI_FILE", path)
	if _, err = parse("serve"); err == nil || !strings.Contains(err.Error(), "UMG_STRIPE_KEI_FILE") {
		t.Errorf("the file of an unknown secret: %v", err)
	}
}

// TestCredentialsOfProvidersComeFromFiles resolves the ${NAMES} of a catalog.
func TestCredentialsOfProvidersComeFromFiles(t *testing.T) { //nolint:paralleltest // sets the environment
	path := filepath.Join(t.TempDir(), "credential")
	if err := os.WriteFile(path, []byte("sk-upstream\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	lookup := credentials(slog.New(slog.NewTextHandler(&log, nil)))
	t.Setenv("MERIDIAN_KEY_FILE", path)
	if got, found := lookup("MERIDIAN_KEY"); got != "sk-upstream" || !found || log.Len() > 0 {
		t.Errorf("from a file: %q, %t, %s", got, found, log.String())
	}
	t.Setenv("MERIDIAN_KEY_FILE", path+".missing")
	if _, found := lookup("MERIDIAN_KEY"); found || !strings.Contains(log.String(), "MERIDIAN_KEY_FILE") {
		t.Errorf("a missing file: %t, %s", found, log.String())
	}
}
