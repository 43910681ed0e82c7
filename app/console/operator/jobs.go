package operator

import (
	"context"
	"net/http"

	"umg/app"
	"umg/app/console/page"
	"umg/app/operator"
	"umg/app/workqueue"
	operatorpages "umg/views/operator"
	"umg/views/ui"
)

// jobRoutes are the pages about the jobs of each queue.
func (c *Console) jobRoutes() []page.Route {
	a := page.Area{Operator: true, Missing: c.o.Actions == nil}
	const job = "/operator/queues/:queue/jobs/:job"
	return []page.Route{a.Get("/operator/queues/:queue", c.jobs), a.Get(job, c.job), a.Post(job+"/retry", c.retryJob)}
}

// jobQueues are the queues of this server with rows that operators can read, by kind.
func (c *Console) jobQueues() map[string]workqueue.Queue {
	all := map[string]workqueue.Queue{operatorpages.QueueErasure: c.o.Accounts.ErasureJobs()}
	if c.o.Mail != nil {
		all[operatorpages.QueueMails] = c.o.Mail.Jobs()
	}
	if c.o.Webhooks != nil {
		all[operatorpages.QueueWebhooks] = c.o.Webhooks.Jobs()
	}
	if c.o.Assets != nil {
		all[operatorpages.QueueAssets] = c.o.Assets.Jobs()
	}
	if c.o.Videos != nil {
		all[operatorpages.QueueVideos], all[operatorpages.QueuePictures] = c.o.Videos.Jobs(), c.o.Videos.PictureJobs()
	}
	if c.o.Payments != nil && c.o.Payments.Enabled() {
		all[operatorpages.QueuePayments] = c.o.Payments.Jobs()
	}
	return all
}

func (c *Console) queueOf(p *page.Page) (workqueue.Queue, string, error) {
	name := p.Param("queue")
	queue, known := c.jobQueues()[name]
	if !known {
		return queue, name, page.ErrNotFound()
	}
	return queue, name, nil
}

// jobs lists the jobs of one queue.
func (c *Console) jobs(p *page.Page) error {
	queue, name, err := c.queueOf(p)
	if err != nil {
		return err
	}
	q := operatorpages.ParseJobsQuery(p.QueryParams())
	p.ReplaceURL(q.Path(name))
	ctx, cancel := context.WithTimeout(p.Request().Context(), queryTimeMax)
	defer cancel()
	l := operatorpages.Jobs{Shell: c.Shell(p), Queue: name, Query: q}
	list, more, err := queue.List(ctx, workqueue.JobQuery{State: workqueue.JobState(q.State), Text: q.Text, After: q.After})
	if l.Failure, err = page.Unavailable(p, err); err != nil {
		return err
	}
	l.More = more
	for _, j := range list {
		l.List = append(l.List, viewJob(j))
	}
	return c.Render(p, http.StatusOK, operatorpages.JobsPage(l))
}

func viewJob(j workqueue.Job) operatorpages.Job {
	return operatorpages.Job{
		ID: j.ID, AccountID: j.AccountID, Kind: j.Kind, Step: j.Step, State: string(j.State), Tries: j.Tries, LastError: j.LastError,
		DueAt: j.DueAt, ClaimedUntil: j.ClaimedUntil, CreatedAt: j.CreatedAt,
	}
}

// job shows one job of a queue.
func (c *Console) job(p *page.Page) error {
	queue, name, err := c.queueOf(p)
	if err != nil {
		return err
	}
	found, err := queue.Find(p.Request().Context(), p.Param("job"))
	if err != nil {
		return err
	}
	d := operatorpages.JobDetail{Shell: c.Shell(p), Queue: name, Job: viewJob(found), Once: c.o.Actions.Once()}
	retries, err := c.o.Actions.JobRetries(p.Request().Context(), found.ID)
	if err != nil {
		return err
	}
	for _, r := range retries {
		d.Retries = append(d.Retries, operatorpages.JobRetry{By: r.Operator, At: r.At})
	}
	return c.Render(p, http.StatusOK, operatorpages.JobPageView(d))
}

// retryJob makes a job due now, once for each form.
func (c *Console) retryJob(p *page.Page) error {
	queue, name, err := c.queueOf(p)
	if err != nil {
		return err
	}
	once, to := p.FormValue("once"), operatorpages.JobPath(name, p.Param("job"))
	if !actionForm.MatchString(once) {
		return c.RedirectWithToast(p, ui.Warning, "The form was incomplete. Nothing was retried.", to)
	}
	done, err := c.o.Actions.RetryJob(p.Request().Context(), operator.Retry{
		Queue: queue, QueueName: name, JobID: p.Param("job"), Operator: p.User.Email, From: p.Principal().From, Once: once,
	})
	switch {
	case app.KindOf(err) == app.Conflict:
		return c.RedirectWithToast(p, ui.Warning, app.AsError(err).Message, to)
	case app.KindOf(err) == app.NotFound:
		return c.RedirectWithToast(p, ui.Info, "The job is done, or there is no such job.", operatorpages.JobsPath(name))
	case err != nil:
		return err
	case !done:
		return c.RedirectWithToast(p, ui.Info, "That was retried already.", to)
	}
	return c.RedirectWithToast(p, ui.Success, "The job is due now. A worker takes it within seconds.", to)
}
