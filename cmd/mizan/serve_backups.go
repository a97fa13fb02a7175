package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"mizan/api/admin"
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
		rate: r.bytes("backup-rate"),
	}
	var err error
	if p.keep, err = strconv.Atoi(r.text("backup-keep")); r.text("backup-keep") != "" && (err != nil || p.keep < 1 || p.keep > maxBackupKeep) {
		r.wrong("backup-keep", "%q is not a number from 1 to %d", r.text("backup-keep"), maxBackupKeep)
	}
	if p.dir != "" {
		if info, err := os.Stat(p.dir); err != nil {
			r.wrong("backup-dir", "%v", err)
		} else if !info.IsDir() {
			r.wrong("backup-dir", "%s is no directory", p.dir)
		} else if liesIn(p.dir, r.text("data")) {
			r.wrong("backup-dir", "%s is in the data directory, and would be lost with it", p.dir)
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

// liesIn tells whether a directory is another one, or below it.
func liesIn(dir, other string) bool {
	real := func(path string) (string, error) {
		path, err := filepath.EvalSymlinks(path)
		if err != nil {
			return "", err
		}
		return filepath.Abs(path)
	}
	inner, err := real(dir)
	if err != nil {
		return false
	}
	outer, err := real(other)
	if err != nil {
		return false // it is made at the start, and nothing lies in it yet
	}
	way, err := filepath.Rel(outer, inner)
	return err == nil && filepath.IsLocal(way)
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
		s.endBackups(&scheduled)
		return nil
	})
	return nil
}

// endBackups waits until nothing is backed up any more, as long as a stop may take: a
// disk of backups that does not answer keeps no server from stopping.
func (s *server) endBackups(scheduled *sync.WaitGroup) {
	by := s.stopBy
	if by.IsZero() {
		by = time.Now().Add(stopBound)
	}
	ctx, cancel := context.WithDeadline(context.Background(), by)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		s.backups.Close()
		scheduled.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		s.log.Warn("a backup does not end, and is given up")
	}
}

// backup begins a backup for who asks by HTTP.
func (s *server) backup(since *admin.BackupBase) (io.ReadCloser, error) {
	return s.backups.Stream((*snapshots.BackupBase)(since))
}
