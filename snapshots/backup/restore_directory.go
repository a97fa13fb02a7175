package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"mizan/internal/durable"
	"mizan/internal/filelock"
	"mizan/posting/store"
)

// Reasons why a directory can't be restored to. Restore returns them in a *TargetError.
var (
	// ErrNotEmpty says that the directory has contents.
	ErrNotEmpty = errors.New("is not empty; a restore makes a new data directory")
	// ErrMountPoint says that the path is a mount point, which a rename can't replace.
	ErrMountPoint = errors.New("is a mount point, which can't be replaced; name a new directory in it")
	// ErrNoDirectory says that the path is not a directory.
	ErrNoDirectory = errors.New("is no directory")
	// ErrInTheWay says that the temporary path of the restore already exists and was not created by an unfinished
	// restore.
	ErrInTheWay = errors.New("is in the way, and no unfinished restore has created it; move it away, or restore under another name")
)

// TargetError says why Restore can't restore to a path.
type TargetError struct {
	Path string
	Err  error // the reason
}

// Error implements error.
func (e *TargetError) Error() string {
	var pathErr *fs.PathError
	if errors.As(e.Err, &pathErr) {
		return pathErr.Error() // the text of a path error already names the path
	}
	return e.Path + " " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *TargetError) Unwrap() error { return e.Err }

// restoreTarget returns the path of the directory to restore into. If path is a symbolic link, restoreTarget returns
// the link's target, because a directory can't replace the link itself. The returned directory does not exist, or it
// is empty and can be replaced. restoreTarget returns a *TargetError or an error of the file system.
func restoreTarget(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	parent, err := os.Stat(filepath.Dir(path))
	if err == nil && !parent.IsDir() {
		return "", &TargetError{filepath.Dir(path), ErrNoDirectory}
	}
	if err != nil {
		return "", &TargetError{path, err}
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path, nil
	case err != nil:
		return "", &TargetError{path, err}
	case !info.IsDir(): // a link to nothing is not a directory either
		return "", &TargetError{path, ErrNoDirectory}
	}
	if err := checkReplaceable(path); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(path)
	if err == nil && len(entries) > 0 {
		err = ErrNotEmpty
	}
	if err != nil {
		return "", &TargetError{path, err}
	}
	return path, nil
}

// checkReplaceable returns a *TargetError if the directory is a mount point. A bind mount, which shows another
// directory of the same disk, is a mount point too.
func checkReplaceable(dir string) error {
	var stat unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, dir, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS, &stat) == nil && stat.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0 {
		if stat.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0 {
			return &TargetError{dir, ErrMountPoint}
		}
		return nil
	}
	// Older kernels do not report mount points. There, a directory on another disk than its parent is taken for a
	// mount point.
	var dirStat, parentStat unix.Stat_t
	if err := errors.Join(unix.Lstat(dir, &dirStat), unix.Stat(filepath.Dir(dir), &parentStat)); err != nil {
		return &fs.PathError{Op: "stat", Path: dir, Err: err}
	}
	if dirStat.Dev != parentStat.Dev {
		return &TargetError{dir, ErrMountPoint}
	}
	return nil
}

// workDirectory is the directory in which a restore works; the restore holds a lock on it. A file in the directory,
// the mark, says that the directory belongs to a restore: no server opens the directory, and the next restore may
// clear it. The mark is created before all other files and removed after them.
type workDirectory struct {
	dir       string
	lock      *os.File
	isRenamed bool // the directory has its final name
}

// openWorkDirectory creates and locks the directory, and removes what an interrupted restore has left in it.
// It returns store.ErrLocked if another restore or a server works in the directory, a *TargetError if the directory
// has contents that were not created by a restore, or an error of the file system.
func openWorkDirectory(dir string) (s *workDirectory, err error) {
	mkdirErr := os.Mkdir(dir, 0o700)
	if mkdirErr != nil && !errors.Is(mkdirErr, fs.ErrExist) {
		return nil, mkdirErr
	}
	s = &workDirectory{dir: dir}
	// O_NOFOLLOW: a restore must not clear the target of a symbolic link.
	s.lock, err = os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) {
		return nil, &TargetError{dir, ErrInTheWay}
	}
	if err != nil {
		return nil, err
	}
	if err := s.claim(); err != nil {
		if mkdirErr == nil {
			_ = os.Remove(s.markPath()) // the two calls remove only what openWorkDirectory has created
			_ = os.Remove(dir)
		}
		return nil, errors.Join(err, s.lock.Close())
	}
	return s, nil
}

// claim locks the directory, marks it and removes what an interrupted restore has left. It changes nothing in a
// directory that belongs to another process.
func (w *workDirectory) claim() error {
	err := filelock.Try(w.lock)
	switch {
	case errors.Is(err, filelock.ErrHeld):
		return fmt.Errorf("%s: %w", w.dir, store.ErrLocked)
	case err != nil:
		return &fs.PathError{Op: "lock", Path: w.dir, Err: err}
	}
	if err := store.CheckNotOpen(w.dir); err != nil {
		return err
	}
	if err := checkReplaceable(w.dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return w.createMark()
	}
	if info, err := os.Lstat(w.markPath()); err != nil || !info.Mode().IsRegular() {
		return &TargetError{w.dir, ErrInTheWay}
	}
	return w.removeAllButMark()
}

// markPath returns the path of the mark.
func (w *workDirectory) markPath() string { return filepath.Join(w.dir, store.UnfinishedName) }

// createMark creates the mark durably.
func (w *workDirectory) createMark() error {
	f, err := os.OpenFile(w.markPath(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString("A restore works in this directory, or was killed. A restored and checked directory has another name and not this file.\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return durable.SyncDir(w.dir)
}

// removeAllButMark removes everything from the directory except the mark.
func (w *workDirectory) removeAllButMark() error {
	entries, err := os.ReadDir(w.dir)
	for _, e := range entries {
		if e.Name() != store.UnfinishedName {
			err = errors.Join(err, os.RemoveAll(filepath.Join(w.dir, e.Name())))
		}
	}
	return err
}

// close removes the directory, unless it has been renamed or a server has been started in it.
// The mark is removed last.
func (w *workDirectory) close() (err error) {
	if !w.isRenamed && store.CheckNotOpen(w.dir) == nil {
		if err = w.removeAllButMark(); err == nil {
			err = os.RemoveAll(w.dir)
		}
	}
	return errors.Join(err, w.lock.Close())
}

// rename removes the mark and renames the directory. The target may be an empty directory: the
// system call replaces an empty directory and nothing else.
func (w *workDirectory) rename(path string) error {
	if err := os.Remove(w.markPath()); err != nil {
		return err
	}
	if err := durable.SyncDir(w.dir); err != nil {
		return err
	}
	if err := syscall.Rename(w.dir, path); err != nil {
		if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) {
			return &TargetError{path, ErrNotEmpty}
		}
		return &os.LinkError{Op: "rename", Old: w.dir, New: path, Err: err}
	}
	w.isRenamed = true
	return durable.SyncDir(filepath.Dir(path))
}
