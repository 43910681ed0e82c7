package views

import (
	"strconv"
	"time"

	"umg/views/ui"
)

// LimitRequest is a request for higher limits.
type LimitRequest struct {
	ID                            string
	AccountID, Account, Email     string
	Model                         string
	FactorThen, Factor, FactorNow int
	Reason                        string
	State                         string // open, done or declined
	Answer                        string
	At                            time.Time
	AnsweredAt                    *time.Time
}

// ModelWords name the model of the request, or all models.
func (w LimitRequest) ModelWords() string {
	if w.Model == "" {
		return "all models"
	}
	return w.Model
}

// TimesWords are the factor of the limits now and the requested one.
func (w LimitRequest) TimesWords() string {
	return strconv.Itoa(w.FactorThen) + "× → " + strconv.Itoa(w.Factor) + "×"
}

var limitRequestBadges = map[string]Badge{
	"open": {ui.Info, "Open"}, "done": {ui.Success, "Done"}, "declined": {ui.Warning, "Declined"},
}

// Status is the badge of the state of the request.
func (w LimitRequest) Status() Badge { return limitRequestBadges[w.State] }

// Path is the address to which an operator sends the answer.
func (w LimitRequest) Path() string { return LimitAnswersPath + "/" + w.ID }
