package serving

import (
	"context"

	"mizan/cmd/mizan/cli"
	"mizan/snapshots/check"
)

// checkStore runs the checker over the open store before anything is served.
func (s *server) checkStore(ctx context.Context) error {
	if !s.cfg.Check {
		return nil
	}
	report, err := check.Check(ctx, s.journal, check.Inputs{Data: s.cfg.Dir, Keyring: s.keyring, Log: s.log})
	if ctx.Err() != nil {
		return nil // a stop was requested; run handles it
	}
	if err != nil {
		return cli.StorageFault("%v", err)
	}
	if _, err := report.WriteTo(s.streams.Out); err != nil {
		s.log.Warn("the checker's report can't be printed", "error", err)
	}
	if report.Broken() {
		return cli.StorageFault("the checker found the store broken; restore from a backup")
	}
	return nil
}
