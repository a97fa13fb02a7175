package main

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"mizan/api"
	"mizan/snapshots"
)

// Bounds of the schedule of backups.
const (
	minBackupEvery = time.Minute
	maxBackupEvery = 30 * 24 * time.Hour
	maxBackupKeep  = 100_000
)

// schedule is when backups are taken by the server itself, and where to.
type schedule struct {
	dir   string // empty: none are
	every time.Duration
	keep  int
	rate  uint64 // bytes a second, of those that are asked for too; 0: no bound
}

// schedule reads the keys of backups.
func (r *reader) schedule() schedule {
	p := schedule{
		dir: r.text("backup-dir"), every: r.within("backup-every", "1h", minBackupEvery, maxBackupEvery),
		keep: r.count("backup-keep", maxBackupKeep), rate: r.bytes("backup-rate"),
	}
	if p.keep == 0 && r.text("backup-keep") == "0" {
		r.wrong("backup-keep", "has to be at least 1")
	}
	if p.dir != "" {
		if info, err := os.Stat(p.dir); err != nil {
			r.wrong("backup-dir", "%v", err)
		} else if !info.IsDir() {
			r.wrong("backup-dir", "%s is no directory", p.dir)
		}
	} else if !r.unread {
		for _, name := range []string{"backup-every", "backup-keep"} {
			if r.settings[name].given {
				r.wrong(name, "only goes with --backup-dir")
			}
		}
	}
	return p
}

// openBackups has backups taken: those of the schedule, and those that are asked
// for. A stop ends them at once: nothing is lost with one.
func (s *server) openBackups(ctx context.Context) error {
	s.backups = snapshots.NewBackups(snapshots.BackupOptions{
		Journal: s.journal, Keyring: s.keyring, Clock: s.clock, Data: s.cfg.dir, Rate: s.cfg.backups.rate, Log: s.log,
	})
	unhook := context.AfterFunc(ctx, s.backups.Stop)
	ctx, cancel := context.WithCancel(ctx)
	var scheduled sync.WaitGroup
	if plan := s.cfg.backups; plan.dir != "" {
		scheduled.Go(func() { s.backups.Schedule(ctx, plan.dir, plan.every, plan.keep) })
	}
	s.onClose(func() error {
		unhook()
		cancel()
		s.backups.Close()
		scheduled.Wait()
		return nil
	})
	return nil
}

// backup begins a backup for who asks by HTTP.
func (s *server) backup(since *api.BackupBase) (io.ReadCloser, error) {
	return s.backups.Stream((*snapshots.BackupBase)(since))
}
