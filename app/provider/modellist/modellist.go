package modellist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"umg/app/catalog"
	"umg/app/provider"
)

const (
	// RowsMax bounds the models of all lists of a provider.
	RowsMax = 20_000

	progressRows = 1000
	pageBytesMax = 16 << 20
	pagesMax     = 400
	timeMax      = 2 * time.Minute
	pageTimeMax  = 45 * time.Second
)

// ErrNone means that the provider has no list of models.
var ErrNone = errors.New("modellist: the provider has no list of models")

// Model is a row of a list.
type Model struct {
	// ID is the provider's spelling, without the prefix of its list.
	ID string
	// ContextTokens is zero when the list does not say it.
	ContextTokens int64
}

// Options configure a Reader. Client and Provider are required.
type Options struct {
	Client   *provider.Client
	Provider *catalog.Provider
	// Credential is the index of the credential to use.
	Credential int
	// FirstPage means that only the first page of the first list is read.
	FirstPage bool
	// TimeMax bounds the time for a page. The default is 45 seconds.
	TimeMax time.Duration
	// Progress gets the number of models so far after each page and each thousand models; it may be nil.
	Progress func(read int)
	// Observe gets the header of each page; it may be nil.
	Observe func(http.Header)
}

// Read returns the models of all lists of a provider, each once and in the order of the lists. It returns ErrNone for a provider without
// a list, and otherwise a *provider.Fault.
func Read(ctx context.Context, c *provider.Client, p *catalog.Provider, progress func(read int)) ([]Model, error) {
	return ReadWith(ctx, Options{Client: c, Provider: p, Progress: progress})
}

// ReadWith is Read with further options.
func ReadWith(ctx context.Context, o Options) ([]Model, error) {
	if len(o.Provider.Lists) == 0 {
		return nil, ErrNone
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeMax, provider.ErrTotal)
	defer cancel()
	r := &reader{o: o, seen: map[string]bool{}}
	for _, l := range o.Provider.Lists {
		if f := r.list(ctx, l); f != nil {
			return r.models, f
		}
		if o.FirstPage {
			break
		}
	}
	return r.models, nil
}

// reader collects the models of all lists.
type reader struct {
	o      Options
	seen   map[string]bool
	models []Model
	pages  int
}

// list reads all pages of a list.
func (r *reader) list(ctx context.Context, l *catalog.ModelList) *provider.Fault {
	query, next := url.Values{}, ""
	for {
		if r.pages++; r.pages > pagesMax {
			return tooLarge("the list has more than %d pages", pagesMax)
		}
		found, f := r.page(ctx, l, query)
		if f != nil {
			return f
		}
		r.progress()
		if r.o.FirstPage || l.Pages == nil || found.next == "" || l.Pages.More != "" && !found.more {
			return nil
		}
		if found.next == next {
			return provider.NewFault(provider.ClassContent, errors.New("the list repeats a page"))
		}
		next = found.next
		query.Set(l.Pages.Parameter, next)
	}
}

// progress reports how many models there are so far.
func (r *reader) progress() {
	if r.o.Progress != nil {
		r.o.Progress(len(r.models))
	}
}

// page reads one page.
func (r *reader) page(ctx context.Context, l *catalog.ModelList, query url.Values) (pageEnd, *provider.Fault) {
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(r.o.TimeMax, pageTimeMax), provider.ErrTotal)
	defer cancel()
	reply, f := r.o.Client.List(ctx, r.o.Provider, l, r.o.Credential, query)
	if f != nil {
		return pageEnd{}, f
	}
	defer func() { _ = reply.Close() }()
	if r.o.Observe != nil {
		r.o.Observe(reply.Header)
	}
	if reply.Status != http.StatusOK {
		body, _ := reply.ReadAll(errorBytesMax) // The status is known, whatever the body is.
		return pageEnd{}, reply.StatusFault(reply.Status, body)
	}
	end, err := r.rows(reply, l)
	if err != nil {
		if known, ok := errors.AsType[*provider.Fault](err); ok {
			return pageEnd{}, known
		}
		return pageEnd{}, reply.Fault(err)
	}
	return end, nil
}

// errorBytesMax bounds what is read of an error.
const errorBytesMax = 64 << 10

func tooLarge(format string, args ...any) *provider.Fault {
	return provider.NewFault(provider.ClassTooLarge, fmt.Errorf(format, args...))
}
