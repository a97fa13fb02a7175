package backup

import (
	"context"
	"errors"
	"slices"
	"time"

	"mizan/internal/progress"
	"mizan/posting"
	"mizan/posting/store"
)

// chain is a full backup and the increments after it, in order.
type chain []*archive

// openChain opens a backup and all backups that it needs. If path is a directory, openChain chooses the newest backup
// in it that was not taken after at. unusable says which of the other backups in the directory can't be used, and
// why.
func openChain(ctx context.Context, path string, at time.Time, keyring Sealer) (c chain, unusable []error, err error) {
	defer func() {
		if err != nil {
			c.close()
			c = nil
		}
	}()
	chosen, err := chooseBackup(path, at, keyring)
	if err != nil {
		return nil, nil, err
	}
	required, err := chosen.requiredChain(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, l := range slices.Backward(required) {
		a, err := openSealed(ctx, l.Path, keyring)
		if err != nil {
			return c, nil, err
		}
		c = append(c, a)
		if a.header.Base() != l.Header.Base() {
			return c, nil, &Error{Path: l.Path, What: "it was just replaced by another backup"}
		}
	}
	return c, chosen.unusableFiles(required), nil
}

func (c chain) close() {
	for _, a := range c {
		a.close()
	}
}

// newest returns the newest backup of the chain. Restoring the chain restores the state that the newest backup shows.
func (c chain) newest() *archive { return c[len(c)-1] }

// maxBytes returns an upper bound for the size of the restored rows and files.
func (c chain) maxBytes() (sum uint64) {
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

// sealedBytes returns the total size of the files of the chain.
func (c chain) sealedBytes() (sum uint64) {
	for _, a := range c {
		sum += uint64(a.size)
	}
	return sum
}

// rowSource yields the rows of one backup of a chain. A goroutine decrypts the parts that have rows and sends them in
// advance.
type rowSource struct {
	parts chan []byte
	part  []byte            // the unread rest of the current part
	row   posting.StoredRow // the current row
	path  string            // path of the backup
}

// next moves to the next row; found is false if there is none.
func (s *rowSource) next() (found bool, err error) {
	for len(s.part) == 0 {
		part, hasPart := <-s.parts
		if !hasPart {
			return false, nil
		}
		s.part, s.row.Key = part, s.row.Key[:0]
	}
	var ok bool
	if s.part, ok = readRow(s.part, &s.row); !ok {
		return false, damageError(s.path, "a row is cut short")
	}
	return true, nil
}

// sendParts decrypts the parts of the backup in order. It sends each part that has rows to the channel parts, and calls onFile
// with each part that is a piece of a file.
func (a *archive) sendParts(ctx context.Context, parts chan<- []byte, onFile func(name string, piece []byte) error) error {
	defer close(parts)
	return a.eachPart(ctx, func(name string, plaintext []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if name != "" {
			return onFile(name, plaintext)
		}
		select {
		case parts <- plaintext:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// merge calls fn with the newest version of each row in the chain, ordered by key. For some kinds of rows
// (store.IncludedInEveryIncrement) an increment contains all rows and not only the changed ones. Rows of these kinds are taken
// from the last backup only. merge calls onFile with each piece of the files beside the store (filesBesideStore) in the last
// backup.
func (c chain) merge(ctx context.Context, fn func(store.StoredRow) error, onFile func(name string, piece []byte) error) error {
	progress.From(ctx).Begin("reading", "", c.sealedBytes())
	ctx, cancel := context.WithCancel(ctx)
	readErrors := make(chan error, len(c))
	sources := make([]*rowSource, len(c))
	for i, a := range c {
		s := &rowSource{parts: make(chan []byte, 2), path: a.path}
		sources[i] = s
		takeFile := onFile
		if i < len(c)-1 {
			takeFile = func(string, []byte) error { return nil }
		}
		go func() { readErrors <- a.sendParts(ctx, s.parts, takeFile) }()
	}
	err := mergeRows(sources, fn)
	if err != nil {
		cancel()
	}
	for range sources {
		// If cancel stopped a goroutine, the goroutine sends context.Canceled, which is not a failure.
		if partErr := <-readErrors; partErr != nil && (err == nil || !errors.Is(partErr, context.Canceled)) {
			err = partErr
			cancel()
		}
	}
	cancel()
	return err
}

// mergeRows calls fn with the rows of all sources, ordered by key. If several sources have a row with the same key,
// fn gets only the row of the last of these sources.
func mergeRows(sources []*rowSource, fn func(store.StoredRow) error) error {
	hasRow := make([]bool, len(sources))
	// advance moves source i to its next row. It skips rows of the kinds that only the last backup supplies.
	advance := func(i int) (err error) {
		for {
			hasRow[i], err = sources[i].next()
			if err != nil || !hasRow[i] || i == len(sources)-1 || !store.IncludedInEveryIncrement(sources[i].row.Key) {
				return err
			}
		}
	}
	for i := range sources {
		if err := advance(i); err != nil {
			return err
		}
	}
	for {
		newest := -1
		for i, s := range sources {
			if hasRow[i] && (newest < 0 || string(s.row.Key) <= string(sources[newest].row.Key)) {
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
			if i != newest && hasRow[i] && string(sources[i].row.Key) == string(key) {
				if err := advance(i); err != nil {
					return err
				}
			}
		}
		if err := advance(newest); err != nil {
			return err
		}
	}
}
