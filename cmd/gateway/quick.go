package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/account"
	"umg/app/apikey"
	"umg/app/catalog"
	"umg/app/llm"
	"umg/app/setup"
)

const (
	quickEmail   = "operator@localhost"
	quickCommand = "serve --quick"
	quickAddress = "127.0.0.1"
)

// quickState is the login and the key of a quick start. It is kept in the data folder, for the owner of the process only.
type quickState struct {
	Email    string `json:"email"`
	Password string `json:"password"`
	APIKey   string `json:"api_key"`
	// Providers are the presets that were published. One that an operator removes later stays removed.
	Providers []string `json:"providers"`
}

// begin takes an empty gateway into operation: with a quick start, or with a one-time code for the first operator.
func (g *gatewayServer) begin(ctx context.Context, out io.Writer) error {
	if g.cfg.Quick {
		return g.quickStart(ctx, out)
	}
	code, err := g.services.setup.Begin(ctx)
	if err != nil || code == "" {
		return err
	}
	address := g.cfg.BaseURL + "/console/setup"
	g.log.Info("setup: waiting for the first operator", "code", code, "address", address)
	_, _ = fmt.Fprintf(out, `
This gateway has no operator and no models yet. Open the page and enter the code:

  page  %s
  code  %s

The code works once, and until this process ends. With --quick, the gateway publishes the providers whose keys are set at once.

`, address, code)
	return nil
}

// quickStart publishes the providers whose keys are in the environment, and makes an account that is not charged and a key, once. It
// prints how to call them. What an earlier start has made stays as it is.
func (g *gatewayServer) quickStart(ctx context.Context, out io.Writer) error {
	path := filepath.Join(g.cfg.Data, "quick.json")
	state, exists, err := readQuickState(path)
	if err != nil {
		return err
	}
	found := g.services.setup.Find()
	used, err := g.services.setup.HasUsers(ctx)
	if err != nil {
		return err
	}
	if !exists || !used { // The state may be that of another database.
		state.APIKey, state.Providers = "", nil
		switch {
		case used:
			g.log.Warn("quick start: gateway is in use, nothing was changed", "remedy", "gateway provider add PRESET, or start without --quick")
			return nil
		case len(found) == 0:
			return errors.New("--quick: no key of a provider is set. Set one of these variables, and start again:\n  " +
				strings.Join(setup.Usual(), "\n  "))
		}
		if err := state.save(path); err != nil {
			return err
		}
	}
	offers, published, err := g.quickPublish(ctx, &state, found)
	if err != nil {
		return fmt.Errorf("--quick: %w", err)
	}
	if err := g.quickAccount(ctx, &state, path); err != nil {
		return fmt.Errorf("--quick: %w", err)
	}
	g.announceQuick(out, &state, offers, published)
	return state.save(path)
}

// readQuickState returns the state of an earlier start, or a new one with a random password.
func readQuickState(path string) (s quickState, exists bool, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return quickState{Email: quickEmail, Password: rand.Text()}, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return s, false, fmt.Errorf("--quick: %s cannot be read: %w", path, err)
	}
	return s, true, nil
}

func (s *quickState) save(path string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return writeFileOnce(path, text)
}

// quickPublish publishes the providers that no earlier start has published, at cost. A provider that does not answer is published with the
// models of the library.
func (g *gatewayServer) quickPublish(ctx context.Context, state *quickState, found []setup.Found) ([]setup.Offer, setup.Published, error) {
	var offers []setup.Offer
	for _, f := range found {
		if slices.Contains(state.Providers, f.Preset.ID) {
			continue
		}
		o := g.services.setup.Look(ctx, f)
		if o.Problem != "" {
			g.log.Warn("quick start: models of a provider not read", "provider", f.Provider.ID, "problem", o.Problem, "advice", o.Advice,
				"provider_words", o.ProviderWords)
		}
		offers = append(offers, o)
	}
	if len(offers) == 0 {
		return nil, setup.Published{}, nil
	}
	by := catalog.HistoryAction{By: "gateway " + quickCommand, Note: "providers whose keys are in the environment, at cost"}
	done, err := g.services.setup.Publish(ctx, by, offers, setup.AtCost)
	if err != nil {
		return nil, setup.Published{}, err
	}
	for _, o := range offers {
		state.Providers = append(state.Providers, o.Preset.ID)
	}
	return offers, done, nil
}

// quickAccount makes the operator with an account that is not charged, and its key. Each step is stored before the next one, so that an
// interrupted start continues where it ended.
func (g *gatewayServer) quickAccount(ctx context.Context, state *quickState, path string) error {
	if state.APIKey != "" { // A key that was deleted since stays deleted.
		return nil
	}
	from := commandPrincipal("", quickCommand).From
	from.IP = quickAddress
	in, err := g.services.accounts.SignIn(ctx, state.Email, state.Password, quickAddress)
	user := in.User
	if err != nil && app.KindOf(err) == app.Unauthenticated {
		user, err = g.services.accounts.SignUpOperator(ctx,
			account.SignUp{Email: state.Email, Password: state.Password, IP: quickAddress}, from,
			func(context.Context, *sqlx.Tx, account.User) error { return nil })
	}
	if err != nil {
		return err
	}
	if err := g.services.accounts.SetUncharged(ctx, commandPrincipal(user.AccountID, quickCommand), true); err != nil {
		return err
	}
	_, state.APIKey, err = g.services.apiKeys.Create(ctx, user.Principal(), apikey.Spec{
		Name: "Quick start", Env: "development", ErrorMode: apikey.Standard,
	})
	if err != nil {
		return err
	}
	return state.save(path)
}

// announceQuick prints how to call the gateway, and what kept providers from answering.
func (g *gatewayServer) announceQuick(out io.Writer, state *quickState, offers []setup.Offer, published setup.Published) {
	var text strings.Builder
	fmt.Fprintf(&text, `
Unified Model Gateway is ready.

  base URL   %[1]s/v1
  API key    %[2]s
  console    %[1]s/console
  login      %[3]s  password %[4]s
  charges    none: calls are recorded with their cost, and need no credit
`, g.cfg.BaseURL, state.APIKey, state.Email, state.Password)
	for _, o := range offers {
		fmt.Fprintf(&text, "  %-9s  %d models, at cost\n", o.Provider.ID, len(o.Choices))
		if o.Problem != "" {
			fmt.Fprintf(&text, "             %s %s\n", o.Problem, o.Advice)
		}
		if o.ProviderWords != "" {
			fmt.Fprintf(&text, "             %s says: %s\n", o.Preset.Name, o.ProviderWords)
		}
	}
	if m, ok := g.services.catalog.Snapshot().Cheapest(llm.Chat); ok {
		fmt.Fprintf(&text, `
Try it:

  curl %s/v1/chat/completions \
    -H "Authorization: Bearer %s" -H "Content-Type: application/json" \
    -d '{"model":"%s","messages":[{"role":"user","content":"Hello!"}]}'
`, g.cfg.BaseURL, state.APIKey, m.ID)
	}
	_, _ = fmt.Fprintln(out, text.String())
	g.log.Info("quick start: ready", "providers", published.Providers, "models", published.Models)
}
