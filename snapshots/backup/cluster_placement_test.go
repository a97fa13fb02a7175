package backup_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/posting/store"
	"mizan/snapshots/backup"
)

var placedOrganization = ledger.ID{15: 1}

// shardState is what a shard's store says about an organization, in the form of the table below: "" if it does not know the
// organization; "10" if it has no placement but 10 events; "left 2 a 10" if it has a placement with the other shard 2, the move a
// and 10 events.
type shardState string

// manifest returns the manifest of a backup that shows the state.
func (s shardState) manifest(t *testing.T) *backup.Manifest {
	t.Helper()
	m := &backup.Manifest{Heads: []backup.Head{{Organization: ledger.ID{}.String(), Size: 3}}}
	fields := strings.Fields(string(s))
	if len(fields) == 0 {
		return m
	}
	events := uint64(0)
	if _, err := fmt.Sscan(fields[len(fields)-1], &events); err != nil {
		t.Fatal(err)
	}
	if events > 0 {
		m.Heads = append(m.Heads, backup.Head{Organization: placedOrganization.String(), Size: events})
	}
	if len(fields) == 4 {
		p := backup.Placement{Organization: placedOrganization, Move: ledger.ID{0: fields[2][0]}}
		for p.State.String() != fields[0] {
			p.State++
		}
		if _, err := fmt.Sscan(fields[1], &p.Shard); err != nil {
			t.Fatal(err)
		}
		m.Placements = []backup.Placement{p}
	}
	return m
}

// misplacedIn checks shards 1, 2 and so on. The organization was created in shard home.
func misplacedIn(t *testing.T, home int, states []shardState) []backup.Misplaced {
	t.Helper()
	manifests := []*backup.Manifest{shardState("").manifest(t)}
	for _, s := range states {
		manifests = append(manifests, s.manifest(t))
	}
	return backup.FindMisplaced(manifests, func(_ ledger.ID, count int) int {
		if count != len(manifests) {
			t.Errorf("%d shards, want %d", count, len(manifests))
		}
		return home
	})
}

// The organization is created in shard 1, unless home says otherwise.
func TestPlacementsOfShardsThatAreRestoredTogether(t *testing.T) {
	for _, c := range []struct {
		what   string
		shards []shardState
		want   string // a part of the refusal; "": they can be restored
		backUp []int  // the shards that must be backed up again
		home   int    // 0: shard 1
	}{
		// A move from shard 1 to shard 2, with both backups in the same phase.
		{what: "never moved", shards: []shardState{"10", ""}},
		{what: "copying", shards: []shardState{"10", "arriving 1 a 4"}},
		{what: "copying, nothing copied", shards: []shardState{"10", "arriving 1 a 0"}},
		{what: "fenced", shards: []shardState{"leaving 2 a 10", "arriving 1 a 10"}},
		{what: "taken over", shards: []shardState{"leaving 2 a 10", "here 1 a 12"}},
		{what: "moved", shards: []shardState{"left 2 a 10", "here 1 a 12"}},
		{what: "given up while it was fenced", shards: []shardState{"leaving 2 a 10", "abandoned 1 a 10"}},
		{what: "given up", shards: []shardState{"here 2 a 11", "abandoned 1 a 10"}},
		{what: "given up before the fence", shards: []shardState{"10", "abandoned 1 a 3"}},
		// The first shard's backup is older than the second's.
		{what: "given up, and the first is older", shards: []shardState{"10", "abandoned 1 a 12"}},
		{what: "the first is from before the fence, the second has it", shards: []shardState{"10", "here 1 a 12"}, want: "shards 1 and 2 both have it", backUp: []int{1, 2}},
		{what: "the first is from before the organization", shards: []shardState{"", "here 1 a 12"}, want: "shard 2 has it, but shard 1 does not lead there", backUp: []int{1, 2}},
		// The second shard's backup is older than the first's.
		{what: "fenced, the second is from before the move", shards: []shardState{"leaving 2 a 10", ""}, want: "it is leaving shard 1 for shard 2, whose backup is from before the move", backUp: []int{1, 2}},
		{what: "moved, the second is from before the move", shards: []shardState{"left 2 a 10", ""}, want: "no shard's backup has it: it has left shard 1 for shard 2", backUp: []int{1, 2}},
		{what: "moved, the second is from before the end", shards: []shardState{"left 2 a 10", "arriving 1 a 10"}, want: "no shard's backup has it", backUp: []int{1, 2}},
		{what: "moved, the second is from an earlier attempt", shards: []shardState{"left 2 b 10", "abandoned 1 a 5"}, want: "no shard's backup has it", backUp: []int{1, 2}},
		{what: "fenced, the second is from an earlier attempt", shards: []shardState{"leaving 2 b 10", "abandoned 1 a 5"}, want: "no shard's backup has it", backUp: []int{1, 2}},
		{what: "given up, the second is from before that", shards: []shardState{"here 2 a 10", "arriving 1 a 8"}},
		{what: "given up, the second is from before the move", shards: []shardState{"here 2 a 10", ""}},
		// There and back.
		{what: "back", shards: []shardState{"here 2 b 20", "left 1 b 15"}},
		{what: "going back", shards: []shardState{"arriving 2 b 15", "leaving 1 b 15"}},
		{what: "going back, the first is from the first move", shards: []shardState{"left 2 a 10", "leaving 1 b 15"}, want: "no shard's backup has it", backUp: []int{1, 2}},
		{what: "taken back", shards: []shardState{"here 2 b 15", "leaving 1 b 15"}},
		{what: "back, the first is from the first move", shards: []shardState{"left 2 a 10", "left 1 b 15"}, want: "no shard's backup has it", backUp: []int{1, 2}},
		{what: "back, the first is from before it left", shards: []shardState{"10", "left 1 b 15"}, want: "it had left shard 2 with 15", backUp: []int{1, 2}},
		{what: "back, the second is from when it was there", shards: []shardState{"here 2 b 20", "here 1 a 15"}, want: "shards 1 and 2 both have it", backUp: []int{1, 2}},
		{what: "there, back and there, the second is from the first time", shards: []shardState{"left 2 c 20", "here 1 a 12"}, want: "it had left shard 1 with 20", backUp: []int{1, 2}},
		{what: "there, back and leaving, the second is from the first time", shards: []shardState{"leaving 2 c 20", "here 1 a 12"}, want: "it had left shard 1 with 20", backUp: []int{1, 2}},
		{what: "there, back and there, the first is from the first fence", shards: []shardState{"leaving 2 a 10", "here 1 c 25"}},
		// Through three shards.
		{what: "moved on", shards: []shardState{"left 2 a 10", "left 3 b 15", "here 2 b 17"}},
		{what: "moved on, settled late", shards: []shardState{"leaving 2 a 10", "left 3 b 15", "here 2 b 17"}},
		{what: "moving on", shards: []shardState{"left 2 a 10", "leaving 3 b 15", "arriving 2 b 15"}},
		{what: "taken over twice, neither is settled", shards: []shardState{"leaving 2 a 10", "leaving 3 b 15", "here 2 b 15"}},
		{what: "around", shards: []shardState{"here 3 c 20", "left 3 b 15", "left 1 c 17"}},
		{what: "moving to a shard that had a copy of it", shards: []shardState{"left 2 a 10", "leaving 3 c 15", "abandoned 2 b 4"}, want: "no shard's backup has it", backUp: []int{1, 2, 3}},
		{what: "moved on, the second is from when it was there", shards: []shardState{"left 2 a 10", "here 1 a 12", "here 2 b 17"}, want: "shards 2 and 3 both have it", backUp: []int{1, 2, 3}},
		{what: "moved on, the second is from before", shards: []shardState{"left 2 a 10", "", "here 2 b 17"}, want: "shard 3 has it, but shard 1 does not lead there", backUp: []int{1, 2, 3}},
		{what: "moved on, the third is from before", shards: []shardState{"left 2 a 10", "left 3 b 15", ""}, want: "no shard's backup has it", backUp: []int{1, 2, 3}},
		{what: "around, the first is from before", shards: []shardState{"left 2 a 10", "left 3 b 15", "left 1 c 17"}, want: "no shard's backup has it", backUp: []int{1, 2, 3}},
		{what: "a shard that is not concerned", shards: []shardState{"10", "here 1 a 12", ""}, want: "shards 1 and 2 both have it", backUp: []int{1, 2}},
		{what: "its first shard does not know it", home: 3, shards: []shardState{"left 2 a 10", "here 1 a 12", ""}, want: "shard 2 has it, but shard 3 does not lead there", backUp: []int{1, 2, 3}},
		{what: "its first shard leads through another one", home: 3, shards: []shardState{"left 2 b 10", "here 1 b 12", "left 1 a 5"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			found := misplacedIn(t, max(c.home, 1), c.shards)
			switch {
			case c.want == "" && len(found) > 0:
				t.Errorf("%q is refused: %+v", c.shards, found)
			case c.want != "" && (len(found) != 1 || found[0].Organization != placedOrganization || !strings.Contains(found[0].What, c.want) || !slices.Equal(found[0].Shards, c.backUp)):
				t.Errorf("%q: %+v, want %q and shards %v", c.shards, found, c.want, c.backUp)
			}
		})
	}
}

// movedHistory is what the stores of shards 1 to 3 said about an organization at each moment of random moves.
type movedHistory struct{ moments [][]shardState }

// randomMoves moves an organization, which gets events all the time.
func randomMoves(random *rand.Rand) (h movedHistory) {
	now := []shardState{"1", "", ""}
	at, events := 0, 1
	set := func(shard int, state store.PlacementState, other int, move byte, events int) {
		now[shard] = shardState(fmt.Sprintf("%v %d %c %d", state, other+1, move, events))
		h.moments = append(h.moments, slices.Clone(now))
	}
	h.moments = append(h.moments, slices.Clone(now))
	for move := byte('a'); move < 'a'+8; move++ {
		to := (at + 1 + random.IntN(2)) % 3
		set(to, store.Arriving, at, move, events-1)
		events++
		if fields := strings.Fields(string(now[at])); len(fields) == 4 {
			now[at] = shardState(strings.Join(append(fields[:3:3], fmt.Sprint(events)), " "))
		} else {
			now[at] = shardState(fmt.Sprint(events))
		}
		isGivenUp := random.IntN(4) == 0
		if isGivenUp && random.IntN(2) == 0 { // before the fence
			set(to, store.Abandoned, at, move, events-1)
			continue
		}
		set(at, store.Leaving, to, move, events)
		if isGivenUp {
			set(to, store.Abandoned, at, move, events-1)
			set(at, store.Here, to, move, events)
			continue
		}
		set(to, store.Here, at, move, events)
		set(at, store.Left, to, move, events)
		at = to
	}
	return h
}

// Backups of the same moment can always be restored together. Backups of different moments are accepted only if the shards are
// left with one that has the organization, with all events that any of them had acknowledged as its own.
func TestPlacementsOfRandomMoves(t *testing.T) {
	random := testseed.Random(t)
	accepted, refused := 0, 0
	for range 200 {
		h := randomMoves(random)
		for _, moment := range h.moments {
			if found := misplacedIn(t, 1, moment); len(found) > 0 {
				t.Fatalf("one moment, %q, is refused: %+v", moment, found)
			}
		}
		for range 200 {
			mixed := make([]shardState, 3)
			for shard := range mixed {
				mixed[shard] = h.moments[random.IntN(len(h.moments))][shard]
			}
			if len(misplacedIn(t, 1, mixed)) > 0 {
				refused++
				continue
			}
			accepted++
			if n := countServing(mixed); n != 1 {
				t.Fatalf("%q is accepted, but %d shards may have the organization", mixed, n)
			}
		}
	}
	if accepted == 0 || refused == 0 {
		t.Errorf("%d accepted, %d refused", accepted, refused)
	}
}

// countServing counts the shards that have the organization or keep it when its move is given up.
func countServing(shards []shardState) (n int) {
	for _, s := range shards {
		fields := strings.Fields(string(s))
		switch {
		case len(fields) == 1, len(fields) == 4 && fields[0] == "here":
			n++
		case len(fields) == 4 && fields[0] == "leaving":
			var other int
			_, _ = fmt.Sscan(fields[1], &other) // written above
			there := strings.Fields(string(shards[other-1]))
			if len(there) == 4 && there[2] == fields[2] && (there[0] == "arriving" || there[0] == "abandoned") {
				n++
			}
		}
	}
	return n
}
