package console

import (
	"net/http"
	"strconv"
	"time"

	"umg/app"
	"umg/app/console/page"
	"umg/views"
	keypages "umg/views/keys"
)

func (c *Console) askRotateKey(p *page.Page) error {
	k, err := c.ownKey(p)
	v := keypages.Rotate{Shell: c.Shell(p), Key: k, Overlap: keypages.DefaultOverlap}
	return page.Show(c.Renderer, p, http.StatusOK, keypages.RotatePage, v, err)
}

// rotateKey answers with the new secret itself: it is shown once and kept nowhere.
func (c *Console) rotateKey(p *page.Page) error {
	k, err := c.ownKey(p)
	if err != nil {
		return err
	}
	ask := keypages.Rotate{Shell: c.Shell(p), Key: k, Overlap: p.FormValue("overlap")}
	seconds, err := strconv.ParseInt(ask.Overlap, 10, 32)
	if err != nil {
		ask.OverlapError = "Choose one of these."
		return c.Render(p, http.StatusUnprocessableEntity, keypages.RotatePage(ask))
	}
	key, secret, err := c.o.APIKeys.Rotate(p.Request().Context(), p.Principal(), k.ID, time.Duration(seconds)*time.Second)
	if refusal := app.AsError(err); err != nil && refusal.Kind == app.Invalid {
		ask.OverlapError = refusal.Message
		return c.Render(p, http.StatusUnprocessableEntity, keypages.RotatePage(ask))
	} else if err != nil {
		return err
	}
	return c.Render(p, http.StatusOK, keypages.RotatedPage(keypages.Rotated{
		Shell: c.Shell(p), Fresh: views.FreshKey{Key: viewKey(key), Secret: secret}, Call: c.sampleCall(p, secret),
	}))
}

func (c *Console) askEndOldSecret(p *page.Page) error {
	k, err := c.ownKey(p)
	return page.Show(c.Renderer, p, http.StatusOK, keypages.EndOldPage, keypages.Question{Shell: c.Shell(p), Key: k}, err)
}

func (c *Console) endOldSecret(p *page.Page) error {
	k, err := c.ownKey(p)
	if err == nil {
		err = c.o.APIKeys.EndOldSecret(p.Request().Context(), p.Principal(), k.ID)
	}
	return c.Done(p, err, "Only the newest secret of "+k.Name+" works.", views.KeyPath(k.ID))
}
