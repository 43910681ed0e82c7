package contentlog

import (
	"context"
	"time"

	"umg/app/postgres"
)

// These limits bound the report about expired content.
const (
	backlogAccountsMax = 10_000
	backlogShownMax    = 10
	backlogLate        = 10 * time.Minute // The report names an account when its deletion is this late.
)

// Backlog is the number of accounts with expired content. Operators read it.
type Backlog struct {
	Accounts int
	DueSince *time.Time // DueSince is when the oldest expired content was due; nil without any.
	Trouble  []Overdue  // Trouble has up to ten accounts whose deletion is ten minutes late or later, the longest wait first.
}

// Overdue is an account with content whose time is over.
type Overdue struct {
	AccountID string    `db:"account_id"`
	Since     time.Time `db:"since"`
}

// Backlog reads what is to be deleted. Of each account it looks at the oldest content alone.
func (s *Service) Backlog(ctx context.Context) (b Backlog, err error) {
	now := s.now()
	list, err := postgres.Select[Overdue](ctx, s.db, `
		select account_id, since from (
			select s.account_id, least(c.at + make_interval(days => s.days), case when s.cleared_at >= c.at then s.cleared_at end) as since
			from content_log_settings s cross join lateral (
				select at from content_logs c where c.account_id = s.account_id order by c.at limit 1) c) o
		where since <= $1 order by since, account_id limit $2`, now, backlogAccountsMax)
	if err != nil {
		return b, postgres.StoreError("content: list content that is over", err)
	}
	b.Accounts = len(list)
	for i, o := range list {
		if i == 0 {
			b.DueSince = &o.Since
		}
		if i < backlogShownMax && now.Sub(o.Since) >= backlogLate {
			b.Trouble = append(b.Trouble, o)
		}
	}
	return b, nil
}
