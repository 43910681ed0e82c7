package console

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"umg/app"
	"umg/app/apikey"
	"umg/app/catalog"
	"umg/app/console/page"
	"umg/app/meter"
	"umg/app/storage"
	"umg/app/video"
	"umg/views"
	videopages "umg/views/videos"
)

const (
	videosPath      = page.ConsolePath + "/videos"
	videosPageMax   = 24
	videosDeleteMax = 100 // One form deletes at most this many videos.
	remixesMax      = 6   // The page of a video names at most this many remixes.
	typicalOf       = 20  // The typical time is that of this many recent videos.
	millisPerSecond = 1000

	roundTypicalTo   = 5 * time.Second
	contentCachePage = "private, no-cache" // The browser revalidates the content each time, because a video may be deleted.
)

func (c *Console) videos(p *page.Page) error {
	q := videopages.ParseQuery(p.QueryParams())
	p.ReplaceURL(q.Path())
	ctx, account := p.Request().Context(), p.User.AccountID
	l := videopages.List{Shell: c.Shell(p), Query: q, Retention: days(c.o.Videos.Retention())}
	query := video.Query{After: q.After, Limit: videosPageMax, Status: q.Status, Model: q.Model, Search: q.Text}
	if q.Before != "" { // The page before is read backwards.
		query.After, query.Ascending = q.Before, true
	}
	found, err := c.o.Videos.List(ctx, account, query)
	if err != nil {
		return err
	}
	if q.Before != "" {
		slices.Reverse(found.Jobs)
	}
	if l.Stored, l.Bytes, err = c.o.Videos.Usage(ctx, account); err != nil {
		return err
	}
	for i := range found.Jobs {
		l.Videos = append(l.Videos, c.viewVideo(found.Jobs[i], ""))
	}
	if n := len(found.Jobs); n > 0 {
		if q.Before != "" || found.More {
			l.Older = found.Jobs[n-1].ID
		}
		if q.After != "" || q.Before != "" && found.More {
			l.Newer = found.Jobs[0].ID
		}
	}
	for _, m := range c.catalogFor(p).Models() {
		if m.VideoContract() != nil {
			l.Models = append(l.Models, m.ID)
		}
	}
	return c.Render(p, http.StatusOK, videopages.ListPage(l))
}

// days writes a retention time in words.
func days(d time.Duration) string {
	const day = 24 * time.Hour
	n := d / day
	if n == 1 {
		return "1 day"
	}
	if n > 0 {
		return strconv.Itoa(int(n)) + " days"
	}
	return d.Round(time.Minute).String()
}

// viewVideo returns a job for a page. Person is the user or the key that asked for it.
func (c *Console) viewVideo(j video.Job, person string) videopages.Video {
	v := videopages.Video{
		ID: j.ID, Model: j.Model, Prompt: j.Prompt, Size: j.Size, Seconds: j.Seconds, Status: j.State.Status(),
		Storing: j.State == video.Storing, Progress: j.Progress, ErrorCode: j.Problem.Code, ErrorMessage: j.Problem.Message,
		Held: j.Hold, Cost: j.Cost, RemixedFrom: j.RemixedFrom, FirstFrame: j.ImageType != "",
		Assets: j.Assets,
		KeyID:  j.KeyID, Person: person, CreatedAt: j.CreatedAt, StartedAt: j.StartedAt, EndedAt: j.CompletedAt, ExpiresAt: j.ExpiresAt,
		Gone: j.PurgedAt != nil || j.ExpiresAt != nil && !c.o.Now().Before(*j.ExpiresAt),
	}
	// The hold was for all seconds of the video.
	if j.Seconds > 0 && j.Hold%app.Amount(j.Seconds) == 0 {
		v.PerSecond = j.Hold / app.Amount(j.Seconds)
	}
	for _, variant := range video.Variants() {
		if f, ok := j.Content[variant]; ok {
			v.Files = append(v.Files, videopages.File{Variant: string(variant), Type: f.Type, Bytes: f.Bytes})
		}
	}
	return v
}

// secondOf returns the present price of one second of a video.
func secondOf(m *catalog.Model, size string) app.Amount {
	var usage meter.Counts
	usage[meter.Seconds] = millisPerSecond
	card := m.CardFor(size)
	cost, err := card.Cost(usage, meter.Terms{})
	if err != nil {
		return 0
	}
	return cost
}

// video shows one video.
func (c *Console) video(p *page.Page) error {
	d, err := c.videoDetail(p)
	return page.Show(c.Renderer, p, http.StatusOK, videopages.DetailPage, d, err)
}

func (c *Console) videoDetail(p *page.Page) (videopages.Detail, error) {
	ctx, account := p.Request().Context(), p.User.AccountID
	job, err := c.o.Videos.Get(ctx, account, p.Param("id"))
	if err != nil {
		return videopages.Detail{}, err
	}
	d := videopages.Detail{Shell: c.Shell(p), Video: c.viewVideo(job, c.asker(p, job)), Remix: c.remixOf(p, job)}
	d.Remix.Once = c.onceToken()
	if !job.State.Ended() {
		d.Typical = c.typical(ctx, account, job)
	}
	if job.RemixedFrom != "" {
		source, err := c.o.Videos.Get(ctx, account, job.RemixedFrom)
		if err != nil && app.KindOf(err) != app.NotFound {
			return d, err
		}
		if err == nil {
			shown := c.viewVideo(source, "")
			d.Source = &shown
		}
	}
	remixes, err := c.o.Videos.List(ctx, account, video.Query{RemixedFrom: job.ID, Limit: remixesMax})
	if err != nil {
		return d, err
	}
	d.MoreRemix = remixes.More
	for i := range remixes.Jobs {
		d.Remixes = append(d.Remixes, c.viewVideo(remixes.Jobs[i], ""))
	}
	return d, nil
}

// asker returns the name of the key, or the address of the user, that asked for a job.
func (c *Console) asker(p *page.Page, j video.Job) string {
	if j.KeyID == "" {
		if j.UserID == p.User.ID {
			return p.User.Email
		}
		return ""
	}
	keys, err := c.o.APIKeys.List(p.Request().Context(), p.Principal())
	if err == nil {
		if i := slices.IndexFunc(keys, func(k apikey.Key) bool { return k.ID == j.KeyID }); i >= 0 {
			return keys[i].Name
		}
	}
	return j.KeyID
}

// typical returns the median time of recent videos like this one. It is empty if there were none or they cannot be read.
func (c *Console) typical(ctx context.Context, account string, j video.Job) string {
	page, err := c.o.Videos.List(ctx, account, video.Query{Status: string(video.Completed), Model: j.Model, Limit: typicalOf})
	if err != nil {
		return ""
	}
	var took []time.Duration
	for i := range page.Jobs {
		if one := &page.Jobs[i]; one.CompletedAt != nil && one.Seconds == j.Seconds && one.Size == j.Size {
			took = append(took, one.CompletedAt.Sub(one.CreatedAt))
		}
	}
	if len(took) == 0 {
		return ""
	}
	slices.Sort(took)
	middle := took[len(took)/2]
	if middle > 2*roundTypicalTo {
		middle = middle.Round(roundTypicalTo)
	}
	return videopages.Elapsed(max(middle, time.Second))
}

// videoProgress is the part of a page that shows how far a video is. To a browser without scripts it is the video's page.
func (c *Console) videoProgress(p *page.Page) error {
	if !p.ForScript() {
		return p.Redirect(http.StatusSeeOther, videopages.Path(p.Param("id")))
	}
	as := p.QueryParam("as")
	if as == "page" {
		d, err := c.videoDetail(p)
		if err != nil {
			return c.gone(p, err)
		}
		return c.Render(p, http.StatusOK, videopages.ProgressPart(d))
	}
	job, err := c.o.Videos.Get(p.Request().Context(), p.User.AccountID, p.Param("id"))
	if err != nil {
		return c.gone(p, err)
	}
	v := c.viewVideo(job, "")
	switch as {
	case "row":
		return c.Render(p, http.StatusOK, videopages.StatusPart(v))
	case "result":
		return c.Render(p, http.StatusOK, videopages.ResultWithBalance(v, c.Shell(p)))
	default:
		return c.Render(p, http.StatusOK, videopages.CardPart(v, views.Shell{Now: c.o.Now()}))
	}
}

// gone tells the script of a page that what it shows was deleted, so that the script reloads the page.
func (c *Console) gone(p *page.Page, err error) error {
	if app.KindOf(err) != app.NotFound || !p.ForScript() {
		return err
	}
	p.Response().Header().Set("HX-Refresh", "true")
	return p.NoContent(http.StatusNoContent)
}

// videoContent serves one of a video's files, to be played, shown or kept.
func (c *Console) videoContent(p *page.Page) error {
	variant := video.Variant(p.QueryParam("variant"))
	if variant == "" {
		variant = video.Movie
	}
	r := p.Request()
	blob, job, err := c.o.Videos.Open(r.Context(), p.User.AccountID, p.Param("id"), variant)
	if err != nil {
		return err
	}
	defer func() { _ = blob.Close() }()
	h := p.Response().Header()
	h.Set("Cache-Control", contentCachePage)
	if p.QueryParam("download") != "" {
		h.Set("Content-Disposition", `attachment; filename="`+fileName(job, variant)+`"`)
	}
	storage.Serve(p.Response(), r, blob, c.o.Now)
	return nil
}

// fileName returns the name under which a browser stores a file.
func fileName(j video.Job, variant video.Variant) string {
	ending := map[string]string{"video/mp4": ".mp4", "image/webp": ".webp", "image/jpeg": ".jpg", "image/png": ".png"}[j.Content[variant].Type]
	if variant == video.Movie {
		return j.ID + ending
	}
	return j.ID + "-" + string(variant) + ending
}

func (c *Console) askDeleteVideo(p *page.Page) error {
	job, err := c.o.Videos.Get(p.Request().Context(), p.User.AccountID, p.Param("id"))
	if err != nil {
		return err
	}
	d := videopages.Delete{Shell: c.Shell(p), Videos: []videopages.Video{c.viewVideo(job, "")}}
	return c.Render(p, http.StatusOK, videopages.DeletePage(d))
}

func (c *Console) deleteVideo(p *page.Page) error {
	err := c.o.Videos.Delete(p.Request().Context(), p.User.AccountID, p.Param("id"))
	return c.Done(p, err, "The video was deleted.", videosPath)
}

// deleteVideos asks about the videos that are ticked, and deletes them when the reader is sure.
func (c *Console) deleteVideos(p *page.Page) error {
	ctx, account := p.Request().Context(), p.User.AccountID
	found, sure, err := ticked(p, videosDeleteMax, func(id string) (video.Job, error) { return c.o.Videos.Get(ctx, account, id) })
	if err != nil {
		return err
	}
	if !sure {
		d := videopages.Delete{Shell: c.Shell(p)}
		for _, job := range found {
			d.Videos = append(d.Videos, c.viewVideo(job, ""))
		}
		return c.Render(p, http.StatusOK, videopages.DeletePage(d))
	}
	_, err = deleteEach(found, func(j video.Job) error { return c.o.Videos.Delete(ctx, account, j.ID) })
	done := "The video was deleted."
	if n := len(found); n > 1 {
		done = strconv.Itoa(n) + " videos were deleted."
	}
	return c.Done(p, err, done, videosPath)
}

func (c *Console) videoCode(p *page.Page) error {
	job, err := c.o.Videos.Get(p.Request().Context(), p.User.AccountID, p.Param("id"))
	if err != nil {
		return err
	}
	code := videopages.Code{Shell: c.Shell(p), Video: c.viewVideo(job, ""), Language: p.Language()}
	if code.KeyHint, err = c.keyHint(p); err != nil {
		return err
	}
	return c.Render(p, http.StatusOK, videopages.CodePage(code))
}
