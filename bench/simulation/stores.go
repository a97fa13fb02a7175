package simulation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"mizan/actors"
	"mizan/internal/clock"
	"mizan/internal/secret"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/backup"
	"mizan/snapshots/check"
	"mizan/snapshots/check/findings"
)

// check runs the checker on an open store, before the process uses the store.
// answers is a file with the answers that the store must agree with. If it is empty, the store is compared neither with answers
// nor with the provider's log.
func (w *world) check(j *posting.Journal, dir, answers string, keyring actors.Sealer) (digest [32]byte, err error) {
	w.checks++
	if answers == "" || w.twice {
		dir = "" // the provider's log is not compared
	} else if err := w.linkProviderLog(dir); err != nil {
		return digest, err
	}
	report, err := check.Check(context.Background(), j, check.Inputs{Data: dir, Answers: answers, Keyring: keyring, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return digest, err
	}
	for i := range report.Rules {
		if r := &report.Rules[i]; r.Outcome == findings.Broken && w.isHarmed {
			w.isCaught = true
		} else if r.Outcome == findings.Broken {
			w.recordViolation("the checker, rule %d: %q", r.Number, r.Details)
		}
	}
	return report.Digest, nil
}

// callsRule is the number of the checker's rule about provider calls. If calls may reach the provider twice, the rule is
// ignored, because the provider's log then contains more calls than the service has sent.
const callsRule = 7

// linkProviderLog makes a hard link to the provider's log in a data directory, where the checker and backups expect the log.
func (w *world) linkProviderLog(dir string) error {
	log := filepath.Join(dir, simulatorLog)
	if err := os.Remove(log); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Link(filepath.Join(w.root, simulatorLog), log)
}

// compareStores opens the store two more times. The checker must find no fault, and both times the digest of the content must
// be the same.
func (w *world) compareStores() {
	var digests [2][32]byte
	for i := range digests {
		err := w.whileOpen(w.generationDir(), func(j *posting.Journal) (err error) {
			digests[i], err = w.check(j, w.generationDir(), w.answersFile(), nil)
			return err
		})
		if err != nil {
			w.recordViolation("the store at the end: %v", err)
			return
		}
	}
	if digests[0] != digests[1] {
		w.recordViolation("opened twice, the store has the digests %x and %x", digests[0], digests[1])
	}
}

func (w *world) whileOpen(dir string, fn func(*posting.Journal) error) error {
	log := slog.New(slog.DiscardHandler)
	return w.whileStoreOpen(store.Options{Dir: dir, MemTable: memTable, SegmentSize: segment, ValuesFileSize: valuesFile, Log: log, MustExist: true}, fn)
}

// whileStoreOpen calls fn with a journal on the store with the given options.
func (w *world) whileStoreOpen(o store.Options, fn func(*posting.Journal) error) error {
	log := slog.New(slog.DiscardHandler)
	j, err := posting.Open(posting.Options{Store: o, Clock: clock.NewManual(w.clockNow()), Log: log, Fatal: func(err error) { w.recordViolation("%v", err) }})
	if err != nil {
		return err
	}
	err = fn(j)
	if closeErr := j.Close(); closeErr != nil {
		j.Abandon()
		err = errors.Join(err, closeErr)
	}
	return err
}

// saveBackup writes a client's backup to a file.
func (w *world) saveBackup(content []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := &savedBackup{path: filepath.Join(w.root, fmt.Sprintf("backup-%d", len(w.book.savedBackups)))}
	if err := os.WriteFile(b.path, content, 0o600); err != nil {
		w.violations = append(w.violations, err.Error())
		return
	}
	w.book.savedBackups = append(w.book.savedBackups, b)
}

// restoreBackups restores the last backup and checks it.
func (w *world) restoreBackups() {
	if len(w.book.savedBackups) == 0 || w.hasViolations() {
		return
	}
	b := w.book.savedBackups[len(w.book.savedBackups)-1]
	keyring, err := secret.LoadKeyring(filepath.Join(w.keyringDir, keyringFile))
	if err != nil {
		w.recordViolation("%v", err)
		return
	}
	restored, err := backup.Restore(context.Background(), backup.RestoreConfig{
		From: b.path, Data: filepath.Join(w.root, "restored"), Keyring: keyring, Log: slog.New(slog.DiscardHandler),
	})
	if restored == nil || restored.Report == nil {
		w.recordViolation("restoring a backup: %v", err)
		return
	}
	for i := range restored.Report.Rules {
		if r := &restored.Report.Rules[i]; r.Outcome == findings.Broken && !(w.twice && r.Number == callsRule) {
			w.recordViolation("the checker, in a restored store, rule %d: %q", r.Number, r.Details)
		}
	}
}
