package stories

import (
	"strings"

	"github.com/a-h/templ"

	"umg/views"
	operatorpages "umg/views/operator"
	"umg/views/ui"
)

const storyAccountPath = "/console/operator/accounts/acct_01kb4a7k2f8s4j6h1d9a3g5b7t"

// confirmPages are the forms with which operators change limits, refund, and help people who cannot sign in.
func confirmPages() []Story {
	story := func(name, title string, status int, form operatorpages.ConfirmForm, change func(*operatorpages.ConfirmForm)) Story {
		return Story{Name: name, Group: "Operator", Title: title, Status: status, Path: storyAccountPath, Adjust: operators,
			View: view(operatorpages.ConfirmFormPage, func(s views.Shell) operatorpages.ConfirmForm {
				f := form
				f.Fields = append([]operatorpages.ConfirmField(nil), form.Fields...)
				f.Shell = s
				return f
			}, change)}
	}
	long := nastyText + strings.Repeat("averylongwordwithoutanyspace", 12)
	return []Story{
		story("operator-set-limits", "Set the limits of an account", 200, limitsForm(), func(f *operatorpages.ConfirmForm) { f.Own = true }),
		story("operator-set-limits-refused", "Set the limits of an account, the number is wrong", 422, limitsForm(),
			func(f *operatorpages.ConfirmForm) {
				f.Fields[0].Value = "many"
				f.PlaceError("factor", "Enter a whole number, such as 4.")
			}),
		story("operator-refund", "Refund a top-up", 200, refundForm(), func(*operatorpages.ConfirmForm) {}),
		story("operator-refund-refused", "Refund a top-up, the payment service refused", 409, refundForm(),
			func(f *operatorpages.ConfirmForm) {
				f.Fields[0].Value, f.Fields[1].Value = "25", "Bought by mistake"
				f.PlaceError("", "The payment service refuses this refund: charge already disputed.")
			}),
		story("operator-limit-answer", "Answer a limit request", 200, answerForm(), func(*operatorpages.ConfirmForm) {}),
		story("operator-limit-answer-password", "Answer a limit request, the password is wrong", 422, answerForm(),
			func(f *operatorpages.ConfirmForm) { f.PlaceError("current_password", "That is not your password.") }),
		story("operator-person-mfa", "Turn off a person's sign-in codes", 200, personForm(Email), func(*operatorpages.ConfirmForm) {}),
		story("operator-person-hostile", "Turn off a person's sign-in codes, hostile text", 200, personForm(long),
			func(*operatorpages.ConfirmForm) {}),
		{
			Name: "operator-reset-link", Group: "Operator", Title: "A link to set a new password", Status: 200, Path: storyAccountPath,
			Adjust: operators, View: func(s views.Shell) templ.Component {
				return operatorpages.ResetLinkPage(operatorpages.ResetLink{
					Shell: s, Email: Email, Back: storyAccountPath,
					URL: "https://gateway.example.com/console/reset/k2f8s4j6h1d9a3g5b7tq8w2e5r9y1u4i6o0p3a7s",
				})
			},
		},
	}
}

func limitsForm() operatorpages.ConfirmForm {
	return operatorpages.ConfirmForm{
		Title: "Set the limits of Harbour Analytics", Back: storyAccountPath, BackTitle: "Account", Action: storyAccountPath + "/limits",
		Text: "Every replica multiplies the usual limits for requests, tokens and concurrent calls by this number within a second.",
		Facts: []operatorpages.ConfirmFact{
			{Name: "Account", Value: "Harbour Analytics"}, {Name: "Id", Value: "acct_01kb4a7k2f8s4j6h1d9a3g5b7t"},
			{Name: "Multiplier now", Value: "4×"},
		},
		Fields: []operatorpages.ConfirmField{{
			Name: "factor", Label: "Multiplier", Value: "4", Hint: "A whole number. 1 is the usual limit.", CharsMax: 7, InputMode: "numeric",
		}},
		Buttons: []operatorpages.ConfirmButton{{Text: "Set limits", Icon: ui.IconSliders, Variant: ui.Primary}},
	}
}

func refundForm() operatorpages.ConfirmForm {
	return operatorpages.ConfirmForm{
		Title: "Refund a top-up of Harbour Analytics", Back: storyAccountPath, BackTitle: "Account", Action: storyAccountPath + "/refund",
		Text: "The payment service returns the money to the card, and the credit is taken from the balance. " +
			"If the credit is spent, the account owes the rest.",
		Facts: []operatorpages.ConfirmFact{
			{Name: "Account", Value: "Harbour Analytics"}, {Name: "Top-up", Value: "top_01kb4a7k2f8s4j6h1d9a3g5b7t"},
			{Name: "Paid", Value: "$100.00"}, {Name: "Refunded so far", Value: "$25.00"},
		},
		Fields: []operatorpages.ConfirmField{
			{Name: "amount", Label: "Amount", Hint: "Dollars, in whole cents. At most $75.00 is left.", CharsMax: 24, InputMode: "decimal"},
			{Name: "reason", Label: "Reason", Hint: "Visible to account members in the audit log.", Long: true, CharsMax: 500},
		},
		Buttons: []operatorpages.ConfirmButton{{Text: "Refund", Icon: ui.IconReceipt, Variant: ui.Destructive}},
	}
}

func answerForm() operatorpages.ConfirmForm {
	w := wishes()[0]
	return operatorpages.ConfirmForm{
		Title: "Answer the limit request of " + w.Account, Back: "/console/operator/limits", BackTitle: "Limit requests", Action: w.Path(),
		Text: "Granting sets the account's multiplier on every replica within a second. Either answer closes the request " +
			"and notifies the account.",
		Facts: []operatorpages.ConfirmFact{
			{Name: "Account", Value: w.Account}, {Name: "Asked by", Value: w.Email}, {Name: "For", Value: w.ModelWords()},
			{Name: "Asks for", Value: w.TimesWords()}, {Name: "Multiplier now", Value: "4×"}, {Name: "Why", Value: w.Reason},
		},
		Fields: []operatorpages.ConfirmField{
			{Name: "factor", Label: "Multiplier", Value: "20", Hint: "A whole number. 1 is the usual limit.", CharsMax: 7, InputMode: "numeric"},
			{Name: "answer", Label: "Answer to the account", Optional: true, Long: true, CharsMax: 500},
		},
		Buttons: []operatorpages.ConfirmButton{
			{Value: "declined", Text: "Decline", Variant: ui.Outline}, {Value: "done", Text: "Grant", Icon: ui.IconCheck, Variant: ui.Primary},
		},
	}
}

func personForm(email string) operatorpages.ConfirmForm {
	return operatorpages.ConfirmForm{
		Title: "Turn off sign-in codes: " + email, Back: storyAccountPath, BackTitle: "Account",
		Action:  storyAccountPath + "/people/user_01kb4a7k2f8s4j6h1d9a3g5b7t/disable-mfa",
		Text:    "The password alone then signs this person in. Their sessions end, and we notify them by mail.",
		Facts:   []operatorpages.ConfirmFact{{Name: "Person", Value: email}, {Name: "Account", Value: "Harbour Analytics"}},
		Buttons: []operatorpages.ConfirmButton{{Text: "Turn off codes", Variant: ui.Destructive}},
	}
}
