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

	"mizan/internal/durable"
	"mizan/posting/log"
	"mizan/posting/store/damage"
)

// identityName is the name of the file that identifies the store. The file has two parts: the hash of group 1, and the
// identity of the keyring. There is a second copy of each part. The hash of group 1 can be computed from the store, and the
// log contains the identity of the keyring as its owner. So Open detects that IDENTITY is lost or belongs to another store.
// If one of the two copies is lost, Open restores it from the other copy.
const identityName = "IDENTITY"

// identity distinguishes a store from all others. A part that is all zeros is unknown.
type identity struct {
	first   [32]byte // the hash of group 1
	keyring [32]byte // identity of the keyring that encrypts and signs the store's content
}

// ErrOtherKeyring means that the store belongs to another keyring.
var ErrOtherKeyring = errors.New("the store was made with another keyring")

// ErrNoStore means that there is no store, and that Options.MustExist is set, so Open does not make one.
var ErrNoStore = errors.New("there is no store in it")

// ErrRemains means that the directory has no store, but has files that only an earlier store can have left.
var ErrRemains = errors.New("the store is gone; restore from a backup, or, to begin anew, name an empty directory or move away all that is in this one")

// appendIdentity appends the content of IDENTITY: lines of text that people can compare. The last line is a checksum
// of the other lines.
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

// checkIdentity compares IDENTITY with the hash of the store's first group and with the log's owner. If a part is known in
// only one place, checkIdentity copies the part to the other place. Open calls it after the groups were checked.
func (s *Store) checkIdentity() error {
	firstHash, err := s.firstGroupHash()
	if err != nil {
		return err
	}
	owner := s.groups.Owner()
	s.id = identity{first: firstHash, keyring: owner}
	path := filepath.Join(s.options.Dir, identityName)
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("store: %w", err)
	}
	storedID, ok := parseIdentity(b)
	switch {
	case !ok:
		if err == nil {
			s.log.Warn("a damaged file is written again", "path", path)
		}
	case storedID.first != [32]byte{} && storedID.first != s.id.first:
		return damage.New(path, "it names another store than the one beside it, which begins with %.8x", s.id.first)
	case s.last.N == 0 && storedID.keyring != owner: // the previous process ended in the middle of Bind
		s.id.keyring = storedID.keyring
		if err := s.groups.SetOwner(storedID.keyring); err != nil {
			return logError(s.options.Dir, err)
		}
	case storedID.keyring != [32]byte{} && owner != (log.Owner{}) && storedID.keyring != owner:
		return damage.New(path, "it names another keyring than the log")
	case owner == log.Owner{} && ok && storedID.keyring != [32]byte{}:
		s.id.keyring = storedID.keyring
		if err := s.groups.SetOwner(storedID.keyring); err != nil {
			return logError(s.options.Dir, err)
		}
	}
	if ok && storedID == s.id {
		return nil
	}
	return s.writeIdentity()
}

// firstGroupHash returns the hash of group 1. If the store has no groups, it returns zeros.
func (s *Store) firstGroupHash() (hash [32]byte, err error) {
	if s.last.N == 0 {
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
		return hash, damage.New(s.path, "group 1 is missing")
	}
	return r.hash(), nil
}

// writeIdentity writes IDENTITY.
func (s *Store) writeIdentity() error {
	path := filepath.Join(s.options.Dir, identityName)
	if err := durable.Replace(path, fileMode, appendIdentity(nil, s.id)); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// Bind ties the store to the keyring with the given identity. If a store with groups is already tied to another keyring, the
// error is ErrOtherKeyring. If the store has no groups, nothing depends on a keyring yet, so Bind replaces the keyring. Bind
// must not be called while a group is applied.
func (s *Store) Bind(keyring [32]byte) error {
	bound := &s.id.keyring
	switch {
	case *bound == keyring:
		return nil
	case *bound != [32]byte{} && s.last.N > 0:
		return fmt.Errorf("store: %s: %w: it has %s, and not %s", s.options.Dir, ErrOtherKeyring, shortHex(*bound), shortHex(keyring))
	}
	*bound = keyring
	if err := s.writeIdentity(); err != nil {
		return err
	}
	if err := s.groups.SetOwner(keyring); err != nil {
		return logError(s.options.Dir, err)
	}
	return nil
}

// BoundKeyring returns the identity of the store's keyring. If there is none, it returns zeros.
func (s *Store) BoundKeyring() [32]byte { return s.id.keyring }

// shortHex returns the beginning of an identity, enough for people to compare.
func shortHex(id [32]byte) string { return hex.EncodeToString(id[:8]) }

// refuseIfFilesRemain returns an error if files show that the directory had a store. If Open made a new store instead,
// operators would notice the loss only because all balances are gone.
func (s *Store) refuseIfFilesRemain() error {
	for _, name := range slices.Concat([]string{identityName, catalogName}, s.options.OtherFiles) {
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
