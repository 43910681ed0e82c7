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

func (w LimitRequest) Command() string {
	return "gateway limits " + w.AccountID + " " + strconv.Itoa(w.Factor)
}

func (w LimitRequest) ModelWords() string {
	if w.Model == "" {
		return "all models"
	}
	return w.Model
}

func (w LimitRequest) TimesWords() string {
	return strconv.Itoa(w.FactorThen) + "× → " + strconv.Itoa(w.Factor) + "×"
}

var wishVerdicts = map[string]Badge{
	"open": {ui.Info, "Open"}, "done": {ui.Success, "Done"}, "declined": {ui.Warning, "Declined"},
}

func (w LimitRequest) Status() Badge { return wishVerdicts[w.State] }

func (w LimitRequest) Path() string { return LimitAnswersPath + "/" + w.ID }
