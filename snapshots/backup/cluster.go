package backup

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"mizan/internal/durable"
	"mizan/posting/store"
)

// A directory with backups of a cluster has a folder for each shard: shards/0, shards/1 and so on. Each has backups of that shard,
// the increments beside their bases. Backups that were taken together are listed by a ClusterManifest in the directory. Scheduled
// backups, which each leader takes by itself, have no such list.

// Names in a directory with backups of a cluster.
const (
	shardsName     = "shards"
	clusterPrefix  = "mizan-cluster-"
	clusterSuffix  = ".json"
	clusterVersion = 1

	maxClusterManifest = 1 << 20 // bytes
)

// ShardDir returns the folder of a shard's backups in a directory with backups of a cluster.
func ShardDir(dir string, shard int) string {
	return filepath.Join(dir, shardsName, strconv.Itoa(shard))
}

// ClusterManifest lists the backups of all shards that were taken together. Each shard's backup shows one moment of that shard.
type ClusterManifest struct {
	Version  int           `json:"version"`
	ID       string        `json:"id"`       // a UUID
	TakenAt  time.Time     `json:"taken_at"` // time of the latest of the shards' backups
	Schema   int           `json:"schema"`   // see store.Schema
	Keyring  string        `json:"keyring"`  // hex: fingerprint of the keyring with which the backups are sealed
	Shards   []ShardBackup `json:"shards"`   // by the number of the shard, that of the platform first
	Checksum string        `json:"checksum"` // hex: SHA-256 of this manifest as JSON with an empty checksum
}

// ShardBackup is the backup of one shard.
type ShardBackup struct {
	Shard     int       `json:"shard"`
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`
	TakenAt   time.Time `json:"taken_at"`
	Group     uint64    `json:"group"`
	GroupHash string    `json:"group_hash"`
	File      string    `json:"file"` // path in the directory of the manifest
	Bytes     int64     `json:"bytes"`
	SHA256    string    `json:"sha256"` // hex
}

// ListShard describes the backup in a file for a ClusterManifest in dir. It reads the whole file.
func ListShard(dir, path string, h *Header) (b ShardBackup, err error) {
	relative, err := filepath.Rel(dir, path)
	if err != nil {
		return b, err
	}
	if h.Shard == nil {
		return b, &Error{Path: path, What: "it is a backup of a single server, and not of a shard"}
	}
	b = ShardBackup{Shard: h.Shard.Number, ID: h.ID, Kind: h.Kind(), TakenAt: h.TakenAt, Group: h.Group, GroupHash: h.GroupHash, File: filepath.ToSlash(relative)}
	b.Bytes, b.SHA256, err = hashFile(path)
	return b, err
}

// hashFile returns the length and the SHA-256 of a file.
func hashFile(path string) (size int64, sum string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = f.Close() }() // the file was only read
	hash := sha256.New()
	size, err = io.Copy(hash, f)
	return size, hex.EncodeToString(hash.Sum(nil)), err
}

// checksum returns the manifest's checksum.
func (m ClusterManifest) checksum() (string, error) {
	m.Checksum = ""
	content, err := encodeJSON(&m)
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), err
}

// Write completes the manifest, writes it to the directory and returns its path.
func (m *ClusterManifest) Write(dir string) (path string, err error) {
	m.Version = clusterVersion
	for i := range m.Shards {
		if m.Shards[i].TakenAt.After(m.TakenAt) {
			m.TakenAt = m.Shards[i].TakenAt
		}
	}
	if m.Checksum, err = m.checksum(); err != nil {
		return "", err
	}
	content, err := encodeJSON(m)
	if err != nil {
		return "", err
	}
	if err := durable.SyncDir(filepath.Join(dir, shardsName)); err != nil { // folders of shards may be new
		return "", err
	}
	path = filepath.Join(dir, fmt.Sprintf("%s%s-%.8s%s", clusterPrefix, m.TakenAt.UTC().Format("20060102T150405Z"), m.ID, clusterSuffix))
	return path, durable.Create(path, 0o600, append(content, '\n'))
}

// LastCluster returns the newest manifest in a directory that is not later than at, or the newest of all if at is zero. If the
// directory has none, it returns nil. A manifest that can't be read is an error: it may be the newest.
func LastCluster(dir string, at time.Time) (chosen *ClusterManifest, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, &Error{Path: dir, What: reasonOf(err), Cause: ErrChoice}
	}
	found := 0
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), clusterPrefix) || !strings.HasSuffix(e.Name(), clusterSuffix) {
			continue
		}
		m, err := readCluster(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		found++
		if (at.IsZero() || !m.TakenAt.After(at)) && (chosen == nil || m.TakenAt.After(chosen.TakenAt)) {
			chosen = m
		}
	}
	if chosen == nil && found > 0 {
		return nil, &Error{Path: dir, What: "all backups in it are later than " + at.Format(time.RFC3339Nano)}
	}
	return chosen, nil
}

// readCluster reads a manifest.
func readCluster(path string) (*ClusterManifest, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // the file was only read
	content, err := io.ReadAll(io.LimitReader(f, maxClusterManifest))
	if err != nil {
		return nil, err
	}
	m := new(ClusterManifest)
	if json.Unmarshal(content, m) != nil {
		return nil, damageError(path, "the list of shards can't be read")
	}
	if m.Version > clusterVersion {
		return nil, &Error{Path: path, What: "it was made by a newer release", Cause: store.ErrNewerSchema}
	}
	if sum, err := m.checksum(); err != nil || sum != m.Checksum {
		return nil, damageError(path, "the list of shards does not match its checksum")
	}
	for i, s := range m.Shards {
		if s.Shard != i || !filepath.IsLocal(filepath.FromSlash(s.File)) {
			return nil, damageError(path, "the list of shards has a wrong entry for shard %d", i)
		}
	}
	if len(m.Shards) < 2 {
		return nil, damageError(path, "the list has %d shards", len(m.Shards))
	}
	return m, nil
}

// chosenShard is the backup of a shard that is restored.
type chosenShard struct {
	path   string
	header Header
	listed *ShardBackup // nil: no manifest lists it
}

// chooseShards chooses the backups of a directory that are restored together: those of the newest manifest that is not later than
// at or, in a directory without manifests, the newest of each shard.
func chooseShards(ctx context.Context, dir string, at time.Time, keyring Sealer) (chosen []chosenShard, manifest *ClusterManifest, err error) {
	if manifest, err = LastCluster(dir, at); err != nil {
		return nil, nil, err
	}
	if manifest == nil {
		chosen, err = newestShards(ctx, dir, at, keyring)
		return chosen, nil, err
	}
	for i := range manifest.Shards {
		listed := &manifest.Shards[i]
		path := manifest.PathOf(dir, i)
		size, sum, err := hashFile(path)
		if err != nil {
			return nil, nil, &Error{Path: path, What: "shard " + strconv.Itoa(i) + ": " + reasonOf(err)}
		}
		if size != listed.Bytes || sum != listed.SHA256 {
			return nil, nil, damageError(path, "it is not the file that was taken of shard %d: its length or checksum differs", i)
		}
		header, err := readHeaderOf(ctx, path, keyring)
		if err != nil {
			return nil, nil, err
		}
		if header.ID != listed.ID || header.Group != listed.Group || header.GroupHash != listed.GroupHash {
			return nil, nil, damageError(path, "it is not the backup that the list of shards names for shard %d", i)
		}
		chosen = append(chosen, chosenShard{path, header, listed})
	}
	return chosen, manifest, nil
}

// newestShards chooses the newest backup of each shard.
func newestShards(ctx context.Context, dir string, at time.Time, keyring Sealer) (chosen []chosenShard, err error) {
	count := 1
	for shard := 0; shard < count; shard++ {
		folder := ShardDir(dir, shard)
		if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) && shard == 0 {
			return nil, &Error{Path: dir, What: "it has no backup of a cluster; a backup of a single server can only be restored as one: see mizan restore", Cause: ErrChoice}
		}
		c, err := chooseBackup(folder, at, keyring)
		if err != nil {
			return nil, fmt.Errorf("shard %d: %w", shard, err)
		}
		header, err := readHeaderOf(ctx, c.Path, keyring)
		if err != nil {
			return nil, err
		}
		if header.Shard == nil {
			return nil, &Error{Path: c.Path, What: "it is a backup of a single server, and not of a shard", Cause: ErrChoice}
		}
		if shard == 0 {
			count = header.Shard.Count
		}
		chosen = append(chosen, chosenShard{path: c.Path, header: header})
	}
	return chosen, nil
}

// readHeaderOf returns the header of a backup, as its sealed manifest has it.
func readHeaderOf(ctx context.Context, path string, keyring Sealer) (Header, error) {
	a, err := openSealed(ctx, path, keyring)
	if err != nil {
		return Header{}, err
	}
	defer a.close()
	return a.header, nil
}

// identityOf identifies the backups that are restored together. Nodes that were restored from other backups have another identity.
func identityOf(chosen []chosenShard) (id [32]byte) {
	hash := sha256.New()
	for i := range chosen {
		h := &chosen[i].header
		_, _ = fmt.Fprintf(hash, "%d %s %d %s\n", i, h.ID, h.Group, h.GroupHash) // a hash accepts everything
	}
	hash.Sum(id[:0])
	return id
}

// latest returns the time of the latest of the backups.
func latest(chosen []chosenShard) time.Time {
	newest := slices.MaxFunc(chosen, func(a, b chosenShard) int {
		return cmp.Compare(a.header.TakenAt.UnixNano(), b.header.TakenAt.UnixNano())
	})
	return newest.header.TakenAt
}

// PathOf returns the path of a shard's backup in the directory of the manifest.
func (m *ClusterManifest) PathOf(dir string, shard int) string {
	return filepath.Join(dir, filepath.FromSlash(m.Shards[shard].File))
}
