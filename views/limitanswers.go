package views

// LimitAnswers are the requests of all accounts, for operators.
type LimitAnswers struct {
	Shell
	List    []LimitWish
	Failure *Trouble
}

const limitAnswersIntro = "Increases that accounts ask for. Run the command to change the limits, then mark the request as done: the account is told."
