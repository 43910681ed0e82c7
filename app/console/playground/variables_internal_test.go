package playground

import (
	"strings"
	"testing"

	"umg/app"
	playpages "umg/views/playground"
)

// TestValuesFillARequestOnlySoFar stands for a form of five hundred turns that each name a value of half a megabyte eight times.
func TestValuesFillARequestOnlySoFar(t *testing.T) {
	t.Parallel()
	s := &pane{}
	s.view.Form.Vars = []playpages.Variable{{Name: "a", Value: strings.Repeat("x", filledBytesMax/4)}}
	for range 4 {
		if _, err := s.fillVariables("{{a}}"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.fillVariables("{{a}}"); app.KindOf(err) != app.TooLarge {
		t.Errorf("one more text is filled in, too: %v", err)
	}
}
