package maintenance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"mizan/cmd/mizan/cli"
	"mizan/posting/cluster"
	"mizan/snapshots/backup"
)

// An organization that is moved between the moments of two shards' backups could be in both of them, or in none. So the command
// takes such backups again before it lists them. With the keyring it compares the backups themselves. Without, it only knows the
// moves that the nodes report.

const (
	moveRounds    = 5               // how often shards' backups are taken because of moves
	moveWait      = 2 * time.Minute // how long the command waits for moves to end before it takes backups again
	movePollEvery = time.Second
)

// organizationMove is a move of an organization as GET /cluster shows it.
type organizationMove struct {
	Organization string
	From, To     int
	State        string
	StartedAt    string `json:"started_at"`
}

// isUnderWay tells whether the move has not ended.
func (m *organizationMove) isUnderWay() bool { return m.State == "copying" }

// identity returns the move without its state, so that it can be compared.
func (m organizationMove) identity() organizationMove {
	m.State = ""
	return m
}

// moveList remembers moves that overlap the time in which backups are taken.
type moveList struct {
	known map[organizationMove]bool   // all moves that were seen; what is no longer reported has ended
	ended []map[organizationMove]bool // by shard: the moves that had ended before the shard's backup was begun
}

// begin is called before the backups of shards are taken.
func (l *moveList) begin(shards []int, moves []organizationMove) {
	l.add(moves)
	ended := maps.Clone(l.known)
	for _, m := range moves {
		if m.isUnderWay() {
			delete(ended, m.identity())
		}
	}
	for _, shard := range shards {
		l.ended[shard] = ended
	}
}

func (l *moveList) add(moves []organizationMove) {
	for _, m := range moves {
		l.known[m.identity()] = true
	}
}

// overlapping returns the organizations of which a move may have changed the two shards between the moments of their backups.
func (l *moveList) overlapping() (lines []string, shards []int) {
	for m := range l.known {
		if m.From < 0 || m.From >= len(l.ended) || m.To < 0 || m.To >= len(l.ended) || l.ended[m.From][m] && l.ended[m.To][m] {
			continue
		}
		lines = append(lines, fmt.Sprintf("organization %s: it was moved from shard %d to shard %d while they were backed up", m.Organization, m.From, m.To))
		shards = append(shards, m.From, m.To)
	}
	slices.Sort(lines)
	return lines, distinct(shards)
}

func distinct(shards []int) []int {
	slices.Sort(shards)
	return slices.Compact(shards)
}

// clusterRun is one run of the command.
type clusterRun struct {
	*ClusterBackupCommand
	streams  *cli.Streams
	urls     []string
	earlier  *backup.ClusterManifest // see ClusterBackupCommand.earlier
	keyring  backup.Sealer           // nil: backups can't be read
	manifest *backup.ClusterManifest
	moves    moveList
}

// takeAll takes the backups of all shards, and again those of shards between which an organization was moved meanwhile. moves are
// those that were reported before.
func (r *clusterRun) takeAll(ctx context.Context, moves []organizationMove) error {
	r.moves = moveList{make(map[organizationMove]bool), make([]map[organizationMove]bool, len(r.manifest.Shards))}
	again := make([]int, len(r.manifest.Shards))
	for shard := range again {
		again[shard] = shard
	}
	for round := 1; ; round++ {
		r.moves.begin(again, moves)
		for _, shard := range again {
			if err := r.take(ctx, shard); err != nil {
				return err
			}
		}
		lines, shards, err := r.misplaced(ctx)
		if err != nil || len(lines) == 0 {
			return err
		}
		if round == moveRounds {
			return faultOf(lines, "the shards were backed up %d times, and each time an organization was moved meanwhile; nothing is listed: repeat the command when GET /cluster shows no moves under way", round)
		}
		again = shards
		for _, line := range lines {
			_, _ = fmt.Fprintf(r.streams.Err, "mizan: cluster backup: shards %v are backed up again: %s\n", shards, line) // a note only
		}
		if moves, err = r.awaitMoves(ctx); err != nil {
			return err
		}
	}
}

// take takes the backup of one shard. It replaces the one that was taken before.
func (r *clusterRun) take(ctx context.Context, shard int) error {
	listed, err := r.takeShard(ctx, r.streams, shard, r.urls, r.earlier, r.keyring)
	if err != nil {
		return err
	}
	replaced := r.manifest.Shards[shard].File
	r.manifest.Shards[shard] = listed
	if replaced != "" && replaced != listed.File {
		if err := os.Remove(filepath.Join(r.Out, filepath.FromSlash(replaced))); err != nil {
			return cli.BadConfiguration("out: " + err.Error())
		}
	}
	return nil
}

// misplaced returns a line for each organization that was moved between the moments of the backups, and the shards whose backups
// must be taken again.
func (r *clusterRun) misplaced(ctx context.Context) (lines []string, shards []int, err error) {
	if r.keyring == nil {
		status, err := r.askAny(ctx)
		if err != nil {
			return nil, nil, err
		}
		r.moves.add(status.Moves)
		lines, shards = r.moves.overlapping()
		return lines, shards, nil
	}
	err = r.manifest.CheckPlacements(ctx, r.Out, r.keyring, cluster.ShardOf)
	misplaced, ok := errors.AsType[*backup.MisplacedError](err)
	if !ok {
		return nil, nil, err
	}
	for i := range misplaced.List {
		shards = append(shards, misplaced.List[i].Shards...)
	}
	return misplaced.Lines(), distinct(shards), nil
}

// awaitMoves waits until no organization is being moved, but not longer than moveWait, and returns the moves.
func (r *clusterRun) awaitMoves(ctx context.Context) ([]organizationMove, error) {
	for deadline := time.Now().Add(moveWait); ; {
		status, err := r.askAny(ctx)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(status.Moves, func(m organizationMove) bool { return m.isUnderWay() }) || time.Now().After(deadline) {
			return status.Moves, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(movePollEvery):
		}
	}
}

// askAny asks one node after the other about the cluster, until one answers.
func (r *clusterRun) askAny(ctx context.Context) (status *clusterStatus, err error) {
	for attempt := range shardAttempts {
		flags := r.BackupFlags
		flags.URL = &r.urls[attempt%len(r.urls)]
		if status, _, err = r.ask(r.streams, &flags); err == nil && status.knowsMoves() {
			return status, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(firstShardWait):
		}
	}
	if err == nil {
		err = faultOf(nil, "a shard has no leader that serves it, so it is unknown which organizations were moved; nothing is listed")
	}
	return nil, err
}

// faultOf returns a fault with a line for each organization, and a last line that says what to do.
func faultOf(organizations []string, format string, args ...any) error {
	fault := &cli.Fault{Code: cli.ExitStorage}
	for _, line := range organizations {
		fault.Lines = append(fault.Lines, cli.StoreLinePrefix+line)
	}
	fault.Lines = append(fault.Lines, cli.StoreLinePrefix+fmt.Sprintf(format, args...))
	return fault
}
