package serving

import (
	"log/slog"
	"sync"
	"testing"
	"time"

	"mizan/snapshots"
)

// A disk of backups that does not answer keeps no server from stopping.
func TestAStopDoesNotWaitForABackupForEver(t *testing.T) {
	s := &server{backups: snapshots.NewBackups(snapshots.BackupOptions{}), log: slog.New(slog.DiscardHandler), stopBy: time.Now()}
	var scheduled sync.WaitGroup
	scheduled.Add(1)
	s.endBackups(&scheduled)
	scheduled.Done()
}
