package translate

import "strings"

// stopWatcher finds the stop sequences that the style of the provider cannot express. Text that may be the beginning of one is held back.
type stopWatcher struct {
	list []string
	// tail is the end of the text that is not passed on yet.
	tail string
}

// pass returns the text that may be passed on, and the stop sequence when one was found. Nothing after it is passed on.
func (s *stopWatcher) pass(text string) (safe, met string) {
	if len(s.list) == 0 {
		return text, ""
	}
	text = s.tail + text
	s.tail = ""
	first := -1
	for _, stop := range s.list {
		if i := strings.Index(text, stop); stop != "" && i >= 0 && (first < 0 || i < first || i == first && len(stop) > len(met)) {
			first, met = i, stop
		}
	}
	if first >= 0 {
		return text[:first], met
	}
	keep := 0
	for _, stop := range s.list {
		keep = max(keep, overlap(text, stop))
	}
	s.tail = text[len(text)-keep:]
	return text[:len(text)-keep], ""
}

// rest returns the text that was held back, at the end of a part.
func (s *stopWatcher) rest() string {
	tail := s.tail
	s.tail = ""
	return tail
}

// overlap returns how many bytes at the end of text are the beginning of stop.
func overlap(text, stop string) int {
	for n := min(len(text), len(stop)-1); n > 0; n-- {
		if strings.HasSuffix(text, stop[:n]) {
			return n
		}
	}
	return 0
}
