package log

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"mizan/internal/disk"
	"os"
	"slices"
	"syscall"
)

// sectorSize is the unit in which the disk writes, in bytes. A power cut loses whole units.
const sectorSize = 512

var (
	errDisk  = errors.New("the disk failed")
	errPower = errors.New("the power is off")
)

// memory is a directory in memory. It distinguishes durable content from content that a power cut may lose.
type memory struct {
	files   map[string]*memoryFile
	durable map[string]*memoryFile // files by their durable names
	renames []func(names map[string]*memoryFile)

	room     int64 // bytes for new files
	steps    int   // number of changes so far: writes, syncs, and changes of names
	powerCut int   // number of the step from which on every change fails without effect; 0: never
	failSync int   // number of the step at which the sync of a file fails; 0: never
	isSynced bool  // the sync that fails makes the file durable nevertheless

	onSync func() error // called instead of the next sync of a file; nil: none
}

func newMemory() *memory {
	return &memory{files: map[string]*memoryFile{}, durable: map[string]*memoryFile{}, room: 1 << 40}
}

type memoryFile struct {
	dir     *memory
	name    string
	disk    []byte // what is durable
	content []byte // content that reads return, including writes that are not durable
	pending []pendingWrite
}

type pendingWrite struct {
	at   int64
	data []byte
}

// step counts a change. It returns an error if the power is off.
func (m *memory) step() error {
	m.steps++
	if m.powerCut > 0 && m.steps >= m.powerCut {
		return errPower
	}
	return nil
}

func (m *memory) Path(name string) string { return "log/" + name }

func (m *memory) Names() ([]string, error) { return slices.Sorted(maps.Keys(m.files)), nil }

func (m *memory) Create(name string, size int64) (disk.File, error) {
	if err := m.step(); err != nil {
		return nil, err
	}
	if size > m.room {
		return nil, &os.PathError{Op: "write", Path: name, Err: syscall.ENOSPC}
	}
	m.room -= size
	f := &memoryFile{dir: m, name: name, disk: make([]byte, size), content: make([]byte, size)}
	m.change(func(names map[string]*memoryFile) { names[name] = f })
	return f, nil
}

func (m *memory) Open(name string) (disk.File, error) {
	f := m.files[name]
	if f == nil {
		return nil, os.ErrNotExist
	}
	return f, nil
}

func (m *memory) change(fn func(map[string]*memoryFile)) {
	fn(m.files)
	m.renames = append(m.renames, fn)
}

func (m *memory) Rename(from, to string) error {
	if err := m.step(); err != nil {
		return err
	}
	if m.files[from] == nil {
		return fmt.Errorf("rename of %s to %s", from, to)
	}
	m.change(func(names map[string]*memoryFile) {
		names[to] = names[from]
		delete(names, from)
	})
	return nil
}

func (m *memory) Remove(name string) error {
	if err := m.step(); err != nil {
		return err
	}
	m.change(func(names map[string]*memoryFile) { delete(names, name) })
	return nil
}

func (m *memory) Sync() error {
	if err := m.step(); err != nil {
		return err
	}
	m.durable, m.renames = maps.Clone(m.files), nil
	return nil
}

func (f *memoryFile) ReadAt(p []byte, at int64) (int, error) {
	if at >= int64(len(f.content)) {
		return 0, io.EOF
	}
	n := copy(p, f.content[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memoryFile) WriteAt(p []byte, at int64) (int, error) {
	if err := f.dir.step(); err != nil {
		return 0, err
	}
	f.pending = append(f.pending, pendingWrite{at, slices.Clone(p)})
	return copy(f.content[at:], p), nil
}

func (f *memoryFile) Size() (int64, error) { return int64(len(f.content)), nil }

func (f *memoryFile) Datasync() error {
	if onSync := f.dir.onSync; onSync != nil {
		f.dir.onSync = nil
		return onSync()
	}
	if err := f.dir.step(); err != nil {
		return err
	}
	fails := f.dir.failSync == f.dir.steps
	if !fails || f.dir.isSynced {
		for _, w := range f.pending {
			copy(f.disk[w.at:], w.data)
		}
	}
	f.pending = nil // after a failed sync Linux treats the pages as written: reads return them, but later syncs do not write them
	if fails {
		return errDisk
	}
	return nil
}

func (f *memoryFile) Close() error { return nil }

// killed returns the directory as the next process finds it if this process was killed: nothing is lost.
func (m *memory) killed() *memory {
	next := &memory{files: m.files, durable: m.durable, renames: m.renames, room: m.room}
	for _, f := range m.files {
		f.dir = next
	}
	return next
}

// afterPowerCut returns the directory after a power cut: random sectors of writes that were not synced are lost, and so are the
// last changes of names.
func (m *memory) afterPowerCut(random *rand.Rand) *memory {
	names := maps.Clone(m.durable)
	for _, change := range m.renames[:random.IntN(len(m.renames)+1)] {
		change(names)
	}
	next := &memory{files: map[string]*memoryFile{}, room: m.room}
	keep := random.IntN(3) // 0: keep some sectors; 1: none; 2: all
	for name, f := range names {
		disk := slices.Clone(f.disk)
		for _, w := range f.pending {
			for from := int64(0); from < int64(len(w.data)); {
				to := min((w.at+from)/sectorSize*sectorSize+sectorSize-w.at, int64(len(w.data)))
				if keep == 2 || keep == 0 && random.IntN(2) == 0 {
					copy(disk[w.at+from:], w.data[from:to])
				}
				from = to
			}
		}
		next.files[name] = &memoryFile{dir: next, name: name, disk: disk, content: slices.Clone(disk)}
	}
	next.durable = maps.Clone(next.files)
	return next
}

// copied returns a copy of the directory with its durable content.
func (m *memory) copied() *memory {
	next := &memory{files: map[string]*memoryFile{}, room: m.room}
	for name, f := range m.files {
		next.files[name] = &memoryFile{dir: next, name: name, disk: slices.Clone(f.disk), content: slices.Clone(f.content)}
	}
	next.durable = maps.Clone(next.files)
	return next
}
