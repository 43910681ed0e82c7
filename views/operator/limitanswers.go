package operator

import "umg/views"

// LimitAnswers are the requests of all accounts, for operators.
type LimitAnswers struct {
	views.Shell
	List    []views.LimitRequest
	Failure *views.LoadFailure
}

const limitAnswersIntro = "Increases that accounts ask for. Run the command to change the limits, " +
	"then mark the request as done. We notify the account."
