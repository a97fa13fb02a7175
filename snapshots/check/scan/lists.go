package scan

import (
	"encoding/binary"
	"hash/maphash"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
)

// listSets holds the sets of lists that must show records. Many records are in the same set of lists, so a History
// holds only the index of a set. Set 0 is empty.
type listSets struct {
	sets  [][]ledger.List
	index map[string]int32 // the concatenated lists of a set → index in sets
	key   []byte           // a buffer for a key of index
}

// ExpectLists records which lists must show the record. If first is zero, the record is in no list.
func (h *Histories) ExpectLists(history *History, first ledger.List, further ...ledger.List) {
	s := &h.lists
	if first == (ledger.List{}) {
		history.Lists = 0
		return
	}
	s.key = append(s.key[:0], first[:]...)
	for i := range further {
		s.key = append(s.key, further[i][:]...)
	}
	at, known := s.index[string(s.key)]
	if !known {
		if s.index == nil {
			s.index, s.sets = make(map[string]int32), make([][]ledger.List, 1)
		}
		at = int32(len(s.sets))
		s.index[string(s.key)] = at
		s.sets = append(s.sets, append([]ledger.List{first}, further...))
	}
	history.Lists = at
}

func (h *Histories) listsOf(history *History) []ledger.List {
	if history.Lists == 0 {
		return nil
	}
	return h.lists.sets[history.Lists]
}

// MustShow tells whether the list must show the record. If so, bit is the list's bit in ListedAtCreation and ListedAtLastEvent.
func (h *Histories) MustShow(list ledger.List, history *History) (bit uint8, ok bool) {
	at := slices.Index(h.listsOf(history), list)
	return 1 << max(at, 0), at >= 0
}

// BelongsToPartner tells whether one of the partner's lists for the given environments must show the record. If no
// environment is given, it considers the lists for all environments.
func (h *Histories) BelongsToPartner(lists ledger.PartnerList, partner int64, history *History, envs ...money.Env) bool {
	if len(envs) == 0 {
		envs = []money.Env{money.Prod, money.Test}
	}
	return slices.ContainsFunc(envs, func(env money.Env) bool {
		_, ok := h.MustShow(lists.Of(partner, env), history)
		return ok
	})
}

// FollowChange adds a change of the record to the history. A change is a step that has stored the record; at is the
// time of the change.
func (h *Histories) FollowChange(history *History, at ledger.Micros) {
	history.changeTimes += h.hashTime(at)
}

// FollowListed adds a list row that shows the record to the history; at is the time in the row.
func (h *Histories) FollowListed(history *History, at ledger.Micros) {
	history.listedTimes += h.hashTime(at)
}

// hashTime returns the hash of a time. The seed is random, so an attacker can't choose wrong times whose hashes have
// the right sum.
func (h *Histories) hashTime(at ledger.Micros) uint64 {
	return maphash.Bytes(h.Seed, binary.BigEndian.AppendUint64(nil, uint64(at)))
}

// IsListed tells whether each list that must show the record has the row from the record's creation. If the lists show
// changes too (listsChanges), each list must also have the row from the last event, and the times of the rows must be
// exactly the times of the changes.
func (h *Histories) IsListed(history *History, listsChanges bool) bool {
	allBits := uint8(1<<len(h.listsOf(history)) - 1)
	times := history.changeTimes * uint64(len(h.listsOf(history)))
	return history.ListedAtCreation == allBits &&
		(!listsChanges || history.ListedAtLastEvent == allBits && history.listedTimes == times)
}
