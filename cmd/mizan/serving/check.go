package serving

import (
	"context"

	ledgerapi "mizan/api/ledger"
	"mizan/api/web"
	"mizan/cmd/mizan/cli"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/snapshots/check"
)

// checkStore runs the checker on the open store before the server accepts requests.
func (s *server) checkStore(ctx context.Context) error {
	if !s.cfg.Check {
		return nil
	}
	report, err := check.Check(ctx, s.journal, check.Inputs{Data: s.dir, Keyring: s.keyring, Log: s.log})
	if ctx.Err() != nil {
		return nil // a stop was requested; the method run handles it
	}
	if err != nil {
		return cli.StorageFault("%v", err)
	}
	if _, err := report.WriteTo(s.streams.Out); err != nil {
		s.log.Warn("the checker's report can't be printed", "error", err)
	}
	if err := check.SaveLast(s.dir, report, clock.Real{}.Now()); err != nil {
		s.log.Warn("the result of the check can't be recorded", "error", err)
	}
	if report.Broken() {
		return cli.StorageFault("the checker found the store broken; restore from a backup")
	}
	return nil
}

// lastCheck returns the result of the last check of the store, for auditors. It returns nil if the store was never checked.
func (s *server) lastCheck() (*ledgerapi.CheckResult, error) {
	last, err := check.ReadLast(s.dir)
	if last == nil || err != nil {
		return nil, err
	}
	result := &ledgerapi.CheckResult{At: web.Instant(ledger.MicrosOf(last.At))}
	for _, rule := range last.Rules {
		result.Rules = append(result.Rules, ledgerapi.CheckRule(rule))
	}
	return result, nil
}
