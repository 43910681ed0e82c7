package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/webhooks"

	"umg/e2e/sdk/go/cases"
)

// managing is the life of endpoints, which each case takes further.
type managing struct {
	*cases.Run
	config struct {
		Origin string `json:"origin"`
		Key    string `json:"key"`
		URL    string `json:"url"`
	}
	api     openai.Client
	first   *webhooks.WebhookEndpointWithSecret
	secrets []string
}

func (m *managing) run() {
	m.api = openai.NewClient(option.WithBaseURL(m.config.Origin+"/v1"), option.WithAPIKey(m.config.Key), option.WithMaxRetries(0))
	m.Check("create", m.create)
	if m.first == nil {
		return
	}
	m.Check("get", m.get)
	m.Check("update", m.update)
	m.Check("list", m.list)
	m.Check("event types", m.eventTypes)
	m.Check("rotate", m.rotate)
	m.Check("test", m.test)
	m.Check("errors", m.errors)
	m.Check("delete", m.delete)
}

func (m *managing) params(name string) webhooks.WebhookNewParams {
	return webhooks.WebhookNewParams{Name: name, URL: m.config.URL, EventTypes: []string{"video.completed", "video.failed"}}
}

func (m *managing) create(ctx context.Context) error {
	e, err := m.api.Webhooks.New(ctx, m.params("first"))
	if err != nil {
		return err
	}
	m.first, m.secrets = e, []string{e.SigningSecret}
	if !strings.HasPrefix(e.ID, "whe_") || !strings.HasPrefix(e.SigningSecret, "whsec_") || e.SigningSecretHint == "" || e.CreatedAt == 0 ||
		e.UpdatedAt == 0 || e.Name != "first" || e.URL != m.config.URL || len(e.EventTypes) != 2 {
		return fmt.Errorf("it is %s", e.RawJSON())
	}
	return nil
}

func (m *managing) get(ctx context.Context) error {
	e, err := m.api.Webhooks.Get(ctx, m.first.ID)
	if err != nil {
		return err
	}
	return errors.Join(
		cases.Same("the name", e.Name, "first"), cases.Same("the hint", e.SigningSecretHint, m.first.SigningSecretHint),
		cases.Same("get shows the secret", strings.Contains(e.RawJSON(), m.first.SigningSecret), false),
	)
}

func (m *managing) update(ctx context.Context) error {
	e, err := m.api.Webhooks.Update(ctx, m.first.ID, webhooks.WebhookUpdateParams{
		Name: openai.String("renamed"), EventTypes: []string{"video.failed"},
	})
	if err != nil {
		return err
	}
	return errors.Join(cases.Same("the name", e.Name, "renamed"), cases.Same("the types", strings.Join(e.EventTypes, " "), "video.failed"),
		cases.Same("the URL", e.URL, m.config.URL))
}

func (m *managing) list(ctx context.Context) error {
	want := []string{m.first.ID}
	for i := range 4 {
		e, err := m.api.Webhooks.New(ctx, m.params(fmt.Sprint("number ", i)))
		if err != nil {
			return err
		}
		want = append(want, e.ID)
	}
	// The list has the newest first.
	slices.Reverse(want)
	var got []string
	pages := m.api.Webhooks.ListAutoPaging(ctx, webhooks.WebhookListParams{Limit: openai.Int(2)})
	for pages.Next() {
		got = append(got, pages.Current().ID)
	}
	if err := pages.Err(); err != nil || !slices.Equal(got, want) {
		return fmt.Errorf("%q and not %q: %w", got, want, err)
	}
	for _, id := range want[:4] {
		gone, err := m.api.Webhooks.Delete(ctx, id)
		if err != nil || !gone.Deleted || gone.ID != id || string(gone.Object) != "webhook_endpoint.deleted" {
			return fmt.Errorf("delete: %w %+v", err, gone)
		}
	}
	return nil
}

func (m *managing) eventTypes(ctx context.Context) error {
	types, err := m.api.Webhooks.EventTypes.List(ctx)
	if err != nil {
		return err
	}
	all := slices.Sorted(slices.Values(types.Data))
	return cases.Same("the types", strings.Join(all, " "), "video.completed video.failed")
}

func (m *managing) rotate(ctx context.Context) error {
	for _, keep := range []bool{true, false} {
		e, err := m.api.Webhooks.RotateSecret(ctx, m.first.ID, webhooks.WebhookRotateSecretParams{KeepOldSecretActiveFor24Hours: openai.Bool(keep)})
		if err != nil {
			return err
		}
		if !strings.HasPrefix(e.SigningSecret, "whsec_") || slices.Contains(m.secrets, e.SigningSecret) {
			return fmt.Errorf("the new secret is %q", e.SigningSecret)
		}
		m.secrets = append(m.secrets, e.SigningSecret)
	}
	return nil
}

func (m *managing) test(ctx context.Context) error {
	told, err := m.api.Webhooks.Test(ctx, m.first.ID, webhooks.WebhookTestParams{EventType: webhooks.WebhookTestParamsEventTypeVideoCompleted})
	if err != nil {
		return err
	}
	return errors.Join(cases.Same("the answer", told.StatusCode, http.StatusNoContent), cases.Same("success", told.Success, true),
		cases.Same("the endpoint", told.WebhookEndpointID, m.first.ID), cases.Same("the type", told.EventType, "video.completed"))
}

func (m *managing) errors(ctx context.Context) error {
	wrong := m.params("wrong")
	wrong.EventTypes = []string{"batch.completed"}
	_, types := m.api.Webhooks.New(ctx, wrong)
	wrong = m.params("wrong")
	wrong.URL = "http://127.0.0.1:1/"
	_, url := m.api.Webhooks.New(ctx, wrong)
	_, unknown := m.api.Webhooks.Get(ctx, "whe_01ARZ3NDEKTSV4RRFFQ69G5FAV")
	return errors.Join(refused(types, http.StatusBadRequest, "event_types"), refused(url, http.StatusBadRequest, "url"),
		refused(unknown, http.StatusNotFound, ""))
}

func (m *managing) delete(ctx context.Context) error {
	if _, err := m.api.Webhooks.Delete(ctx, m.first.ID); err != nil {
		return err
	}
	_, err := m.api.Webhooks.Get(ctx, m.first.ID)
	return refused(err, http.StatusNotFound, "")
}

func refused(err error, status int, param string) error {
	var failed *openai.Error
	if !errors.As(err, &failed) {
		return fmt.Errorf("no error of the client: %w", err)
	}
	if failed.StatusCode != status || failed.Param != param || failed.Code == "" || failed.Message == "" {
		return fmt.Errorf("not %d at %q: %s", status, param, failed.RawJSON())
	}
	return nil
}
