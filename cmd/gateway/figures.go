package main

import "umg/app/server"

// figures are the numbers of the rooms that have workers, for /metrics.
func (h *house) figures() []server.Figure {
	gauge := func(name, help string, value func() int64) server.Figure {
		return server.Figure{Name: name, Help: help, Gauge: true, Value: value}
	}
	total := func(name, help string, value func() int64) server.Figure {
		return server.Figure{Name: name, Help: help, Value: value}
	}
	failed := func() (sum int64) {
		for _, n := range h.videos.Stats().Failed {
			sum += n
		}
		return sum
	}
	return []server.Figure{
		gauge("umg_video_jobs_running", "Video jobs that have not ended.", func() int64 { return h.videos.Stats().Running }),
		gauge("umg_video_due_lag_milliseconds", "How long the oldest job of the last claim had been due.",
			func() int64 { return h.videos.Stats().DueLag.Milliseconds() }),
		total("umg_video_jobs_completed_total", "Video jobs completed here.", func() int64 { return h.videos.Stats().Completed }),
		total("umg_video_jobs_failed_total", "Video jobs failed here.", failed),
		total("umg_video_faults_total", "Looks at a provider that got no answer.", func() int64 { return h.videos.Stats().Faults }),
		total("umg_video_copy_faults_total", "Copies of finished videos that failed.", func() int64 { return h.videos.Stats().CopyFaults }),
		total("umg_video_late_successes_total", "Renders that turned up after their job had failed; never charged.",
			func() int64 { return h.videos.Stats().LateSuccesses }),
		gauge("umg_webhook_attempts_running", "Webhook attempts under way.", func() int64 { return h.webhooks.Stats().Running }),
		total("umg_webhook_events_total", "Events recorded here.", func() int64 { return h.webhooks.Stats().Events }),
		total("umg_webhook_delivered_total", "Deliveries that a receiver took.", func() int64 { return h.webhooks.Stats().Delivered }),
		total("umg_webhook_failed_attempts_total", "Attempts that a receiver did not take.",
			func() int64 { return h.webhooks.Stats().FailedAttempts }),
		total("umg_webhook_given_up_total", "Deliveries that failed for good.", func() int64 { return h.webhooks.Stats().GivenUp }),
		total("umg_webhook_endpoints_disabled_total", "Endpoints disabled for failing.", func() int64 { return h.webhooks.Stats().Disabled }),
	}
}
