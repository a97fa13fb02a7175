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

// Suffix ends the names that backups are given in a directory.
const Suffix = ".backup"

// Listed is a backup that lies in a directory. Of its file only the header was
// read, and how it ends.
type Listed struct {
	Path   string
	Size   int64
	Header Header

	written time.Time // by the file system's clock
	fault   error     // nil: it ends as a backup does
}

func (a *archive) listed() Listed {
	return Listed{Path: a.path, Size: a.size, Header: a.header, written: a.written}
}

// folder is what lies in a directory of backups.
type folder struct {
	list   []Listed // the oldest first, as their headers say
	unread []error  // of those whose headers can't be believed: any may be the one that is looked for
}

// scanBackups looks at a directory's files. Without keys a header is believed as it is;
// with them it has to be the manifest's, if that opens: else the newest could pass for
// an older one.
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
		l, err := look(path, keyring)
		if errors.Is(err, fs.ErrNotExist) {
			if _, gone := os.Lstat(path); gone != nil {
				continue // it was just removed
			}
		}
		if err != nil {
			s.unread = append(s.unread, err)
			continue
		}
		s.list = append(s.list, l)
	}
	slices.SortFunc(s.list, func(a, b Listed) int {
		// A clock may stand still.
		return cmp.Or(a.Header.TakenAt.Compare(b.Header.TakenAt), cmp.Compare(a.Header.Group, b.Header.Group), a.written.Compare(b.written))
	})
	return s, nil
}

// look reads what a backup says of itself.
func look(path string, keyring Sealer) (l Listed, err error) {
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

// isBackup tells whether a file is one by its name, or by how it begins: whoever takes
// one into a file may call that as he likes. What is no file is none.
func isBackup(path string) bool {
	named := strings.HasSuffix(path, Suffix)
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return named && err != nil && !errors.Is(err, fs.ErrNotExist) // a link to nothing is none
	}
	if named {
		return true
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be another thing by this time
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // it was only read
	var magic [len(backupMagic)]byte
	_, err = io.ReadFull(f, magic[:])
	return err == nil && string(magic[:]) == backupMagic
}

// choice is a backup that was meant, and what lies beside it.
type choice struct {
	Listed
	folder
}

// choose finds the backup that a path means: the file, or of a directory the
// newest one that is not after an instant (zero: the newest).
func choose(path string, at time.Time, keyring Sealer) (c choice, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return c, &Error{Path: path, What: because(err), Cause: ErrChoice}
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

// because is an error of the file system without the path, which is named already.
func because(err error) string {
	var fault *fs.PathError
	if errors.As(err, &fault) {
		err = fault.Err
	}
	return err.Error()
}

// newest chooses from a directory. One that can't be read may be the one that is meant,
// and an older one in its place would be a wrong moment.
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
	one := "" // the store that they are of; one of a store without groups is of any
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

// links are the backup and all that it rests on, the full one last.
func (c *choice) links(ctx context.Context) (links []Listed, err error) {
	next, err := c.sound(ctx, c.Listed)
	for err == nil {
		links = append(links, next)
		since := next.Header.Since
		if since == nil {
			return links, nil
		}
		i := slices.IndexFunc(c.list, func(l Listed) bool { return l.Header.Base() == *since })
		if i < 0 { // to say which is not it
			i = slices.IndexFunc(c.list, func(l Listed) bool { return l.Header.ID == since.ID })
		}
		switch {
		case len(links) >= maxChain:
			return nil, spoiled(next.Path, "it rests on too many others")
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

// sound is the backup, or a copy of it that lies beside it: the first that is whole.
// Where there is one only, reading it will tell.
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

// unused are the faults of what lies beside a chain and was not needed.
func (c *choice) unused(links []Listed) []error {
	unused := slices.Clone(c.unread)
	for _, l := range c.list {
		if l.fault != nil && !slices.ContainsFunc(links, func(x Listed) bool { return x.Path == l.Path }) {
			unused = append(unused, l.fault)
		}
	}
	return unused
}

// ReadBase is the header of a backup, or of the newest one of a directory, on which an
// increment may rest: it and all that it rests on are read to the end, with keys or
// without (nil), as ReadBackup and CheckTransfer do. Errors: *BackupError, or those of
// the file system.
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
