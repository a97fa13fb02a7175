package metrics

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mizan/actors/notifier"
	"mizan/posting"
)

func (m *Metrics) registerDeliveries() {
	m.deliveries = m.newHistograms("mizan_notification_attempt_seconds", "Attempts to deliver notifications, by channel and result.", latencyBuckets, "channel", "result")
}

// OnDelivery counts an attempt to deliver a notification.
func (m *Metrics) OnDelivery(channel posting.Channel, failed bool, took time.Duration) {
	result := "acknowledged"
	if failed {
		result = "failed"
	}
	m.deliveries.WithLabelValues(channel.String(), result).Observe(took.Seconds())
}

// backlogCollector provides the metrics about deliveries of notifications that are waiting or parked.
type backlogCollector struct {
	count, oldest *prometheus.Desc
	notifier      *notifier.Service
	log           *slog.Logger
}

// RegisterNotifier registers the metrics about notifications.
func (m *Metrics) RegisterNotifier(s *notifier.Service, log *slog.Logger) {
	m.gaugeFunc("mizan_deliveries_in_memory", "Notifications in memory that wait for an attempt or are being sent.", func() float64 { return float64(s.InMemory()) })
	m.gaugeFunc("mizan_notification_listeners", "Streams of notifications that are open, such as those of mizan listen.", func() float64 { return float64(s.Listeners()) })
	m.counterFunc("mizan_notification_listeners_cut_off_total", "Streams of notifications that were ended because they were read too slowly.", func() float64 { return float64(s.SlowListeners()) })
	m.register.MustRegister(&backlogCollector{
		count:    prometheus.NewDesc("mizan_deliveries", "Notifications whose delivery has failed or was postponed: pending ones are tried again, parked ones are not.", []string{"receivers", "state"}, nil),
		oldest:   prometheus.NewDesc("mizan_deliveries_oldest_seconds", "Age of the oldest event among the notifications that mizan_deliveries counts; 0 if there is none.", []string{"receivers", "state"}, nil),
		notifier: s, log: log,
	})
}

// Describe implements prometheus.Collector.
func (c *backlogCollector) Describe(to chan<- *prometheus.Desc) {
	to <- c.count
	to <- c.oldest
}

// Collect implements prometheus.Collector. If the store can't be read, these metrics are absent.
func (c *backlogCollector) Collect(to chan<- prometheus.Metric) {
	rows, err := c.notifier.Backlogs()
	if err != nil {
		c.log.Error("the deliveries that wait cannot be counted", "error", err)
		return
	}
	for _, row := range rows {
		to <- prometheus.MustNewConstMetric(c.count, prometheus.GaugeValue, float64(row.Count), row.Receivers, row.State.String())
		to <- prometheus.MustNewConstMetric(c.oldest, prometheus.GaugeValue, row.Oldest.Seconds(), row.Receivers, row.State.String())
	}
}
