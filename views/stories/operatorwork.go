package stories

import (
	"strings"
	"time"

	"github.com/a-h/templ"

	"umg/app"
	"umg/views"
	operatorpages "umg/views/operator"
	"umg/views/ui"
)

// storyAccount is the id of an account with overdue jobs.
const storyAccount = "acct_01kb4a6zt4h2s8j5y7r3w9mvaq"

func queuePages() []Story {
	story := func(name, title string, change func(*operatorpages.Queues)) Story {
		return operatorStory(name, title, "/console/operator/queues", view(operatorpages.QueuesPage, exampleQueues, change))
	}
	return []Story{
		story("operator-queues", "Queues, all in time", func(*operatorpages.Queues) {}),
		story("operator-queues-empty", "Queues, nothing to do", func(q *operatorpages.Queues) {
			for i := range q.Kinds {
				k := &q.Kinds[i]
				*k = operatorpages.QueueKind{ID: k.ID, Done: k.Done}
				for j := range k.Done {
					k.Done[j].Count = 0
				}
			}
			q.Providers, q.Replicas = nil, q.Replicas[:1]
		}),
		story("operator-queues-late", "Queues, some late and some stuck", lateQueues),
		story("operator-queues-unmailed", "Queues, no mail server", func(q *operatorpages.Queues) {
			q.Kinds[3] = operatorpages.QueueKind{ID: operatorpages.QueueMails, Off: "There is no mail server; mails are kept and not sent."}
		}),
		story("operator-queues-store-error", "Queues, the store is away", func(q *operatorpages.Queues) {
			*q = operatorpages.Queues{Shell: q.Shell, Failure: &views.LoadFailure{RequestID: "req_01kb4a6zt4h2s8j5y7r3w9mvaq"}}
		}),
		story("operator-queues-hostile", "Queues, hostile text and more than is counted", func(q *operatorpages.Queues) {
			lateQueues(q)
			long := nastyText + strings.Repeat("averylongwordwithoutanyspace", 12)
			for i := range q.Kinds {
				q.Kinds[i].Waiting, q.Kinds[i].Working, q.Kinds[i].Trouble, q.Kinds[i].Behind = 1<<62, 100_000, long, 1<<62
			}
			q.Providers[0].Name, q.Providers[0].Queued, q.Replicas[0].ID = long, 1<<62, long
			for i := range q.Items {
				q.Items[i].ID, q.Items[i].Why, q.Items[i].AccountID = long, long, long
			}
		}),
	}
}

func exampleQueues(s views.Shell) operatorpages.Queues {
	return operatorpages.Queues{
		Shell: s,
		Kinds: []operatorpages.QueueKind{
			{ID: operatorpages.QueueVideos, HasJobs: true, Waiting: 14, Working: 63, Oldest: ago(11 * time.Minute), Behind: 800 * time.Millisecond,
				Parts: []operatorpages.QueuePart{{Count: 3, What: "to remove"}},
				Done:  []operatorpages.QueuePart{{Count: 412, What: "completed"}, {Count: 9, What: "failed"}}},
			{ID: operatorpages.QueueWebhooks, HasJobs: true, Failing: 5, Waiting: 37, Working: 2, Oldest: ago(9 * time.Hour),
				Parts: []operatorpages.QueuePart{{Count: 1, What: "due now"}, {Count: 30, What: "to try again"}, {Count: 6, What: "held"}},
				Done:  []operatorpages.QueuePart{{Count: 815, What: "delivered"}, {Count: 4, What: "given up in 24 h"}}},
			{ID: operatorpages.QueueAssets, HasJobs: true, Waiting: 5, Working: 1, Oldest: ago(48 * time.Second),
				Parts: []operatorpages.QueuePart{{Count: 4, What: "not ready"}, {Count: 2, What: "to remove"}},
				Done:  []operatorpages.QueuePart{{Count: 38, What: "settled"}}},
			{ID: operatorpages.QueueMails, HasJobs: true, Failing: 1, Waiting: 1, Oldest: ago(4 * time.Second), Behind: 4 * time.Second,
				Parts: []operatorpages.QueuePart{{Count: 1, What: "due now"}}, Done: []operatorpages.QueuePart{{Count: 96, What: "sent"},
					{What: "given up in 24 h"}}},
			{ID: operatorpages.QueueMoney, Waiting: 12, Working: 41, Behind: 3 * time.Second,
				Parts: []operatorpages.QueuePart{{Count: 12, What: "in the journal of this replica"}}},
			{ID: operatorpages.QueueErasure, HasJobs: true, Waiting: 3, Oldest: ago(20 * time.Hour),
				Parts: []operatorpages.QueuePart{{Count: 2, What: "closed"}, {Count: 1, What: "with content to delete"}}},
		},
		Providers: []operatorpages.QueueProvider{
			{Name: "kestrel", Queued: 11, Running: 48, Storing: 3, Oldest: at(11 * time.Minute), Behind: 800 * time.Millisecond},
			{Name: "meridian", Queued: 3, Running: 12, Oldest: at(3 * time.Minute)},
		},
		Replicas: []operatorpages.QueueReplica{
			{ID: replicaOne, Live: true, Heard: at(2 * time.Second), Since: at(26 * time.Hour)},
			{ID: replicaTwo, Live: true, Heard: at(3 * time.Second), Since: at(26 * time.Hour)},
		},
	}
}

func lateQueues(q *operatorpages.Queues) {
	videos, hooks, mails, money := &q.Kinds[0], &q.Kinds[1], &q.Kinds[3], &q.Kinds[4]
	videos.Trouble = "Providers report nothing for 3 of them."
	hooks.Waiting, hooks.Behind = 5310, 23*time.Minute
	hooks.Parts[0].Count = 5274
	mails.Waiting, mails.Behind, mails.Oldest = 44, 37*time.Minute, ago(37*time.Minute)
	mails.Parts = []operatorpages.QueuePart{{Count: 2, What: "due now"}, {Count: 42, What: "to try again"}}
	money.Broken, money.Trouble = true, "Replicas that are over and left something for more than 10 min: 1."
	q.Providers[0].Vain = 3
	q.Replicas = append(q.Replicas, operatorpages.QueueReplica{
		ID: "gateway-7d9f-00", Lost: true, Heard: at(50 * time.Minute), Since: at(50 * time.Hour), Left: 1_370_000_000, Leases: 4, Marks: 2,
	})
	q.Items = []operatorpages.QueueItem{
		{Kind: operatorpages.QueueMoney, ID: "gateway-7d9f-00", Since: at(50 * time.Minute),
			Why: "It is over, and left $1.37 in 4 leases and 2 calls to settle."},
		{Kind: operatorpages.QueueMails, ID: "mail_01kb4a6zt4h2s8j5y7r3w9mvaq", Since: at(37 * time.Minute),
			Why: "Of the kind verify_email, 5 attempts so far."},
		{Kind: operatorpages.QueueWebhooks, ID: "whd_01kb4a6zt4h2s8j5y7r3w9mvaq", AccountID: storyAccount, Since: at(23 * time.Minute),
			Why: "Due, and not sent to whe_01kb4a6zt4h2s8j5y7r3w9mvaq. 0 attempts so far."},
		{Kind: operatorpages.QueueVideos, ID: "video_01kb4a6zt4h2s8j5y7r3w9mvaq", AccountID: storyAccount, Since: at(11 * time.Minute),
			Why: "Rendering at kestrel, which gave no answer 7 times in a row."},
	}
}

func trialPages() []Story {
	story := func(name, title string, change func(*operatorpages.Trials)) Story {
		return operatorStory(name, title, "/console/operator/trials", view(operatorpages.TrialsPage, exampleTrials, change))
	}
	none := func(t *operatorpages.Trials) {
		t.Given, t.Count, t.Places, t.Codes = 0, 0, nil, nil
		for i := range t.Days {
			t.Days[i] = operatorpages.TrialDay{Day: t.Days[i].Day}
		}
	}
	return []Story{
		story("operator-trials", "Trials and codes", func(*operatorpages.Trials) {}),
		story("operator-trials-empty", "Trials and codes, nothing given yet", none),
		story("operator-trials-off", "Trials are off", func(t *operatorpages.Trials) {
			none(t)
			t.Closed, t.Rules.Amount, t.Rules.DailyMax = operatorpages.TrialsOff, 0, 0
		}),
		story("operator-trials-unmailed", "Trials without a mail server", func(t *operatorpages.Trials) {
			none(t)
			t.Closed, t.Rules.Mails = operatorpages.TrialsUnmailed, false
		}),
		story("operator-trials-given", "Trials, the limit of the day is reached", func(t *operatorpages.Trials) {
			t.Closed, t.Given, t.Count, t.FreeAt = operatorpages.TrialsGiven, t.Rules.DailyMax, 200, ago(-3*time.Hour)
			t.Places = []operatorpages.TrialPlace{
				{Network: true, Name: "203.0.113.0/24", Count: 5, FreeAt: at(-2 * time.Hour)},
				{Network: true, Name: "2001:db8:17::/64", Count: 5, FreeAt: at(-8 * time.Hour)},
				{Name: "students.example", Count: 10, FreeAt: at(-20 * time.Hour)},
			}
		}),
		story("operator-trials-made", "A code was made", func(t *operatorpages.Trials) { t.Made = t.Codes[0].Code }),
		story("operator-trials-store-error", "Trials, the store is away", func(t *operatorpages.Trials) {
			*t = operatorpages.Trials{Shell: t.Shell, Failure: &views.LoadFailure{RequestID: "req_01kb4a6zt4h2s8j5y7r3w9mvaq"}}
		}),
		story("operator-trials-hostile", "Trials and codes, hostile text", hostileTrials),
	}
}

func exampleTrials(s views.Shell) operatorpages.Trials {
	t := operatorpages.Trials{
		Shell: s, Given: 215 * app.Dollar, Count: 43,
		Rules: operatorpages.TrialRules{
			Amount: 5 * app.Dollar, DailyMax: 1000 * app.Dollar, Days: 30, Verified: true, Mails: true, NetworkMax: 5, DomainMax: 10,
		},
		Days: make([]operatorpages.TrialDay, 30),
	}
	today := operatorpages.TrialDay{Day: Now().Truncate(24 * time.Hour)}.Day
	for i := range t.Days {
		n := int64(24 + 7*(i%5) + 5*(i%3))
		if i%7 == 4 || i%7 == 5 {
			n /= 3
		}
		if i == 17 {
			n = 160
		}
		t.Days[i] = operatorpages.TrialDay{Day: today.AddDate(0, 0, i-29), Count: n, Amount: app.Amount(n) * 5 * app.Dollar,
			Paid: n * int64(29-i) / 90}
	}
	t.Places = []operatorpages.TrialPlace{{Network: true, Name: "203.0.113.0/24", Count: 5, FreeAt: at(-2 * time.Hour)}}
	code := func(name string, dollars app.Amount, redeemed, times int64, days int, reason string, age,
		until time.Duration) operatorpages.PromoCode {
		return operatorpages.PromoCode{
			Code: name, Amount: dollars * app.Dollar, Redeemed: redeemed, Times: times, Days: days, Reason: reason, By: Email,
			CreatedAt: at(age), Until: at(-until),
		}
	}
	const day = 24 * time.Hour
	t.Codes = []operatorpages.PromoCode{
		code("SPRING2027", 10, 0, 500, 90, "Readers of the spring letter", 40*time.Second, 62*day),
		code("K7QF2MZX4TRB", 250, 1, 1, 0, "Sorry for the outage of 3 November", 9*day, 20*day),
		code("CONFERENCE26", 25, 187, 200, 30, "Booth in Lisbon", 30*day, 2*day),
		code("LAUNCHDAY", 5, 1000, 1000, 14, "", 120*day, 20*day),
		code("OLDFRIENDS", 20, 64, 100, 0, "Accounts of the beta", 200*day, -90*day),
	}
	t.Codes[4].EndedBy = "grace@example.com"
	return t
}

func hostileTrials(t *operatorpages.Trials) {
	long := nastyText + strings.Repeat("averylongwordwithoutanyspace", 12)
	t.Rules.Amount, t.Rules.DailyMax, t.Given = 1<<62, 1<<63-1, 1<<62
	t.Places = []operatorpages.TrialPlace{{Name: long, Count: 1 << 62, FreeAt: at(-time.Hour)}}
	t.Days[3].Count, t.Days[3].Amount = 1<<62, 1<<62
	for i := range t.Codes {
		c := &t.Codes[i]
		c.Code, c.Reason, c.By, c.EndedBy = strings.Repeat("ABCDE12345", 3)+strings.Repeat(string(rune('A'+i)), 10), long, long, long
		c.Amount, c.Times, c.Redeemed = 100_000*app.Dollar, 1_000_000, int64(i)*999_999
	}
}

func codePages() []Story {
	form := func(name, title string, status int, change func(*operatorpages.CodeForm)) Story {
		return Story{Name: name, Group: "Operator", Title: title, Status: status, Path: "/console/operator/trials/codes/new", Adjust: operators,
			View: view(operatorpages.CodeFormPage, func(s views.Shell) operatorpages.CodeForm {
				return operatorpages.CodeForm{Shell: s, Code: "K7QF2MZX4TRB", Days: "0", Until: at(-30 * 24 * time.Hour).UTC().Format(time.DateOnly)}
			}, change)}
	}
	end := func(name, title string, change func(*operatorpages.PromoCode)) Story {
		return Story{Name: name, Group: "Operator", Title: title, Status: 200, Adjust: operators,
			Path: "/console/operator/trials/codes/CONFERENCE26/end", View: func(s views.Shell) templ.Component {
				c := exampleTrials(s).Codes[2]
				change(&c)
				return operatorpages.ConfirmFormPage(operatorpages.ConfirmForm{
					Shell: s, Title: "End " + c.Code + " now?", Text: c.EndWords(), Back: "/console/operator/trials#codes",
					BackTitle: "Trials and codes", Action: c.EndPath(),
					Buttons: []operatorpages.ConfirmButton{{Text: "End the code", Variant: ui.Destructive}},
				})
			}}
	}
	return []Story{
		form("operator-code-new", "Create a promotion code", 200, func(*operatorpages.CodeForm) {}),
		form("operator-code-errors", "Create a promotion code, fields that are wrong", 422, func(f *operatorpages.CodeForm) {
			f.Code, f.Amount, f.Times, f.Days, f.Until = "short", "ten", "0", "-1", ""
			f.CodeError = "A code is 6 to 40 letters A to Z and digits; dashes and spaces do not count."
			f.AmountError, f.TimesError = "Enter dollars, such as 10 or 2.50.", "A code is redeemed 1 to 1,000,000 times."
			f.DaysError, f.UntilError = "The credit lasts 1 to 3,650 days; 0 means that it never expires.", "Enter a day, such as 2027-01-31."
		}),
		form("operator-code-hostile", "Create a promotion code, hostile text", 422, func(f *operatorpages.CodeForm) {
			f.Code, f.Amount, f.Times, f.Days, f.Until = nastyText, nastyText, nastyText, nastyText, nastyText
			f.Reason = strings.Repeat(nastyText, 20)
			f.Problem, f.ReasonError = nastyText, "What it is for must be text of at most 200 characters."
		}),
		end("operator-code-end", "End a promotion code", func(*operatorpages.PromoCode) {}),
		end("operator-code-end-hostile", "End a promotion code, the largest", func(c *operatorpages.PromoCode) {
			c.Code, c.Amount, c.Times, c.Redeemed = strings.Repeat("ABCDE12345", 4), 100_000*app.Dollar, 1_000_000, 999_999
		}),
	}
}
