package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"mizan/actors"
	"mizan/actors/checkpoint"
	searchactor "mizan/actors/search"
	turnoveractor "mizan/actors/turnover"
	"mizan/posting"
	"mizan/posting/store"
)

// RegisterJournal registers the metrics about the store and about the journal's writer, which makes changes durable in groups.
// It returns a function that the caller must call for each durable group.
func (m *Metrics) RegisterJournal(j *posting.Journal) (onGroup func(posting.DurableGroup)) {
	changes := m.newHistogram("mizan_group_changes", "Changes in a group that was made durable.", prometheus.ExponentialBuckets(1, 2, 14))
	rows := m.newHistogram("mizan_group_rows", "Rows in a group.", prometheus.ExponentialBuckets(4, 2, 15))
	sync := m.newHistogram("mizan_group_sync_seconds", "Time to make a group durable and readable: one sync of the log, one transaction.", prometheus.ExponentialBuckets(0.0001, 2, 16))
	m.counterFunc("mizan_syncs_total", "Groups synced.", func() float64 { return float64(j.Stats.Groups.Load()) })
	m.counterFunc("mizan_changes_total", "Changes answered, refusals included.", func() float64 { return float64(j.Stats.Changes.Load()) })
	m.counterFunc("mizan_changes_refused_total", "Commands refused for a full queue or a nearly full disk.", func() float64 { return float64(j.Stats.Refused.Load()) })
	m.counterFunc("mizan_written_bytes_total", "Bytes of rows written.", func() float64 { return float64(j.Stats.Bytes.Load()) })
	m.gaugeFunc("mizan_queue_depth", "Changes waiting for the writer.", func() float64 { return float64(j.QueueDepth()) })
	m.gaugeFunc("mizan_store_unverified_bytes", "Bytes of the files of long values that existed at the start and have not been compared with their checksums yet. Damage in a stored row ends the process.", func() float64 { return float64(j.UnverifiedBytes()) })
	m.gaugeFunc("mizan_store_bytes", "Size of the store.", func() float64 { return float64(j.Size()) })
	m.gaugeFunc("mizan_low_space", "1 while commands are refused for want of disk space.", func() float64 { return oneIf(j.LowSpace()) })
	m.register.MustRegister(newStoreCollector(j.StoreFigures))
	return func(g posting.DurableGroup) {
		changes.Observe(float64(g.Changes))
		rows.Observe(float64(g.Rows))
		sync.Observe(g.Apply.Seconds())
	}
}

// storeMetric is a metric of the store's background work.
type storeMetric struct {
	description *prometheus.Desc
	kind        prometheus.ValueType
	value       func(*store.Figures) float64
}

// storeCollector provides the metrics about the store. It reads the store's figures only once for all metrics.
type storeCollector struct {
	figures func() store.Figures
	metrics []storeMetric
}

func newStoreCollector(figures func() store.Figures) *storeCollector {
	c := &storeCollector{figures: figures}
	add := func(kind prometheus.ValueType, name, help string, value func(*store.Figures) float64) {
		c.metrics = append(c.metrics, storeMetric{prometheus.NewDesc(name, help, nil, nil), kind, value})
	}
	add(prometheus.GaugeValue, "mizan_store_lag_groups", "Durable groups that may not be in the store's tables yet: a start replays them from the log.", func(f *store.Figures) float64 { return float64(f.LagGroups) })
	add(prometheus.GaugeValue, "mizan_store_lag_bytes", "Bytes of the groups that mizan_store_lag_groups counts.", func(f *store.Figures) float64 { return float64(f.LagBytes) })
	add(prometheus.GaugeValue, "mizan_log_segments", "Segments of the log that have groups.", func(f *store.Figures) float64 { return float64(f.Segments) })
	add(prometheus.GaugeValue, "mizan_log_spare_segments", "Files that are ready to become segments of the log.", func(f *store.Figures) float64 { return float64(f.Spares) })
	add(prometheus.GaugeValue, "mizan_log_bytes", "Size of the log.", func(f *store.Figures) float64 { return float64(f.LogBytes) })
	add(prometheus.CounterValue, "mizan_compactions_total", "Compactions of the store's tables that have ended.", func(f *store.Figures) float64 { return float64(f.Compactions) })
	add(prometheus.CounterValue, "mizan_compacted_tables_total", "Tables that compactions have written.", func(f *store.Figures) float64 { return float64(f.CompactedTables) })
	add(prometheus.GaugeValue, "mizan_compactions_waiting", "Compactions that wait for disk space or file handles.", func(f *store.Figures) float64 { return float64(f.WaitingCompactions) })
	add(prometheus.GaugeValue, "mizan_store_level_zero_tables", "Tables that no compaction has merged yet.", func(f *store.Figures) float64 { return float64(f.LevelZero) })
	return c
}

// Describe implements prometheus.Collector.
func (c *storeCollector) Describe(to chan<- *prometheus.Desc) {
	for i := range c.metrics {
		to <- c.metrics[i].description
	}
}

// Collect implements prometheus.Collector.
func (c *storeCollector) Collect(to chan<- prometheus.Metric) {
	figures := c.figures()
	for i := range c.metrics {
		metric := &c.metrics[i]
		to <- prometheus.MustNewConstMetric(metric.description, metric.kind, metric.value(&figures))
	}
}

// RegisterRuntime registers the metrics about the actors' runtime.
func (m *Metrics) RegisterRuntime(rt *actors.Runtime) {
	m.gaugeFunc("mizan_actors_live", "Actors with work.", func() float64 { return float64(rt.ActorsWithWork()) })
	m.gaugeFunc("mizan_provider_calls_running", "Calls of providers, and other jobs of the actors, that are in progress.", func() float64 { return float64(rt.RunningJobs()) })
	m.counterFunc("mizan_replies_unreadable_total", "Repeated requests with an idempotency key whose stored reply could not be decrypted. Above 0, an operator has to look for the cause.", func() float64 { return float64(rt.RepliesUnreadable()) })
}

// RegisterCheckpoints registers the metrics about the maker of checkpoints.
func (m *Metrics) RegisterCheckpoints(c *checkpoint.Maker) {
	m.counterFunc("mizan_checkpoints_total", "Checkpoints of trial balances made.", func() float64 { return float64(c.Made()) })
}

// RegisterTurnover registers the metrics about the counter of partners' turnover.
func (m *Metrics) RegisterTurnover(c *turnoveractor.Counter) {
	m.counterFunc("mizan_turnover_events_total", "Events counted in the figures of turnover.", func() float64 { return float64(c.Counted()) })
	m.gaugeFunc("mizan_turnover_lag_events", "Durable events that are not in the figures of turnover yet.", func() float64 { return float64(c.Lag()) })
}

// RegisterSearch registers the metrics about the search index of transactions.
func (m *Metrics) RegisterSearch(x *searchactor.Index) {
	m.counterFunc("mizan_search_indexed_total", "Transactions indexed for the search, again after each change.", func() float64 { return float64(x.Indexed()) })
	m.gaugeFunc("mizan_search_lag_events", "Durable events that are not in the index of the search yet.", func() float64 { return float64(x.Lag()) })
}
