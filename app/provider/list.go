package provider

import (
	"context"
	"net/http"
	"net/url"

	"umg/app/catalog"
	"umg/app/llm"
	"umg/app/provider/errorclass"
)

// List asks a provider for a page of a list of its models, with the credential of an index. The query of the page is added to that of the
// list. It follows no redirect, and a deadline of the context counts as ErrTotal. The list must be one of the provider.
func (c *Client) List(ctx context.Context, p *catalog.Provider, l *catalog.ModelList, credential int, page url.Values) (*Reply, *Fault) {
	key := targetKey{
		provider: p, credential: credential, path: l.Path, connect: p.Timeouts.Connect, base: true,
		errors: errorclass.Of(p.UsageReader, listStyle(p)), wire: &l.Wire,
	}
	t := c.cachedTarget(key)
	if t == nil {
		var err error
		if t, err = c.addTarget(key, l.Path); err != nil {
			return nil, NewFault(ClassSetup, err)
		}
	}
	u := *t.url
	if len(page) > 0 {
		values := u.Query()
		for name := range page {
			values.Set(name, page.Get(name))
		}
		u.RawQuery = values.Encode()
	}
	header := t.header.Clone()
	header.Set("Accept", jsonType)
	header.Del("Content-Type")
	resp, err := t.exchange(ctx, &http.Request{ //nolint:bodyclose // The reply closes it.
		Method: http.MethodGet, URL: &u, Host: u.Host, Header: c.withParent(ctx, header), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil, nil)
	if err != nil {
		return nil, faultOfDeadline(ctx, err)
	}
	return &Reply{Status: resp.StatusCode, Header: resp.Header, Size: resp.ContentLength, ctx: ctx, target: t, body: resp.Body}, nil
}

// listStyle is the style whose table of errors is used for a list of a provider without a table of its own.
func listStyle(p *catalog.Provider) llm.Style {
	if len(p.Wires) == 1 {
		for style := range p.Wires {
			return style
		}
	}
	return llm.Chat
}
