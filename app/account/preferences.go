package account

import (
	"context"
	"strings"
	"time"

	"umg/app"
	"umg/app/postgres"
)

const zoneBytesMax = 64

// Clock12 is the clock of users who read times with AM and PM.
const Clock12 = "12"

// Preferences are how the console shows pages to a user.
type Preferences struct {
	// TimeZone is the name of the zone in which times are shown. It is empty for that of the browser.
	TimeZone string `db:"time_zone"`
	// Clock is Clock12, or empty for 24 hours.
	Clock string `db:"clock"`
	// LogHidden are the columns of the request log that the user hides, with commas between them.
	LogHidden string `db:"log_hidden"`
}

// SetTimes sets in which zone and with which clock the console shows times to a user.
func (s *Service) SetTimes(ctx context.Context, userID, zone, clock string) error {
	if zone != "" && !KnownZone(zone) {
		return app.InvalidRequest("time_zone", "The time zone is not known. Use a name such as Europe/Berlin, or UTC.")
	}
	if clock != "" && clock != Clock12 {
		return app.InvalidRequest("clock", "The clock must be 12, or empty for 24 hours.")
	}
	return postgres.StoreError("account: set times", postgres.Exec(ctx, s.db, `
		update users set time_zone = $2, clock = $3 where id = $1`, userID, zone, clock))
}

// SetLogHidden sets which columns of the request log a user hides. The caller has checked their names.
func (s *Service) SetLogHidden(ctx context.Context, userID string, columns []string) error {
	return postgres.StoreError("account: set hidden columns", postgres.Exec(ctx, s.db, `
		update users set log_hidden = $2 where id = $1`, userID, strings.Join(columns, ",")))
}

// KnownZone reports whether the text is the name of a time zone.
func KnownZone(name string) bool {
	if name == "" || name == "Local" || len(name) > zoneBytesMax {
		return false
	}
	_, err := time.LoadLocation(name)
	return err == nil
}
