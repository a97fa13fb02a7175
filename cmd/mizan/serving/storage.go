package serving

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"mizan/cmd/mizan/cli"
	"mizan/internal/clock"
	"mizan/internal/durable"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/cluster"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/check/calls"
)

// clockMargin is how far the times of events in a store may be ahead of the real clock.
const clockMargin = time.Minute

// openStore locks the data directory, opens the store and sets the clock.
func (s *server) openStore(context.Context) error {
	if cluster.IsNode(s.dir) {
		return cli.BadConfiguration("data: " + s.dir + " is the directory of a node of a cluster, which needs the flags --cluster-…")
	}
	startTime, isManual, err := readClock(s.dir)
	if err != nil {
		return cli.StorageFault("%v", err)
	}
	if isManual && !s.cfg.ManualClock {
		return cli.BadConfiguration("clock: " + s.dir + " uses a manual clock")
	}
	s.clock = clock.Real{}
	if s.cfg.ManualClock {
		if !isManual {
			startTime = clock.Real{}.Now()
		}
		s.manualClock = clock.NewManual(startTime)
		s.clock = s.manualClock
	}
	s.journal, err = posting.Open(posting.Options{
		Store: store.Options{Dir: s.dir, MinFree: s.cfg.MinFree, Log: s.log, OtherFiles: []string{sandboxFile, simulatorLog, calls.RemoteName, clockFile}},
		Clock: s.clock, Log: s.log, Fatal: s.exitAfterStorageFault,
	})
	if err != nil {
		return cli.OpenFault(err)
	}
	s.onClose(s.journal.Close)
	s.lowSpace = s.journal.LowSpace
	durable.RemoveLeftovers(s.dir, clockFile, sandboxFile, calls.RemoteName, check.LastFile)
	switch {
	case isManual:
		return s.checkManualClock()
	case s.manualClock != nil:
		return s.startManualClock()
	case s.cfg.Sandbox:
		return s.checkRealClock()
	}
	return nil
}

// checkRealClock returns an error if the store has events whose times are ahead of the real clock. Such a store had a manual
// clock, and the clock's file was lost. clockMargin tolerates that the machine's clock was set back a little.
func (s *server) checkRealClock() error {
	last, err := lastBookedTime(s.journal)
	if err != nil {
		return cli.StorageFault("%v", err)
	}
	if last.Sub(s.clock.Now()) <= clockMargin {
		return nil
	}
	return cli.BadConfiguration(fmt.Sprintf("clock: %s has booked at %s, which lies ahead: it uses a manual clock, whose file %q is missing",
		s.dir, last.Format(time.RFC3339), clockFile))
}

// bookedAhead is how far the times of events may be ahead of a manual clock. Each event is at least a microsecond later than
// the previous event, even if the clock stands still.
const bookedAhead = time.Second

// checkManualClock moves a manual clock forward to the time of the last event if the clock is more than bookedAhead behind that
// time. A clock that is so far behind was read from a file that is older than the store.
func (s *server) checkManualClock() error {
	last, err := lastBookedTime(s.journal)
	if err != nil {
		return cli.StorageFault("%v", err)
	}
	if last.Sub(s.manualClock.Now()) <= bookedAhead {
		return nil
	}
	s.log.Warn("the clock's file is of an earlier moment than the last booking: the clock continues at the time of that booking", "clock", s.manualClock.Now(), "booked", last)
	return s.startManualClock()
}

// startManualClock gives a store a manual clock. The clock starts at the time of the last event or later.
func (s *server) startManualClock() error {
	last, err := lastBookedTime(s.journal)
	if err != nil {
		return cli.StorageFault("%v", err)
	}
	if last.After(s.manualClock.Now()) {
		if err := s.manualClock.Set(last); err != nil {
			return err
		}
	}
	if err := writeClock(s.dir, s.manualClock.Now()); err != nil {
		return cli.StorageFault("%v", err)
	}
	return nil
}

// lastBookedTime returns the time at which the latest event of all organizations was booked.
func lastBookedTime(j *posting.Journal) (time.Time, error) {
	view := j.View()
	defer view.Close()
	var last ledger.Micros
	err := view.Organizations(func(org ledger.ID) (bool, error) {
		return true, view.Events(org, 0, func(e ledger.Event) (bool, error) {
			last = max(last, e.Booked)
			return false, nil
		})
	})
	return last.Time(), err
}

// openKeyring loads the keyring. In a sandbox the keyring is created together with the store. If the store has events but a key
// is missing, the key was lost and is not created again. Only a missing sealing key is created: as long as there was no such
// key, nothing can have been sealed (encrypted). A keyring file that the operator names is never changed.
func (s *server) openKeyring(context.Context) (err error) {
	if s.cfg.Keyring != "" {
		if s.keyring, err = secret.LoadSealingKeyring(s.cfg.Keyring); err != nil {
			return cli.BadConfiguration("keyring: " + err.Error())
		}
		switch err := s.journal.Bind(s.keyring.Identity()); {
		case errors.Is(err, store.ErrOtherKeyring):
			return cli.BadConfiguration("keyring: " + s.cfg.Keyring + " is not the keyring of " + s.dir + ", whose store was made with another keyring: give that one")
		case err != nil:
			return cli.StorageFault("%v", err)
		}
		return nil
	}
	path := filepath.Join(s.dir, "keyring")
	s.keyring, err = secret.CompleteKeyring(path)
	if groups, _ := s.journal.LastGroup(); errors.Is(err, fs.ErrNotExist) && groups == 0 {
		s.keyring, err = secret.CreateKeyring(path, rand.Reader)
	}
	if err == nil {
		if err = s.journal.Bind(s.keyring.Identity()); errors.Is(err, store.ErrOtherKeyring) {
			err = fmt.Errorf("keyring %s is another server's: %w", path, err)
		}
	}
	if err != nil {
		return cli.StorageFault("%v; restore your own copy of the keyring, or name the copy with --keyring: it is in no backup that mizan takes", err)
	}
	return nil
}

// openTransport prepares TLS. It runs after the directory is locked, because two servers must not create the certificate
// authority in the same directory at the same time.
func (p *process) openTransport(context.Context) (err error) {
	p.transport, err = newTransport(p.cfg, p.log)
	return err
}

// absolutePath makes a path absolute, so that people and programs with another working directory can use it.
func absolutePath(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		return absolute
	}
	return path
}
