package backup

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"mizan/internal/clock"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/check/calls"
	"mizan/snapshots/check/findings"
)

// Restoring is the suffix of the name of the directory in which a restore works. After the restore the
// directory is renamed and loses the suffix.
const Restoring = ".restoring"

// rowsPerCheck is the number of rows, or lines of a log, that are read between two checks of the context.
const rowsPerCheck = 4096

// RestoreConfig says what is restored, and where to.
type RestoreConfig struct {
	From      string    // a backup, or a directory of them
	At        time.Time // if From is a directory, the newest backup that is not later than At is restored; zero: the newest of all
	Data      string    // the data directory to create; it must be absent or empty
	Keyring   Sealer
	KeyringID [32]byte     // the keyring's identity, to which the store is bound; zeros: the store is not bound
	Log       *slog.Logger // nil: slog.Default
}

// Restored is the result of a restore.
type Restored struct {
	Header Header  // the header of the newest backup that was used
	Used   int     // the number of backups that were used
	Unused []error // why further backups in the directory can't be used; they were not needed
	Rows   uint64
	Report *findings.Report
}

// Restore creates a data directory from a backup and the backups that it needs. It creates the directory
// under another name, checks the store in it, and only then gives the directory its name. After an error
// it leaves nothing behind. Errors: *Error for the backups, *TargetError for the directory,
// store.ErrLocked, store.ErrNoSpace, or those of the file system.
func Restore(ctx context.Context, cfg RestoreConfig) (result *Restored, err error) {
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Data, err = restoreTarget(cfg.Data); err != nil {
		return nil, err
	}
	c, unused, err := openChain(ctx, cfg.From, cfg.At, cfg.Keyring)
	if err != nil {
		return nil, err
	}
	defer c.close()
	if err := checkSchemas(c); err != nil {
		return nil, err
	}
	site, err := openSite(cfg.Data + Restoring)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, site.close()) }()
	result = &Restored{Header: c.top().header, Used: len(c), Unused: unused}
	if result.Rows, err = loadStore(ctx, c, site.dir, cfg.Log); err != nil {
		return nil, err
	}
	if result.Report, err = openAndCheck(ctx, c.top(), site.dir, &cfg); err != nil {
		return result, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return result, site.rename(cfg.Data)
}

// checkSchemas refuses backups that this release can't read.
func checkSchemas(c chain) error {
	for _, a := range c {
		switch {
		case a.manifest.Schema > store.Schema:
			return fmt.Errorf("%s: %w", a.path, store.ErrNewerSchema)
		case a.manifest.Schema < store.Schema:
			return fmt.Errorf("%s: %w", a.path, store.ErrOlderSchema)
		}
	}
	return nil
}

// loadStore creates a store in dir with the chain's rows, and writes the files beside it.
func loadStore(ctx context.Context, c chain, dir string, log *slog.Logger) (rows uint64, err error) {
	files := fileWriter{dir: dir}
	defer func() { err = errors.Join(err, files.close()) }()
	l, err := store.NewLoader(store.Options{Dir: dir, Log: log}, c.maxBytes())
	if err != nil {
		return 0, err
	}
	err = c.merge(ctx, func(r store.StoredRow) error {
		rows++
		if rows%rowsPerCheck == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		return l.Add(r)
	}, files.add)
	if err != nil {
		l.Abandon()
		return rows, err
	}
	top := &c.top().header
	if n, hash := l.LastGroup(); n != top.Group || hex.EncodeToString(hash[:]) != top.GroupHash {
		l.Abandon()
		return rows, damageError(c.top().path, "its rows end with group %d, and it says %d", n, top.Group)
	}
	return rows, l.Finish()
}

// fileWriter writes the files beside the store.
type fileWriter struct {
	dir string
	f   *os.File
}

func (w *fileWriter) add(name string, piece []byte) error {
	if !slices.Contains(backedFiles, name) {
		return fmt.Errorf("the backup has a file %.40q, which no release of this form writes", name)
	}
	path := filepath.Join(w.dir, name)
	if w.f == nil || w.f.Name() != path {
		if err := w.close(); err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		w.f = f
	}
	_, err := w.f.Write(piece)
	return err
}

func (w *fileWriter) close() error {
	if w.f == nil {
		return nil
	}
	err := errors.Join(w.f.Sync(), w.f.Close())
	w.f = nil
	return err
}

// openAndCheck opens the loaded store as a server does, binds it to its keyring, compares its
// journals' heads with the manifest and runs the checker.
func openAndCheck(ctx context.Context, a *archive, dir string, cfg *RestoreConfig) (report *findings.Report, err error) {
	log := cfg.Log
	j, err := posting.Open(posting.Options{Store: store.Options{Dir: dir, Log: log, Unfinished: true}, Clock: clock.Real{}, Log: log})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	if cfg.KeyringID != [32]byte{} {
		if err := j.Bind(cfg.KeyringID); err != nil {
			return nil, err
		}
	}
	if err := compareHeads(j, a); err != nil {
		return nil, err
	}
	log.Info("the store is loaded and is checked", "group", a.header.Group)
	report, err = check.CheckRestored(ctx, j, check.Inputs{Data: dir, Keyring: cfg.Keyring, Log: log}, func(filter *calls.LogFilter) error { return cutCalls(ctx, dir, filter) })
	if err == nil && report.Broken() {
		err = &Error{Path: a.path, What: "the checker found the restored store broken"}
	}
	return report, err
}

// compareHeads compares the ends of the restored journals with the manifest.
func compareHeads(j *posting.Journal, a *archive) error {
	v := j.View()
	defer v.Close()
	heads, err := headsOf(v)
	if err != nil {
		return err
	}
	headsMatch := slices.EqualFunc(heads, a.manifest.Heads, func(x, y Head) bool {
		return x.Organization == y.Organization && x.Size == y.Size && bytes.Equal(x.Root, y.Root)
	})
	if !headsMatch {
		return damageError(a.path, "the restored journals do not end where its manifest says")
	}
	return nil
}

// Verify reads a backup, and all backups that it needs, to the end. It checks that every part
// can be decrypted and agrees with the manifest, and that the groups of all rows are one chain, so that
// all rows belong to one store. It restores nothing. Its errors are those of Restore.
func Verify(ctx context.Context, path string, at time.Time, keyring Sealer) (result *Restored, err error) {
	c, unused, err := openChain(ctx, path, at, keyring)
	if err != nil {
		return nil, err
	}
	defer c.close()
	if err := checkSchemas(c); err != nil {
		return nil, err
	}
	result = &Restored{Header: c.top().header, Used: len(c), Unused: unused}
	var rowCheck store.RowCheck
	err = c.merge(ctx, func(r store.StoredRow) error {
		result.Rows++
		return rowCheck.Add(r)
	}, func(string, []byte) error { return nil })
	if err != nil {
		return nil, err
	}
	top := &c.top().header
	if n, hash := rowCheck.LastGroup(); n != top.Group || hex.EncodeToString(hash[:]) != top.GroupHash {
		return nil, damageError(c.top().path, "its rows end with group %d, and it says %d", n, top.Group)
	}
	return result, nil
}

// CheckTransfer reads a backup without keys, to check that it has arrived whole. Without keys nobody
// can tell to which store a backup belongs.
func CheckTransfer(ctx context.Context, path string) (Header, error) {
	a, err := openArchive(path)
	if err != nil {
		return Header{}, err
	}
	defer a.close()
	return a.header, a.checkWhole(ctx)
}

// Read reads one backup to its end. It checks that the file is whole and that every part can be
// decrypted and agrees with the manifest. It does not read the backups that this one needs.
func Read(ctx context.Context, path string, keyring Sealer) (Header, error) {
	a, err := openSealed(ctx, path, keyring)
	if err != nil {
		return Header{}, err
	}
	defer a.close()
	return a.header, a.eachPart(func(string, []byte) error { return ctx.Err() })
}
