package backup

import (
	"context"
	"errors"
	"slices"
	"time"

	"mizan/posting"
	"mizan/posting/store"
)

// chain is a full backup and the increments after it, in order.
type chain []*archive

// openChain opens a backup and all backups that it needs. Other backups beside them that can't
// be used are returned as errors in unused.
func openChain(ctx context.Context, path string, at time.Time, keyring Sealer) (c chain, unused []error, err error) {
	defer func() {
		if err != nil {
			c.close()
			c = nil
		}
	}()
	chosen, err := choose(path, at, keyring)
	if err != nil {
		return nil, nil, err
	}
	links, err := chosen.links(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, l := range slices.Backward(links) {
		a, err := openSealed(ctx, l.Path, keyring)
		if err != nil {
			return c, nil, err
		}
		c = append(c, a)
		if a.header.Base() != l.Header.Base() {
			return c, nil, &Error{Path: l.Path, What: "it was replaced by another one just now"}
		}
	}
	return c, chosen.unused(links), nil
}

func (c chain) close() {
	for _, a := range c {
		a.close()
	}
}

// top returns the newest backup of the chain, whose state the chain restores.
func (c chain) top() *archive { return c[len(c)-1] }

// bytes returns an upper bound for the size of the rows.
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

// rowSource reads the rows of one backup of a chain, one part ahead.
type rowSource struct {
	parts chan []byte
	rest  []byte
	row   posting.StoredRow
	path  string
}

// next moves to the next row; false if there is none.
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
		return false, damaged(s.path, "a row is cut short")
	}
	return true, nil
}

// read sends the parts with rows to the channel parts, and calls file with the parts of files.
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

// merge calls fn with the rows of the chain's state, ordered by key. Of each row it takes the
// newest version. Of the kinds of rows that every increment contains entirely, it takes only
// the last backup's. It calls file with the files beside the store, as the last backup has
// them.
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
		// A reader that cancel has stopped returns context.Canceled, which is no failure.
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
