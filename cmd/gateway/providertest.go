package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"umg/app/catalog"
	"umg/app/provider"
	"umg/app/provider/check"
)

type providerTest struct {
	catalogSecrets

	Provider string   `arg:"" help:"Id of the provider."`
	Models   []string `help:"Ids of the models to call, at most one in each style; default: the first of each." placeholder:"MODEL"`
	By       string   `help:"Name in the list of test calls; default: USER@HOST." placeholder:"NAME"`
}

// catalogSecrets are the flags with which a command reads sealed credentials.
type catalogSecrets struct {
	databaseFlags

	SecretKey string `env:"UMG_SECRET_KEY" secret:"value" help:"Key of the servers; else that of the data folder." placeholder:"BASE64"`
}

// Run tests the provider. The exit status is 1 when a step fails.
func (c *providerTest) Run(ctx context.Context, log *slog.Logger) error {
	return withDatabase(ctx, c.databaseFlags, log, func(s *database) error {
		client := provider.New(provider.Options{Log: log})
		defer client.Close()
		return c.test(ctx, s, standardTerminal(), &providerTools{client: client, log: log})
	})
}

func (c *providerTest) test(ctx context.Context, s *database, t *terminal, tools *providerTools) error {
	f, err := catalog.Export(ctx, s.db)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(f.Providers, func(p catalog.FileProvider) bool { return p.ID == c.Provider })
	if i < 0 {
		return fmt.Errorf("PROVIDER: the catalog has no provider with the id %q", c.Provider)
	}
	models, err := c.called(f)
	if err != nil {
		return err
	}
	o := check.Options{
		File: f.Providers[i], Models: models, By: (&editFlags{By: c.By}).by(),
		Sources: catalog.Sources{Env: credentials(tools.log), CheckValue: checkCredential},
	}
	only := catalog.File{Providers: []catalog.FileProvider{f.Providers[i]}}
	if len(only.SealedNames()) > 0 {
		file := catalogFile{databaseFlags: c.databaseFlags, SecretKey: c.SecretKey}
		if o.Sources.Sealed, err = file.sealedCredentials(ctx, s, tools.log); err != nil {
			return err
		}
	}
	return testProvider(ctx, s, t, tools, o)
}

// called are the models of the provider that may be called.
func (c *providerTest) called(f catalog.File) ([]catalog.FileModel, error) {
	uses := func(m *catalog.FileModel) bool {
		return m.Kind == catalog.KindText &&
			slices.ContainsFunc(m.Routes, func(r catalog.FileRoute) bool { return r.Provider == c.Provider })
	}
	var models []catalog.FileModel
	for i := range f.Models {
		if m := &f.Models[i]; uses(m) && (len(c.Models) == 0 || slices.Contains(c.Models, m.ID)) {
			models = append(models, *m)
		}
	}
	for _, id := range c.Models {
		if !slices.ContainsFunc(models, func(m catalog.FileModel) bool { return m.ID == id }) {
			return nil, fmt.Errorf("--models: %s is not a text model with a route to %s", id, c.Provider)
		}
	}
	return models, nil
}

// testProvider runs the test, prints each step when it ends, and keeps the test calls. It returns an error when a step has failed.
func testProvider(ctx context.Context, s *database, t *terminal, tools *providerTools, o check.Options) error {
	o.Client, o.Now, o.Store = tools.client, time.Now, check.NewStore(s.db)
	r := check.Run(ctx, o, func(step check.Step) { printStep(t.out, &step) })
	if r.Calls > 0 {
		_, _ = fmt.Fprintf(t.out, "%d test calls cost you $%s.\n", r.Calls, r.Cost)
	}
	if r.Unbooked != nil {
		return fmt.Errorf("test calls could not be kept: %w", r.Unbooked)
	}
	if !r.Passed {
		return errors.New("the test of " + o.File.ID + " failed")
	}
	return nil
}

// printStep prints a step that has ended.
func printStep(out io.Writer, s *check.Step) {
	if s.State != check.Passed && s.State != check.Failed && s.State != check.Skipped {
		return
	}
	name := strings.TrimSpace(s.Name + " " + string(s.Style))
	_, _ = fmt.Fprintf(out, "%-8s%-20s%6d ms  %s\n", s.State, name, s.Took.Milliseconds(), s.Detail)
	if s.ProviderWords != "" {
		_, _ = fmt.Fprintf(out, "        The provider says: %s\n", s.ProviderWords)
	}
	if s.Advice != "" {
		_, _ = fmt.Fprintf(out, "        %s\n", s.Advice)
	}
}
