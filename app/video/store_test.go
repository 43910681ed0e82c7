package video

import (
	"testing"
)

func TestABenchIsBuilt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.balance(b.account, startMoney, 0)
	b.books()
}
