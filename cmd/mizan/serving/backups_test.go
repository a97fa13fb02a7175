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

const givenUp = "a backup does not end, and is given up"

// newStoppingServer returns a server that must have stopped at an instant, and its log.
func newStoppingServer(deadline time.Time) (*server, *bytes.Buffer) {
	log := new(bytes.Buffer)
	return &server{
		backups: backup.New(backup.Options{}), log: slog.New(slog.NewTextHandler(log, nil)), stopBy: deadline,
	}, log
}

// If the backup disk hangs, the stop gives up the backup when the time for stopping is over, and logs
// that.
func TestStopGivesUpASlowBackup(t *testing.T) {
	s, log := newStoppingServer(time.Now())
	var scheduled sync.WaitGroup
	scheduled.Add(1)
	defer scheduled.Done()
	ended := make(chan struct{})
	go func() {
		s.endBackups(&scheduled)
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
	if n := strings.Count(log.String(), givenUp); n != 1 {
		t.Errorf("%d lines of the log say that the backup is given up:\n%s", n, log)
	}
}

// The stop waits for a backup that ends in time.
func TestStopWaitsForABackup(t *testing.T) {
	s, log := newStoppingServer(time.Now().Add(time.Hour))
	var scheduled sync.WaitGroup
	release, ended := make(chan struct{}), false
	scheduled.Go(func() {
		<-release
		ended = true
	})
	stopped := make(chan struct{})
	go func() {
		s.endBackups(&scheduled)
		close(stopped)
	}()
	select {
	case <-stopped:
		t.Fatal("the stop did not wait for the backup")
	default:
	}
	close(release)
	<-stopped
	if !ended {
		t.Error("the stop was over before the backup")
	}
	if log.Len() != 0 {
		t.Errorf("the log says %s", log)
	}
}
