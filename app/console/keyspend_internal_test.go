package console

import (
	"testing"
	"time"

	"umg/app"
	"umg/billing/usage"
	"umg/views"
)

func TestTheSpendOfKeysIsSummedByDayAndMonth(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 2, 15, 30, 0, 0, time.UTC)
	day := func(ago int) time.Time { return now.Truncate(oneDay).AddDate(0, 0, -ago) }
	all := keySpendOf([]usage.KeyDay{
		{KeyID: "key_1", Day: day(40), Spend: 7, Model: "too-old"},
		{KeyID: "key_1", Day: day(2), Spend: 10, Model: "first"},
		{KeyID: "key_1", Day: day(1), Spend: 20 * app.Dollar, Model: "second"},
		{KeyID: "key_1", Day: day(0), Spend: app.Dollar, Model: "last"},
		{KeyID: "key_1", Day: day(-1), Spend: 5, Model: "clock"},
		{KeyID: "key_2", Day: day(29), Spend: 0, Model: "free"},
	}, now)
	one, two := all["key_1"], all["key_2"]
	if one.Today != app.Dollar || one.Month != 21*app.Dollar || one.Model != "last" || one.ByDay[views.KeySpendDays-1] != app.Dollar ||
		one.ByDay[views.KeySpendDays-3] != 10 || !one.Used() {
		t.Errorf("%+v", one)
	}
	if s := one.Shares(); s[views.KeySpendDays-3] != 1 || s[views.KeySpendDays-2] != 100 || s[views.KeySpendDays-1] != 5 || s[0] != 0 {
		t.Errorf("the bars are %v", s)
	}
	if !two.Used() || two.Month != 0 || all["key_3"].Used() {
		t.Errorf("%+v", two)
	}
}
