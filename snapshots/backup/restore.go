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
	"mizan/internal/progress"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/check/calls"
	"mizan/snapshots/check/findings"
)

// RestoringSuffix is the suffix of the name of the temporary directory in which a restore works. At the end the restore
// renames the directory to the same name without the suffix.
const RestoringSuffix = ".restoring"

// rowsPerCheck is the number of rows or log lines that are read between two checks whether the context was cancelled.
const rowsPerCheck = 4096

// RestoreConfig says what is restored, and where to.
type RestoreConfig struct {
	From      string    // a backup, or a directory of them
	At        time.Time // if From is a directory, the newest backup that is not later than At is restored; zero: the newest of all
	Data      string    // the data directory to create; it must be absent or empty
	Keyring   Sealer
	Shard     *Shard       // the shard of a cluster that the backup must be of; nil: a single server
	KeyringID [32]byte     // identity of the keyring; the restored store is bound to it unless it is zero
	Log       *slog.Logger // nil: slog.Default
}

// RestoreResult is the result of a restore.
type RestoreResult struct {
	Header       Header  // the header of the newest backup that was used
	UsedBackups  int     // the number of backups that were used
	UnusedFaults []error // what is wrong with other backups in the directory, which were not needed
	Rows         uint64
	Report       *findings.Report
}

// Restore creates a data directory from a backup and the backups that it needs. It creates the directory
// under a temporary name, checks the store in it, and only then gives the directory its final name. After an error
// Restore leaves nothing behind. It returns an *Error if a backup can't be used, a *TargetError if the directory
// can't be used, store.ErrLocked, store.ErrNoSpace, or an error of the file system.
func Restore(ctx context.Context, cfg RestoreConfig) (result *RestoreResult, err error) {
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Data, err = restoreTarget(cfg.Data); err != nil {
		return nil, err
	}
	backups, unusable, err := openChain(ctx, cfg.From, cfg.At, cfg.Keyring)
	if err != nil {
		return nil, err
	}
	defer backups.close()
	if err := checkSchemas(backups); err != nil {
		return nil, err
	}
	if err := checkShard(backups.newest(), cfg.Shard); err != nil {
		return nil, err
	}
	site, err := openWorkDirectory(cfg.Data + RestoringSuffix)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, site.close()) }()
	result = &RestoreResult{Header: backups.newest().header, UsedBackups: len(backups), UnusedFaults: unusable}
	if result.Rows, err = loadStore(ctx, backups, site.dir, cfg.Log); err != nil {
		return nil, err
	}
	if result.Report, err = openAndCheck(ctx, backups.newest(), site.dir, &cfg); err != nil {
		return result, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return result, site.rename(cfg.Data)
}

// checkSchemas refuses backups that this release can't read.
func checkSchemas(backups chain) error {
	for _, a := range backups {
		switch {
		case a.manifest.Schema > store.Schema:
			return fmt.Errorf("%s: %w", a.path, store.ErrNewerSchema)
		case a.manifest.Schema < store.Schema:
			return fmt.Errorf("%s: %w", a.path, store.ErrOlderSchema)
		}
	}
	return nil
}

// checkShard refuses a backup of another shard than the wanted one. The store of a single server has organizations that no shard
// of a cluster has together, and the other way round. So neither can become the other.
func checkShard(a *archive, want *Shard) error {
	found := a.manifest.Header.Shard
	switch {
	case found == want, found != nil && want != nil && *found == *want:
		return nil
	case want == nil:
		return &Error{Path: a.path, What: fmt.Sprintf("it is a backup of shard %d of a cluster, which no single server can continue; see mizan cluster restore", found.Number), Cause: ErrChoice}
	case found == nil:
		return &Error{Path: a.path, What: "it is a backup of a single server, which no cluster can continue; see mizan restore", Cause: ErrChoice}
	}
	return &Error{Path: a.path, What: fmt.Sprintf("it is a backup of shard %d of %d, and not of shard %d of %d", found.Number, found.Count, want.Number, want.Count), Cause: ErrChoice}
}

// loadStore creates a store in dir with the rows of a chain of backups, and writes the files beside the store.
func loadStore(ctx context.Context, backups chain, dir string, log *slog.Logger) (rows uint64, err error) {
	files := fileWriter{dir: dir}
	defer func() { err = errors.Join(err, files.close()) }()
	loader, err := store.NewLoader(store.Options{Dir: dir, Log: log}, backups.maxBytes())
	if err != nil {
		return 0, err
	}
	err = backups.merge(ctx, func(r store.StoredRow) error {
		rows++
		if rows%rowsPerCheck == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		return loader.Add(r)
	}, files.add)
	if err != nil {
		loader.Abandon()
		return rows, err
	}
	header := &backups.newest().header
	if n, hash := loader.LastGroup(); n != header.Group || hex.EncodeToString(hash[:]) != header.GroupHash {
		loader.Abandon()
		return rows, damageError(backups.newest().path, "its rows end with group %d, but its header names group %d", n, header.Group)
	}
	return rows, loader.Finish()
}

// fileWriter writes the restored files beside the store, one after the other.
type fileWriter struct {
	dir string
	f   *os.File // the file that is being written; nil before the first one
}

// add appends a piece to the file with the name. It closes the previous file when the name changes.
func (w *fileWriter) add(name string, piece []byte) error {
	if !slices.Contains(filesBesideStore, name) {
		return fmt.Errorf("the backup has the unexpected file %.40q", name)
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

// openAndCheck opens the loaded store like a server does, and binds the store to its keyring. It compares the sizes and
// root hashes of the store's journals, and the placements, with the manifest of the newest backup, and then runs the checker.
func openAndCheck(ctx context.Context, newest *archive, dir string, cfg *RestoreConfig) (report *findings.Report, err error) {
	log := cfg.Log
	j, err := posting.Open(posting.Options{Store: store.Options{Dir: dir, Log: log, AllowUnfinished: true}, Clock: clock.Real{}, Log: log})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	if cfg.KeyringID != [32]byte{} {
		if err := j.Bind(cfg.KeyringID); err != nil {
			return nil, err
		}
	}
	if err := compareHeads(j, newest); err != nil {
		return nil, err
	}
	log.Info("the store is loaded and is checked", "group", newest.header.Group)
	report, err = check.CheckRestored(ctx, j, check.Inputs{Data: dir, Keyring: cfg.Keyring, Log: log}, func(filter *calls.LogFilter) error { return removeLaterCalls(ctx, dir, filter) })
	if err == nil && report.Broken() {
		err = &Error{Path: newest.path, What: "the checker found the restored store broken"}
	}
	return report, err
}

// compareHeads returns an error if the size or root hash of a restored journal, or the placement of an organization, differs from
// the backup's manifest.
func compareHeads(j *posting.Journal, a *archive) error {
	v := j.StoredView() // also of organizations that are elsewhere
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
	placements, err := placementsOf(v)
	if err == nil && !slices.Equal(placements, a.manifest.Placements) {
		err = damageError(a.path, "the restored placements of organizations are not those of its manifest")
	}
	return err
}

// Verify reads a backup, and all backups that it needs, to the end. It checks that every part
// can be decrypted and agrees with the manifest, and that the groups of all rows form one chain of
// hashes, so that all rows belong to one store. It restores nothing. It returns the same kinds of errors as Restore.
func Verify(ctx context.Context, path string, at time.Time, keyring Sealer) (result *RestoreResult, err error) {
	backups, unusable, err := openChain(ctx, path, at, keyring)
	if err != nil {
		return nil, err
	}
	defer backups.close()
	if err := checkSchemas(backups); err != nil {
		return nil, err
	}
	result = &RestoreResult{Header: backups.newest().header, UsedBackups: len(backups), UnusedFaults: unusable}
	var rowCheck store.RowCheck
	err = backups.merge(ctx, func(r store.StoredRow) error {
		result.Rows++
		return rowCheck.Add(r)
	}, func(string, []byte) error { return nil })
	if err != nil {
		return nil, err
	}
	header := &backups.newest().header
	if n, hash := rowCheck.LastGroup(); n != header.Group || hex.EncodeToString(hash[:]) != header.GroupHash {
		return nil, damageError(backups.newest().path, "its rows end with group %d, but its header names group %d", n, header.Group)
	}
	return result, nil
}

// CheckWithoutKeys reads a backup without keys, to check that it has arrived complete. It can't check to which store
// the backup belongs: that needs keys.
func CheckWithoutKeys(ctx context.Context, path string) (Header, error) {
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
	progress.From(ctx).Begin("checking", "", uint64(a.size))
	return a.header, a.eachPart(ctx, func(string, []byte) error { return ctx.Err() })
}
