package directory

import (
	"context"
	"slices"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/posting"
)

// notesAtOnce bounds the uses that one Change of FlushUses records.
const notesAtOnce = 512

// FlushUses stores every last use of a key or session that is in memory only, so that a clean stop
// loses none. The caller calls it after requests have ended. Without new uses it writes nothing.
// Uses that ctx leaves no time for are lost, as in a kill: the next start knows the last stored
// use. If one organization's notes are refused, the other organizations' notes are still written.
// The error is a *ledger.Refusal, that of the first organization that has one.
func (s *Service) FlushUses(ctx context.Context) (first error) {
	for _, slot := range s.organizations.slots() {
		if o, ok := s.org(slot.id); ok {
			if err := s.flushUsesOf(ctx, o); err != nil && first == nil {
				first = err
			}
		}
	}
	return first
}

func (s *Service) flushUsesOf(ctx context.Context, o *org) error {
	const op = "directory.NoteUses"
	for uses := range slices.Chunk(o.unrecordedUses(ledger.MicrosOf(s.rt.Clock.Now())), notesAtOnce) {
		var puts usePublishers
		err := s.run(ctx, o.id, op, func(ledger.Micros) (change *posting.Change, err error) {
			current, ok := s.org(o.id)
			if !ok {
				return nil, notFound(op, "organization")
			}
			change, puts = changeOf(current, uses)
			return change, nil
		}, func(stamps []posting.Stamp) { puts.publish(stamps) })
		if err != nil {
			return err
		}
	}
	return nil
}

// unrecordedUses returns the uses that are later than the stored ones. Sessions that are over, or that
// never expire by inactivity, need no note.
func (o *org) unrecordedUses(now ledger.Micros) (uses []use) {
	for _, slot := range o.keys.slots() {
		if place, ok := o.keys.get(slot.id); ok && ledger.Micros(place.used.Load()) > place.record().Used {
			uses = append(uses, keyUse(place, slot.id))
		}
	}
	o.sessionHashes.Range(func(_, found any) bool {
		place := found.(*recordSlot[directory.Session])
		if n := place.record(); n.Idle != 0 && ledger.Micros(place.used.Load()) > n.Used && !o.over(place, now) {
			uses = append(uses, sessionUse(place, n.Hash))
		}
		return true
	})
	return uses
}
