package serving

import (
	"context"
	"runtime"
	"time"

	"mizan/api"
	"mizan/api/accesslog"
	"mizan/api/connlimit"
	"mizan/cmd/mizan/cli"
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
func (p *process) openObservation(context.Context) error {
	if p.cfg.Profiles {
		runtime.MemProfileRate = allocationSample // switches memory profiling on again, which the function main has switched off
	}
	p.accessLog = accesslog.New(accesslog.Options{Mode: p.cfg.AccessLog, JSON: p.cfg.LogFormat == jsonFormat, Out: p.logOutput})
	p.onClose(p.accessLog.Close)
	p.metrics.RegisterAccessLog(p.accessLog)
	isConfigured, err := otlp.IsConfigured()
	if err != nil {
		return cli.BadConfiguration(err.Error())
	}
	if !isConfigured {
		return nil
	}
	exporter, err := otlp.Open(context.Background(), p.version, p.log)
	if err != nil {
		return cli.BadConfiguration(otlp.EndpointVariable + ": " + err.Error())
	}
	p.tracer = tracing.New(exporter)
	p.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), traceFlushBound)
		defer cancel()
		if err := exporter.Close(ctx); err != nil {
			p.log.Warn("the last traces were not sent", "error", err)
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
func (p *process) serveMetrics() error {
	p.metrics.RegisterConnections(p.gate)
	p.metrics.RegisterReadiness(func() bool { return p.healthStatus().State() == api.StatusOK })
	if p.cfg.MetricsAddress == "" {
		return nil
	}
	metricsListener, err := bind("metrics-listen", p.cfg.MetricsAddress)
	if err != nil {
		return err
	}
	p.log.Info("metrics", "address", metricsListener.Addr().String(), "profiles", p.cfg.Profiles)
	gate := connlimit.NewGate(connlimit.Options{Total: metricsHandles, Log: p.log})
	server := p.metrics.NewServer(p.log, p.cfg.Profiles)
	go func() { _ = server.Serve(gate.Listener(metricsListener)) }()
	p.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), scrapeCloseBound)
		defer cancel()
		if server.Shutdown(ctx) != nil { // Shutdown waits for responses that read the store, because the store is closed next
			return server.Close()
		}
		return nil
	})
	return nil
}
