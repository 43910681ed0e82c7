package asset

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/catalog"
	"umg/app/postgres"
	"umg/app/provider"
	"umg/app/provider/assetapi"
)

const (
	nameRunesMax = 200
	urlBytesMax  = 2048
	registerMax  = 45 * time.Second // This time runs from the insert of the row.
	answeredWait = 2 * time.Second  // After a refusal, the worker waits this long before it looks for the asset.
	cutWait      = 10 * time.Second // After an unknown outcome, the worker waits this long.
	busyRetry    = 2 * time.Second
)

// Create registers a source with the provider that keeps assets, and answers with the new asset in the state created. Its
// row is there before the provider is asked, so that whatever ends the call leaves something the worker cleans up.
func (s *Service) Create(ctx context.Context, p app.Principal, spec Spec) (Asset, error) {
	spec, err := checked(spec)
	if err != nil {
		return Asset{}, err
	}
	earlier, err := s.earlier(ctx, p.AccountID, spec.ID)
	if err != nil || earlier != nil {
		return earlier.created(), err
	}
	if err := s.mayCreate(ctx, p.AccountID, spec.ID); err != nil {
		return Asset{}, err
	}
	keeper, ok := s.o.Snapshot().AssetProvider()
	if !ok {
		return Asset{}, notFound()
	}
	leave, err := s.creates.enter(ctx, p.AccountID)
	if err != nil {
		return Asset{}, err
	}
	defer leave()
	found, err := s.inspect(ctx, spec.Kind, spec.URL)
	if err != nil {
		return Asset{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.registerMax()) // From here on, a caller who leaves ends nothing.
	defer cancel()
	row := s.newRow(p.AccountID, spec, found, keeper)
	if earlier, err = s.reserve(ctx, row); err != nil || earlier != nil {
		return earlier.created(), err
	}
	return s.register(ctx, p, row)
}

// registerMax is how long a create may run from its row on: it must be over before the worker takes it for cut.
func (s *Service) registerMax() time.Duration { return min(registerMax, s.o.Waits.Settle*3/4) }

// earlier is what an earlier try of the same request made, nil where there was none or it did not get that far.
func (s *Service) earlier(ctx context.Context, accountID, id string) (*assetRow, error) {
	if id == "" {
		return nil, nil
	}
	row, err := byID(ctx, s.db, accountID, id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, postgres.StoreError("asset: read an asset", err)
	}
	return &row, nil
}

// checked is a spec that can be asked for, with its name.
func checked(spec Spec) (Spec, error) {
	switch {
	case spec.Kind == "":
		return spec, app.MissingField("asset_type", "asset_type is required: %s.", kindWords())
	case spec.Kind != Image && spec.Kind != Video && spec.Kind != Audio:
		return spec, app.InvalidRequest("asset_type", "asset_type must be one of %s.", kindWords())
	case spec.URL == "":
		return spec, app.MissingField("url", "url is required: the public address of the source.")
	case len(spec.URL) > urlBytesMax || !utf8.ValidString(spec.URL):
		return spec, app.InvalidRequest("url", "url must be an address of at most %d bytes.", urlBytesMax)
	case !utf8.ValidString(spec.Name) || utf8.RuneCountInString(spec.Name) > nameRunesMax ||
		strings.ContainsFunc(spec.Name, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }):
		return spec, app.InvalidRequest("name", "name must have at most %d characters, all of them printable.", nameRunesMax)
	}
	if spec.Name = strings.TrimSpace(spec.Name); spec.Name == "" {
		spec.Name = nameOf(spec.URL)
	}
	return spec, nil
}

// nameOf is what the end of an address's path says, as far as it can be read.
func nameOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	name := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, path.Base("/"+u.Path))
	if name = strings.TrimSpace(strings.Trim(name, "/")); name == "" {
		return u.Hostname()
	}
	return app.Truncate(name, nameRunesMax)
}

// mayCreate spares callers who cannot get an asset the look at their source. It decides nothing about the last place, which
// an earlier try with the same id may have taken.
func (s *Service) mayCreate(ctx context.Context, accountID, id string) error {
	stopped, err := postgres.Get[bool](ctx, s.db, `select frozen_at is not null from accounts where id = $1`, accountID)
	if err != nil {
		return postgres.StoreError("asset: read an account", err)
	}
	if stopped {
		return app.Errorf(app.Forbidden, "account_frozen",
			"This account is frozen, so nothing can be made for it. Write to support to find out why.").Final()
	}
	n, err := live(ctx, s.db, accountID)
	if err == nil && n >= LiveMax && id == "" {
		return full()
	}
	return postgres.StoreError("asset: count assets", err)
}

func full() *app.Error {
	return app.Errorf(app.Forbidden, "asset_limit_reached",
		"This account has 10,000 material assets, which is as many as it may have. Delete unneeded assets before you create more.").Final()
}

func notFound() *app.Error {
	return app.Errorf(app.Unavailable, "no_available_provider", "No provider keeps material assets right now. Please try again later.")
}

func (s *Service) newRow(accountID string, spec Spec, found source, keeper *catalog.Provider) *assetRow {
	now := s.now()
	until := now.Add(s.o.Waits.Settle)
	row := &assetRow{
		ID: spec.ID, AccountID: accountID, Kind: spec.Kind, Name: spec.Name, URL: spec.URL, State: Created, MediaType: found.MediaType,
		Bytes: found.bytes, Width: found.width, Height: found.height, Provider: keeper.ID, Group: keeper.AssetGroup,
		PendingAt: &now, DueAt: &until, ClaimedUntil: &until, CreatedAt: now, UpdatedAt: now,
	}
	if row.ID == "" {
		row.ID = s.o.IDs.New("asset")
	}
	return row
}

// reserve takes a place in the account's count. It returns the row of an earlier try of the same request that got further;
// one that did not is taken over.
func (s *Service) reserve(ctx context.Context, row *assetRow) (made *assetRow, err error) {
	fresh, err := insert(ctx, s.db, row)
	switch {
	case errors.Is(err, errFull):
		return nil, full()
	case errors.Is(err, errClosed):
		return nil, app.Errorf(app.Forbidden, "account_closed", "This account is closed, so nothing can be made for it.").Final()
	case err != nil:
		return nil, postgres.StoreError("asset: keep a new asset", err)
	case fresh:
		return nil, nil
	}
	if made, err = s.earlier(ctx, row.AccountID, row.ID); err != nil || made != nil {
		return made, err
	}
	// The row of an earlier try is taken over, unless that try may still run or a worker has the row.
	pending, err := postgres.Get[assetRow](ctx, s.db, `
		update assets a set claimed_until = $4, due_at = $4, pending_at = $3
		where a.account_id = $1 and a.id = $2 and a.pending_at is not null and a.deleted_at is null and a.claimed_until <= $3
		returning `+columns, row.AccountID, row.ID, *row.PendingAt, *row.ClaimedUntil)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, app.Errorf(app.Conflict, "asset_in_progress",
			"An earlier try of this request is still being cleaned up. Try again in a moment.").After(busyRetry)
	}
	if err != nil {
		return nil, postgres.StoreError("asset: take an asset over", err)
	}
	*row = pending
	return nil, nil
}

// register has the provider keep the source of a pending row, and shows the row to its account.
func (s *Service) register(ctx context.Context, p app.Principal, row *assetRow) (Asset, error) {
	keeper, ok := s.keeper(row)
	if !ok {
		return Asset{}, errors.Join(notFound(), postgres.StoreError("asset: remove an asset", remove(ctx, s.db, row)))
	}
	item, f := s.o.Upstreams.Create(ctx, keeper, assetapi.CreateRequest{
		Reference: row.ID, Group: row.Group, Kind: string(row.Kind), URL: row.URL, Name: row.Name,
	})
	switch {
	case f != nil && assetapi.Ambiguous(f):
		found, known, unasked := s.o.Upstreams.Find(ctx, keeper, row.Group, row.ID)
		if !known {
			s.o.Log.Warn("asset registration uncertain, worker will check", "asset_id", row.ID, "provider", row.Provider,
				"fault", f.Error(), "asked", unasked == nil)
			return Asset{}, errors.Join(failure(f), s.handOver(ctx, row, f))
		}
		item = found
	case f != nil:
		if err := remove(ctx, s.db, row); err != nil {
			s.o.Log.Warn("removing refused asset failed, worker will retry", "asset_id", row.ID, "error", err)
		}
		return Asset{}, refusal(f)
	}
	if err := s.settle(ctx, p, row, item); err != nil {
		return Asset{}, err
	}
	s.wake()
	return row.created(), nil
}

// handOver gives a row to the worker when it is uncertain whether the upstream has the asset. The worker waits until the upstream must be
// done with it. When the call took too long, its claim stays as it is, because the upstream may still work on it.
func (s *Service) handOver(ctx context.Context, row *assetRow, f *provider.Fault) error {
	wait := cutWait
	switch {
	case f.Status != 0:
		wait = answeredWait
	case f.Class == provider.ClassTotal:
		return nil
	}
	due := s.now().Add(wait)
	defer s.wake()
	return s.leave(ctx, row, &due, 0)
}

// settle makes a registered row visible, or leaves it to the worker, who then removes it on both sides.
func (s *Service) settle(ctx context.Context, p app.Principal, row *assetRow, item assetapi.Item) error {
	now, ours := s.now(), false
	address, _, _ := strings.Cut(row.URL, "?") // A query may be a signature.
	err := postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) (err error) {
		if ours, err = settle(ctx, tx, row, item.ID, item.Extra, now.Add(s.o.Waits.First), now); err != nil || !ours {
			return err
		}
		return s.audit.Write(ctx, tx, p, audit.Event{Action: "asset.created", Object: row.ID, Name: row.Name, Changes: audit.Changed(
			audit.Change{Field: "asset_type", To: string(row.Kind)}, audit.Change{Field: "url", To: address})})
	})
	if err != nil {
		return postgres.StoreError("asset: keep a registered asset", err)
	}
	if ours {
		row.UpstreamID, row.Extra, row.UpdatedAt = item.ID, item.Extra, now
		return nil
	}
	// Either all of the account's assets were deleted, or this process slept for so long that the worker was first.
	if keeper, ok := s.keeper(row); ok {
		if f := s.o.Upstreams.Delete(ctx, keeper, item.ID); f != nil {
			s.o.Log.Error("asset left at provider", "asset_id", row.ID, "provider", row.Provider,
				"upstream_id", item.ID, "fault", f.Error())
		}
	}
	return failure(provider.NewFault(provider.ClassTotal, nil))
}

// created is the asset as the answer of create tells it, whatever has become of it by then.
func (r *assetRow) created() Asset {
	if r == nil {
		return Asset{}
	}
	a := r.asset()
	a.State, a.Reason = Created, ""
	return a
}

// keeper is the provider that keeps an asset, as the catalog has it now.
func (s *Service) keeper(row *assetRow) (*catalog.Provider, bool) {
	p, ok := s.o.Snapshot().Provider(row.Provider)
	return p, ok && p.Unusable == ""
}

// sourceParams are the members of a registration that its caller chose, with what they are called here.
var sourceParams = map[string]string{"url": "url", "type": "asset_type", "name": "name"}

// refusal is the caller's error when the provider did not take an asset. The caller can act on what the provider says of the source.
func refusal(f *provider.Fault) error {
	param := sourceParams[f.Err.Param]
	if param == "" && f.Err.Param == "" && (f.Status == http.StatusUnprocessableEntity || f.Status == http.StatusUnsupportedMediaType ||
		f.Status == http.StatusRequestEntityTooLarge) {
		param = "url"
	}
	if f.Class == provider.ClassRefused && param != "" {
		return app.InvalidRequest(param, "%s", f.Err.Message).Because(f)
	}
	return failure(f)
}

// failure is the caller's error when the provider failed.
func failure(f *provider.Fault) error {
	message := "The provider that keeps material assets failed to answer. Please try again."
	if f.Class == provider.ClassRefused {
		message = f.Err.Message
	}
	return app.Errorf(app.Upstream, "upstream_error", "%s", message).Because(f).After(f.After)
}
