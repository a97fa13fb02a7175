package serving

import (
	"context"
	"runtime"
	"time"

	"mizan/api"
	"mizan/api/accesslog"
	"mizan/api/connlimit"
	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/serving/metrics"
	"mizan/internal/tracing"
	"mizan/internal/tracing/otlp"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/posting"
)

const (
	traceFlushBound  = 3 * time.Second // how long a stop waits until the trace collector has received the last spans
	scrapeCloseBound = 2 * time.Second // how long a stop waits for responses in progress with metrics or profiles

	allocationSample = 512 << 10 // a memory profile samples one allocation per this many bytes (Go's default)
)

// openObservation creates the metrics and the access log. If environment variables name a trace collector, it also creates the
// tracer.
func (s *server) openObservation(context.Context) error {
	if s.cfg.Profiles {
		runtime.MemProfileRate = allocationSample // switches memory profiling on again, which the function main has switched off
	}
	s.metrics = metrics.New(s.version)
	s.accessLog = accesslog.New(accesslog.Options{Mode: s.cfg.AccessLog, JSON: s.cfg.LogFormat == jsonFormat, Out: s.logOutput})
	s.onClose(s.accessLog.Close)
	s.metrics.RegisterAccessLog(s.accessLog)
	isConfigured, err := otlp.IsConfigured()
	if err != nil {
		return cli.BadConfiguration(err.Error())
	}
	if !isConfigured {
		return nil
	}
	exporter, err := otlp.Open(context.Background(), s.version, s.log)
	if err != nil {
		return cli.BadConfiguration(otlp.EndpointVariable + ": " + err.Error())
	}
	s.tracer = tracing.New(exporter)
	s.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), traceFlushBound)
		defer cancel()
		if err := exporter.Close(ctx); err != nil {
			s.log.Warn("the last traces were not sent", "error", err)
		}
		return nil
	})
	return nil
}

// observeGroups lets the metrics and the tracer observe each group of changes that becomes durable.
func (s *server) observeGroups(context.Context) error {
	count := s.metrics.RegisterJournal(s.journal)
	s.journal.Stats.OnGroup = func(g posting.DurableGroup) {
		count(g)
		if s.tracer == nil {
			return
		}
		end := time.Now()
		hop := s.tracer.BeginAt(tracing.Internal, "group sync", tracing.Origin{}, end.Add(-g.Apply), g.Causes)
		hop.SetNumber("mizan.changes", int64(g.Changes))
		hop.SetNumber("mizan.rows", int64(g.Rows))
		hop.SetNumber("mizan.bytes", int64(g.Bytes))
		hop.EndAt(end)
	}
	return nil
}

// onStatusChange passes a durable change of a transaction's status to the metrics and to the alerts.
func (s *server) onStatusChange(org ledger.ID, from payment.Status, r *payment.Record) {
	s.metrics.OnStatusChange(r)
	s.alerts.Observe(org, from, r)
}

// serveMetrics begins to serve the metrics on the address of --metrics-listen.
func (s *server) serveMetrics() error {
	s.metrics.RegisterConnections(s.gate)
	s.metrics.RegisterReadiness(func() bool { return s.healthStatus().State() == api.StatusOK })
	if s.cfg.MetricsAddress == "" {
		return nil
	}
	metricsListener, err := bind("metrics-listen", s.cfg.MetricsAddress)
	if err != nil {
		return err
	}
	s.log.Info("metrics", "address", metricsListener.Addr().String(), "profiles", s.cfg.Profiles)
	gate := connlimit.NewGate(connlimit.Options{Total: metricsHandles, Log: s.log})
	server := s.metrics.NewServer(s.log, s.cfg.Profiles)
	go func() { _ = server.Serve(gate.Listener(metricsListener)) }()
	s.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), scrapeCloseBound)
		defer cancel()
		if server.Shutdown(ctx) != nil { // Shutdown waits for responses that read the store, because the store is closed next
			return server.Close()
		}
		return nil
	})
	return nil
}
