package harness

import (
	"encoding/json"
	"strconv"
	"testing"
)

func IntMember(t *testing.T, o map[string]any, name string) int64 {
	t.Helper()
	number, _ := o[name].(json.Number)
	n, err := strconv.ParseInt(number.String(), 10, 64)
	if err != nil {
		t.Errorf("%s is no integer in %v", name, o)
	}
	return n
}
