package operator

import (
	"net/url"
	"time"

	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

// The states of jobs.
const (
	JobWaiting = "waiting"
	JobFailing = "failing"
	JobWorking = "working"
	JobGivenUp = "given_up"
)

var jobStates = []ui.Option{
	{Value: "", Label: "All"}, {Value: JobFailing, Label: "Failing"}, {Value: JobWaiting, Label: "Waiting"},
	{Value: JobWorking, Label: "Under way"}, {Value: JobGivenUp, Label: "Given up"},
}

var jobBadges = map[string]views.Badge{
	JobWaiting: {Tone: ui.Plain, Text: "Waiting"}, JobFailing: {Tone: ui.Warning, Text: "Failing"},
	JobWorking: {Tone: ui.Info, Text: "Under way"}, JobGivenUp: {Tone: ui.Danger, Text: "Given up"},
}

// Jobs are the jobs of one queue.
type Jobs struct {
	views.Shell
	Queue   string
	Query   JobsQuery
	List    []Job
	More    bool // there are further jobs
	Failure *views.LoadFailure
}

// Job is a row of a queue. It holds neither secrets nor content of customers.
type Job struct {
	ID, AccountID, Kind string
	Step                string // the state that the owner of the queue gives it
	State               string
	Tries               int
	LastError           string
	DueAt               *time.Time // nil when no attempt follows
	ClaimedUntil        *time.Time
	CreatedAt           time.Time
}

// JobDetail is one job with what operators can do to it.
type JobDetail struct {
	views.Shell
	Queue   string
	Job     Job
	Once    string // Once is the name under which a retry is made once.
	Retries []JobRetry
}

// JobRetry is who retried a job, and when.
type JobRetry struct {
	By string
	At time.Time
}

// JobsQuery says which jobs are listed. It is the address of the page.
type JobsQuery struct{ Text, State, After string }

// ParseJobsQuery reads an address, and leaves out what is unknown.
func ParseJobsQuery(values url.Values) JobsQuery {
	return JobsQuery{
		Text: views.FilterText(values.Get("q")), State: views.KnownOption(values.Get("state"), jobStates),
		After: views.FilterText(values.Get("after")),
	}
}

// Path is the address of the list.
func (q JobsQuery) Path(queue string) string {
	values := url.Values{}
	for name, value := range map[string]string{"q": q.Text, "state": q.State, "after": q.After} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if len(values) == 0 {
		return JobsPath(queue)
	}
	return JobsPath(queue) + "?" + values.Encode()
}

func (q JobsQuery) narrowed() bool { return q.Text != "" || q.State != "" }

// following is the page after a job.
func (q JobsQuery) following(id string) JobsQuery {
	q.After = id
	return q
}

// JobsPath is the list of the jobs of a queue.
func JobsPath(queue string) string { return views.QueuesPath + "/" + url.PathEscape(queue) }

// JobPath is the page of one job.
func JobPath(queue, id string) string { return JobsPath(queue) + "/jobs/" + url.PathEscape(id) }

// QueueName is the name of a queue. It is empty for one that does not exist.
func QueueName(queue string) string { return queueRules[queue].name }

func (j Job) verdict() views.Badge {
	if b, known := jobBadges[j.State]; known {
		return b
	}
	return views.Badge{Tone: ui.Plain, Text: j.State}
}

func (j Job) accountPath() string {
	return views.OperatorAccountsPath + "/" + url.PathEscape(j.AccountID)
}

// canRetry reports whether a retry may help. A worker that is at the job ends its attempt first.
func (j Job) canRetry() bool { return j.State != JobWorking }

// shown says how many jobs the page lists.
func (l Jobs) shown() string {
	text := format.CountOf(int64(len(l.List)), "job", "jobs")
	if l.More || l.Query.After != "" {
		text += " on this page"
	}
	return text
}
