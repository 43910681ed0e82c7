package videos

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"umg/views"
	"umg/views/codesample"
	"umg/views/format"
	"umg/views/ui"
)

const (
	assetsIntro = "Pictures, videos and sounds for video requests: registered once by their URL, then named by their id."

	assetSearchRunesMax = 199
	assetNameMax        = "200"
	assetURLMax         = "2048"
	assetPollEvery      = "every 3s"
	assetPollFor        = 10 * time.Minute // The page polls for assets younger than this.
	assetPreviewMax     = 8 << 20          // A preview fetches at most this many bytes of an image.
	assetQuotaNearly    = 90               // The page warns from this percentage of the limit.
	assetSizeDefault    = 20
	percentAll          = 100
)

// These are the kinds of an asset.
const (
	AssetImage = "image"
	AssetVideo = "video"
	AssetAudio = "audio"
)

// These are the states of an asset, as clients know them. Upstreams may have others.
const (
	AssetCreated    = "created"
	AssetProcessing = "processing"
	AssetActive     = "active"
	AssetFailed     = "failed"
)

// AssetPreviewMax is how many bytes of a picture are fetched to show it.
const AssetPreviewMax = assetPreviewMax

// Asset is one material asset of the account.
type Asset struct {
	ID, Kind, Name, URL string
	State, Reason       string // Reason is set for failed assets.
	MediaType           string // MediaType is detected from the first bytes of the source.
	Bytes               int64  // Bytes is zero when the source's server did not send it.
	Width, Height       int    // Width and Height are the pixels of an image.
	UpstreamID          string
	Extra               string // Extra is further JSON from the provider; empty without any.
	CreatedAt           time.Time
}

// AssetPath is the page of an asset.
func AssetPath(id string) string { return views.AssetsPath + "/" + url.PathEscape(id) }

func (a Asset) path(more ...string) string {
	return strings.Join(append([]string{AssetPath(a.ID)}, more...), "/")
}

func (a Asset) title() string {
	if strings.TrimSpace(a.Name) == "" {
		return format.ShortID(a.ID)
	}
	return a.Name
}

// settled reports whether the state will not change by itself any more.
func (a Asset) settled() bool { return a.State == AssetActive || a.State == AssetFailed }

// awaited reports whether the page polls for the state. It stops after a limited time.
func (a Asset) awaited(now time.Time) bool {
	return !a.settled() && now.Sub(a.CreatedAt) < assetPollFor
}

// late reports whether it takes longer than pages ask for.
func (a Asset) late(now time.Time) bool { return !a.settled() && !a.awaited(now) }

func (a Asset) verdict() views.Badge {
	switch a.State {
	case AssetActive:
		return views.Badge{Tone: ui.Success, Text: "Active"}
	case AssetFailed:
		return views.Badge{Tone: ui.Danger, Text: "Failed"}
	case AssetProcessing:
		return views.Badge{Tone: ui.Info, Text: "Processing"}
	case AssetCreated:
		return views.Badge{Tone: ui.Plain, Text: "Created"}
	default:
		return views.Badge{Tone: ui.Plain, Text: format.Truncate(a.State, assetStateRunesMax)}
	}
}

const assetStateRunesMax = 40

// previewed reports whether the page shows the picture itself.
func (a Asset) previewed() bool { return a.Kind == AssetImage && a.Bytes <= assetPreviewMax }

func (a Asset) icon() ui.IconName {
	switch a.Kind {
	case AssetImage:
		return ui.IconImage
	case AssetVideo:
		return ui.IconFilm
	case AssetAudio:
		return ui.IconMusic
	default:
		return ui.IconBox
	}
}

var assetKindWords = map[string]string{AssetImage: "Picture", AssetVideo: "Video", AssetAudio: "Sound"}

func (a Asset) kindWord() string {
	if w := assetKindWords[a.Kind]; w != "" {
		return w
	}
	return a.Kind
}

// mediaWords are formats that people know by another name than their media type's.
var mediaWords = map[string]string{
	"audio/mpeg": "MP3", "audio/mp4": "M4A", "video/quicktime": "MOV", "image/webp": "WebP", "video/webm": "WebM",
}

// mediaWords are the format by its short name, as in PNG.
func (a Asset) mediaWords() string {
	if w := mediaWords[a.MediaType]; w != "" {
		return w
	}
	_, format, found := strings.Cut(a.MediaType, "/")
	if !found {
		return a.MediaType
	}
	return strings.ToUpper(strings.TrimPrefix(format, "x-"))
}

// formatWords are the format, or the kind where that is not known.
func (a Asset) formatWords() string {
	if a.MediaType == "" {
		return a.kindWord()
	}
	return a.mediaWords()
}

// measures are the size of the file and of the picture, as far as they are known.
func (a Asset) measures() string {
	var words []string
	if a.Bytes > 0 {
		words = append(words, format.FileSize(a.Bytes))
	}
	if a.Width > 0 && a.Height > 0 {
		words = append(words, strconv.Itoa(a.Width)+" × "+strconv.Itoa(a.Height))
	}
	return strings.Join(words, ", ")
}

// source is the URL as a link, empty for what a browser should not be led to.
func (a Asset) source() string {
	u, err := url.Parse(a.URL)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	return u.String()
}

// sourceWords are the host and the end of the path, which tell sources apart where there is little room.
func (a Asset) sourceWords() string {
	u, err := url.Parse(a.URL)
	if err != nil || u.Host == "" {
		return a.URL
	}
	if at := strings.LastIndex(u.EscapedPath(), "/"); at > 0 {
		return u.Host + "/…" + u.EscapedPath()[at:]
	}
	return u.Host + u.EscapedPath()
}

// Assets is the list of an account's assets.
type Assets struct {
	views.Shell
	Query  AssetQuery
	Assets []Asset
	Total  int // Total counts the assets that match the filter.
	Live   int // Live counts the assets of the account.
	Max    int // Max is the limit of the account.
	Call   codesample.AssetCall
	Closed *AssetClosed // Closed is nil while assets can be made.
}

// AssetClosed says why no asset can be made right now.
type AssetClosed struct{ Title, Text string }

// AssetQuery says which assets are listed, and how. It is the address of the page.
type AssetQuery struct {
	Kind, State, Text string
	Cards             bool
	Page, Size        int
}

var assetKinds = []ui.Option{
	{Value: "", Label: "Any type"}, {Value: AssetImage, Label: "Pictures"}, {Value: AssetVideo, Label: "Videos"},
	{Value: AssetAudio, Label: "Sounds"},
}

var assetStates = []ui.Option{
	{Value: "", Label: "Any state"}, {Value: AssetCreated, Label: "Created"}, {Value: AssetProcessing, Label: "Processing"},
	{Value: AssetActive, Label: "Active"}, {Value: AssetFailed, Label: "Failed"},
}

var assetSizes = []ui.Option{{Value: "", Label: "20 a page"}, {Value: "50", Label: "50 a page"}, {Value: "100", Label: "100 a page"}}

// ParseAssetQuery reads an address; what cannot be meant is left out.
func ParseAssetQuery(values url.Values) AssetQuery {
	known := func(options []ui.Option, value string) string {
		if slices.ContainsFunc(options, func(o ui.Option) bool { return o.Value == value }) {
			return value
		}
		return ""
	}
	q := AssetQuery{
		Kind: known(assetKinds, values.Get("type")), State: known(assetStates, values.Get("state")),
		Text: format.Truncate(values.Get("q"), assetSearchRunesMax), Cards: values.Get("view") == "cards", Page: 1, Size: assetSizeDefault,
	}
	if n, err := strconv.Atoi(known(assetSizes, values.Get("size"))); err == nil {
		q.Size = n
	}
	if n, err := strconv.Atoi(values.Get("page")); err == nil && n > 1 && n <= assetPagesMax {
		q.Page = n
	}
	return q
}

const assetPagesMax = 10_000

// Path is the address of the list.
func (q AssetQuery) Path() string {
	values := url.Values{}
	set := func(name, value string, meant bool) {
		if meant && value != "" {
			values.Set(name, value)
		}
	}
	set("type", q.Kind, true)
	set("state", q.State, true)
	set("q", q.Text, true)
	set("view", "cards", q.Cards)
	set("size", strconv.Itoa(q.Size), q.Size > assetSizeDefault)
	set("page", strconv.Itoa(q.Page), q.Page > 1)
	if len(values) == 0 {
		return views.AssetsPath
	}
	return views.AssetsPath + "?" + values.Encode()
}

func (q AssetQuery) at(page int) AssetQuery {
	q.Page = page
	return q
}

func (q AssetQuery) as(cards bool) AssetQuery {
	q.Cards = cards
	return q
}

// all is the query without its filters.
func (q AssetQuery) all() AssetQuery { return AssetQuery{Cards: q.Cards, Size: q.Size} }

func (q AssetQuery) narrowed() bool { return q.Kind != "" || q.State != "" || q.Text != "" }

func (q AssetQuery) sizeValue() string {
	if q.Size <= assetSizeDefault {
		return ""
	}
	return strconv.Itoa(q.Size)
}

// pages is how many pages there are.
func (l Assets) pages() int { return max((l.Total+l.Query.Size-1)/max(l.Query.Size, 1), 1) }

// none reports whether the account never kept an asset, or has none left.
func (l Assets) none() bool { return l.Live == 0 && l.Total == 0 && !l.Query.narrowed() }

// shown says which of how many there are on the page.
func (l Assets) shown() string {
	what := format.CountOf(int64(l.Total), "asset", "assets")
	if l.Query.narrowed() {
		what = format.CountOf(int64(l.Total), "asset matches", "assets match")
	}
	if len(l.Assets) == 0 || len(l.Assets) == l.Total {
		return what
	}
	first := int64((l.Query.Page-1)*l.Query.Size + 1)
	return format.Count(first) + "–" + format.Count(first+int64(len(l.Assets))-1) + " of " + what
}

// awaited reports whether the page asks by itself how its assets are.
func (l Assets) awaited() bool {
	return slices.ContainsFunc(l.Assets, func(a Asset) bool { return a.awaited(l.Now) })
}

// quotaWords are the count against the limit.
func (l Assets) quotaWords() string {
	return format.Count(int64(l.Live)) + " of " + format.Count(int64(l.Max))
}

func (l Assets) left() int { return max(l.Max-l.Live, 0) }

func (l Assets) nearlyFull() bool { return l.Live*percentAll >= l.Max*assetQuotaNearly }

// quotaNote says how many more assets fit.
func (l Assets) quotaNote() string {
	switch {
	case l.left() == 0:
		return "The limit is reached: delete assets you do not need to register more."
	case l.nearlyFull():
		return "Only " + format.CountOf(int64(l.left()), "more fits", "more fit") + ". Delete assets you do not need."
	default:
		return format.CountOf(int64(l.left()), "more fits", "more fit")
	}
}

// AssetNew is the form for a new asset.
type AssetNew struct {
	views.Shell
	Form   AssetForm
	Closed *AssetClosed // Closed is nil while assets can be made.
}

// AssetForm is what was written into the form, and what is wrong with it.
type AssetForm struct {
	Kind, URL, Name                           string
	KindError, URLError, NameError, FormError string
}

// firstWrong is the field that the form begins with.
func (f AssetForm) firstWrong() string {
	switch {
	case f.KindError != "":
		return "type"
	case f.NameError != "" && f.URLError == "":
		return "name"
	default:
		return "url"
	}
}

var assetKindChoices = []ui.Option{
	{Value: AssetImage, Label: "Picture", Text: "JPEG, PNG, WebP or GIF, at most 30 MiB and 40 million pixels."},
	{Value: AssetVideo, Label: "Video", Text: "MP4, QuickTime or WebM, at most 500 MiB."},
	{Value: AssetAudio, Label: "Sound", Text: "MP3, WAV, M4A, AAC, Ogg or FLAC, at most 100 MiB."},
}

// AssetDetail is the page of one asset.
type AssetDetail struct {
	views.Shell
	Asset    Asset
	Call     codesample.AssetCall
	NotAsked string // NotAsked says why the provider's state is not known; empty when it is, or is not needed.
}

// AssetDelete asks before assets are deleted.
type AssetDelete struct {
	views.Shell
	Assets []Asset
}

func (d AssetDelete) title() string {
	if len(d.Assets) == 1 {
		return "Delete this asset?"
	}
	return "Delete " + strconv.Itoa(len(d.Assets)) + " assets?"
}

func (d AssetDelete) button() string {
	if len(d.Assets) == 1 {
		return "Delete asset"
	}
	return "Delete " + strconv.Itoa(len(d.Assets)) + " assets"
}

// action is where the form goes: to the page of one asset, or to the list.
func (d AssetDelete) action() string {
	if len(d.Assets) == 1 {
		return d.Assets[0].path("delete")
	}
	return views.AssetsPath + "/delete"
}

func (d AssetDelete) back() string {
	if len(d.Assets) == 1 {
		return d.Assets[0].path()
	}
	return views.AssetsPath
}
