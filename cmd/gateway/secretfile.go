package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"umg/app/catalog"
)

// Every setting that is a secret has the tag `secret`. Its value says when the gateway warns about the secret on a command
// line, which every user of the machine can read.
const (
	secretTag     = "secret"
	secretValue   = "value"   // The gateway always warns.
	secretAddress = "address" // The gateway warns when the address has a password.
	secretLocal   = "local"   // The gateway never warns, because a developer runs the command on their own machine.
)

const (
	fileSuffix         = "_FILE" // NAME_FILE names the file that contains the secret NAME.
	secretFileBytesMax = 64 << 10
)

// bucketSecrets are the variables with the keys of a bucket, which no flag sets.
var bucketSecrets = []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}

// collectorSecrets are the variables with the headers for a trace collector, the more specific one first.
var collectorSecrets = []string{"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"}

// secretOf returns the secret NAME from the environment, or the content of the file in NAME_FILE without its last line end.
// Its error names the variable and the file, and never the secret.
func secretOf(name string) (value string, found bool, err error) {
	value, found = os.LookupEnv(name)
	path := os.Getenv(name + fileSuffix)
	switch {
	case path == "":
		return value, found, nil
	case value != "":
		return "", false, fmt.Errorf("%s and %s%s (%s) are both set; keep one of them", name, name, fileSuffix, path)
	}
	text, err := readSecretFile(path)
	if err != nil {
		return "", false, fmt.Errorf("%s%s: %s %w", name, fileSuffix, path, err)
	}
	return text, true, nil
}

// readSecretFile returns the text of a small file. Its errors complete a sentence that begins with the path.
func readSecretFile(path string) (string, error) {
	about, err := os.Stat(path)
	if err == nil && !about.Mode().IsRegular() {
		return "", errors.New("is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", bare(err))
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, secretFileBytesMax+1))
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", bare(err))
	}
	if len(text) > secretFileBytesMax {
		return "", fmt.Errorf("holds more than %d KiB", secretFileBytesMax>>10)
	}
	secret := strings.TrimRight(string(text), "\r\n")
	if strings.TrimSpace(secret) == "" {
		return "", errors.New("is empty")
	}
	return secret, nil
}

// bare returns the cause of a file error without the path.
func bare(err error) error {
	if of, ok := errors.AsType[*os.PathError](err); ok {
		return of.Err
	}
	return err
}

// secretFromFile sets secret flags from the files that their variables name. Kong asks it for flags that are not on the command line.
func secretFromFile(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if !flag.Tag.Has(secretTag) || len(flag.Envs) == 0 || os.Getenv(flag.Envs[0]+fileSuffix) == "" {
		return nil, nil //nolint:nilnil // kong's way to say that there is no value
	}
	value, _, err := secretOf(flag.Envs[0])
	return value, err
}

// warnOfSecrets logs a warning for each secret on the command line.
func warnOfSecrets(line *kong.Context, log *slog.Logger) {
	for _, path := range line.Path {
		flag := path.Flag
		if flag == nil || path.Resolved || len(flag.Envs) == 0 {
			continue
		}
		text, _ := reflect.TypeAssert[string](flag.Target)
		if kind := flag.Tag.Get(secretTag); kind == secretValue || kind == secretAddress && hasPassword(text) {
			log.Warn("secret visible on command line",
				"flag", "--"+flag.Name, "use", flag.Envs[0]+" or "+flag.Envs[0]+fileSuffix)
		}
	}
}

// hasPassword reports whether an address has a password, or cannot be parsed and so may have one.
func hasPassword(address string) bool {
	if strings.Contains(address, "password=") {
		return true
	}
	u, err := url.Parse(address)
	if err != nil {
		return true
	}
	_, has := u.User.Password()
	return has
}

// credentials resolves the ${NAMES} of a catalog. It logs a file that cannot be read, and the provider then has no credential.
func credentials(log *slog.Logger) catalog.SecretLookup {
	return func(name string) (string, bool) {
		value, found, err := secretOf(name)
		if err != nil {
			log.Error("provider credential not read", "error", err)
		}
		return value, found
	}
}

// bucketKeys reads the keys of a bucket once, so a file that cannot be read fails the start.
func bucketKeys() (func(string) string, error) {
	found := map[string]string{}
	for _, name := range bucketSecrets {
		value, _, err := secretOf(name)
		if err != nil {
			return nil, err
		}
		found[name] = value
	}
	return func(name string) string { return found[name] }, nil
}
