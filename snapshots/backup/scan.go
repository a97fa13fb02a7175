package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"mizan/posting/store"
)

// Suffix is the suffix of the names of backups in a directory.
const Suffix = ".backup"

// Listed is a backup in a directory. Only its header and its end have been read.
type Listed struct {
	Path   string
	Size   int64
	Header Header

	written time.Time // modification time, by the file system's clock
	fault   error     // what is wrong with the file's end; nil if nothing is
}

func (a *archive) listed() Listed {
	return Listed{Path: a.path, Size: a.size, Header: a.header, written: a.written}
}

// folder is the contents of a directory of backups.
type folder struct {
	list   []Listed // oldest first, according to their headers
	unread []error  // of files whose headers can't be trusted: each may be the one that the caller wants
}

// scanBackups reads the headers of the files in a directory. Without keys it trusts each
// header. With keys a header must equal the one in the manifest, if the manifest can be opened:
// otherwise the newest backup could pass for an older one.
func scanBackups(dir string, keyring Sealer) (s folder, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return s, err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), ".") || !isBackup(path) {
			continue
		}
		l, err := readListed(path, keyring)
		if errors.Is(err, fs.ErrNotExist) {
			if _, gone := os.Lstat(path); gone != nil {
				continue // the file was just removed
			}
		}
		if err != nil {
			s.unread = append(s.unread, err)
			continue
		}
		s.list = append(s.list, l)
	}
	slices.SortFunc(s.list, func(a, b Listed) int {
		// The clock may have shown the same time for both.
		return cmp.Or(a.Header.TakenAt.Compare(b.Header.TakenAt), cmp.Compare(a.Header.Group, b.Header.Group), a.written.Compare(b.written))
	})
	return s, nil
}

// readListed reads the header of one file.
func readListed(path string, keyring Sealer) (l Listed, err error) {
	a, err := openHeader(path)
	if err != nil {
		return l, err
	}
	defer a.close()
	l = a.listed()
	if err := a.readEnd(); err != nil {
		l.fault = a.fault(err)
		return l, nil
	}
	if keyring != nil {
		a.keyring = keyring
		if plaintext, err := a.unseal(); err == nil {
			return l, a.readManifest(plaintext)
		}
	}
	return l, nil
}

// isBackup tells whether a file is a backup, by its name or by its first bytes: a backup that
// was taken into a file may have any name.
func isBackup(path string) bool {
	named := strings.HasSuffix(path, Suffix)
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return named && err != nil && !errors.Is(err, fs.ErrNotExist) // a link to nothing is not a backup
	}
	if named {
		return true
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // the file may have been replaced by a pipe meanwhile
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // the file was only read
	var magic [len(backupMagic)]byte
	_, err = io.ReadFull(f, magic[:])
	return err == nil && string(magic[:]) == backupMagic
}

// choice is the chosen backup, and what is beside it.
type choice struct {
	Listed
	folder
}

// choose finds the backup at a path: the file itself or, if the path is a directory, the newest
// backup in it that is not after the instant (zero: the newest).
func choose(path string, at time.Time, keyring Sealer) (c choice, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return c, &Error{Path: path, What: reasonOf(err), Cause: ErrChoice}
	}
	if info.IsDir() {
		if c.folder, err = scanBackups(path, keyring); err == nil {
			c.Listed, err = c.newest(path, at)
		}
		return c, err
	}
	if !at.IsZero() {
		return c, &Error{Path: path, What: "it is one backup; a time chooses among those of a directory", Cause: ErrChoice}
	}
	a, err := openArchive(path)
	if err != nil {
		return c, err
	}
	defer a.close()
	c.Listed = a.listed()
	if a.header.Since != nil {
		c.folder, err = scanBackups(filepath.Dir(path), nil)
	}
	return c, err
}

// reasonOf returns a file-system error without the path, which the message names already.
func reasonOf(err error) string {
	var fault *fs.PathError
	if errors.As(err, &fault) {
		err = fault.Err
	}
	return err.Error()
}

// newest chooses a backup from a directory. An unreadable backup is an error, because it may be
// the wanted one: an older one would restore the wrong moment.
func (s *folder) newest(dir string, at time.Time) (chosen Listed, err error) {
	if len(s.unread) > 0 {
		err, cause := errors.Join(s.unread...), ErrDamaged
		if errors.Is(err, store.ErrNewerSchema) {
			cause = store.ErrNewerSchema
		}
		what := fmt.Sprintf("which backup is meant can't be told, as one can't be read: name the file that is meant, or move this one away: %v", err)
		return chosen, &Error{Path: dir, What: what, Cause: cause}
	}
	if len(s.list) == 0 {
		return chosen, &Error{Path: dir, What: "there is no backup in it", Cause: ErrChoice}
	}
	one := "" // the store that they belong to; a backup of an empty store matches any store
	for _, l := range s.list {
		if one = cmp.Or(one, l.Header.Store); l.Header.Store != "" && l.Header.Store != one {
			return chosen, &Error{Path: dir, What: "it has backups of several stores; name the file", Cause: ErrChoice}
		}
		if at.IsZero() || !l.Header.TakenAt.After(at) {
			chosen = l
		}
	}
	if chosen.Path == "" {
		return chosen, &Error{Path: dir, What: "the oldest backup in it is of " + s.list[0].Header.TakenAt.Format(time.RFC3339Nano)}
	}
	return chosen, nil
}

// links returns the backup and all backups that it needs, the full one last.
func (c *choice) links(ctx context.Context) (links []Listed, err error) {
	next, err := c.sound(ctx, c.Listed)
	for err == nil {
		links = append(links, next)
		since := next.Header.Since
		if since == nil {
			return links, nil
		}
		i := slices.IndexFunc(c.list, func(l Listed) bool { return l.Header.Base() == *since })
		if i < 0 { // not found: each damaged copy is reported
			i = slices.IndexFunc(c.list, func(l Listed) bool { return l.Header.ID == since.ID })
		}
		switch {
		case len(links) >= maxChain:
			return nil, damaged(next.Path, "it rests on too many others")
		case i < 0:
			missed := &Error{Path: next.Path, What: fmt.Sprintf("it rests on backup %s of group %d, which is not beside it", since.ID, since.Group)}
			return nil, errors.Join(append([]error{missed}, c.unread...)...)
		}
		base := &c.list[i].Header
		if base.Base() != *since || base.Store != next.Header.Store || base.Group > next.Header.Group {
			return nil, &Error{Path: next.Path, What: fmt.Sprintf("it rests on another backup than %s is", c.list[i].Path)}
		}
		next, err = c.sound(ctx, c.list[i])
	}
	return nil, err
}

// sound returns the backup, or the first whole copy of it in the directory. If there is only
// one copy, it is not read here.
func (c *choice) sound(ctx context.Context, l Listed) (Listed, error) {
	copies := []Listed{l}
	for _, other := range c.list {
		if other.Path != l.Path && other.Header.Base() == l.Header.Base() {
			copies = append(copies, other)
		}
	}
	if len(copies) == 1 {
		return l, l.fault
	}
	var faults []error
	for _, one := range copies {
		err := one.fault
		if err == nil {
			_, err = CheckTransfer(ctx, one.Path)
		}
		if err == nil || ctx.Err() != nil {
			return one, err
		}
		faults = append(faults, err)
	}
	return l, errors.Join(faults...)
}

// unused returns the faults of the files that the chain does not need.
func (c *choice) unused(links []Listed) []error {
	unused := slices.Clone(c.unread)
	for _, l := range c.list {
		if l.fault != nil && !slices.ContainsFunc(links, func(x Listed) bool { return x.Path == l.Path }) {
			unused = append(unused, l.fault)
		}
	}
	return unused
}

// ReadBase returns the header of a backup, or of the newest one in a directory, to which an
// increment may be taken. It reads the backup and all that it needs to the end, with keys or
// without (nil), as Read and CheckTransfer do. Errors: *Error, or those of the file system.
func ReadBase(ctx context.Context, path string, keyring Sealer) (Header, error) {
	c, err := choose(path, time.Time{}, keyring)
	if err != nil {
		return Header{}, err
	}
	links, err := c.links(ctx)
	if err != nil {
		return Header{}, err
	}
	for _, l := range links {
		if keyring != nil {
			_, err = Read(ctx, l.Path, keyring)
		} else {
			_, err = CheckTransfer(ctx, l.Path)
		}
		if err != nil {
			return Header{}, err
		}
	}
	return links[0].Header, nil
}
