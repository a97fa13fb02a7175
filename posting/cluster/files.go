package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"mizan/internal/durable"
	"mizan/posting/log"
	"mizan/posting/log/raft"
	"mizan/posting/shard"
	"mizan/posting/store"
)

// A node's data directory has a folder for each shard, and a file that says how many shards there are: organizations belong to
// shards by that number.
const (
	shardsName = "shards"
	countName  = "COUNT"
)

// shardDir returns the directory of a shard (see package shard).
func shardDir(dir string, number int) string {
	return filepath.Join(dir, shardsName, strconv.Itoa(number))
}

// DataDir returns the data directory of the store of a shard in a node's data directory.
func DataDir(dir string, number int) string { return shard.DataDir(shardDir(dir, number)) }

// IsNode tells whether a directory is the data directory of a node.
func IsNode(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, shardsName))
	return err == nil
}

// errOtherNumber means that a node was started with another number of shards than before.
var errOtherNumber = errors.New("the number of shards is fixed when a cluster is formed")

// claimDirectory makes a node's data directory, or checks that it is one of a cluster with as many shards. shards counts the
// platform's shard.
func claimDirectory(dir string, shards int) error {
	for name, err := range map[string]error{
		store.UnfinishedName: store.ErrUnfinished,
		"store":              errors.New("the directory has the store of a single server, which is no node of a cluster"),
	} {
		if _, statErr := os.Lstat(filepath.Join(dir, name)); statErr == nil {
			return fmt.Errorf("cluster: %s: %w", dir, err)
		}
	}
	path := filepath.Join(dir, shardsName, countName)
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return writeCount(dir, shards)
	case err != nil:
		return fmt.Errorf("cluster: %w", err)
	}
	found, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return fmt.Errorf("cluster: %s is damaged: %w", path, err)
	}
	if found != shards {
		return fmt.Errorf("cluster: %s has the shards of a cluster with --cluster-shards %d, not %d: %w", dir, found-1, shards-1, errOtherNumber)
	}
	return nil
}

func writeCount(dir string, shards int) error {
	if err := os.MkdirAll(filepath.Join(dir, shardsName), 0o700); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	if err := durable.Replace(filepath.Join(dir, shardsName, countName), 0o600, fmt.Appendln(nil, shards)); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	if err := durable.SyncDir(dir); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return nil
}

// PrepareRestored completes a node's data directory in which the stores of all shards were restored from a backup of a cluster
// (see DataDir). lasts has the last group of each store, by the number of the shard. backup identifies the backup: nodes that
// were restored from different ones do not work together. The first start of the nodes forms a cluster of them.
func PrepareRestored(dir string, backup [32]byte, lasts []log.Mark) error {
	for number, last := range lasts {
		if err := raft.PrepareRestored(shard.RaftDir(shardDir(dir, number)), backup, last); err != nil {
			return err
		}
		if err := durable.SyncDir(shardDir(dir, number)); err != nil {
			return fmt.Errorf("cluster: %w", err)
		}
	}
	return writeCount(dir, len(lasts))
}
