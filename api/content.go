package api

import (
	"umg/app/content"
	"umg/app/gateway"
	"umg/billing"
)

// tape takes down what is asked and answered in a call, where the account wants that kept; nil for all other calls. Whether it does is
// known with the key, so that nobody is asked.
func (a *API) tape(x *call) *content.Tape {
	if !x.key.KeepContent || a.content == nil {
		return nil
	}
	return a.content.Start(content.Call{
		AccountID: x.key.AccountID, KeyID: x.key.ID, RequestID: x.access.RequestID, Style: string(x.route.Style), At: x.access.Started,
	})
}

// keepContent hands a call over to be kept. One without a record is not: there is no page that could show it. Where nothing was sent
// the answer is the error, which is not written yet.
func (x *call) keepContent(tape *content.Tape, report *gateway.Report, err error) {
	switch {
	case tape == nil || !billing.RuleOf(report.Reason).Recorded:
	case err != nil:
		tape.Expect(report.Model)
		x.access.tape = tape
	default:
		tape.Expect(report.Model)
		tape.End()
	}
}
