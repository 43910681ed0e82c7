package translate

import "strings"

// stops watches a text for the stop sequences that an upstream could not be told. What could still become one is kept
// back.
type stops struct {
	list []string
	// tail is the end of the text that is not passed on yet.
	tail string
}

// pass returns the text that may go on. When a stop sequence was met it returns that too; nothing after it goes on.
func (s *stops) pass(text string) (safe, met string) {
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

// rest gives up what was kept back, at the end of a part.
func (s *stops) rest() string {
	tail := s.tail
	s.tail = ""
	return tail
}

// overlap is how much of the end of text is a beginning of stop.
func overlap(text, stop string) int {
	for n := min(len(text), len(stop)-1); n > 0; n-- {
		if strings.HasSuffix(text, stop[:n]) {
			return n
		}
	}
	return 0
}
