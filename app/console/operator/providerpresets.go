package operator

import (
	"net/http"
	"slices"
	"strings"

	"umg/app/catalog"
	"umg/app/console/page"
	"umg/app/library"
	"umg/app/preset"
	"umg/views"
	operatorpages "umg/views/operator"
)

// providerPresets shows the presets to pick from.
func (c *Console) providerPresets(p *page.Page) error {
	v := operatorpages.ProviderPresets{Shell: c.Shell(p), Text: strings.TrimSpace(views.FilterText(p.QueryParam("q")))}
	lib, err := library.Load(p.Request().Context(), c.o.DB)
	if err != nil {
		return err
	}
	file, err := catalog.Export(p.Request().Context(), c.o.DB)
	if err != nil {
		return err
	}
	words := strings.Fields(strings.ToLower(v.Text))
	for _, known := range preset.All() {
		card := presetCard(known, lib, &file)
		text := strings.ToLower(strings.Join([]string{card.ID, card.Name, card.Note}, " "))
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			v.List = append(v.List, card)
		}
	}
	slices.SortStableFunc(v.List, func(a, b operatorpages.PresetCard) int {
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	v.All = len(preset.All())
	return c.Render(p, http.StatusOK, operatorpages.ProviderPresetsPage(v))
}

func presetCard(known *preset.Preset, lib *library.Library, file *catalog.File) operatorpages.PresetCard {
	card := operatorpages.PresetCard{ID: known.ID, Name: known.Name, Note: known.Note}
	for _, choice := range lib.Choices(known.ID, nil) {
		if choice.Priced {
			card.Priced++
		}
	}
	for i := range file.Providers {
		if file.Providers[i].Preset == known.ID {
			card.Providers++
		}
	}
	return card
}
