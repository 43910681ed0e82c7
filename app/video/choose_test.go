package video

import (
	"testing"
	"time"

	"umg/app/catalog"
)

func TestRoutesComeByOrderAndAmongEqualsByWeight(t *testing.T) {
	t.Parallel()
	first := map[string]int{}
	for mark := range int64(4) {
		s := &Service{o: Options{Jitter: func(n int64) int64 { return mark % n }}}
		routes := s.draw([]*catalog.Route{
			{ID: "last", Order: 2, Weight: 100}, {ID: "heavy", Order: 1, Weight: 3}, {ID: "light", Order: 1, Weight: 1},
		})
		if len(routes) != 3 || routes[2].ID != "last" || routes[0].ID == routes[1].ID {
			t.Fatalf("%+v", routes)
		}
		first[routes[0].ID]++
	}
	if first["heavy"] != 3 || first["light"] != 1 {
		t.Errorf("%v", first)
	}
}

func TestAWaitIsSaidInMinutesOrHours(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]string{
		0: "1 min", time.Second: "1 min", 61 * time.Second: "2 min", 119 * time.Minute: "119 min", 2*time.Hour + time.Second: "3 h", 24 * time.Hour: "24 h",
	} {
		if got := waitText(wait); got != want {
			t.Errorf("%s is %s, want %s", wait, got, want)
		}
	}
}
