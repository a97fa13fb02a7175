package simulation

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"mizan/internal/disk"
)

// sectorSize is the size in bytes of the unit that a disk writes entirely or not at all.
const sectorSize = 512

// unsyncedChanges lists those changes to a machine's disk that are not durable yet.
type unsyncedChanges struct {
	pending []*write     // in the order in which they were made
	renames []nameChange // in the order in which they were made

	removals int // number of removed files so far
}

// machineDisk is the disk of one machine while one process of the service uses it. The directories of the log and of the long
// values are in a folder with real files. machineDisk records all changes that were not synced, so that a power cut can undo
// them. The changes of earlier processes on the machine are recorded too.
type machineDisk struct {
	world     *world
	scheduler *scheduler // of the process that uses the disk
	root      string     // folder with the node's files
	data      string     // the store's data directory, relative to root

	mu     sync.Mutex
	isOver bool // the machine has crashed; goroutines of its process may still write, but their writes don't matter
	opened []*simulatedFile
	isFull bool            // no file can be created
	tables map[string]bool // names of Badger's tables that are durable
	store  fs.FileInfo     // the store's data directory in a cluster; nil before it is opened
	unsyncedChanges
}

// logFolder is the prefix of the names of the log's files.
const logFolder = "log/"

// waits returns whether a sync of a file waits for the scheduler: the segments of the store's log and of Raft's log. Other files
// are synced while a goroutine holds a lock, and such a goroutine must not wait for the scheduler.
func (d *machineDisk) waits(path string) bool {
	path = d.relative(path)
	return strings.HasPrefix(path, filepath.Join(d.data, logFolder, "segment-")) || strings.HasPrefix(path, raftFolder)
}

// write is a write to a file. The write is not durable yet.
type write struct {
	path    string // relative to the machine's folder
	at      int64
	old     []byte // content that the write has replaced
	oldSize int64  // size of the file before the write
	length  int64
	isLost  bool // a sync of the write has failed, so no later sync makes it durable
}

// nameChange is a creation, renaming or removal of a file. The change is not durable yet.
type nameChange struct {
	directory string                  // relative to the machine's folder
	undo      func(root string) error // undoes the change in root, a copy of the machine's files
}

func newMachineDisk(w *world, s *scheduler, root, data string, unsynced unsyncedChanges) *machineDisk {
	d := &machineDisk{world: w, scheduler: s, root: root, data: data, unsyncedChanges: unsynced, tables: make(map[string]bool)}
	isLeft := func(path string) bool { return data != "" && strings.HasPrefix(path, data+newSuffix) } // an unfinished copy is removed at the start
	d.pending = slices.DeleteFunc(d.pending, func(w *write) bool { return isLeft(w.path) })
	d.renames = slices.DeleteFunc(d.renames, func(c nameChange) bool { return isLeft(c.directory) })
	d.keepTables()
	return d
}

// open implements disk.Opener.
func (d *machineDisk) open(path string) disk.Directory {
	d.noteReplacement()
	return &simulatedDirectory{disk: d, path: path, inner: disk.Local(path)}
}

// noteReplacement notices that the store was replaced by a copy of another node's store (see package posting/shard). The changes
// of the old store no longer matter, and the new one has its final name. Renaming directories is durable at once here.
func (d *machineDisk) noteReplacement() {
	if d.data == "" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	info, err := os.Stat(filepath.Join(d.root, d.data))
	if err != nil || d.store != nil && os.SameFile(info, d.store) {
		return
	}
	if d.store != nil {
		isOld := func(path string) bool { return strings.HasPrefix(path, d.data+"/") }
		d.pending = slices.DeleteFunc(d.pending, func(w *write) bool { return isOld(w.path) })
		d.renames = slices.DeleteFunc(d.renames, func(c nameChange) bool { return isOld(c.directory) || strings.HasPrefix(c.directory, d.data+newSuffix) })
		for _, w := range d.pending {
			if rest, isNew := strings.CutPrefix(w.path, d.data+newSuffix+"/"); isNew {
				w.path = d.data + "/" + rest
			}
		}
		clear(d.tables)
		d.keepTables()
	}
	d.store = info
}

// newSuffix is the end of the name of a store that will replace the node's store.
const newSuffix = ".new"

// takeUnsynced returns the changes that are not durable yet. The next process on the same machine takes them over.
func (d *machineDisk) takeUnsynced() unsyncedChanges {
	d.mu.Lock()
	defer d.mu.Unlock()
	u := unsyncedChanges{renames: slices.Clone(d.renames), removals: d.removals}
	for _, pending := range d.pending { // copies, because goroutines of the ended process may still change the originals
		u.pending = append(u.pending, new(*pending))
	}
	return u
}

// crash marks the machine as crashed. The caller must have copied the machine's files before.
func (d *machineDisk) crash() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.isOver, d.isFull = true, false
}

func (d *machineDisk) state() (isOver, isFull bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.isOver, d.isFull
}

func (d *machineDisk) setFull(isFull bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.isFull = isFull
}

// await waits until the scheduler lets a file operation begin, and returns whether the operation should fail.
func (d *machineDisk) await(operation, path string) verdict {
	if isOver, _ := d.state(); isOver {
		return verdictGo
	}
	return d.scheduler.await(waitDisk, operation+" "+d.relative(path))
}

func (d *machineDisk) relative(path string) string {
	name, err := filepath.Rel(d.root, path)
	if err != nil {
		return path
	}
	return name
}

// forget is called after a sync of a file. It removes from pending the writes that are now durable.
func (d *machineDisk) forget(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	path = d.relative(path)
	// A write whose sync has failed no longer matters if a later write has replaced all its bytes and that write is synced.
	for i, lost := range d.pending {
		if lost.path == path && lost.isLost && slices.ContainsFunc(d.pending[i+1:], func(w *write) bool { return !w.isLost && w.covers(lost) }) {
			lost.isLost = false
		}
	}
	d.pending = slices.DeleteFunc(d.pending, func(w *write) bool { return w.path == path && !w.isLost })
}

// lose is called after a failed sync of a file. It marks the file's pending writes as lost. After a failed sync Linux marks the
// pages as clean, so no later sync writes them.
func (d *machineDisk) lose(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	path = d.relative(path)
	for _, w := range d.pending {
		if w.path == path {
			w.isLost = true
		}
	}
}

// covers returns whether w replaces all bytes that an earlier write has written.
func (w *write) covers(earlier *write) bool {
	return w.path == earlier.path && w.at <= earlier.at && earlier.at+earlier.length <= w.at+w.length
}

// rename changes the path of a file's pending writes.
func (d *machineDisk) rename(from, to string) {
	for _, w := range d.pending {
		if w.path == from {
			w.path = to
		}
	}
}

// cutPower simulates a power cut in a copy of the machine's files: it undoes a random part of the changes that were not
// durable. Writes are undone sector by sector. Changes of names are undone from the last change backwards. cutPower returns a
// description of what it has done.
func (d *machineDisk) cutPower(copied string, random *rand.Rand, o outage) (text string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	lost, kept, flipped := 0, 0, 0
	decided := make(map[string]bool) // sectors in which a later write was kept; earlier writes to them do not matter
	for _, w := range slices.Backward(d.pending) {
		file, err := os.OpenFile(filepath.Join(copied, w.path), os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the file was removed later
		}
		if err != nil {
			return "", err
		}
		for from := w.at / sectorSize * sectorSize; from < w.at+w.length; from += sectorSize {
			begin, end := max(from, w.at), min(from+sectorSize, w.at+w.length)
			sector := fmt.Sprint(w.path, from)
			switch {
			case decided[sector]:
			case w.isLost || o.loses(random):
				lost++
				err = errors.Join(err, putBack(file, w, begin, end))
			case random.Float64() < o.flips:
				flipped++
				decided[sector] = true
				err = errors.Join(err, flipBit(file, begin+random.Int64N(end-begin), random))
			case random.Float64() < o.misdirects:
				d.world.isHarmed = true
				lost++
				err = errors.Join(err, misdirect(file, w, begin, end, random))
			default:
				kept++
				decided[sector] = true
			}
		}
		if err := errors.Join(err, file.Close()); err != nil {
			return "", err
		}
	}
	undone := 0
	if len(d.renames) > 0 {
		undone = random.IntN(len(d.renames) + 1)
		for _, change := range slices.Backward(d.renames[len(d.renames)-undone:]) {
			if err := change.undo(copied); err != nil {
				return "", err
			}
		}
	}
	table := ""
	if random.IntN(2) == 0 {
		if table, err = d.loseTable(copied); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d sectors lost, %d kept, %d with a flipped bit, %d of %d names, table %q lost", lost, kept, flipped, len(d.renames)-undone, len(d.renames), table), nil
}

// putBack undoes the part of a write that is between the file positions begin and end. If the write has made the file longer,
// putBack may truncate the file to its old size.
func putBack(file *os.File, w *write, begin, end int64) error {
	old := w.old
	if int64(len(old)) > begin-w.at {
		old = old[begin-w.at : min(end-w.at, int64(len(old)))]
		if _, err := file.WriteAt(old, begin); err != nil {
			return err
		}
		begin += int64(len(old))
	}
	if begin >= end {
		return nil
	}
	// Before the write, the file ended before end. If no bytes follow this part, the file is truncated. Otherwise this part
	// becomes zeros.
	if info, err := file.Stat(); err != nil || info.Size() <= end {
		return errors.Join(err, file.Truncate(max(w.oldSize, begin)))
	}
	_, err := file.WriteAt(make([]byte, end-begin), begin)
	return err
}

// misdirect undoes a part of a write, and writes the content of that part to a random sector of the same file.
func misdirect(file *os.File, w *write, begin, end int64, random *rand.Rand) error {
	content := make([]byte, end-begin)
	if _, err := file.ReadAt(content, begin); err != nil {
		return err
	}
	if err := putBack(file, w, begin, end); err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil || info.Size() < sectorSize {
		return err
	}
	_, err = file.WriteAt(content, random.Int64N(info.Size()/sectorSize)*sectorSize)
	return err
}

func flipBit(file *os.File, at int64, random *rand.Rand) error {
	b := make([]byte, 1)
	if _, err := file.ReadAt(b, at); err != nil {
		return err
	}
	b[0] ^= 1 << random.IntN(8)
	_, err := file.WriteAt(b, at)
	return err
}

// simulatedDirectory is one directory of the machine.
type simulatedDirectory struct {
	disk  *machineDisk
	path  string
	inner disk.Directory
}

// Path implements disk.Directory.
func (s *simulatedDirectory) Path(name string) string { return s.inner.Path(name) }

// Names implements disk.Directory.
func (s *simulatedDirectory) Names() ([]string, error) {
	names, err := s.inner.Names()
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, removedPrefix) }), err
}

// Create implements disk.Directory.
func (s *simulatedDirectory) Create(name string, size int64) (disk.File, error) {
	if _, isFull := s.disk.state(); isFull {
		return nil, &os.PathError{Op: "write", Path: s.Path(name), Err: syscall.ENOSPC}
	}
	f, err := s.inner.Create(name, size)
	if err != nil {
		return nil, err
	}
	s.note(func(root string) error { return os.Remove(filepath.Join(root, s.disk.relative(s.Path(name)))) })
	return s.wrap(name, f), nil
}

// Open implements disk.Directory.
func (s *simulatedDirectory) Open(name string) (disk.File, error) {
	f, err := s.inner.Open(name)
	if err != nil {
		return nil, err
	}
	return s.wrap(name, f), nil
}

func (s *simulatedDirectory) wrap(name string, f disk.File) disk.File {
	file := &simulatedFile{directory: s, path: s.Path(name), inner: f}
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	s.disk.opened = append(s.disk.opened, file)
	return file
}

func (s *simulatedDirectory) note(undo func(root string) error) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	s.disk.renames = append(s.disk.renames, nameChange{s.disk.relative(s.path), undo})
}

// Rename implements disk.Directory.
func (s *simulatedDirectory) Rename(from, to string) error {
	if err := s.inner.Rename(from, to); err != nil {
		return err
	}
	s.disk.renamed(s.Path(from), s.Path(to))
	s.note(func(root string) error {
		return os.Rename(filepath.Join(root, s.disk.relative(s.Path(to))), filepath.Join(root, s.disk.relative(s.Path(from))))
	})
	return nil
}

// renamed is called after a file was renamed. It changes the path in the file's pending writes and in its open files.
func (d *machineDisk) renamed(from, to string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rename(d.relative(from), d.relative(to))
	for _, f := range d.opened {
		if f.path == from {
			f.path = to
		}
	}
}

// removedPrefix is the prefix of the names of removed files. Such a file is only deleted when its removal is durable.
const removedPrefix = ".removed-"

// Remove implements disk.Directory.
func (s *simulatedDirectory) Remove(name string) error {
	d := s.disk
	d.mu.Lock()
	d.removals++
	hidden := fmt.Sprint(removedPrefix, d.removals, "-", name) // numbered: a file with this name may have been removed before
	d.mu.Unlock()
	if err := s.inner.Rename(name, hidden); err != nil {
		return err
	}
	s.disk.renamed(s.Path(name), s.Path(hidden))
	s.note(func(root string) error {
		return os.Rename(filepath.Join(root, s.disk.relative(s.Path(hidden))), filepath.Join(root, s.disk.relative(s.Path(name))))
	})
	return nil
}

// Sync implements disk.Directory.
func (s *simulatedDirectory) Sync() error {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	s.disk.renames = slices.DeleteFunc(s.disk.renames, func(c nameChange) bool { return c.directory == s.disk.relative(s.path) })
	if s.disk.relative(s.path) == filepath.Join(s.disk.data, storeFolder) {
		s.disk.keepTables()
	}
	names, err := s.inner.Names()
	for _, name := range names {
		if strings.HasPrefix(name, removedPrefix) {
			err = errors.Join(err, s.inner.Remove(name))
		}
	}
	return err
}

// simulatedFile is an open file of the machine.
type simulatedFile struct {
	directory *simulatedDirectory
	path      string // guarded by the disk's mu
	inner     disk.File
}

// ReadAt implements disk.File.
func (f *simulatedFile) ReadAt(p []byte, at int64) (int, error) {
	return f.inner.ReadAt(p, at)
}

// WriteAt implements disk.File.
func (f *simulatedFile) WriteAt(p []byte, at int64) (int, error) {
	d := f.directory.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isOver {
		return f.inner.WriteAt(p, at)
	}
	size, err := f.inner.Size()
	if err != nil {
		return 0, err
	}
	old := make([]byte, max(0, min(int64(len(p)), size-at)))
	if _, err := f.inner.ReadAt(old, at); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	d.pending = append(d.pending, &write{path: d.relative(f.path), at: at, old: old, oldSize: size, length: int64(len(p))})
	return f.inner.WriteAt(p, at)
}

// Size implements disk.File.
func (f *simulatedFile) Size() (int64, error) {
	return f.inner.Size()
}

// Datasync implements disk.File.
func (f *simulatedFile) Datasync() error {
	d := f.directory.disk
	d.mu.Lock()
	path := f.path
	d.mu.Unlock()
	v := verdictGo
	if d.waits(path) {
		v = d.await("sync", path)
	}
	switch v {
	case verdictFail:
		d.lose(path)
		return &os.PathError{Op: "fdatasync", Path: path, Err: syscall.EIO}
	case verdictFailPersisted:
		d.forget(path)
		return &os.PathError{Op: "fdatasync", Path: path, Err: syscall.EIO}
	}
	d.forget(path)
	return nil
}

// Close implements disk.File.
func (f *simulatedFile) Close() error {
	d := f.directory.disk
	d.mu.Lock()
	d.opened = slices.DeleteFunc(d.opened, func(o *simulatedFile) bool { return o == f })
	d.mu.Unlock()
	return f.inner.Close()
}
