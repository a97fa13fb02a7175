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

// Suffix is the suffix of the file names of backups.
const Suffix = ".backup"

// FoundBackup is a backup that was found in a directory. Only its header and its end have been read.
type FoundBackup struct {
	Path   string
	Size   int64
	Header Header

	modTime time.Time // modification time, by the file system's clock
	fault   error     // what is wrong with the file's end; nil if nothing is wrong
}

func (a *archive) asListed() FoundBackup {
	return FoundBackup{Path: a.path, Size: a.size, Header: a.header, modTime: a.modTime}
}

// folder describes the files in a directory of backups.
type folder struct {
	list       []FoundBackup // oldest first, according to their headers
	unreadable []error       // errors of files whose headers can't be trusted: each file may be the backup that the caller wants
}

// scanBackups reads the headers of the files in a directory. If keyring is nil, it trusts each header.
// Otherwise it compares a file's header with the copy in the file's manifest, if the keyring can decrypt
// the manifest: a forged header could make the newest backup look like an older one.
func scanBackups(dir string, keyring Sealer) (found folder, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return found, err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), ".") || !isBackup(path) {
			continue
		}
		l, err := readListed(path, keyring)
		if errors.Is(err, fs.ErrNotExist) {
			if _, statErr := os.Lstat(path); statErr != nil {
				continue // the file was just removed
			}
		}
		if err != nil {
			found.unreadable = append(found.unreadable, err)
			continue
		}
		found.list = append(found.list, l)
	}
	slices.SortFunc(found.list, func(a, b FoundBackup) int {
		// Two backups may have the same time, if the clock stands still.
		return cmp.Or(a.Header.TakenAt.Compare(b.Header.TakenAt), cmp.Compare(a.Header.Group, b.Header.Group), a.modTime.Compare(b.modTime))
	})
	return found, nil
}

// readListed reads the header and the end of one file. If the keyring can decrypt the manifest, readListed also
// compares the header with the copy in the manifest.
func readListed(path string, keyring Sealer) (l FoundBackup, err error) {
	a, err := openHeader(path)
	if err != nil {
		return l, err
	}
	defer a.close()
	l = a.asListed()
	if err := a.readEnd(); err != nil {
		l.fault = a.asBackupError(err)
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

// isBackup tells from a file's name or first bytes whether the file is a backup. The name is not enough, because a
// client that saves a streamed backup to a file may choose any name.
func isBackup(path string) bool {
	hasSuffix := strings.HasSuffix(path, Suffix)
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return hasSuffix && err != nil && !errors.Is(err, fs.ErrNotExist) // a link to nothing is not a backup
	}
	if hasSuffix {
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

// chosenBackup is a chosen backup, and the backups in the same directory.
type chosenBackup struct {
	FoundBackup
	folder
}

// chooseBackup returns the backup that a path names. If the path is a file, that file is the backup. If the path is a
// directory, chooseBackup returns the newest backup in it that was not taken after at. If at is zero, choose returns the
// newest of all.
func chooseBackup(path string, at time.Time, keyring Sealer) (c chosenBackup, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return c, &Error{Path: path, What: reasonOf(err), Cause: ErrChoice}
	}
	if info.IsDir() {
		if c.folder, err = scanBackups(path, keyring); err == nil {
			c.FoundBackup, err = c.newest(path, at)
		}
		return c, err
	}
	if !at.IsZero() {
		return c, &Error{Path: path, What: "it is a single backup; a time can be given only for a directory of backups", Cause: ErrChoice}
	}
	a, err := openArchive(path)
	if err != nil {
		return c, err
	}
	defer a.close()
	c.FoundBackup = a.asListed()
	if a.header.Since != nil {
		c.folder, err = scanBackups(filepath.Dir(path), nil)
	}
	return c, err
}

// reasonOf returns the text of a file-system error without the path, because the message already contains the path.
func reasonOf(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return err.Error()
}

// newest chooses the newest backup that was not taken after at. If a backup is unreadable, newest returns an error:
// the unreadable backup may be the newest, and another backup would restore an earlier state.
func (f *folder) newest(dir string, at time.Time) (chosen FoundBackup, err error) {
	if len(f.unreadable) > 0 {
		err, cause := errors.Join(f.unreadable...), ErrDamaged
		if errors.Is(err, store.ErrNewerSchema) {
			cause = store.ErrNewerSchema
		}
		message := fmt.Sprintf("a backup can't be read, so it is not known which one is the newest: name the file to use, or move the unreadable file away: %v", err)
		return chosen, &Error{Path: dir, What: message, Cause: cause}
	}
	if len(f.list) == 0 {
		return chosen, &Error{Path: dir, What: "there is no backup in it", Cause: ErrChoice}
	}
	storeID := "" // the store to which the backups belong; a backup of an empty store matches any store
	for _, l := range f.list {
		if storeID = cmp.Or(storeID, l.Header.Store); l.Header.Store != "" && l.Header.Store != storeID {
			return chosen, &Error{Path: dir, What: "it has backups of several stores; name the file", Cause: ErrChoice}
		}
		if at.IsZero() || !l.Header.TakenAt.After(at) {
			chosen = l
		}
	}
	if chosen.Path == "" {
		return chosen, &Error{Path: dir, What: "the oldest backup in it is of " + f.list[0].Header.TakenAt.Format(time.RFC3339Nano)}
	}
	return chosen, nil
}

// requiredChain returns the chosen backup and all backups that it needs, from the newest to the full backup.
func (c *chosenBackup) requiredChain(ctx context.Context) (required []FoundBackup, err error) {
	next, err := c.undamagedCopy(ctx, c.FoundBackup)
	for err == nil {
		required = append(required, next)
		since := next.Header.Since // the base of next; nil if next is a full backup
		if since == nil {
			return required, nil
		}
		i := slices.IndexFunc(c.list, func(l FoundBackup) bool { return l.Header.Base() == *since })
		if i < 0 { // the base is not listed; if a listed backup has its id, the error below names that backup's file
			i = slices.IndexFunc(c.list, func(l FoundBackup) bool { return l.Header.ID == since.ID })
		}
		switch {
		case len(required) >= maxChain:
			return nil, damageError(next.Path, "it needs too many other backups")
		case i < 0:
			missingBase := &Error{Path: next.Path, What: fmt.Sprintf("it needs backup %s of group %d, which is not in the same directory", since.ID, since.Group)}
			return nil, errors.Join(append([]error{missingBase}, c.unreadable...)...)
		}
		base := &c.list[i].Header
		if base.Base() != *since || base.Store != next.Header.Store || base.Group > next.Header.Group {
			return nil, &Error{Path: next.Path, What: fmt.Sprintf("its base is not the backup in %s", c.list[i].Path)}
		}
		next, err = c.undamagedCopy(ctx, c.list[i])
	}
	return nil, err
}

// undamagedCopy returns l. If l is damaged, it returns the first undamaged copy of the same backup in the directory.
// If there is no other copy, undamagedCopy does not read l to the end.
func (c *chosenBackup) undamagedCopy(ctx context.Context, l FoundBackup) (FoundBackup, error) {
	copies := []FoundBackup{l}
	for _, listed := range c.list {
		if listed.Path != l.Path && listed.Header.Base() == l.Header.Base() {
			copies = append(copies, listed)
		}
	}
	if len(copies) == 1 {
		return l, l.fault
	}
	var faults []error
	for _, candidate := range copies {
		err := candidate.fault
		if err == nil {
			_, err = CheckWithoutKeys(ctx, candidate.Path)
		}
		if err == nil || ctx.Err() != nil {
			return candidate, err
		}
		faults = append(faults, err)
	}
	return l, errors.Join(faults...)
}

// unusableFiles returns what is wrong with those files in the directory that are not required.
func (c *chosenBackup) unusableFiles(required []FoundBackup) []error {
	unusable := slices.Clone(c.unreadable)
	for _, l := range c.list {
		if l.fault != nil && !slices.ContainsFunc(required, func(x FoundBackup) bool { return x.Path == l.Path }) {
			unusable = append(unusable, l.fault)
		}
	}
	return unusable
}

// ReadBase returns the header of a backup, or of the newest backup in a directory, so that an increment to this backup can be
// taken. It first checks the backup and all backups that this one needs: with Read if there is a keyring, and otherwise with
// CheckWithoutKeys. It returns an *Error or an error of the file system.
func ReadBase(ctx context.Context, path string, keyring Sealer) (Header, error) {
	c, err := chooseBackup(path, time.Time{}, keyring)
	if err != nil {
		return Header{}, err
	}
	required, err := c.requiredChain(ctx)
	if err != nil {
		return Header{}, err
	}
	for _, l := range required {
		if keyring != nil {
			_, err = Read(ctx, l.Path, keyring)
		} else {
			_, err = CheckWithoutKeys(ctx, l.Path)
		}
		if err != nil {
			return Header{}, err
		}
	}
	return required[0].Header, nil
}
