package console

import (
	"slices"
	"strings"
	"unicode"

	"umg/app"
	"umg/app/asset"
	"umg/app/console/page"
	videopages "umg/views/videos"
)

const (
	assetChoicesMax = 50 // The video form lists at most this many active assets.
	// assetIDsMax bounds the ids that are read from the form. The model's own lower limit gives the error.
	assetIDsMax       = 100
	assetIDsBytesMax  = 8 << 10
	assetIDSeparators = ",;"
)

// chooseAssets fills in the assets of the video form, if the model takes assets and the reader may use them. If the list of assets to
// choose from cannot be read, the reader names assets by their ids.
func (c *Console) chooseAssets(p *page.Page, v *videopages.Playground, given []string) {
	at := slices.IndexFunc(v.Models, func(m videopages.Model) bool { return m.ID == v.Form.Model })
	if c.o.Assets == nil || at < 0 || v.Models[at].Assets == 0 {
		return
	}
	v.Form.Assets = assetIDs(given)
	who := p.Principal()
	if !who.Rights.Has(app.UseAssets) {
		return
	}
	found, err := c.o.Assets.List(p.Request().Context(), who, asset.Filter{State: asset.Active, Size: assetChoicesMax})
	if err != nil {
		return
	}
	for _, a := range found.Assets {
		v.Assets = append(v.Assets, viewAsset(a))
	}
	v.More = max(found.Total-len(found.Assets), 0)
}

// assetIDs returns the ids in the fields of a form, ticked and typed ones, without duplicates.
func assetIDs(fields []string) []string {
	var ids []string
	for _, field := range fields {
		if len(field) > assetIDsBytesMax {
			continue
		}
		for _, id := range strings.FieldsFunc(field, func(r rune) bool {
			return unicode.IsSpace(r) || strings.ContainsRune(assetIDSeparators, r)
		}) {
			if len(ids) < assetIDsMax && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}
