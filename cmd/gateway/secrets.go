package main

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"umg/api"
)

const secretKeyBytes = 32

// secretKey returns the key that seals secrets at rest: the configured one, or one that is generated once into the
// data folder, readable by its owner only.
func secretKey(configured, dataDir string) (key [secretKeyBytes]byte, err error) {
	text := []byte(configured)
	if configured == "" {
		if text, err = readOrCreateSecret(filepath.Join(dataDir, "secret.key")); err != nil {
			return key, fmt.Errorf("secret key: %w", err)
		}
	}
	raw, err := base64.StdEncoding.AppendDecode(nil, bytes.TrimSpace(text))
	if err != nil || len(raw) != secretKeyBytes {
		return key, fmt.Errorf("the secret key is not %d bytes in base64", secretKeyBytes)
	}
	return [secretKeyBytes]byte(raw), nil
}

func readOrCreateSecret(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	raw := make([]byte, secretKeyBytes)
	rand.Read(raw)
	text = base64.StdEncoding.AppendEncode(nil, raw)
	return text, writeFileOnce(path, text)
}

// writeFileOnce writes a whole file or none, readable by its owner only: a crash must not leave half a secret behind.
func writeFileOnce(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// leakKeys reads the public keys that reports of leaked secrets may be signed with; none without a file.
func leakKeys(path string) (api.LeakKeys, error) {
	if path == "" {
		return nil, nil
	}
	document, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--leak-report-keys: %w", err)
	}
	return api.ParseLeakKeys(document)
}
