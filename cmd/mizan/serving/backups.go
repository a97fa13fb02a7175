package serving

import (
	"context"
	"io"
	"os"
	"sync"

	"mizan/api/admin"
	"mizan/snapshots/backup"
)

// openBackups starts the scheduled backups and allows clients to request backups.
func (s *server) openBackups(ctx context.Context) error {
	s.openBackupsTo(ctx, s.cfg.Backups.Dir, nil)
	return nil
}

// openShardBackups returns the phase that does the same for a shard. Each shard has a folder of its own for scheduled backups. The
// node that leads the shard writes them, so after some time the folder of a shard may be on each node.
func (s *server) openShardBackups(shard backup.Shard) func(context.Context) error {
	return func(ctx context.Context) error {
		dir := s.cfg.Backups.Dir
		if dir != "" {
			dir = backup.ShardDir(dir, shard.Number)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				// The shard is served without scheduled backups rather than not at all; each attempt of the schedule logs an error.
				s.log.Error("the folder for a shard's backups can't be made", "error", err)
			}
		}
		s.openBackupsTo(ctx, dir, &shard)
		return nil
	}
}

// openBackupsTo starts the scheduled backups into dir, if there is one. When the server stops, running backups are aborted at once,
// because an unfinished backup is useless.
func (s *server) openBackupsTo(ctx context.Context, dir string, shard *backup.Shard) {
	s.backups = backup.New(backup.Options{
		Journal: s.journal, Keyring: s.keyring, Clock: s.clock, Data: s.dir, Rate: s.cfg.Backups.Rate, Shard: shard, Log: s.log,
	})
	plan := s.cfg.Backups
	if dir == "" {
		plan.Every = 0
	}
	s.metrics.RegisterBackups(s.backups.Figures, plan.Every)
	unhook := context.AfterFunc(ctx, s.backups.Stop)
	ctx, cancel := context.WithCancel(ctx)
	var scheduledBackups sync.WaitGroup
	if dir != "" {
		scheduledBackups.Go(func() { s.backups.Schedule(ctx, dir, plan.Every, plan.Keep) })
	}
	s.onClose(func() error {
		unhook()
		cancel()
		s.endBackups(&scheduledBackups)
		return nil
	})
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
