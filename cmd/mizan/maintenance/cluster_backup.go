package maintenance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/google/uuid"

	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/client"
	"mizan/internal/progress"
	"mizan/internal/secret"
	"mizan/snapshots/backup"
)

// ClusterBackupCommand is the command `mizan cluster backup`.
type ClusterBackupCommand struct {
	client.BackupFlags
	Out         string  `name:"out" required:"" placeholder:"DIR" help:"Directory of backups of this cluster. It is created if it is missing."`
	Incremental bool    `name:"incremental" help:"Back up only the changes since the last backup of the cluster in DIR, if there is one."`
	Keyring     *string `name:"keyring" placeholder:"FILE" help:"The cluster's keyring; with it, the whole backup is verified before it is listed."`
	JSON        bool    `name:"json" help:"Print the list of the shards' backups as JSON."`
}

// Bounds of repeating a shard's backup after a failure, such as the loss of its leader.
const (
	shardAttempts  = 12
	firstShardWait = time.Second
	maxShardWait   = 20 * time.Second
)

// maxIncrements is how many increments follow a full backup before the next one is full again.
const maxIncrements = 23

// clusterStatus is what the command needs of the answer to GET /cluster.
type clusterStatus struct {
	Nodes []struct {
		BaseURL *string `json:"base_url"`
	}
	Shards []struct {
		Shard  int
		Leader *string // null: none serves the shard, so its moves are missing
	}
	Moves   []organizationMove
	Schema  int
	Keyring string
}

// knowsMoves tells whether the status contains the moves of all shards.
func (s *clusterStatus) knowsMoves() bool {
	for i := range s.Shards {
		if s.Shards[i].Leader == nil {
			return false
		}
	}
	return true
}

// Run implements the command. The backups are listed together only when all are complete.
func (c *ClusterBackupCommand) Run(s *cli.Streams) error {
	ctx, stop := cli.SignalContext()
	defer stop()
	if err := refuseEmpty(flag{"out", &c.Out}, flag{"keyring", c.Keyring}); err != nil {
		return err
	}
	var keyring backup.Sealer
	if c.Keyring != nil {
		loaded, err := secret.LoadSealingKeyring(*c.Keyring)
		if err != nil {
			return cli.BadConfiguration("keyring: " + err.Error())
		}
		keyring = loaded
	}
	status, urls, err := c.ask(s, &c.BackupFlags)
	if err != nil {
		return err
	}
	earlier, err := c.earlier()
	if err != nil {
		return err
	}
	run := &clusterRun{
		ClusterBackupCommand: c, streams: s, urls: urls, earlier: earlier, keyring: keyring,
		manifest: &backup.ClusterManifest{ID: uuid.NewString(), Schema: status.Schema, Keyring: status.Keyring, Shards: make([]backup.ShardBackup, len(status.Shards))},
	}
	if err := run.takeAll(ctx, status.Moves); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err() // report the interruption, which caused the error
		}
		return backupFault(err)
	}
	manifest := run.manifest
	path, err := manifest.Write(c.Out)
	if err != nil {
		return cli.StorageFault("%v", err)
	}
	if c.JSON {
		return printJSON(s, manifest)
	}
	for i := range manifest.Shards {
		b := &manifest.Shards[i]
		if _, err := fmt.Fprintf(s.Out, "%s: %s, of %s, group %d, %d bytes\n", b.File, b.Kind, b.TakenAt.Format(time.RFC3339Nano), b.Group, b.Bytes); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(s.Out, "%s: a backup of %d shards\n", path, len(manifest.Shards))
	return err
}

// ask asks the cluster about its shards and nodes. urls are the addresses at which a backup can be requested.
func (c *ClusterBackupCommand) ask(s *cli.Streams, flags *client.BackupFlags) (status *clusterStatus, urls []string, err error) {
	command := client.Command{Name: "cluster backup", Streams: s}
	server, err := flags.Open()
	if err != nil {
		return nil, nil, command.Misused("%v", err)
	}
	reply, err := server.Send(client.Request{Method: http.MethodGet, Path: "/cluster"})
	if err != nil {
		return nil, nil, command.Failed("%s: %v", server.BaseURL, err)
	}
	if reply.Status == http.StatusNotFound {
		return nil, nil, command.Misused("%s is a single server, and no node of a cluster: see mizan backup", server.BaseURL)
	}
	if _, err := command.Check(reply); err != nil {
		return nil, nil, err
	}
	var answer struct{ Data clusterStatus }
	if err := json.Unmarshal(reply.Body, &answer); err != nil || len(answer.Data.Shards) == 0 {
		return nil, nil, command.Failed("%s: the answer has no shards", server.BaseURL)
	}
	urls = []string{server.BaseURL}
	for _, n := range answer.Data.Nodes {
		if n.BaseURL != nil && !slices.Contains(urls, *n.BaseURL) {
			urls = append(urls, *n.BaseURL)
		}
	}
	return &answer.Data, urls, nil
}

// earlier returns the backup of the cluster to whose parts increments are taken. nil: full backups are taken.
func (c *ClusterBackupCommand) earlier() (*backup.ClusterManifest, error) {
	if err := os.MkdirAll(c.Out, 0o700); err != nil {
		return nil, cli.BadConfiguration("out: " + err.Error())
	}
	if !c.Incremental {
		return nil, nil
	}
	last, err := backup.LastCluster(c.Out, time.Time{})
	if err != nil {
		return nil, sourceFault("out", err)
	}
	return last, nil
}

// takeShard takes the backup of one shard. After a failure it asks the next node: the shard may be getting another leader.
func (c *ClusterBackupCommand) takeShard(ctx context.Context, s *cli.Streams, shard int, urls []string, earlier *backup.ClusterManifest, keyring backup.Sealer) (listed backup.ShardBackup, err error) {
	dir := backup.ShardDir(c.Out, shard)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return listed, cli.BadConfiguration("out: " + err.Error())
	}
	body, err := c.shardRequest(ctx, s, shard, earlier, keyring)
	if err != nil {
		return listed, err
	}
	wait := firstShardWait
	for attempt := range shardAttempts {
		flags := c.BackupFlags
		flags.Shard, flags.URL = &shard, &urls[attempt%len(urls)]
		listed, err = c.takeOnce(ctx, s, &flags, dir, body, keyring)
		if err == nil || ctx.Err() != nil || isRefusedForGood(err) {
			return listed, err
		}
		if attempt == shardAttempts-1 {
			break
		}
		_, _ = fmt.Fprintf(s.Err, "mizan: cluster backup: shard %d is tried again: %s\n", shard, cli.OneLine(err.Error())) // a note only
		select {
		case <-ctx.Done():
			return listed, ctx.Err()
		case <-time.After(wait):
		}
		wait = min(2*wait, maxShardWait)
	}
	return listed, err
}

// isRefusedForGood tells whether a repetition would be refused too. A conflict means that another backup is under way, which ends.
func isRefusedForGood(err error) bool {
	var fault *cli.Fault
	if errors.As(err, &fault) {
		return fault.Status >= http.StatusBadRequest && fault.Status < http.StatusInternalServerError && fault.Status != http.StatusConflict && fault.Status != http.StatusTooManyRequests
	}
	var damaged *backup.Error
	return errors.As(err, &damaged) && !errors.Is(err, backup.ErrDamaged)
}

// shardRequest returns the body of the request for a shard's backup. For an increment it first reads the earlier backup and those
// on which that one builds, because an increment to a damaged backup can't be restored.
func (c *ClusterBackupCommand) shardRequest(ctx context.Context, s *cli.Streams, shard int, earlier *backup.ClusterManifest, keyring backup.Sealer) ([]byte, error) {
	if earlier == nil || shard >= len(earlier.Shards) {
		return []byte("{}"), nil
	}
	meter := s.Progress("cluster backup")
	header, err := backup.ReadBase(progress.With(ctx, meter), earlier.PathOf(c.Out, shard), keyring)
	meter.End()
	if err != nil {
		return nil, err
	}
	base := header.Base()
	if base.Depth > maxIncrements {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]any{"since": base})
}

// takeOnce takes the backup of a shard from its leader.
func (c *ClusterBackupCommand) takeOnce(ctx context.Context, s *cli.Streams, flags *client.BackupFlags, dir string, body []byte, keyring backup.Sealer) (listed backup.ShardBackup, err error) {
	if err := backup.RemoveUnfinished(dir); err != nil {
		return listed, cli.BadConfiguration("out: " + err.Error())
	}
	file, err := backup.CreateFile(dir)
	if err != nil {
		return listed, cli.BadConfiguration("out: " + err.Error())
	}
	header, path, err := receive(ctx, s, flags, file, body, dir, "", keyring)
	if err = errors.Join(err, file.Close()); err != nil {
		return listed, err
	}
	if listed, err = backup.ListShard(c.Out, path, &header); err == nil && listed.Shard != *flags.Shard {
		err = cli.StorageFault("the server has answered with a backup of shard %d instead of %d", listed.Shard, *flags.Shard)
	}
	return listed, err
}
