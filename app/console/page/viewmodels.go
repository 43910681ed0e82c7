package page

import (
	"umg/app/account"
	"umg/app/audit"
	"umg/app/prompt"
	"umg/billing"
	"umg/views"
	playpages "umg/views/playground"
)

// ViewAuditEntry returns an entry of the audit log as pages show it.
func ViewAuditEntry(e audit.Entry) views.AuditEntry {
	v := views.AuditEntry{
		ID: e.ID, At: e.At, Actor: string(e.Actor), ActorID: e.ActorID, ActorName: e.ActorName, Words: audit.Describe(e.Action).Words,
		Object: e.Object, Name: e.Name, IP: e.IP, Agent: e.Agent, RequestID: e.RequestID,
	}
	if e.Object == e.ActorID && e.ActorID != "" { // A user who changed their own record is named once.
		v.Object, v.Name = "", ""
	}
	for _, c := range e.Changes {
		v.Changes = append(v.Changes, views.AuditChange{Field: c.Field, From: c.From, To: c.To})
	}
	return v
}

// ViewCredit returns the credit of an account as pages show it.
func ViewCredit(c billing.Credit) views.Credit {
	return views.Credit{
		Available: c.Spendable(), Trial: c.Trial, TrialExpires: c.TrialExpires, Purchased: c.Purchased, Granted: c.Granted,
		Held: c.Held - c.Leased, Owed: c.Owed,
	}
}

// ViewLimitRequest returns a request for higher limits as pages show it.
func ViewLimitRequest(r account.LimitRequest) views.LimitRequest {
	return views.LimitRequest{
		ID: r.ID, AccountID: r.AccountID, Account: r.Account, Email: r.Email, Model: r.Model, FactorThen: r.FactorThen, Factor: r.Factor,
		FactorNow: r.FactorNow, Reason: r.Reason, State: string(r.State), Answer: r.Answer, At: r.CreatedAt, AnsweredAt: r.AnsweredAt,
	}
}

// ViewPrompt returns a saved prompt as pages show it.
func ViewPrompt(p prompt.Prompt) playpages.Prompt {
	return playpages.Prompt{
		ID: p.ID, Name: p.Name, Latest: p.Latest, Model: p.Model, Variables: p.Variables, Author: p.Author, CreatedAt: p.CreatedAt,
		UpdatedAt: p.UpdatedAt,
	}
}
