package api_test

import (
	"net/http"
	"testing"
)

func TestTheSpendLimitIsSetAndTakenAwayByAPI(t *testing.T) {
	t.Parallel()
	c := manned(t)
	type limit struct {
		Enabled                  bool
		Limit, Period, Remaining *string
	}
	for _, body := range []string{
		`{}`, `{"limit":"5"}`, `{"limit":"5","period":"total"}`, `{"limit":5,"period":"day"}`, `{"limit":"0","period":"day"}`,
	} {
		if a := c.do(http.MethodPost, "/v1/spend_limit", body); a.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	c.db.MustExec(`insert into credit_accounts (id, kind, posted_nanos) values ($1, 'customer', 0) on conflict do nothing`, c.owner.AccountID)
	if s := decode[limit](t, c.do(http.MethodPost, "/v1/spend_limit", `{"limit":"12.5","period":"week"}`), http.StatusOK); !s.Enabled ||
		*s.Limit != "12.5" || *s.Period != "week" || *s.Remaining != "12.5" {
		t.Errorf("%+v", s)
	}
	if s := decode[limit](t, c.do(http.MethodPost, "/v1/spend_limit", `{"limit":null}`), http.StatusOK); s.Enabled || s.Limit != nil {
		t.Errorf("%+v", s)
	}
}
