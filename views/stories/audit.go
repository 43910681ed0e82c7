package stories

import (
	"strings"
	"time"

	"umg/views"
	settingpages "umg/views/settings"
	"umg/views/ui"
)

func auditPages() []Story {
	story := func(name, title string, change func(*settingpages.AuditLog)) Story {
		return Story{Name: name, Group: "Settings", Title: title, Status: 200, Path: "/console/settings/audit",
			View: view(settingpages.AuditPage, func(s views.Shell) settingpages.AuditLog {
				return settingpages.AuditLog{
					Shell: s, Entries: exampleAudit(),
					Kinds:  []ui.Option{{Value: "key.", Label: "API keys"}, {Value: "webhook.", Label: "Webhooks"}, {Value: "billing.", Label: "Billing"}},
					Actors: []ui.Option{{Value: "user_ada", Label: Email}, {Value: "key_ops", Label: "Key Operations"}},
				}
			}, change)}
	}
	return []Story{
		story("audit", "The audit log", func(*settingpages.AuditLog) {}),
		story("audit-filtered", "The audit log, a page in the middle", func(l *settingpages.AuditLog) {
			l.Query = settingpages.AuditQuery{Kind: "key.", From: "2026-11-01", To: "2026-11-21", After: "audit_3"}
			l.Entries, l.Newer, l.Older = l.Entries[:2], true, true
		}),
		story("audit-empty", "The audit log, before the first entry", func(l *settingpages.AuditLog) { l.Entries, l.Actors = nil, nil }),
		story("audit-none", "The audit log, no entry matches", func(l *settingpages.AuditLog) {
			l.Entries, l.Query.Object = nil, "whe_01kb4a6zt4h2s8j5y7r3w9mvaq"
		}),
		story("audit-backwards", "The audit log, the last day before the first", func(l *settingpages.AuditLog) {
			l.Entries, l.Query = nil, settingpages.AuditQuery{From: "2026-11-21", To: "2026-11-01"}
		}),
		story("audit-hostile", "The audit log, hostile text", func(l *settingpages.AuditLog) { l.Entries = hostileAudit() }),
		story("audit-store-error", "The audit log, the store is away", func(l *settingpages.AuditLog) {
			l.Entries, l.Failure = nil, &views.LoadFailure{RequestID: "req_01kb4a6zt4h2s8j5y7r3w9mvaq"}
		}),
	}
}

func exampleAudit() []views.AuditEntry {
	const browser = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
	return []views.AuditEntry{
		{ID: "audit_9", At: at(4 * time.Second), Actor: views.AuditUser, ActorID: "user_ada", ActorName: Email, Words: "changed the key",
			Object: "key_01kb4a6zt4h2s8j5y7r3w9mvaq", Name: "Production", Href: "/console/keys/key_01kb4a6zt4h2s8j5y7r3w9mvaq", IP: "192.0.2.7",
			Agent: browser, RequestID: "req_01kb4a6zt4h2s8j5y7r3w9mvaq", Changes: []views.AuditChange{
				{Field: "name", From: "Prod", To: "Production"}, {Field: "models", From: "all", To: "meridian/atlas, meridian/atlas-small"},
				{Field: "expires_at", To: "2027-01-01T00:00:00Z"},
			}},
		{ID: "audit_8", At: at(9 * time.Minute), Actor: views.AuditKey, ActorID: "key_ops", ActorName: "Operations", Words: "created the key",
			Object: "key_01kb4a6zt4h2s8j5y7r3w9mvbq", Name: "Nightly job", IP: "2001:db8::17", Agent: "openai-go/1.12"},
		{ID: "audit_7", At: at(3 * time.Hour), Actor: views.AuditSystem,
			Words: "disabled the webhook endpoint", Object: "whe_01kb4a6zt4h2s8j5y7r3w9mvaq", Name: "Render",
			Href:    "/console/webhooks/whe_01kb4a6zt4h2s8j5y7r3w9mvaq",
			Changes: []views.AuditChange{{Field: "reason", To: "Every delivery failed for 5 days"}}},
		{ID: "audit_6", At: at(26 * time.Hour), Actor: views.AuditOperator, Words: "added credit", Agent: "gateway credit grant",
			Changes: []views.AuditChange{{Field: "amount", To: "$25"}, {Field: "reason", To: "Thank you for the bug report"}}},
		{ID: "audit_5", At: at(50 * time.Hour), Actor: views.AuditUser, ActorID: "user_gone", ActorName: "charles@example.com",
			Words: "started a top-up", Object: topUpID, Href: "/console/billing/topups/" + topUpID, IP: "192.0.2.7", Agent: browser,
			Changes: []views.AuditChange{{Field: "amount", To: "$50"}}},
		{ID: "audit_4", At: at(80 * time.Hour), Actor: views.AuditUser, ActorID: "user_gone", ActorName: "charles@example.com",
			Words: "left the account", Object: "user_gone", Name: "charles@example.com", IP: "192.0.2.7", Agent: browser},
	}
}

func hostileAudit() []views.AuditEntry {
	const nasty = "<script>alert(\"1\")</script> \u202egnp.exe "
	long := strings.Repeat("averylongwordwithoutanyspace", 20)
	return []views.AuditEntry{
		{ID: "audit_2", At: at(time.Minute), Actor: views.AuditUser, ActorID: "user_1", ActorName: nasty + "@example.com",
			Words:  "changed the key",
			Object: "key_" + long, Name: nasty + long, IP: long, Agent: nasty + long, RequestID: nasty,
			Changes: []views.AuditChange{{Field: "name", From: nasty, To: long}, {Field: long, From: "=1+1", To: nasty}}},
		{ID: "audit_1", At: at(2 * time.Minute), Actor: "robot", Words: "did " + nasty},
	}
}
