package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"umg/app/catalog"
	"umg/app/provider/credential"
	"umg/app/provider/credentialstore"
)

// checkCredential returns why a credential cannot be used with a kind of auth.
func checkCredential(auth catalog.Auth, value catalog.Secret) error {
	return credential.Check(auth, value)
}

// credentialCommands manage the sealed credentials of providers.
type credentialCommands struct {
	Set    credentialSet    `cmd:"" help:"Store a credential, which is read from standard input or a file, under a name."`
	List   credentialList   `cmd:"" help:"List the credentials without their values."`
	Delete credentialDelete `cmd:"" help:"Delete a credential that the catalog does not name."`
	Reseal credentialReseal `cmd:"" help:"Encrypt the credentials of an earlier secret key with the current one."`
}

// credentialFlags are those of all commands about credentials.
type credentialFlags struct {
	databaseFlags

	SecretKey string `env:"UMG_SECRET_KEY" secret:"value" help:"Key of the servers; else that of the data folder." placeholder:"BASE64"`
}

// withStore runs work with the store of credentials.
func (f *credentialFlags) withStore(ctx context.Context, log *slog.Logger, work func(*credentialstore.Store) error) error {
	return withDatabase(ctx, f.databaseFlags, log, func(s *database) error {
		store, err := credentialStore(ctx, s, f.SecretKey, log)
		if err != nil {
			return err
		}
		return work(store)
	})
}

// credentialStore opens the store of credentials with the secret key of the servers.
func credentialStore(ctx context.Context, s *database, secretKey string, log *slog.Logger) (*credentialstore.Store, error) {
	key, err := acceptedKey(ctx, s.db, secretKey, s.flags.Data)
	if err != nil {
		return nil, err
	}
	return credentialstore.New(s.db, credentialstore.Options{Now: time.Now, Log: log, Key: key, CheckValue: checkCredential}), nil
}

type credentialSet struct {
	credentialFlags

	Name string `arg:"" help:"Name, which a catalog file writes as sealed:NAME."`
	File string `help:"File with the credential; default: standard input." placeholder:"FILE" type:"existingfile"`
}

// Run stores the credential. Running servers use it within a second.
func (c *credentialSet) Run(ctx context.Context, log *slog.Logger) error {
	value, err := c.value()
	if err != nil {
		return err
	}
	return c.withStore(ctx, log, func(store *credentialstore.Store) error {
		if err := store.Set(ctx, c.Name, value, userAtHost()); err != nil {
			return err
		}
		fmt.Println(c.Name, "is set; write sealed:"+c.Name+" in the catalog file")
		return nil
	})
}

func (c *credentialSet) value() (string, error) {
	if c.File != "" {
		text, err := readSecretFile(c.File)
		if err != nil {
			return "", fmt.Errorf("%s %w", c.File, err)
		}
		return text, nil
	}
	text, err := io.ReadAll(io.LimitReader(os.Stdin, credentialstore.ValueBytesMax+1))
	if err != nil {
		return "", errors.New("the credential cannot be read from standard input")
	}
	return string(text), nil
}

type credentialList struct{ credentialFlags }

// Run prints a line for each credential.
func (c *credentialList) Run(ctx context.Context, log *slog.Logger) error {
	return c.withStore(ctx, log, func(store *credentialstore.Store) error {
		list, err := store.List(ctx)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(w, "NAME\tENDS WITH\tKEY\tCHANGED\tBY\tPROVIDERS")
		for _, one := range list {
			key := one.KeyID
			if !one.IsReadable {
				key += " (another key)"
			}
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", one.Name, one.LastFour, key, one.ChangedAt.UTC().Format(time.RFC3339),
				one.ChangedBy, strings.Join(one.Providers, ", "))
		}
		return w.Flush()
	})
}

type credentialDelete struct {
	credentialFlags

	Name string `arg:"" help:"Name of the credential."`
}

// Run deletes the credential.
func (c *credentialDelete) Run(ctx context.Context, log *slog.Logger) error {
	return c.withStore(ctx, log, func(store *credentialstore.Store) error {
		if err := store.Delete(ctx, c.Name, userAtHost()); err != nil {
			return err
		}
		fmt.Println(c.Name, "is deleted")
		return nil
	})
}

type credentialReseal struct {
	credentialFlags

	Earlier string `required:"" help:"File with the earlier secret key in base64." placeholder:"FILE" type:"existingfile"`
}

// Run encrypts the credentials of the earlier key with the current one.
func (c *credentialReseal) Run(ctx context.Context, log *slog.Logger) error {
	text, err := readSecretFile(c.Earlier)
	if err != nil {
		return fmt.Errorf("%s %w", c.Earlier, err)
	}
	earlier, _, err := secretKey(text, c.Data)
	if err != nil {
		return err
	}
	return c.withStore(ctx, log, func(store *credentialstore.Store) error {
		n, err := store.Reseal(ctx, earlier)
		if err != nil {
			return err
		}
		fmt.Println(n, "credentials are encrypted with the current key")
		return nil
	})
}
