package maintenance

import (
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/serving"
	"mizan/internal/progress"
	"mizan/posting/cluster"
	"mizan/posting/log"
	"mizan/snapshots/backup"
)

// ClusterRestoreCommand is the command `mizan cluster restore`.
type ClusterRestoreCommand struct {
	From    string  `name:"from" required:"" placeholder:"DIR" help:"A directory with backups of a cluster."`
	At      *string `name:"at" placeholder:"TIME" help:"Use the newest backup that was taken at this time or before (RFC 3339)."`
	Data    string  `name:"data" required:"" placeholder:"NEWDIR" help:"The node's data directory to create; it must be absent or empty."`
	Keyring string  `name:"keyring" required:"" placeholder:"FILE" help:"The keyring of the cluster that was backed up."`
	JSON    bool    `name:"json" help:"Print the checker's reports and what was restored as JSON, one object a line."`
}

// Run implements the command. It restores all shards and prints the checker's report of each.
func (c *ClusterRestoreCommand) Run(s *cli.Streams) error {
	if err := refuseEmpty(flag{"from", &c.From}, flag{"at", c.At}, flag{"data", &c.Data}, flag{"keyring", &c.Keyring}); err != nil {
		return err
	}
	serving.LimitMemory()
	ctx, stop := cli.SignalContext()
	defer stop()
	at, keyring, err := parseSourceFlags(c.At, c.Keyring)
	if err != nil {
		return err
	}
	meter := s.Progress("cluster restore")
	result, err := backup.RestoreCluster(progress.With(ctx, meter), backup.ClusterRestoreConfig{
		From: c.From, At: at, Data: c.Data, Keyring: keyring, KeyringID: keyring.Identity(), Log: slog.New(slog.DiscardHandler),
		ShardOf: cluster.ShardOf, StoreDir: cluster.DataDir, Complete: prepareNode,
	})
	meter.End()
	if result != nil {
		for shard, restored := range result.Shards {
			if reportErr := c.printShard(s, shard, restored); reportErr != nil && err == nil {
				err = reportErr // the directory was restored, but the report could not be written
			}
		}
	}
	if misplaced, ok := errors.AsType[*backup.MisplacedError](err); ok {
		return faultOf(misplaced.Lines(), "the backups of the shards can't be restored together: choose other moments with --at, or back up again")
	}
	if err != nil {
		return sourceFault("from", err)
	}
	identity := hex.EncodeToString(result.Identity[:4])
	if c.JSON {
		return printJSON(s, map[string]any{"path": c.Data, "taken_at": result.TakenAt, "shards": len(result.Shards), "identity": identity})
	}
	_, err = fmt.Fprintf(s.Out, "mizan: restored %s to %s: %d shards of backup %s; restore the other nodes from the same backup, and start them with --cluster-shards %d\n",
		c.Data, result.TakenAt.Format(time.RFC3339Nano), len(result.Shards), identity, len(result.Shards)-1)
	return err
}

// prepareNode completes a node's data directory after its stores were restored.
func prepareNode(dir string, identity [32]byte, headers []backup.Header) error {
	lasts := make([]log.Mark, len(headers))
	for shard := range headers {
		lasts[shard].N = headers[shard].Group
		if _, err := hex.Decode(lasts[shard].Hash[:], []byte(headers[shard].GroupHash)); err != nil {
			return err
		}
	}
	return cluster.PrepareRestored(dir, identity, lasts)
}

// printShard prints the checker's report about the store of a shard, and what was restored.
func (c *ClusterRestoreCommand) printShard(s *cli.Streams, shard int, restored *backup.RestoreResult) error {
	if restored.Report == nil {
		return nil // the error says why the store was not checked
	}
	write := restored.Report.WriteTo
	if c.JSON {
		write = restored.Report.WriteJSON
	}
	if _, err := write(s.Out); err != nil {
		return err
	}
	warnUnused(s, restored)
	if c.JSON {
		return printJSON(s, map[string]any{"shard": shard, "backup": describeRestored(restored)})
	}
	_, err := fmt.Fprintf(s.Out, "shard %d: as of %s, group %d: %d rows from %d backups\n",
		shard, restored.Header.TakenAt.Format(time.RFC3339Nano), restored.Header.Group, restored.Rows, restored.UsedBackups)
	return err
}
