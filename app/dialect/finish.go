package dialect

import "umg/app/llm"

// finishOf is why an answer ended, as the tally says it. An answer with tool calls ends with them, even where its
// upstream only says that it ended.
func finishOf(stop llm.Stop, calls bool) string {
	switch {
	case stop == "":
		stop = llm.StopOther
	case stop == llm.StopEnd && calls:
		stop = llm.StopToolCalls
	}
	return string(stop)
}
