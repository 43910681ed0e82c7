package asset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lib/pq"

	"umg/app"
	"umg/app/postgres"
	"umg/app/provider/assetapi"
)

const (
	reasonRunesMax = 500
	referencesMax  = 100
)

// rank orders the states: an asset only goes to one that is not lower. Words of an upstream that are not ours are a way of being processed.
func (s State) rank() int {
	switch s {
	case Created:
		return 0
	case Active:
		return 2
	case Failed:
		return 3
	}
	return 1
}

// final states are looked at no more by the worker.
func (s State) final() bool { return s.rank() > 1 }

// verdict is what an upstream's answer makes of a row.
func verdict(row *assetRow, item assetapi.Item) (state State, reason string, extra []byte) {
	state = State(item.Status)
	for _, known := range []State{Created, Processing, Active, Failed} {
		if strings.EqualFold(item.Status, string(known)) {
			state = known
		}
	}
	switch {
	case strings.EqualFold(item.Status, "deleted"):
		return Failed, goneReason, item.Extra
	case state == "" || state.rank() < row.State.rank():
		return row.State, row.Reason, item.Extra
	case state == Failed && item.Reason == "":
		return Failed, "The provider could not use the source.", item.Extra
	case state == Failed:
		return Failed, app.Truncate(item.Reason, reasonRunesMax), item.Extra
	}
	return state, "", item.Extra
}

const goneReason = "The provider no longer has it."

// Get asks the provider how an asset is, keeps what it says and answers with it. Foreign ones are unknown.
func (s *Service) Get(ctx context.Context, p app.Principal, id string) (Asset, error) {
	row, err := s.row(ctx, p.AccountID, id)
	if err != nil {
		return Asset{}, err
	}
	if err := s.refresh(ctx, &row); err != nil {
		return Asset{}, err
	}
	return s.Peek(ctx, p, id)
}

// refresh asks the provider how an asset is and writes that down.
func (s *Service) refresh(ctx context.Context, row *assetRow) error {
	keeper, ok := s.keeper(row)
	if !ok {
		return app.Errorf(app.Upstream, "upstream_error", "The provider that keeps this asset cannot be asked right now. Please try again later.")
	}
	item, f := s.o.Upstreams.Get(ctx, keeper, row.UpstreamID)
	if assetapi.Gone(f) {
		item, f = assetapi.Item{Status: string(Failed), Reason: goneReason, Extra: row.Extra}, nil
	}
	if f != nil {
		return failure(f)
	}
	state, reason, extra := verdict(row, item)
	ctx, cancel := lasting(ctx)
	defer cancel()
	// Nothing is written when the row went on or was deleted since it was read, or when the upstream said nothing new.
	if err := postgres.Exec(ctx, s.db, `
		update assets set state = $3, reason = $4, extra = $5, updated_at = $6, due_at = case when $7 then null else due_at end
		where id = $1 and state = $2 and deleted_at is null and pending_at is null and (state, reason, extra) is distinct from ($3, $4, $5)`,
		row.ID, row.State, state, reason, object(extra), s.now(), state.final()); err != nil {
		return postgres.StoreError("asset: keep the state of an asset", err)
	}
	row.State, row.Reason, row.Extra = state, reason, extra
	return nil
}

// References finds the assets that a video call names. All must be the account's and active; an error names the first
// one that is not as asset_ids[i]. The service asks the provider about assets that were not ready at the last look. A
// caller who may make videos but not use assets gets the same error for every asset.
func (s *Service) References(ctx context.Context, p app.Principal, ids []string) ([]Reference, error) {
	if !p.Rights.Has(app.UseAssets) {
		return nil, app.Errorf(app.Forbidden, "insufficient_scope", "asset_ids needs the right to %s, which a key has by the scope assets. "+
			"Change the key in the console, use another one, or leave asset_ids out.", app.UseAssets).At("asset_ids").Final()
	}
	if len(ids) > referencesMax {
		return nil, app.InvalidRequest("asset_ids", "asset_ids may name at most %d assets.", referencesMax)
	}
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			return nil, app.InvalidRequest(place(i), "%s names the same asset a second time.", place(i))
		}
		if !plausible(id) {
			return nil, noAsset().At(place(i))
		}
	}
	rows, err := postgres.Select[assetRow](ctx, s.db, `
		select `+columns+` from assets a where a.account_id = $1 and a.id = any($2) and `+visible, p.AccountID, pq.StringArray(ids))
	if err != nil {
		return nil, postgres.StoreError("asset: read assets", err)
	}
	references := make([]Reference, len(ids))
	for i, id := range ids {
		at := slices.IndexFunc(rows, func(r assetRow) bool { return r.ID == id })
		if at < 0 {
			return nil, noAsset().At(place(i))
		}
		row := &rows[at]
		if !row.State.final() {
			if err := s.refresh(ctx, row); err != nil {
				s.o.Log.Warn("reading asset state failed", "asset_id", id, "error", err)
			}
		}
		if row.State != Active {
			return nil, notReady(i, row)
		}
		references[i] = Reference{ID: row.ID, Kind: row.Kind, Provider: row.Provider, UpstreamID: row.UpstreamID}
	}
	return references, nil
}

func place(i int) string { return fmt.Sprintf("asset_ids[%d]", i) }

func notReady(i int, row *assetRow) error {
	next := "Wait until its status is active."
	if row.State == Failed {
		next = "Register a source that can be used."
	}
	return app.Errorf(app.Invalid, "asset_not_ready", "%s is %s, and only active assets can be used. %s", place(i), row.State, next).
		At(place(i))
}

// isStore reports whether an error is the store's being away.
func isStore(err error) bool {
	known, ok := errors.AsType[*app.Error](err)
	return ok && known.Code == "service_unavailable"
}
