package backup

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"mizan/posting/store"
)

// ClusterRestoreConfig says from which backups of a cluster a node's data directory is made, and where.
type ClusterRestoreConfig struct {
	From      string    // a directory with backups of a cluster
	At        time.Time // restore what was taken at this time or before; zero: the newest
	Data      string    // the data directory to create; it must be absent or empty
	Keyring   Sealer
	KeyringID [32]byte     // identity of the keyring; the restored stores are bound to it
	Log       *slog.Logger // nil: slog.Default

	ShardOf ShardOf

	// StoreDir returns where the store of a shard belongs in a node's data directory.
	StoreDir func(dir string, shard int) string

	// Complete is called when all stores are restored in dir, which has a temporary name. identity is the same on every node
	// that is restored from the same backups. lasts has the headers of the restored backups, by the number of the shard.
	Complete func(dir string, identity [32]byte, lasts []Header) error
}

// ClusterRestoreResult is the result of RestoreCluster.
type ClusterRestoreResult struct {
	Manifest *ClusterManifest // nil: the backups were not taken together
	TakenAt  time.Time        // time of the latest of the shards' backups
	Identity [32]byte         // see ClusterRestoreConfig.Complete
	Shards   []*RestoreResult // by the number of the shard; after an error as many as were restored
}

// RestoreCluster makes a node's data directory from backups of all shards of a cluster. Each store is restored and checked as
// Restore does it. The directory gets its name when all stores are complete. The errors are those of Restore, and a *MisplacedError
// if the backups can't be restored together.
func RestoreCluster(ctx context.Context, cfg ClusterRestoreConfig) (result *ClusterRestoreResult, err error) {
	if cfg.Data, err = restoreTarget(cfg.Data); err != nil {
		return nil, err
	}
	chosen, manifest, err := chooseShards(ctx, cfg.From, cfg.At, cfg.Keyring)
	if err != nil {
		return nil, err
	}
	if manifest != nil {
		if err := manifest.checkUsable(cfg.From, cfg.KeyringID); err != nil {
			return nil, err
		}
	}
	paths := make([]string, len(chosen))
	for i := range chosen {
		paths[i] = chosen[i].path
	}
	if err := checkPlacements(ctx, paths, cfg.Keyring, cfg.ShardOf); err != nil {
		return nil, err
	}
	site, err := openWorkDirectory(cfg.Data + RestoringSuffix)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, site.close()) }()
	result = &ClusterRestoreResult{Manifest: manifest, TakenAt: latest(chosen), Identity: identityOf(chosen)}
	lasts := make([]Header, 0, len(chosen))
	for shard := range chosen {
		restored, err := restoreShard(ctx, &cfg, &chosen[shard], Shard{shard, len(chosen)}, site.dir)
		if restored != nil {
			result.Shards = append(result.Shards, restored)
		}
		if err != nil {
			return result, fmt.Errorf("shard %d: %w", shard, err)
		}
		lasts = append(lasts, restored.Header)
	}
	if err := cfg.Complete(site.dir, result.Identity, lasts); err != nil {
		return result, err
	}
	return result, site.rename(cfg.Data)
}

// checkUsable refuses backups that this release or this keyring can't open.
func (m *ClusterManifest) checkUsable(path string, keyring [32]byte) error {
	switch {
	case m.Schema > store.Schema:
		return fmt.Errorf("%s: %w", path, store.ErrNewerSchema)
	case m.Schema < store.Schema:
		return fmt.Errorf("%s: %w", path, store.ErrOlderSchema)
	case m.Keyring != hex.EncodeToString(keyring[:]):
		return &Error{Path: path, What: "the backup was made with another keyring"}
	}
	return nil
}

// restoreShard restores the store of one shard.
func restoreShard(ctx context.Context, cfg *ClusterRestoreConfig, chosen *chosenShard, shard Shard, dir string) (*RestoreResult, error) {
	target := cfg.StoreDir(dir, shard.Number)
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return nil, err
	}
	restored, err := Restore(ctx, RestoreConfig{
		From: chosen.path, Data: target, Shard: &shard, Keyring: cfg.Keyring, KeyringID: cfg.KeyringID, Log: cfg.Log,
	})
	if err == nil && restored.Header.ID != chosen.header.ID {
		err = &Error{Path: chosen.path, What: "it was just replaced by another backup"}
	}
	return restored, err
}
