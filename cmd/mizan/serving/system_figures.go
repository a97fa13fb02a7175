package serving

import (
	"time"

	"mizan/api/admin"
	"mizan/api/web"
	"mizan/ledger"
)

// figures returns the content of the response to GET /system.
func (s *server) figures() (admin.System, error) {
	stored, backups, stats := s.journal.StoreFigures(), s.backups.Figures(), &s.journal.Stats
	base := s.baseAPIConfig()
	f := admin.System{
		Version: s.version, Env: base.Env, Status: s.healthStatus().State(), Started: instantOf(s.metrics.Started()),
		Store: admin.StoreFigures{
			Bytes: s.journal.Size(), UnverifiedBytes: s.journal.UnverifiedBytes(), LagGroups: stored.LagGroups, LagBytes: stored.LagBytes,
			WaitingCompactions: stored.WaitingCompactions,
		},
		Log:   admin.LogFigures{Bytes: stored.LogBytes, Segments: stored.Segments},
		Queue: admin.QueueFigures{Depth: s.journal.QueueDepth(), Groups: stats.Groups.Load(), Changes: stats.Changes.Load(), Refused: stats.Refused.Load(), ProviderCalls: s.runtime.RunningJobs()},
		Backups: admin.BackupFigures{
			LastSuccess: instantOf(backups.LastSuccess), LastBytes: known(backups.LastBytes), LastSeconds: known(int64(backups.LastTook / time.Second)),
			Succeeded: backups.Succeeded, Failed: backups.Failed,
		},
		Backlogs: []admin.Backlog{},
	}
	if s.cfg.Backups.Dir != "" {
		f.Backups.EverySeconds = known(int64(s.cfg.Backups.Every / time.Second))
	}
	waiting, err := s.notifier.Backlogs()
	for _, b := range waiting {
		f.Backlogs = append(f.Backlogs, admin.Backlog{Receivers: b.Receivers, State: b.State.String(), Count: b.Count, OldestSeconds: int64(b.Oldest / time.Second)})
	}
	return f, err
}

// instantOf converts a time to the form that responses use. The zero time becomes null.
func instantOf(at time.Time) web.Instant {
	if at.IsZero() {
		return 0
	}
	return web.Instant(ledger.MicrosOf(at))
}

// known returns a pointer to figure. If figure is 0, which means that the figure is not known, it returns nil.
func known(figure int64) *int64 {
	if figure == 0 {
		return nil
	}
	return &figure
}
