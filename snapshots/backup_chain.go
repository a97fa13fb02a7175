package snapshots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mizan/posting"
	"mizan/posting/store"
)

// BackupSuffix ends the name of every backup in a directory of them.
const BackupSuffix = ".backup"

// Listed is a backup that lies in a directory. Of its file only the header was
// read.
type Listed struct {
	Path   string
	Size   int64
	Header BackupHeader
}

// ListBackups are the backups of a directory, the oldest first. One that can't be
// read is an error: it may be the one that is looked for.
func ListBackups(dir string) ([]Listed, error) {
	list, unread, err := scanBackups(dir)
	return list, errors.Join(unread, err)
}

// scanBackups is ListBackups for who can do without what can't be read.
func scanBackups(dir string) (list []Listed, unread, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), BackupSuffix) || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := filepath.Join(dir, e.Name())
		a, err := openArchive(path, nil)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was just removed
		}
		if err != nil {
			unread = errors.Join(unread, err)
			continue
		}
		list = append(list, Listed{Path: path, Size: a.size, Header: a.header})
		a.close()
	}
	slices.SortFunc(list, func(a, b Listed) int {
		if c := a.Header.TakenAt.Compare(b.Header.TakenAt); c != 0 {
			return c
		}
		return cmp.Compare(a.Header.Group, b.Header.Group)
	})
	return list, unread, nil
}

// ReadHeader is the header of a backup's file, or of the newest one of a directory.
func ReadHeader(path string) (BackupHeader, error) {
	c, err := choose(path, time.Time{})
	return c.Header, err
}

// choice is a backup that was meant, and what lies beside it.
type choice struct {
	Listed
	list   []Listed
	unread error // why some can't be read; they are missed if they are needed
}

// choose finds the backup that a path means: the file, or of a directory the
// newest one that is not after an instant (zero: the newest).
func choose(path string, at time.Time) (c choice, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return c, err
	}
	if info.IsDir() {
		return chooseOf(path, at)
	}
	if !at.IsZero() {
		return c, &BackupError{Path: path, What: "it is one backup; a time chooses among those of a directory"}
	}
	a, err := openArchive(path, nil)
	if err != nil {
		return c, err
	}
	defer a.close()
	c.Listed = Listed{Path: path, Size: a.size, Header: a.header}
	if a.header.Since != nil {
		c.list, c.unread, err = scanBackups(filepath.Dir(path))
	}
	return c, err
}

// chooseOf chooses from a directory. One that can't be read may be the one that
// is meant.
func chooseOf(dir string, at time.Time) (c choice, err error) {
	if c.list, err = ListBackups(dir); err != nil {
		return c, err
	}
	if len(c.list) == 0 {
		return c, &BackupError{Path: dir, What: "there is no backup in it"}
	}
	first := c.list[0].Header
	for _, l := range c.list {
		if l.Header.Store != "" && first.Store != "" && l.Header.Store != first.Store {
			return c, &BackupError{Path: dir, What: "it has backups of several stores; name the file"}
		}
		if at.IsZero() || !l.Header.TakenAt.After(at) {
			c.Listed = l
		}
	}
	if c.Path == "" {
		return c, &BackupError{Path: dir, What: "the oldest backup in it is of " + first.TakenAt.Format(time.RFC3339Nano)}
	}
	return c, nil
}

// chain is a full backup and the increments after it, in order.
type chain []*archive

// openChain opens a backup and all that it rests on.
func openChain(path string, at time.Time, keyring Sealer) (c chain, err error) {
	defer func() {
		if err != nil {
			c.close()
			c = nil
		}
	}()
	chosen, err := choose(path, at)
	if err != nil {
		return nil, err
	}
	next, list := chosen.Listed, chosen.list
	for {
		a, err := openArchive(next.Path, keyring)
		if err != nil {
			return c, err
		}
		c = append(c, a)
		since := a.header.Since
		if since == nil {
			slices.Reverse(c)
			return c, nil
		}
		i := slices.IndexFunc(list, func(l Listed) bool { return l.Header.ID == since.ID })
		switch {
		case len(c) >= maxChain:
			return c, spoiled(a.path, "it rests on too many others")
		case i < 0:
			missed := &BackupError{Path: a.path, What: fmt.Sprintf("it rests on backup %s of group %d, which is not beside it", since.ID, since.Group)}
			return c, errors.Join(missed, chosen.unread)
		}
		if base := list[i].Header.base(); base != *since || list[i].Header.Store != a.header.Store || base.Group > a.header.Group {
			return c, &BackupError{Path: a.path, What: fmt.Sprintf("it rests on another backup than %s is", list[i].Path)}
		}
		next = list[i]
	}
}

func (c chain) close() {
	for _, a := range c {
		a.close()
	}
}

// top is the newest backup of the chain, whose state it is.
func (c chain) top() *archive { return c[len(c)-1] }

// bytes is how much the rows may take.
func (c chain) bytes() (sum uint64) {
	for _, a := range c {
		sum += a.manifest.Bytes
		for _, p := range a.manifest.Parts {
			if p.File != "" {
				sum += uint64(p.Size)
			}
		}
	}
	return sum
}

// rowSource reads the rows of one backup of a chain, a part ahead.
type rowSource struct {
	parts chan []byte
	rest  []byte
	row   posting.StoredRow
	path  string
}

// next moves to the next row; false: there is none.
func (s *rowSource) next() (bool, error) {
	for len(s.rest) == 0 {
		part, open := <-s.parts
		if !open {
			return false, nil
		}
		s.rest, s.row.Key = part, s.row.Key[:0]
	}
	var ok bool
	if s.rest, ok = takeRow(s.rest, &s.row); !ok {
		return false, spoiled(s.path, "a row is cut short")
	}
	return true, nil
}

// read sends a backup's parts of rows; those of files go to file.
func (a *archive) read(ctx context.Context, parts chan<- []byte, file func(name string, piece []byte) error) error {
	defer close(parts)
	return a.parts(func(name string, plaintext []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if name != "" {
			return file(name, plaintext)
		}
		select {
		case parts <- plaintext:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// merge calls fn with the rows of the state that the chain ends with, in the order
// of their keys: of each the newest, and of the kinds that increments carry
// whole those of the last one only. Files beside the store go to file, as the
// last backup has them.
func (c chain) merge(ctx context.Context, fn func(store.StoredRow) error, file func(name string, piece []byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, len(c))
	sources := make([]*rowSource, len(c))
	for i, a := range c {
		s := &rowSource{parts: make(chan []byte, 2), path: a.path}
		sources[i] = s
		keep := file
		if i < len(c)-1 {
			keep = func(string, []byte) error { return nil }
		}
		go func() { ended <- a.read(ctx, s.parts, keep) }()
	}
	err := mergeRows(sources, fn)
	if err != nil {
		cancel()
	}
	for range sources {
		// What is left of a part that is not wanted is in nobody's way.
		if failed := <-ended; failed != nil && (err == nil || !errors.Is(failed, context.Canceled)) {
			err = failed
			cancel()
		}
	}
	cancel()
	return err
}

func mergeRows(sources []*rowSource, fn func(store.StoredRow) error) error {
	live := make([]bool, len(sources))
	step := func(i int) (err error) {
		for {
			live[i], err = sources[i].next()
			if err != nil || !live[i] || i == len(sources)-1 || !store.CarriedWhole(sources[i].row.Key) {
				return err
			}
		}
	}
	for i := range sources {
		if err := step(i); err != nil {
			return err
		}
	}
	for {
		newest := -1
		for i, s := range sources {
			if live[i] && (newest < 0 || string(s.row.Key) <= string(sources[newest].row.Key)) {
				newest = i
			}
		}
		if newest < 0 {
			return nil
		}
		if err := fn(sources[newest].row); err != nil {
			return err
		}
		key := sources[newest].row.Key
		for i := range sources {
			if i != newest && live[i] && string(sources[i].row.Key) == string(key) {
				if err := step(i); err != nil {
					return err
				}
			}
		}
		if err := step(newest); err != nil {
			return err
		}
	}
}
