package video

import (
	"github.com/prometheus/client_golang/prometheus"

	"umg/app/telemetry/metric"
)

// Collector returns the metrics of video jobs. They count what this replica did.
func (s *Service) Collector() prometheus.Collector {
	return metric.NewCollector(func(w *metric.Writer) {
		stats := s.Stats()
		var failed int64
		for _, n := range stats.Failed {
			failed += n
		}
		w.Gauge("umg_video_jobs_running", "Video jobs that have not ended.", stats.Running)
		w.GaugeSeconds("umg_video_queue_lag_seconds", "How long the oldest job of the last claim had been due.", stats.DueLag)
		w.Counter("umg_video_jobs_completed_total", "Video jobs that completed.", stats.Completed)
		w.Counter("umg_video_jobs_failed_total", "Video jobs that failed.", failed)
		w.Counter("umg_video_poll_errors_total", "Polls that a provider did not answer.", stats.Faults)
		w.Counter("umg_video_copy_errors_total", "Copies of finished videos that failed.", stats.CopyFaults)
		w.Counter("umg_video_late_successes_total", "Videos finished after their job had failed. They are not charged.", stats.LateSuccesses)
	})
}
