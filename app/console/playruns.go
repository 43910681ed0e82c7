package console

import (
	"net/http"

	"umg/app"
	"umg/app/console/page"
	"umg/app/console/playground"
	playpages "umg/views/playground"
)

// runAnswersShown is how many answers the list of runs reads.
const runAnswersShown = 200

// runRoutes are the pages about the runs of the playground that the account keeps. Members who may read content see all of them.
func (c *Console) runRoutes() []page.Route {
	const one = "/playground/runs/:id"
	read := page.Area{Right: app.ReadContent, Missing: c.o.Content == nil}
	return []page.Route{
		read.Get("/playground/runs", c.runs), read.Get(one, c.run),
		read.Get(one+"/delete", c.askDeleteRun), read.Post(one+"/delete", c.deleteRun),
	}
}

// runs lists the newest runs. Without any, the page says whether the account keeps them.
func (c *Console) runs(p *page.Page) error {
	answers, err := c.o.Content.RunAnswers(p.Request().Context(), p.User.AccountID, runAnswersShown)
	if err != nil {
		return err
	}
	v := playpages.Runs{Shell: c.Shell(p), Kept: p.User.KeepContent, ManagesAccount: p.Principal().Rights.Has(app.ManageAccount)}
	for _, a := range answers {
		n := len(v.List)
		if n == 0 || v.List[n-1].ID != a.RunID {
			v.List = append(v.List, playpages.Run{ID: a.RunID, Title: a.Title, Person: a.Email, At: a.At})
			n++
		}
		v.List[n-1].Models = append(v.List[n-1].Models, a.Model)
	}
	return c.Render(p, http.StatusOK, playpages.RunsPage(v))
}

// runDetail reads the run that the path names.
func (c *Console) runDetail(p *page.Page) (playpages.RunDetail, error) {
	answers, err := c.o.Content.RunAnswersOf(p.Request().Context(), p.User.AccountID, p.Param("id"))
	if err != nil {
		return playpages.RunDetail{}, err
	}
	first := answers[0]
	d := playpages.RunDetail{
		Shell: c.Shell(p), Run: playpages.Run{ID: first.RunID, Title: first.Title, Person: first.Email, At: first.At}, URL: c.o.BaseURL,
	}
	for i := range answers {
		content, err := playground.ReadRun(&answers[i])
		if err != nil {
			return d, err
		}
		d.Run.Models = append(d.Run.Models, answers[i].Model)
		d.Answers = append(d.Answers, playpages.RunAnswer{
			Model: answers[i].Model, Result: content.Result, Content: viewContent(&content.Content),
		})
	}
	return d, nil
}

func (c *Console) run(p *page.Page) error {
	d, err := c.runDetail(p)
	if err != nil {
		return err
	}
	return c.Render(p, http.StatusOK, playpages.RunPage(d))
}

func (c *Console) askDeleteRun(p *page.Page) error {
	d, err := c.runDetail(p)
	if err != nil {
		return err
	}
	return c.Render(p, http.StatusOK, playpages.RunDeletePage(d))
}

func (c *Console) deleteRun(p *page.Page) error {
	err := c.o.Content.DeleteRun(p.Request().Context(), p.Principal(), p.Param("id"))
	return c.Done(p, err, "The run was deleted.", playpages.RunsPath)
}
