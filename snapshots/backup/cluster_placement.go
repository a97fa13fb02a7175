package backup

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// The backups of a cluster's shards show different moments. If an organization was moved to another shard between the moments of
// the two, both backups can have it, or none. Such backups can't be restored together. This file finds that out from the
// manifests, which list the placements, before anything is restored.

// Placement is what a store says about where an organization is (see store.Placement).
type Placement struct {
	Organization ledger.ID            `json:"organization"`
	State        store.PlacementState `json:"state"`
	Shard        int                  `json:"shard"` // the other shard
	Move         ledger.ID            `json:"move"`
}

// placementsOf returns all placements in a view, ordered by organization.
func placementsOf(v *posting.View) ([]Placement, error) {
	rows, err := v.Placements()
	if err != nil {
		return nil, err
	}
	var list []Placement
	for org, p := range rows {
		list = append(list, Placement{org, p.State, p.Shard, p.Move})
	}
	slices.SortFunc(list, func(a, b Placement) int { return slices.Compare(a.Organization[:], b.Organization[:]) })
	return list, nil
}

// Misplaced says why backups of shards can't be restored together: an organization was moved between their moments.
type Misplaced struct {
	Organization ledger.ID
	Shards       []int  // the shards whose backups are concerned, in ascending order
	What         string // what the backups say
}

// MisplacedError says that backups of shards can't be restored together.
type MisplacedError struct{ List []Misplaced }

// Lines returns a line about each organization.
func (e *MisplacedError) Lines() (lines []string) {
	for i := range e.List {
		lines = append(lines, fmt.Sprintf("organization %v: %s", e.List[i].Organization, e.List[i].What))
	}
	return lines
}

// Error implements error.
func (e *MisplacedError) Error() string { return strings.Join(e.Lines(), "; ") }

// ShardOf returns the shard in which an organization is created. count is the number of shards, the platform's included.
type ShardOf func(org ledger.ID, count int) int

// CheckPlacements reads the manifests of the listed backups in dir. It returns a *MisplacedError unless the nodes that are restored
// from them will have each organization in exactly one shard, and find it there. Other errors are those of Restore.
func (m *ClusterManifest) CheckPlacements(ctx context.Context, dir string, keyring Sealer, shardOf ShardOf) error {
	paths := make([]string, len(m.Shards))
	for i := range paths {
		paths[i] = m.PathOf(dir, i)
	}
	return checkPlacements(ctx, paths, keyring, shardOf)
}

// checkPlacements checks the backups of all shards, by the number of the shard.
func checkPlacements(ctx context.Context, paths []string, keyring Sealer, shardOf ShardOf) error {
	manifests := make([]*Manifest, len(paths))
	for i, path := range paths {
		a, err := openSealed(ctx, path, keyring)
		if err != nil {
			return err
		}
		manifests[i] = a.manifest
		a.close()
		if err := checkSchemas(chain{a}); err != nil {
			return err
		}
		for _, p := range manifests[i].Placements {
			if p.State > store.Abandoned || p.Shard < 0 || p.Shard >= len(paths) || p.Shard == i {
				return damageError(path, "its manifest has an impossible placement of organization %v", p.Organization)
			}
		}
	}
	if list := findMisplaced(manifests, shardOf); len(list) > 0 {
		return &MisplacedError{list}
	}
	return nil
}

// findMisplaced returns the organizations that have a placement in some shard and would not be in exactly one shard, ordered by id.
func findMisplaced(manifests []*Manifest, shardOf ShardOf) (list []Misplaced) {
	moved := make(map[ledger.ID][]organizationIn) // by the number of the shard
	names := make(map[string]ledger.ID)
	for shard, m := range manifests {
		for _, p := range m.Placements {
			if moved[p.Organization] == nil {
				moved[p.Organization] = make([]organizationIn, len(manifests))
				names[p.Organization.String()] = p.Organization
			}
			moved[p.Organization][shard] = organizationIn{Placement: posting.Placement{State: p.State, Shard: p.Shard, Move: p.Move}, isPlaced: true}
		}
	}
	for shard, m := range manifests {
		for _, h := range m.Heads {
			if org, isMoved := names[h.Organization]; isMoved {
				moved[org][shard].events = h.Size
			}
		}
	}
	for org, shards := range moved {
		home := shardOf(org, len(manifests))
		if what := judgePlacements(shards, home); what != "" {
			list = append(list, Misplaced{org, concernedShards(shards, home), what})
		}
	}
	slices.SortFunc(list, func(a, b Misplaced) int { return cmp.Compare(a.Organization.String(), b.Organization.String()) })
	return list
}

// organizationIn is what the backup of one shard says about an organization.
type organizationIn struct {
	posting.Placement
	isPlaced bool   // the store has a row about the placement
	events   uint64 // number of the organization's events in the store; 0: the store does not know it
}

// hasIt tells whether the shard serves the organization.
func (o *organizationIn) hasIt() bool { return o.State == store.Here && o.events > 0 }

// concernedShards returns the shards that say something about the organization, those that they name, and the one in which it
// was created.
func concernedShards(shards []organizationIn, home int) []int {
	set := map[int]bool{home: true}
	for i := range shards {
		if o := &shards[i]; o.isPlaced {
			set[i], set[o.Shard] = true, true
		} else if o.events > 0 {
			set[i] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// judgePlacements tells what is wrong with the placements of an organization. It returns "" if exactly one shard has the
// organization after the nodes have started and have settled the moves that were under way, and if requests find it there.
// home is the shard in which the organization was created.
func judgePlacements(shards []organizationIn, home int) (what string) {
	shards, what = settle(shards)
	if what != "" {
		return what
	}
	holder := -1
	for i := range shards {
		switch {
		case shards[i].hasIt() && holder >= 0:
			return fmt.Sprintf("the backups of shards %d and %d both have it", holder, i)
		case shards[i].hasIt():
			holder = i
		}
	}
	if holder < 0 {
		return "no shard's backup has it: " + describe(shards)
	}
	for i := range shards {
		o := &shards[i]
		if o.State == store.Left && o.events > shards[holder].events {
			return fmt.Sprintf("shard %d has it with %d events, but it had left shard %d with %d: the backup of shard %d is too old", holder, shards[holder].events, i, o.events, holder)
		}
		if (i == home || o.State != store.Here) && !leadsTo(shards, i, holder) {
			return fmt.Sprintf("shard %d has it, but shard %d does not lead there: %s", holder, i, describe(shards))
		}
	}
	return ""
}

// settle ends the moves that were under way, as the nodes do it when they start (move.Resolve).
func settle(shards []organizationIn) (settled []organizationIn, what string) {
	settled = slices.Clone(shards)
	for i := range shards {
		o := &shards[i]
		if o.State != store.Leaving {
			continue
		}
		there := &shards[o.Shard]
		switch isSameMove := there.Move == o.Move; {
		case !there.isPlaced:
			return nil, fmt.Sprintf("it is leaving shard %d for shard %d, whose backup is from before the move", i, o.Shard)
		case isSameMove && (there.State == store.Arriving || there.State == store.Abandoned):
			settled[i].State, settled[o.Shard].State = store.Here, store.Abandoned
		default: // it was taken over, and may have moved on since
			settled[i].State = store.Left
		}
	}
	return settled, ""
}

// leadsTo tells whether a request that asks shard from is sent on to the shard that has the organization.
func leadsTo(shards []organizationIn, from, holder int) bool {
	for range shards {
		if from == holder {
			return true
		}
		if shards[from].State == store.Here {
			return false
		}
		from = shards[from].Shard
	}
	return from == holder
}

// describe lists what the shards say, such as "left shard 1 for shard 2".
func describe(shards []organizationIn) string {
	var parts []string
	for i := range shards {
		switch o := &shards[i]; {
		case o.State == store.Left:
			parts = append(parts, fmt.Sprintf("it has left shard %d for shard %d", i, o.Shard))
		case o.State == store.Arriving, o.State == store.Abandoned:
			parts = append(parts, fmt.Sprintf("shard %d has an incomplete copy from shard %d", i, o.Shard))
		case o.hasIt():
			parts = append(parts, fmt.Sprintf("shard %d has it", i))
		}
	}
	return strings.Join(parts, ", ")
}
