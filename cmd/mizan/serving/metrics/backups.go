package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mizan/snapshots/backup"
)

// backupCollector provides the metrics about backups.
type backupCollector struct {
	total, last, took, size, interval *prometheus.Desc

	figures func() backup.Figures
	every   time.Duration // interval of the scheduled backups; 0 if there are none
}

// RegisterBackups registers the metrics about backups. every is the interval of the scheduled backups, or 0 if there are none.
func (m *Metrics) RegisterBackups(figures func() backup.Figures, every time.Duration) {
	m.register.MustRegister(&backupCollector{
		total:    prometheus.NewDesc("mizan_backups_total", "Backups by kind (of the schedule, or requested by a client) and result.", []string{"kind", "result"}, nil),
		last:     prometheus.NewDesc("mizan_backup_last_success_timestamp_seconds", "When the newest backup of the schedule was complete, in Unix time; 0: never.", nil, nil),
		took:     prometheus.NewDesc("mizan_backup_last_seconds", "How long the newest backup of the schedule took; 0 if an earlier process took it.", nil, nil),
		size:     prometheus.NewDesc("mizan_backup_last_bytes", "Size of the newest backup of the schedule; 0 if an earlier process took it.", nil, nil),
		interval: prometheus.NewDesc("mizan_backup_interval_seconds", "How often the server takes a backup.", nil, nil),
		figures:  figures, every: every,
	})
}

// Describe implements prometheus.Collector.
func (c *backupCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.total, c.last, c.took, c.size, c.interval} {
		to <- d
	}
}

// Collect implements prometheus.Collector. If there is no schedule, it sends only the numbers of the backups that clients
// requested.
func (c *backupCollector) Collect(to chan<- prometheus.Metric) {
	f := c.figures()
	count := func(n uint64, kind, result string) {
		to <- prometheus.MustNewConstMetric(c.total, prometheus.CounterValue, float64(n), kind, result)
	}
	count(f.StreamsEnded, "requested", "complete")
	count(f.StreamsCutShort, "requested", "failed")
	if c.every == 0 {
		return
	}
	count(f.Succeeded, "scheduled", "complete")
	count(f.Failed, "scheduled", "failed")
	last := 0.0
	if !f.LastSuccess.IsZero() {
		last = float64(f.LastSuccess.UnixMilli()) / 1000
	}
	to <- prometheus.MustNewConstMetric(c.last, prometheus.GaugeValue, last)
	to <- prometheus.MustNewConstMetric(c.took, prometheus.GaugeValue, f.LastTook.Seconds())
	to <- prometheus.MustNewConstMetric(c.size, prometheus.GaugeValue, float64(f.LastBytes))
	to <- prometheus.MustNewConstMetric(c.interval, prometheus.GaugeValue, c.every.Seconds())
}
