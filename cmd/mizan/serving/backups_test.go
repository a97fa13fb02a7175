package serving

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"mizan/internal/testkit"
	"mizan/snapshots/backup"
)

const givenUpMessage = "a backup does not end, and is given up"

// newStoppingServer returns a server that is stopping and must have stopped at the deadline. It also returns the server's log.
func newStoppingServer(deadline time.Time) (*server, *bytes.Buffer) {
	log := new(bytes.Buffer)
	p := &process{log: slog.New(slog.NewTextHandler(log, nil))}
	p.stopBy.Store(deadline.UnixNano())
	return &server{process: p, backups: backup.New(backup.Options{})}, log
}

// If the backup disk hangs, the stop no longer waits for the backup when the deadline has passed. The log reports that.
func TestStopGivesUpASlowBackup(t *testing.T) {
	s, log := newStoppingServer(time.Now())
	var scheduledBackups sync.WaitGroup
	scheduledBackups.Add(1)
	defer scheduledBackups.Done()
	ended := make(chan struct{})
	go func() {
		s.endBackups(&scheduledBackups)
		close(ended)
	}()
	testkit.WaitUntil(t, "the stop goes on without the backup", func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	})
	if n := strings.Count(log.String(), givenUpMessage); n != 1 {
		t.Errorf("%d lines of the log say that the backup is given up:\n%s", n, log)
	}
}

// The stop waits for a backup that ends in time.
func TestStopWaitsForABackup(t *testing.T) {
	s, log := newStoppingServer(time.Now().Add(time.Hour))
	var scheduledBackups sync.WaitGroup
	release, hasEnded := make(chan struct{}), false
	scheduledBackups.Go(func() {
		<-release
		hasEnded = true
	})
	stopped := make(chan struct{})
	go func() {
		s.endBackups(&scheduledBackups)
		close(stopped)
	}()
	select {
	case <-stopped:
		t.Fatal("the stop did not wait for the backup")
	default:
	}
	close(release)
	<-stopped
	if !hasEnded {
		t.Error("the stop was over before the backup")
	}
	if log.Len() != 0 {
		t.Errorf("the log says %s", log)
	}
}
