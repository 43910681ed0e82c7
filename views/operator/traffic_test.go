package operator

import "testing"

func TestAnEjectedRouteSaysWhetherItFailedOrIsSlow(t *testing.T) {
	t.Parallel()
	s := RouteSeen{State: RouteEjected, Fault: "server_error", Status: 503}
	failed := s.reason()
	s.Slow = true
	if got := s.reason(); got != "Another route answers sooner" || failed == got || failed == "" {
		t.Errorf("%q where it failed, %q where it is slow", failed, got)
	}
}
