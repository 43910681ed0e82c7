package videos

import (
	"net/url"
	"strconv"

	"github.com/a-h/templ"

	"umg/app"
	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

// stateWords explain the state to a user who wants to use the asset.
func (d AssetDetail) stateWords() string {
	switch {
	case d.Asset.State == AssetActive:
		return "can be used in video requests"
	case d.Asset.State == AssetFailed:
		return "cannot be used"
	case d.Asset.late(d.Now):
		return "takes longer than usual; reload the page to check again"
	default:
		return "the provider is processing it; this page updates automatically"
	}
}

// previewWords say why nothing is seen.
func (d AssetDetail) previewWords() string {
	switch {
	case d.Asset.Kind == AssetImage:
		return "The picture is too large for a preview, which goes up to " + strconv.Itoa(assetPreviewMax>>mebibyte) + " MiB."
	case d.Asset.source() == "":
		return "There is no preview, and its source cannot be opened from here."
	default:
		return "Videos and sounds have no preview here. The source is on another party’s server, which sees you when you open it."
	}
}

const mebibyte = 20 // bits of shift

// useWords lead to the model that the sample calls.
func (d AssetDetail) useWords() string {
	if d.Asset.State == AssetActive {
		return "Whole programs that make a video with it, by the model"
	}
	return "As soon as it is active, these programs make a video with it, by the model"
}

// rightToMakeVideos is what the link into the playground needs.
const rightToMakeVideos = app.MakeVideos

// asksToDelete are the attributes of what asks before the asset is deleted. By its name it is known again, with the
// keyboard on it, when another action is added beside it.
func (d AssetDetail) asksToDelete() templ.Attributes {
	attributes := ui.ModalTrigger(d.Asset.path("delete"))
	attributes["id"] = "asset-delete"
	return attributes
}

// playPath is the playground with the asset chosen.
func (d AssetDetail) playPath() string {
	return views.VideoPlayPath + "?" + url.Values{"model": {d.Call.Model}, "asset_ids": {d.Asset.ID}}.Encode()
}

// AssetsFrozen is why a frozen account makes no assets.
func AssetsFrozen() *AssetClosed {
	return &AssetClosed{
		Title: "This account is frozen",
		Text:  "It can look at its assets and delete them, and registers new ones again as soon as it is no longer frozen.",
	}
}

// AssetsFull is why an account with as many assets as it may have makes no more.
func AssetsFull(most int) *AssetClosed {
	n := format.Count(int64(most))
	return &AssetClosed{
		Title: n + " of " + n + " assets",
		Text:  "The account has as many assets as it may have. Delete assets you do not need to register more.",
	}
}

// AssetsUnkept is the reason why assets cannot be made when no provider stores them.
func AssetsUnkept() *AssetClosed {
	return &AssetClosed{
		Title: "No provider keeps assets right now", Text: "Assets can be registered again as soon as one does. Those you have can be deleted.",
	}
}
