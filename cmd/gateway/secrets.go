package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/jmoiron/sqlx"

	"umg/api"
	"umg/app/account"
)

const secretKeyBytes = 32

// acceptedKey returns the server's key once the database has accepted it. A new key that the database rejects is removed from
// the data folder.
func acceptedKey(ctx context.Context, db *sqlx.DB, configured, dataDir string) (key [secretKeyBytes]byte, err error) {
	key, made, err := secretKey(configured, dataDir)
	if err != nil {
		return key, err
	}
	err = account.CheckSecretKey(ctx, db, key)
	if !errors.Is(err, account.ErrSecretKey) {
		return key, err
	}
	path := secretKeyFile(dataDir)
	wrong := "the key in " + path + " is another one"
	switch {
	case configured != "":
		wrong = "UMG_SECRET_KEY is another one"
	case made:
		wrong = "there is no " + path
		if err := os.Remove(path); err != nil {
			return key, fmt.Errorf("secret key: %w", err)
		}
	}
	return key, fmt.Errorf("this server does not have the key that encrypts this database's secrets: %s. "+
		"Set UMG_SECRET_KEY to the key of the other servers of this database, or put their secret.key at %s. "+
		"If that key is lost, see gateway secret-key replace --help", wrong, path)
}

func secretKeyFile(dataDir string) string { return filepath.Join(dataDir, "secret.key") }

// secretKey returns the key that encrypts secrets at rest: the configured one, or the one in the data folder, which only its
// owner can read. It makes the key when there is none.
func secretKey(configured, dataDir string) (key [secretKeyBytes]byte, made bool, err error) {
	text := []byte(configured)
	if configured == "" {
		if text, made, err = readOrCreateSecret(secretKeyFile(dataDir)); err != nil {
			return key, made, fmt.Errorf("secret key: %w", err)
		}
	}
	raw, err := base64.StdEncoding.AppendDecode(nil, bytes.TrimSpace(text))
	if err != nil || len(raw) != secretKeyBytes {
		return key, made, fmt.Errorf("the secret key is not %d bytes in base64", secretKeyBytes)
	}
	return [secretKeyBytes]byte(raw), made, nil
}

func readOrCreateSecret(path string) (text []byte, made bool, err error) {
	text, err = os.ReadFile(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return text, false, err
	}
	raw := make([]byte, secretKeyBytes)
	rand.Read(raw)
	text = base64.StdEncoding.AppendEncode(nil, raw)
	return text, true, writeFileOnce(path, text)
}

// writeFileOnce writes a whole file or none, readable by its owner only, because a crash must not leave half a secret behind.
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

// readLeakKeys reads the public keys that may sign reports of leaked secrets; it returns none without a file.
func readLeakKeys(path string) (api.LeakKeys, error) {
	if path == "" {
		return nil, nil
	}
	document, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--leak-report-keys: %w", err)
	}
	return api.ParseLeakKeys(document)
}
