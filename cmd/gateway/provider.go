package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"umg/app/catalog"
	"umg/app/catalog/change"
	"umg/app/library"
	"umg/app/preset"
	"umg/app/provider"
	"umg/app/provider/check"
	"umg/app/provider/credentialstore"
	"umg/app/provider/modellist"
)

// providerCommands change the providers of the catalog in force.
type providerCommands struct {
	Add    providerAdd    `cmd:"" help:"Add a provider of a preset, test it, and publish its models."`
	List   providerList   `cmd:"" help:"List the providers with their state, credentials and models."`
	Test   providerTest   `cmd:"" help:"Test the credential, the list of models, and one tiny call in each style."`
	Pause  providerPause  `cmd:"" help:"Stop calls of a provider; they take other routes."`
	Resume providerResume `cmd:"" help:"Allow calls of a paused provider again."`
	Remove providerRemove `cmd:"" help:"Remove a provider with its routes."`
}

const (
	modelsAll  = "all"
	modelsNone = "none"
)

type providerAdd struct {
	editFlags

	Preset    string            `arg:"" help:"Provider that the gateway knows, such as openai."`
	ID        string            `help:"Id of the provider in the catalog; default: the preset." placeholder:"ID"`
	KeyEnv    string            `help:"Variable of the servers that has the key." placeholder:"NAME"`
	KeyFile   string            `help:"File of the servers that has the key." placeholder:"FILE" type:"path"`
	With      map[string]string `help:"Value of a field of the preset, such as region=us-east-1." placeholder:"FIELD=VALUE"`
	BaseURL   string            `name:"base-url" help:"Address in place of that of the preset." placeholder:"URL"`
	Models    []string          `default:"none" help:"Models to publish: all, none, or ids; * matches any text." placeholder:"MODELS"`
	Markup    string            `default:"0%" help:"Prices are the cost plus this many percent."`
	SkipTest  bool              `help:"Do not call the provider."`
	SecretKey string            `env:"UMG_SECRET_KEY" secret:"value" help:"Key of the servers; else of the data folder." placeholder:"BASE64"`
}

// Run adds the provider. It reads the key from standard input unless a flag says where the key is.
func (c *providerAdd) Run(ctx context.Context, log *slog.Logger) error {
	return withDatabase(ctx, c.databaseFlags, log, func(s *database) error {
		client := provider.New(provider.Options{Log: log})
		defer client.Close()
		return c.add(ctx, s, standardTerminal(), &providerTools{client: client, log: log, stdin: os.Stdin})
	})
}

// providerTools are what commands about providers need beside the database.
type providerTools struct {
	client *provider.Client
	log    *slog.Logger
	stdin  io.Reader
}

func (c *providerAdd) add(ctx context.Context, s *database, t *terminal, tools *providerTools) error {
	p, key, err := c.provider(tools.stdin)
	if err != nil {
		return err
	}
	markup, err := parseMarkup(c.Markup)
	if err != nil {
		return err
	}
	store, sources, err := c.sources(ctx, s, tools, &p, key)
	if err != nil {
		return err
	}
	models, err := c.models(ctx, s, t, tools, &p, sources, markup)
	if err != nil {
		return err
	}
	edit := func(f catalog.File) (catalog.File, error) {
		f, err := change.AddProvider(f, p)
		if err != nil {
			return f, fmt.Errorf("--id: %w", commandError(err))
		}
		return change.AddModels(f, models)
	}
	f, err := catalog.Export(ctx, s.db)
	if err != nil {
		return err
	}
	// Mistakes are errors before the provider is called.
	next, err := edit(f)
	if err != nil {
		return err
	}
	preview, err := change.Preview(f, next)
	if err != nil {
		return err
	}
	if len(preview.Problems) > 0 {
		return problemsError(preview.Problems)
	}
	if !c.SkipTest {
		if err := testProvider(ctx, s, t, tools, check.Options{File: p, Sources: sources, Models: models, By: c.by()}); err != nil {
			return fmt.Errorf("%w; nothing was changed. Add --skip-test to add the provider nevertheless", err)
		}
	}
	if key == "" {
		return c.edit(ctx, s, t, edit, nil, nil)
	}
	name := strings.TrimPrefix(p.Credential, catalog.SealedPrefix)
	return c.edit(ctx, s, t, edit,
		func() error { return store.Set(ctx, name, key, c.by()) }, func() error { return store.Delete(ctx, name, c.by()) })
}

func (f *editFlags) by() string {
	if f.By != "" {
		return f.By
	}
	return userAtHost()
}

// provider returns the entry of the catalog, and the key from standard input, which is empty when the entry refers to one elsewhere.
func (c *providerAdd) provider(stdin io.Reader) (p catalog.FileProvider, key string, err error) {
	known, ok := preset.Find(c.Preset)
	if !ok {
		return p, "", fmt.Errorf("PRESET: %q is not one of %s", c.Preset, strings.Join(preset.IDs(), ", "))
	}
	p = catalog.FileProvider{ID: c.Preset, Preset: c.Preset, BaseURL: c.BaseURL}
	if c.ID != "" {
		p.ID = c.ID
	}
	if len(c.With) > 0 {
		p.With = c.With
	}
	if c.KeyEnv != "" && c.KeyFile != "" {
		return p, "", errors.New("--key-env and --key-file are two places of the key; use one of them")
	}
	for _, problem := range known.Check(p.With, nil) {
		return p, "", fmt.Errorf("--with %s: %s", problem.Field, problem.Text)
	}
	settings := known.Expand(p.With)
	hasKey := catalog.AuthKind(settings.Auth.Kind).HasCredential()
	switch {
	case !hasKey && c.KeyEnv+c.KeyFile != "":
		return p, "", fmt.Errorf("--key-env, --key-file: preset %s takes no key with these fields", c.Preset)
	case !hasKey:
	case c.KeyEnv != "":
		p.Credential = "${" + c.KeyEnv + "}"
	case c.KeyFile != "":
		file, err := filepath.Abs(c.KeyFile)
		if err != nil {
			return p, "", fmt.Errorf("--key-file: %w", err)
		}
		p.Credential = catalog.FilePrefix + file
	default:
		text, err := io.ReadAll(io.LimitReader(stdin, credentialstore.ValueBytesMax+1))
		if key = strings.TrimSpace(string(text)); err != nil || key == "" && settings.NeedsCredential {
			return p, "", errors.New("the key is missing: add --key-env or --key-file, or write the key to standard input")
		}
		if key != "" {
			p.Credential = catalog.SealedPrefix + p.ID
		}
	}
	return p, key, nil
}

// sources are where the values of the provider's references are, with a key that is not stored yet. The store is nil without one.
func (c *providerAdd) sources(
	ctx context.Context, s *database, tools *providerTools, p *catalog.FileProvider, key string,
) (*credentialstore.Store, catalog.Sources, error) {
	sources := catalog.Sources{Env: credentials(tools.log), CheckValue: checkCredential}
	if key == "" {
		problems := catalog.CheckReferences(catalog.File{Providers: []catalog.FileProvider{*p}}, sources)
		if len(problems) > 0 && !c.SkipTest {
			return nil, sources, fmt.Errorf("%w\nSet it here too, or add --skip-test when only the servers have it", errors.Join(problems...))
		}
		return nil, sources, nil
	}
	store, err := credentialStore(ctx, s, c.SecretKey, tools.log)
	if err != nil {
		return nil, sources, err
	}
	all, err := store.List(ctx)
	if err != nil {
		return nil, sources, err
	}
	name := strings.TrimPrefix(p.Credential, catalog.SealedPrefix)
	if slices.ContainsFunc(all, func(one credentialstore.Credential) bool { return one.Name == name }) {
		return nil, sources, fmt.Errorf("--id: a stored credential has the name %s already; choose another id, or delete it with "+
			"gateway credential delete %s", name, name)
	}
	sources.Sealed = map[string]catalog.SealedCredential{name: {Value: catalog.NewSecret(key)}}
	return store, sources, nil
}

// models are those that --models names, of the provider's list, or of the library when the provider has no list or is not called.
func (c *providerAdd) models(
	ctx context.Context, s *database, t *terminal, tools *providerTools, p *catalog.FileProvider, sources catalog.Sources,
	markup catalog.Factor,
) ([]catalog.FileModel, error) {
	if len(c.Models) == 0 || len(c.Models) == 1 && c.Models[0] == modelsNone {
		return nil, nil
	}
	l, err := library.Load(ctx, s.db)
	if err != nil {
		return nil, err
	}
	var listed []modellist.Model
	if !c.SkipTest {
		if listed, err = readList(ctx, tools.client, p, sources); err != nil {
			return nil, fmt.Errorf("the list of models of %s: %w", p.ID, err)
		}
	}
	choices, err := l.ChoicesFor(*p, listed)
	if err != nil {
		return nil, err
	}
	chosen, err := choose(choices, c.Models, p.Preset, false)
	if err != nil {
		return nil, fmt.Errorf("--models: %w", err)
	}
	if left := countUnpriced(choices); left > 0 {
		_, _ = fmt.Fprintf(t.out, "%d of %d models have no known cost. Publish them with gateway model publish --rate.\n", left, len(choices))
	}
	return fileModels(chosen, p.ID, markup), nil
}

func countUnpriced(choices []library.Choice) (n int) {
	for i := range choices {
		if !choices[i].Priced {
			n++
		}
	}
	return n
}

// readList returns the provider's list of models, or nil when it has none.
func readList(
	ctx context.Context, client *provider.Client, p *catalog.FileProvider, sources catalog.Sources,
) ([]modellist.Model, error) {
	snapshot, err := catalog.NewDraftSnapshot(catalog.File{Providers: []catalog.FileProvider{*p}}, &sources, catalog.Options{Now: time.Now})
	if err != nil {
		return nil, err
	}
	resolved := snapshot.Providers()[0]
	if resolved.Unusable != "" {
		return nil, errors.New(resolved.Unusable)
	}
	listed, err := modellist.Read(ctx, client, resolved, nil)
	if errors.Is(err, modellist.ErrNone) {
		return nil, nil
	}
	if fault, ok := errors.AsType[*provider.Fault](err); ok {
		advice := check.AdviceOn(fault, check.StepList)
		return nil, errors.New(strings.TrimSpace(advice.Found + " " + fault.ProviderWords() + " " + advice.Advice))
	}
	return listed, err
}

// choose are the choices that words name: by public id, by the provider's name or by an alias. The word all names every one with a known
// cost. Those without one need prices.
func choose(choices []library.Choice, words []string, presetID string, hasRates bool) ([]library.Choice, error) {
	var chosen []library.Choice
	taken := map[string]bool{}
	for _, word := range words {
		found, unpriced := false, ""
		for _, c := range choices {
			isAll := word == modelsAll
			names := append([]string{c.ID, c.ProviderModel}, c.Offer.Aliases...)
			if !isAll && !slices.ContainsFunc(names, func(name string) bool { return matches(word, name) }) {
				continue
			}
			if !c.Priced && !hasRates {
				unpriced = c.ID
				continue
			}
			if found = true; !taken[c.ID] {
				taken[c.ID] = true
				chosen = append(chosen, c)
			}
		}
		switch {
		case !found && unpriced != "":
			return nil, fmt.Errorf("the cost of %s is not known; publish it with gateway model publish --rate", unpriced)
		case !found:
			return nil, fmt.Errorf("preset %s has no model %q; gateway library show --preset %s lists them", presetID, word, presetID)
		}
	}
	return chosen, nil
}

// matches compares a name with a word in which a * matches any text.
func matches(word, name string) bool {
	if word == name || !strings.Contains(word, "*") {
		return word == name
	}
	ok, err := path.Match(strings.ReplaceAll(word, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
	return err == nil && ok
}

func fileModels(chosen []library.Choice, providerID string, markup catalog.Factor) []catalog.FileModel {
	models := make([]catalog.FileModel, len(chosen))
	for i := range chosen {
		models[i] = chosen[i].FileModel(providerID, 1, markup)
	}
	return models
}

type providerList struct{ databaseFlags }

// Run prints a line for each provider.
func (c *providerList) Run(ctx context.Context, log *slog.Logger) error {
	return withDatabase(ctx, c.databaseFlags, log, func(s *database) error {
		f, err := catalog.Export(ctx, s.db)
		if err != nil {
			return err
		}
		return printProviders(os.Stdout, f)
	})
}

func printProviders(out io.Writer, f catalog.File) error {
	routes := map[string]int{}
	for i := range f.Models {
		for _, r := range f.Models[i].Routes {
			routes[r.Provider]++
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "PROVIDER\tPRESET\tSTATE\tCREDENTIALS\tROUTES")
	for i := range f.Providers {
		p := &f.Providers[i]
		state, presetID := "on", "-"
		if p.Disabled {
			state = "paused"
		}
		if p.Preset != "" {
			presetID = p.Preset
		}
		references := strings.TrimSpace(p.Credential + " " + strings.Join(p.Credentials, " "))
		if references == "" {
			references = "-"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\n", p.ID, presetID, state, references, routes[p.ID])
	}
	return w.Flush()
}

type providerPause struct {
	editFlags

	Provider string `arg:"" help:"Id of the provider."`
}

// Run pauses the provider.
func (c *providerPause) Run(ctx context.Context, log *slog.Logger) error {
	return withDatabase(ctx, c.databaseFlags, log, func(s *database) error { return c.pause(ctx, s, standardTerminal(), c.Provider, true) })
}

// pause makes the change without a question, because the opposite undoes it.
func (f *editFlags) pause(ctx context.Context, s *database, t *terminal, id string, disabled bool) error {
	f.Yes = true
	return f.edit(ctx, s, t, func(file catalog.File) (catalog.File, error) { return change.PauseProvider(file, id, disabled) }, nil, nil)
}

type providerResume struct {
	editFlags

	Provider string `arg:"" help:"Id of the provider."`
}

// Run resumes the provider.
func (c *providerResume) Run(ctx context.Context, log *slog.Logger) error {
	return withDatabase(ctx, c.databaseFlags, log, func(s *database) error { return c.pause(ctx, s, standardTerminal(), c.Provider, false) })
}

type providerRemove struct {
	editFlags

	Provider string `arg:"" help:"Id of the provider."`
}

// Run removes the provider. It prints the routes that go with it before it asks.
func (c *providerRemove) Run(ctx context.Context, log *slog.Logger) error {
	return withDatabase(ctx, c.databaseFlags, log, func(s *database) error { return c.remove(ctx, s, standardTerminal()) })
}

func (c *providerRemove) remove(ctx context.Context, s *database, t *terminal) error {
	f, err := catalog.Export(ctx, s.db)
	if err != nil {
		return err
	}
	_, removed, stranded, err := change.RemoveProvider(f, c.Provider)
	if err != nil {
		return commandError(err)
	}
	for _, r := range removed {
		_, _ = fmt.Fprintf(t.out, "The route of %s to %s is removed.\n", r.Model, r.Route.Model)
	}
	for _, model := range stranded {
		_, _ = fmt.Fprintf(t.out, "%s has no route left and is retired.\n", model)
	}
	return c.edit(ctx, s, t, func(f catalog.File) (catalog.File, error) {
		next, _, _, err := change.RemoveProvider(f, c.Provider)
		return next, err
	}, nil, nil)
}
