package backup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"mizan/internal/durable"
	"mizan/internal/filelock"
)

// scheduledChainLength is the number of backups in a chain of scheduled backups: one full backup and its increments.
// After that many backups, the schedule begins a new chain with a full backup.
const scheduledChainLength = 24

// unfinishedSuffix is the suffix of a backup's file name while the backup is being written.
const unfinishedSuffix = ".unfinished"

// FileName returns the file name of a backup in a directory of backups.
func FileName(h *Header) string {
	return fmt.Sprintf("mizan-%s-%.8s-%s%s", h.TakenAt.UTC().Format("20060102T150405Z"), h.ID, h.Kind(), Suffix)
}

// File is a backup that is being written. Until Keep is called, its name doesn't look like a backup's
// name. The file stays locked while it is written.
type File struct {
	f            *os.File
	hasFinalPath bool
}

// createAttempts bounds how often CreateFile creates a file again because another process has removed it.
const createAttempts = 100

// CreateFile creates the file of a backup in the directory in which the backup will stay, so that Keep
// only renames the file.
func CreateFile(dir string) (*File, error) {
	for range createAttempts {
		f, err := os.CreateTemp(dir, ".mizan-*"+unfinishedSuffix)
		if err != nil {
			return nil, err
		}
		// Another process may run RemoveUnfinished, which locks each file before it removes the file. If that process
		// had locked this file, the file is gone now, and CreateFile creates another one.
		if err := filelock.Wait(f); err != nil {
			return nil, errors.Join(&os.PathError{Op: "lock", Path: f.Name(), Err: err}, f.Close(), os.Remove(f.Name()))
		}
		if _, err := os.Lstat(f.Name()); err == nil {
			return &File{f: f}, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	return nil, &os.PathError{Op: "create", Path: dir, Err: errors.New("every file created there is removed by another process")}
}

// Write implements io.Writer.
func (f *File) Write(p []byte) (int, error) { return f.f.Write(p) }

// Name returns the file's temporary path.
func (f *File) Name() string { return f.f.Name() }

// Keep makes the file durable and gives it its final path. If the path exists already, Keep returns fs.ErrExist.
func (f *File) Keep(path string) error {
	if err := f.f.Sync(); err != nil {
		return err
	}
	if err := os.Link(f.f.Name(), path); err != nil {
		return err
	}
	f.hasFinalPath = true
	if err := os.Remove(f.f.Name()); err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(path))
}

// Close closes the file, and removes it if Keep has not given it its final path.
func (f *File) Close() error {
	var err error
	if !f.hasFinalPath {
		err = os.Remove(f.f.Name())
	}
	return errors.Join(err, f.f.Close())
}

// RemoveUnfinished removes the files that interrupted backups have left in a directory. It removes neither locked
// files, which are being written, nor files of other programs.
func RemoveUnfinished(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".mizan-") || !strings.HasSuffix(e.Name(), unfinishedSuffix) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue
		}
		if err != nil {
			return err
		}
		if filelock.Try(f) == nil {
			if err = os.Remove(path); errors.Is(err, fs.ErrNotExist) {
				err = nil // the file was just removed or renamed
			}
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// Save takes a backup and stores it in the directory. The backup is an increment to the newest backup
// of this store in the directory. It is a full backup if there is no backup of this store, or if the
// newest one belongs to a chain that is incomplete, damaged, or already scheduledChainLength backups
// long. Save reads the new backup again before giving it its name.
func (s *Service) Save(dir string) (newBackup FoundBackup, err error) {
	list, err := s.readableBackups(dir)
	if err != nil {
		return newBackup, err
	}
	base, err := s.chooseBase(list)
	if err != nil {
		return newBackup, err
	}
	b, err := s.Begin(base)
	if err != nil {
		return newBackup, err
	}
	f, err := CreateFile(dir)
	if err != nil {
		b.Close()
		return newBackup, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buffered := bufio.NewWriterSize(f, partBytes)
	newBackup.Size, err = b.WriteTo(buffered)
	b.Close()
	if err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = s.verifyWritten(f.Name())
	}
	if err != nil {
		return newBackup, err
	}
	newBackup.Header = b.header
	newBackup.Path = filepath.Join(dir, FileName(&b.header))
	return newBackup, f.Keep(newBackup.Path)
}

// readableBackups returns the readable backups in a directory whose names end with Suffix. An unreadable backup
// is logged and does not prevent new backups.
func (s *Service) readableBackups(dir string) (list []FoundBackup, err error) {
	files, err := scanBackups(dir, nil)
	unreadable := files.unreadable
	for _, l := range files.list {
		switch {
		case !strings.HasSuffix(l.Path, Suffix):
		case l.fault != nil:
			unreadable = append(unreadable, l.fault)
		default:
			list = append(list, l)
		}
	}
	if len(unreadable) > 0 {
		s.options.Log.Error("a backup can't be read", "dir", dir, "error", errors.Join(unreadable...))
	}
	return list, err
}

// chooseBase returns the base of the next backup, or nil if the next backup must be full. It first reads and decrypts
// the base and all backups that the base needs, because an increment to a damaged backup can't be restored.
// chooseBase returns an error only if the service stops.
func (s *Service) chooseBase(list []FoundBackup) (*Base, error) {
	chain := s.newestChain(list)
	if len(chain) == 0 {
		return nil, nil
	}
	for _, l := range chain {
		err := s.verifyWritten(l.Path)
		if s.ctx.Err() != nil {
			return nil, s.ctx.Err()
		}
		if err != nil {
			s.options.Log.Warn("a full backup is taken: an increment would need a backup that can't be restored", "error", err)
			return nil, nil
		}
	}
	base := chain[0].Header.Base()
	return &base, nil
}

// newestChain returns the newest backup of this store and all backups that it needs. It returns nil if the next
// backup must be full.
func (s *Service) newestChain(list []FoundBackup) []FoundBackup {
	v := s.options.Journal.View()
	defer v.Close()
	for _, l := range slices.Backward(list) {
		if !isOfStore(v.GroupHash, &l.Header) {
			continue
		}
		chain, depth := requiredBackups(list, l), l.Header.depth()
		if depth >= scheduledChainLength || len(chain) != depth {
			return nil
		}
		return chain
	}
	return nil
}

// isOfStore tells whether a backup was taken of this store. groupHash returns the hash of one of the store's groups
// (the changes that became durable with one sync).
func isOfStore(groupHash func(uint64) ([32]byte, bool, error), h *Header) bool {
	hash, found, err := groupHash(h.Group)
	return err == nil && found && fmt.Sprintf("%x", hash) == h.GroupHash
}

// requiredBackups returns the backups in the list that a restore of l needs, including l. If the list lacks one of
// them, the result ends before the missing one.
func requiredBackups(list []FoundBackup, l FoundBackup) (chain []FoundBackup) {
	for range maxChain {
		chain = append(chain, l)
		since := l.Header.Since
		if since == nil {
			break
		}
		i := slices.IndexFunc(list, func(x FoundBackup) bool { return x.Header.Base() == *since })
		if i < 0 {
			break
		}
		l = list[i]
	}
	return chain
}

// verifyWritten checks a backup: it reads and decrypts the whole file, no faster than Options.Rate allows.
func (s *Service) verifyWritten(path string) error {
	a, err := openSealed(s.ctx, path, s.options.Keyring)
	if err != nil {
		return err
	}
	defer a.close()
	return a.eachPart(s.ctx, func(_ string, plaintext []byte) error { return pause(s.ctx, s.limiter, len(plaintext)) })
}

// Prune removes old backups of this store from the directory and returns those that it has removed. It keeps the
// newest keepCount backups and all backups that they need.
func (s *Service) Prune(dir string, keepCount int) (removedBackups []FoundBackup, err error) {
	list, err := s.readableBackups(dir)
	if err != nil {
		return nil, err
	}
	v := s.options.Journal.View()
	defer v.Close()
	list = slices.DeleteFunc(list, func(l FoundBackup) bool { return !isOfStore(v.GroupHash, &l.Header) })
	neededIDs := make(map[string]bool)
	for _, l := range list[max(0, len(list)-keepCount):] {
		for _, needed := range requiredBackups(list, l) {
			neededIDs[needed.Header.ID] = true // all copies of the backup are kept, because some of them may be damaged
		}
	}
	// The newest backup to be removed is removed first. So if the process is killed in between, no remaining backup needs a
	// removed backup.
	for _, l := range slices.Backward(list) {
		if neededIDs[l.Header.ID] {
			continue
		}
		if err := os.Remove(l.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removedBackups, err
		}
		removedBackups = append(removedBackups, l)
	}
	if len(removedBackups) > 0 {
		err = durable.SyncDir(dir)
	}
	return removedBackups, err
}

// Schedule takes backups until ctx ends: one per interval, counted from the newest backup in the directory. After
// each backup it calls Prune. A failure is logged, and the backup is tried again a minute later, or after interval
// if that is shorter.
func (s *Service) Schedule(ctx context.Context, dir string, interval time.Duration, keepCount int) {
	const retry = time.Minute
	log := s.options.Log.With("dir", dir)
	firstWait := time.Duration(0)
	if list, err := s.readableBackups(dir); err == nil {
		v := s.options.Journal.View()
		for _, l := range list {
			if isOfStore(v.GroupHash, &l.Header) {
				firstWait = min(interval, max(0, interval-time.Since(l.modTime)))
				s.recordEarlierBackup(l.modTime)
			}
		}
		v.Close()
	}
	timer := time.NewTimer(firstWait)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		started := time.Now()
		newBackup, err := s.saveAndPrune(dir, keepCount)
		switch {
		case ctx.Err() != nil || s.ctx.Err() != nil:
			return
		case err != nil:
			s.countFailure()
			log.Error("the backup failed", "error", err)
			timer.Reset(min(interval, retry))
		default:
			s.countSuccess(started, newBackup.Size)
			log.Info("a backup was taken and verified", "file", filepath.Base(newBackup.Path), "group", newBackup.Header.Group, "bytes", newBackup.Size, "took", time.Since(started))
			timer.Reset(max(0, interval-time.Since(started)))
		}
	}
}

// saveAndPrune saves a backup and removes old backups. If an old backup can't be removed, saveAndPrune only logs the
// failure: if it returned an error, the schedule would take the next backup early.
func (s *Service) saveAndPrune(dir string, keepCount int) (FoundBackup, error) {
	if err := RemoveUnfinished(dir); err != nil {
		return FoundBackup{}, err
	}
	newBackup, err := s.Save(dir)
	if err != nil {
		return newBackup, err
	}
	removedBackups, err := s.Prune(dir, keepCount)
	for _, l := range removedBackups {
		s.options.Log.Info("a backup was removed", "file", filepath.Base(l.Path))
	}
	if err != nil {
		s.options.Log.Error("an old backup can't be removed", "dir", dir, "error", err)
	}
	return newBackup, nil
}
