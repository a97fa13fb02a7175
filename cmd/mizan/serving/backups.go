package serving

import (
	"context"
	"io"
	"sync"

	"mizan/api/admin"
	"mizan/snapshots/backup"
)

// openBackups starts the scheduled backups and allows clients to request backups. When the server
// stops, running backups are aborted at once, because an unfinished backup is useless.
func (s *server) openBackups(ctx context.Context) error {
	s.backups = backup.New(backup.Options{
		Journal: s.journal, Keyring: s.keyring, Clock: s.clock, Data: s.dir, Rate: s.cfg.Backups.Rate, Log: s.log,
	})
	every := s.cfg.Backups.Every
	if s.cfg.Backups.Dir == "" {
		every = 0
	}
	s.metrics.RegisterBackups(s.backups.Figures, every)
	unhook := context.AfterFunc(ctx, s.backups.Stop)
	ctx, cancel := context.WithCancel(ctx)
	var scheduledBackups sync.WaitGroup
	if plan := s.cfg.Backups; plan.Dir != "" {
		scheduledBackups.Go(func() { s.backups.Schedule(ctx, plan.Dir, plan.Every, plan.Keep) })
	}
	s.onClose(func() error {
		unhook()
		cancel()
		s.endBackups(&scheduledBackups)
		return nil
	})
	return nil
}

// endBackups waits until all backups have ended. It gives up when the time for the stop is over, because a hanging backup disk
// must not keep the server from stopping.
func (s *server) endBackups(scheduledBackups *sync.WaitGroup) {
	ctx, cancel := context.WithDeadline(context.Background(), s.stopDeadline())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		s.backups.Close()
		scheduledBackups.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		s.log.Warn("a backup does not end, and is given up")
	}
}

// startBackup begins a backup that a client requests. If since is not nil, the backup contains only the changes
// after that earlier backup.
func (s *server) startBackup(since *admin.BackupBase) (io.ReadCloser, error) {
	return s.backups.Stream((*backup.Base)(since))
}
