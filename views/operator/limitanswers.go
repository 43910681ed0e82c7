package operator

import "umg/views"

// LimitAnswers are the requests of all accounts, for operators.
type LimitAnswers struct {
	views.Shell
	List    []views.LimitRequest
	Failure *views.LoadFailure
}

const limitAnswersIntro = "Increases that accounts ask for. Granting one sets the account's multiplier on every replica. " +
	"We notify the account of the answer."
