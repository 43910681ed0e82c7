package stories

import (
	"strings"
	"time"

	"umg/views"
	operatorpages "umg/views/operator"
)

// jobPages are the lists of jobs of queues, and the pages of single jobs.
func jobPages() []Story {
	list := func(name, title string, change func(*operatorpages.Jobs)) Story {
		return operatorStory(name, title, operatorpages.JobsPath(operatorpages.QueueMails),
			view(operatorpages.JobsPage, func(s views.Shell) operatorpages.Jobs {
				return operatorpages.Jobs{Shell: s, Queue: operatorpages.QueueMails, List: exampleJobs(), More: true}
			}, change))
	}
	one := func(name, title string, change func(*operatorpages.JobDetail)) Story {
		return operatorStory(name, title, operatorpages.JobPath(operatorpages.QueueWebhooks, exampleJobs()[1].ID),
			view(operatorpages.JobPageView, func(s views.Shell) operatorpages.JobDetail {
				return operatorpages.JobDetail{
					Shell: s, Queue: operatorpages.QueueWebhooks, Job: exampleJobs()[1], Once: "adj_01kb4a7k2f8s4j6h1d9a3g5b7t",
				}
			}, change))
	}
	long := nastyText + strings.Repeat("averylongwordwithoutanyspace", 12)
	return []Story{
		list("operator-jobs", "Jobs of a queue", func(*operatorpages.Jobs) {}),
		list("operator-jobs-filtered", "Jobs of a queue, failing ones on a later page", func(l *operatorpages.Jobs) {
			l.Query = operatorpages.JobsQuery{State: operatorpages.JobFailing, After: l.List[0].ID}
			l.List, l.More = l.List[1:2], false
		}),
		list("operator-jobs-none", "Jobs of a queue, none matches", func(l *operatorpages.Jobs) {
			l.Query, l.List, l.More = operatorpages.JobsQuery{Text: "nothing"}, nil, false
		}),
		list("operator-jobs-empty", "Jobs of a queue that is empty", func(l *operatorpages.Jobs) { l.List, l.More = nil, false }),
		list("operator-jobs-error", "Jobs of a queue cannot be read", func(l *operatorpages.Jobs) {
			l.List, l.More, l.Failure = nil, false, &views.LoadFailure{RequestID: "req_01kb4a7m9x3v5d2c8n6q1w0zpr"}
		}),
		list("operator-jobs-hostile", "Jobs of a queue, hostile text", func(l *operatorpages.Jobs) {
			l.Query.Text = long
			l.List[1].ID, l.List[1].Kind, l.List[1].Step, l.List[1].LastError, l.List[1].Tries = long, long, long, long, 1<<40
		}),
		one("operator-job", "A job that fails", func(*operatorpages.JobDetail) {}),
		one("operator-job-retried", "A job that an operator retried", func(d *operatorpages.JobDetail) {
			d.Retries = []operatorpages.JobRetry{{By: Email, At: at(2 * time.Minute)}, {By: "ops@example.com", At: at(3 * time.Hour)}}
		}),
		one("operator-job-working", "A job that a worker is at", func(d *operatorpages.JobDetail) {
			until := at(-40 * time.Second)
			d.Job.State, d.Job.ClaimedUntil = operatorpages.JobWorking, &until
		}),
		one("operator-job-hostile", "A job, hostile text", func(d *operatorpages.JobDetail) {
			d.Job.Kind, d.Job.Step, d.Job.LastError = long, long, long
			d.Retries = []operatorpages.JobRetry{{By: long, At: at(time.Minute)}}
		}),
	}
}

func exampleJobs() []operatorpages.Job {
	soon, later := at(-20*time.Second), at(-3*time.Hour)
	return []operatorpages.Job{
		{ID: "mail_01kb4a7k2f8s4j6h1d9a3g5b7a", Kind: "verify_email", Step: "queued", State: operatorpages.JobWaiting, DueAt: &soon,
			CreatedAt: at(40 * time.Second)},
		{ID: "whd_01kb4a7k2f8s4j6h1d9a3g5b7b", AccountID: storyAccount, Kind: "video.completed", Step: "pending",
			State: operatorpages.JobFailing, Tries: 7, LastError: "HTTP 503 the server answered with an error", DueAt: &later,
			CreatedAt: at(9 * time.Hour)},
		{ID: "mail_01kb4a7k2f8s4j6h1d9a3g5b7c", Kind: "budget_alert", Step: "failed", State: operatorpages.JobGivenUp, Tries: 12,
			LastError: "550 mailbox unavailable", CreatedAt: at(26 * time.Hour)},
	}
}
