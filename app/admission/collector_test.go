package admission

import "testing"

// TestTheCollectorLeavesTheHeadroom gives the collector processes of all sizes. The new memory is near the headroom, until a quarter of
// what is in use is more.
func TestTheCollectorLeavesTheHeadroom(t *testing.T) {
	t.Parallel()
	set := 0
	c := &collectorPace{headroom: 32 << 20, set: func(percent int) int { set = percent; return 0 }}
	for _, one := range []struct {
		inUse int64
		want  int
	}{{16 << 20, 200}, {17 << 20, 200}, {32 << 20, 100}, {128 << 20, 25}, {1 << 30, 25}, {64 << 20, 50}, {1 << 20, 800}, {0, 800}} {
		if c.adjust(one.inUse); set != one.want {
			t.Errorf("with %d bytes in use the collector runs after %d percent, want %d", one.inUse, set, one.want)
		}
	}
	off := collectorPace{set: func(int) int { t.Error("the pace of an operator is changed"); return 0 }}
	off.adjust(16 << 20)
}

// TestTheHeadroomIsASmallShareOfALimit bounds what a small container leaves to garbage.
func TestTheHeadroomIsASmallShareOfALimit(t *testing.T) { //nolint:paralleltest // It changes the environment.
	t.Setenv("GOGC", "")
	for limit, want := range map[int64]int64{0: 32 << 20, 8 << 30: 32 << 20, 512 << 20: 32 << 20, 64 << 20: 4 << 20} {
		if got := Headroom(limit); got != want {
			t.Errorf("under a limit of %d bytes the headroom is %d, want %d", limit, got, want)
		}
	}
	t.Setenv("GOGC", "100")
	if got := Headroom(8 << 30); got != 0 {
		t.Errorf("with GOGC set the headroom is %d", got)
	}
}
