package operator

import (
	"strings"
	"time"

	"umg/app"
	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

const (
	queueCountMax = 100_000 // the largest count that the database queries return
	silentAfter   = 20 * time.Second
)

// The kinds of background work.
const (
	QueueVideos   = "videos"
	QueueWebhooks = "webhooks"
	QueueAssets   = "assets"
	QueueMails    = "mails"
	QueueMoney    = "settlement"
	QueueErasure  = "erasure"
	QueuePictures = "pictures"
	QueuePayments = "payments"
)

// Queues is the work that goes on behind calls, of all accounts and replicas.
type Queues struct {
	views.Shell
	Kinds     []QueueKind
	Providers []QueueProvider // providers with running videos
	Replicas  []QueueReplica
	Items     []QueueItem // the work that waits too long, oldest first
	Failure   *views.LoadFailure
}

// QueueKind is one kind of work.
type QueueKind struct {
	ID               string
	Waiting, Working int64
	Parts            []QueuePart // the waiting work, by part
	Oldest           *time.Time
	Behind           time.Duration // the value that the rule measures
	Trouble          string        // a further problem as a sentence; the queue is then at least late
	Broken           bool          // stuck, whatever the time is
	Done             []QueuePart   // work done in the last hour
	Off              string        // why the server has no such work
	Failing          int64         // waiting jobs whose last attempt failed
	HasJobs          bool          // HasJobs means that the queue has a page that lists its jobs.
}

// QueuePart is a number of things and what they are.
type QueuePart struct {
	Count int64
	What  string // words after the number
}

// QueueProvider are the videos at one provider that have not ended.
type QueueProvider struct {
	Name                     string
	Queued, Running, Storing int64
	Vain                     int64 // jobs without an answer of the provider
	Oldest                   time.Time
	Behind                   time.Duration
}

// QueueReplica is a replica as the books know it.
type QueueReplica struct {
	ID     string
	Live   bool
	Lost   bool
	Heard  time.Time
	Since  time.Time
	Left   app.Amount // credit that the stopped replica still holds
	Leases int64
	Marks  int64 // calls without a settlement
}

// QueueItem is one thing that waits too long.
type QueueItem struct {
	Kind, ID  string
	AccountID string // empty when it belongs to no account
	Since     time.Time
	Why       string
	NoJob     bool // The item is no row of a queue, such as content to delete.
}

// queueRule says from when on a kind of work is late, and from when on it is stuck.
type queueRule struct {
	name, what  string
	icon        ui.IconName
	late, stuck time.Duration
	measure     string // "late when … for", before the time
}

var queueRules = map[string]queueRule{
	QueueVideos: {"Videos", "Jobs at providers, and their copies", ui.IconFilm, time.Minute, 10 * time.Minute,
		"the next step of a job is overdue"},
	QueueWebhooks: {"Webhooks", "Events to deliver to customers", ui.IconWebhook, time.Minute, 15 * time.Minute,
		"a delivery that could be sent is overdue"},
	QueueAssets: {"Material assets", "Asset registration and deletion", ui.IconBox, 2 * time.Minute, 15 * time.Minute,
		"the next look at an asset is overdue"},
	QueueMails: {"Mails", "Outgoing email", ui.IconMail, 10 * time.Minute, 2 * time.Hour,
		"a mail has waited"},
	QueueMoney: {"Settlement", "Charges to post to the ledger", ui.IconReceipt, silentAfter, 85 * time.Second,
		"a live replica has not reported"},
	QueueErasure: {"Erasing", "Closed accounts and expired content", ui.IconTrash, 10 * time.Minute, time.Hour,
		"an account's round is overdue"},
	QueuePictures: {"Late pictures", "Thumbnails and spritesheets of completed videos", ui.IconImage, 10 * time.Minute, time.Hour,
		"the next attempt at a picture is overdue"},
	QueuePayments: {"Payments", "Top-ups whose payment is looked up again", ui.IconWallet, 10 * time.Minute, time.Hour,
		"the next look at a payment is overdue"},
}

func (r queueRule) words() string {
	return "Late when " + r.measure + " for " + together(r.late) + ", stuck for " + together(r.stuck) + "."
}

// together keeps the number of a time and its unit on one line.
func together(d time.Duration) string { return strings.ReplaceAll(lasted(d), " ", "\u00a0") }

// lasted prints a duration in short words. Whole minutes and hours have no smaller unit.
func lasted(d time.Duration) string {
	switch {
	case d < time.Minute, d < 2*time.Minute && d%time.Minute != 0:
		return format.Count(int64(d/time.Second)) + " s"
	case d < time.Hour, d < 2*time.Hour && d%time.Hour != 0:
		return format.Count(int64(d/time.Minute)) + " min"
	case d < 48*time.Hour:
		return format.Count(int64(d/time.Hour)) + " h"
	}
	return format.Count(int64(d/(24*time.Hour))) + " d"
}

func (k QueueKind) rule() queueRule { return queueRules[k.ID] }

var (
	queueOff   = views.Badge{Tone: ui.Plain, Text: "Off"}
	queueOK    = views.Badge{Tone: ui.Success, Text: "OK"}
	queueLate  = views.Badge{Tone: ui.Warning, Text: "Late"}
	queueStuck = views.Badge{Tone: ui.Danger, Text: "Stuck"}
)

// verdict is how a kind of work does.
func (k QueueKind) verdict() views.Badge {
	switch r := k.rule(); {
	case k.Off != "":
		return queueOff
	case k.Broken || k.Behind >= r.stuck:
		return queueStuck
	case k.Trouble != "" || k.Behind >= r.late:
		return queueLate
	}
	return queueOK
}

// why is what makes it late, and the rule where nothing does.
func (k QueueKind) why() string {
	var words []string
	if k.Off != "" {
		return k.Off
	}
	if r := k.rule(); k.Behind >= r.late {
		words = append(words, strings.ToUpper(r.measure[:1])+r.measure[1:]+" for "+lasted(k.Behind)+".")
	}
	if k.Trouble != "" {
		words = append(words, k.Trouble)
	}
	return strings.Join(words, " ")
}

// said is the state of all queues in a sentence, for screen readers.
func (q Queues) said() views.Badge {
	var stuck, late []string
	for _, k := range q.Kinds {
		switch k.verdict() {
		case queueStuck:
			stuck = append(stuck, k.rule().name)
		case queueLate:
			late = append(late, k.rule().name)
		}
	}
	var words []string
	if len(stuck) > 0 {
		words = append(words, "Stuck: "+strings.Join(stuck, ", ")+".")
	}
	if len(late) > 0 {
		words = append(words, "Late: "+strings.Join(late, ", ")+".")
	}
	switch {
	case len(stuck) > 0:
		return views.Badge{Tone: ui.Danger, Text: strings.Join(words, " ")}
	case len(late) > 0:
		return views.Badge{Tone: ui.Warning, Text: strings.Join(words, " ")}
	}
	return views.Badge{Tone: ui.Success, Text: "All queues healthy."}
}

// many is a number as far as it was counted.
func many(n int64) string {
	if n >= queueCountMax {
		return format.Count(queueCountMax) + "+"
	}
	return format.Count(n)
}

// parts are those that are not nothing, in words.
func parts(list []QueuePart) string {
	var words []string
	for _, p := range list {
		if p.Count > 0 {
			words = append(words, many(p.Count)+" "+p.What)
		}
	}
	return strings.Join(words, " · ")
}

// done is what was worked off in the hour: the first part as a number, the others below it.
func (k QueueKind) done() (first QueuePart, rest []QueuePart) {
	if len(k.Done) == 0 {
		return QueuePart{Count: -1}, nil
	}
	return k.Done[0], k.Done[1:]
}

func (p QueueProvider) verdict() views.Badge {
	switch r := queueRules[QueueVideos]; {
	case p.Behind >= r.stuck:
		return queueStuck
	case p.Vain > 0 || p.Behind >= r.late:
		return queueLate
	}
	return queueOK
}

func (p QueueProvider) why() string {
	var words []string
	if p.Behind >= queueRules[QueueVideos].late {
		words = append(words, "A look is overdue for "+lasted(p.Behind)+".")
	}
	if p.Vain > 0 {
		words = append(words, "No answer about "+format.CountOf(p.Vain, "job", "jobs")+".")
	}
	return strings.Join(words, " ")
}

// verdict is how a replica does at the time of the page.
func (r QueueReplica) verdict(now time.Time) views.Badge {
	switch silent := now.Sub(r.Heard); {
	case r.Live && silent >= silentAfter:
		return views.Badge{Tone: ui.Warning, Text: "Silent"}
	case r.Live:
		return views.Badge{Tone: ui.Success, Text: "Live"}
	case r.Lost:
		return views.Badge{Tone: ui.Danger, Text: "Lost"}
	}
	return views.Badge{Tone: ui.Plain, Text: "Ended"}
}

// left is what a replica that is over has left, in words.
func (r QueueReplica) left() string {
	var words []string
	if r.Leases > 0 {
		words = append(words, format.Dollars(r.Left)+" in "+format.CountOf(r.Leases, "lease", "leases"))
	}
	if r.Marks > 0 {
		words = append(words, format.CountOf(r.Marks, "call", "calls")+" to settle")
	}
	return strings.Join(words, ", ")
}

func (i QueueItem) kind() string {
	if r, known := queueRules[i.Kind]; known {
		return r.name
	}
	return i.Kind
}

// hasJob reports whether the item has a page of its own. Replicas have none.
func (i QueueItem) hasJob() bool { return i.Kind != QueueMoney && i.Kind != "" && !i.NoJob }

func (i QueueItem) accountPath() string { return views.OperatorAccountsPath + "/" + i.AccountID }
