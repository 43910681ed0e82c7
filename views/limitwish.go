package views

import (
	"strconv"
	"time"
	"umg/views/ui"
)

// LimitWish is a request for higher limits.
type LimitWish struct {
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

func (w LimitWish) command() string {
	return "gateway limits " + w.AccountID + " " + strconv.Itoa(w.Factor)
}

func (w LimitWish) modelWords() string {
	if w.Model == "" {
		return "all models"
	}
	return w.Model
}

func (w LimitWish) timesWords() string {
	return strconv.Itoa(w.FactorThen) + "× → " + strconv.Itoa(w.Factor) + "×"
}

var wishVerdicts = map[string]verdict{
	"open": {ui.Info, "Open"}, "done": {ui.Success, "Done"}, "declined": {ui.Warning, "Declined"},
}

func (w LimitWish) status() verdict { return wishVerdicts[w.State] }

func (w LimitWish) path() string { return limitAnswersPath + "/" + w.ID }
