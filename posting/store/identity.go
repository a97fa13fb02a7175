package store

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// identityName is the file beside the store that says which store it is. The same
// stands in HEAD, and its first part follows from the store itself. So a part of the
// directory that is lost, or of another one, is noticed; one place of them that is lost
// is written anew.
const identityName = "IDENTITY"

// identity tells a store from any other. Zeros stand for what is not known yet.
type identity struct {
	first   [32]byte // the hash of group 1
	keyring [32]byte // of the keyring that what is in it was sealed and signed with
}

// ErrOtherKeyring says that the store was made with another keyring.
var ErrOtherKeyring = errors.New("the store was made with another keyring")

// ErrNoStore says that there is no store, and that none was to be made.
var ErrNoStore = errors.New("there is no store in it")

// ErrRemains says that there is no store, but something that only a store leaves.
var ErrRemains = errors.New("the store is gone; restore from a backup, or, to begin anew, name an empty directory or move away all that is in this one")

// appendIdentity appends the content of the file: lines that people can compare, the last
// with a checksum of those before.
func appendIdentity(dst []byte, id identity) []byte {
	from := len(dst)
	dst = fmt.Appendf(dst, "store %x\nkeyring %x\n", id.first, id.keyring)
	return fmt.Appendf(dst, "sum %08x\n", crc32.Checksum(dst[from:], castagnoli))
}

func parseIdentity(b []byte) (id identity, ok bool) {
	var first, keyring []byte
	if _, err := fmt.Sscanf(string(b), "store %x\nkeyring %x\n", &first, &keyring); err != nil || len(first) != len(id.first) || len(keyring) != len(id.keyring) {
		return id, false
	}
	copy(id.first[:], first)
	copy(id.keyring[:], keyring)
	return id, bytes.Equal(b, appendIdentity(nil, id))
}

// recognise compares what the store is with what HEAD and the file say that it is, and
// brings both up to that. It comes after the groups were checked.
func (s *Store) recognise() error {
	known := &s.head.id
	first, err := s.firstGroup()
	if err != nil {
		return err
	}
	if known.first != [32]byte{} && known.first != first {
		return damaged(s.head.f.Name(), "it is of another store than the one beside it")
	}
	known.first = first
	path := filepath.Join(s.options.Dir, identityName)
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("store: %w", err)
	}
	said, ok := parseIdentity(b)
	switch {
	case !ok:
		if err == nil {
			s.log.Warn("a damaged file is made anew", "path", path)
		}
	case said.first != [32]byte{} && said.first != known.first:
		return damaged(path, "it names another store than the one beside it, which begins with %.8x", known.first)
	case said.keyring != [32]byte{} && known.keyring != [32]byte{} && said.keyring != known.keyring:
		return damaged(path, "it names another keyring than HEAD")
	case known.keyring == [32]byte{}:
		known.keyring = said.keyring
	}
	if ok && said == *known {
		return nil
	}
	return s.writeIdentity()
}

// firstGroup is the hash of group 1; zeros for a store without groups.
func (s *Store) firstGroup() (hash [32]byte, err error) {
	if s.last.n == 0 {
		return hash, nil
	}
	sn := s.Snapshot()
	defer sn.Close()
	value, found, err := sn.Get(groupRowKey(1), nil)
	if err != nil {
		return hash, err
	}
	r, ok := parseGroupRow(value)
	if !found || !ok || r.n != 1 {
		return hash, damaged(s.path, "group 1 is missing")
	}
	return r.hash(), nil
}

// writeIdentity makes the file say what HEAD will say.
func (s *Store) writeIdentity() error {
	err := writeWhole(filepath.Join(s.options.Dir, identityName), appendIdentity(nil, s.head.id))
	if err == nil {
		err = syncDir(s.options.Dir)
	}
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// Bind ties the store to the keyring of that identity, or compares it with the one that it
// is tied to: ErrOtherKeyring. A store without groups holds nothing of any, and is tied
// anew. It must not be called while a group is applied.
func (s *Store) Bind(keyring [32]byte) error {
	known := &s.head.id.keyring
	switch {
	case *known == keyring:
		return nil
	case *known != [32]byte{} && s.last.n > 0:
		return fmt.Errorf("store: %s: %w: it has %s, and not %s", s.options.Dir, ErrOtherKeyring, shortHex(*known), shortHex(keyring))
	}
	*known = keyring
	if err := s.writeIdentity(); err != nil {
		return err
	}
	if err := s.rewriteHead(); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// Bound is the identity of the keyring that the store is tied to; zeros: to none.
func (s *Store) Bound() [32]byte { return s.head.id.keyring }

// shortHex is enough of an identity for people to compare.
func shortHex(id [32]byte) string { return hex.EncodeToString(id[:8]) }

// nothingRemains refuses to make a new store where an older one has been: whoever has lost
// it must not be told so by empty balances.
func (s *Store) nothingRemains() error {
	for _, name := range slices.Concat([]string{identityName, catalogName}, s.options.Remains) {
		path := filepath.Join(s.options.Dir, name)
		_, err := os.Lstat(path)
		if err == nil {
			return fmt.Errorf("store: there is %s, but no %s: %w", path, s.path, ErrRemains)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("store: %w", err)
		}
	}
	return nil
}
