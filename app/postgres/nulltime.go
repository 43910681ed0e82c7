package postgres

import "time"

// NullTime returns a time as a value of a column that may be null: in UTC, or nil for the zero time.
func NullTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
