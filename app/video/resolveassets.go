package video

import (
	"context"
	"slices"

	"umg/app"
	"umg/app/catalog"
	"umg/app/provider/videoapi"
)

// resolveAssets finds the material assets that a call names, and leaves only the routes to the provider that keeps them: to all
// others their ids say nothing. It comes after the limits, as a provider may be asked how an asset is.
func (s *Service) resolveAssets(ctx context.Context, c *Call, p *plan) (err error) {
	if len(p.params.assets) == 0 {
		return nil
	}
	if s.o.Assets == nil {
		return noProvider(p.model)
	}
	if p.assets, err = s.o.Assets.References(ctx, c.Principal, p.params.assets); err != nil {
		return err
	}
	keeper := p.assets[0].Provider
	for _, one := range p.assets[1:] {
		if one.Provider != keeper {
			return app.Errorf(app.Invalid, "assets_apart", "asset_ids: %s and %s are kept by different providers, and no one of "+
				"them can use both. Make a video with one of them, or create the other again.", p.assets[0].ID, one.ID).At(paramAssets).Final()
		}
	}
	p.routes = slices.DeleteFunc(p.routes, func(r *catalog.Route) bool { return r.Provider.ID != keeper || !videoapi.TakesAssets(r) })
	if len(p.routes) == 0 {
		return noProvider(p.model)
	}
	return nil
}
