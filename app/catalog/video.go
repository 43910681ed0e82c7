package catalog

import "umg/app/llm"

// The styles of routes to providers that make videos.
const (
	VideosStyle     llm.Style = "videos"     // POST /videos, poll, download by id
	OperationsStyle llm.Style = "operations" // a long-running operation whose result holds a file address
	TasksStyle      llm.Style = "tasks"      // a task that may call back
)

// VideoStyles lists them.
func VideoStyles() []llm.Style { return []llm.Style{VideosStyle, OperationsStyle, TasksStyle} }
