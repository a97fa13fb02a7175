package ledger

import "encoding/binary"

// kinds has, for each kind of record, its name in the API and whether it is a kind of the administration (see
// IsAdministration).
var kinds = []struct {
	kind             Kind
	word             string
	isAdministration bool
}{
	{Transaction, "transaction", false},
	{Platform, "platform", true},
	{Organization, "organization", true},
	{Partner, "partner", true},
	{Terminal, "terminal", true},
	{APIKey, "api_key", true},
	{Session, "session", false}, // changes of sessions are in the log of logins
	{User, "user", true},
	{Settlement, "settlement", true},
	{Limit, "limit", true},
	{Block, "blocklist_entry", true},
	{Rate, "rate", true},
	{AdminReply, "admin_reply", false},
	{Reply, "reply", false},
	{Subscription, "subscription", false},
	{Contract, "contract", false}, // the page of a contract shows the contract's changes
	{Screening, "screening", false},
	{Period, "period", true},
	{Retention, "retention", false},
	{Link, "link", false},
	{Product, "product", false},
	{Image, "image", false},
	{Transfer, "transfer", false},
}

// kindIndex has, at the position of a kind's letter, one plus the kind's index in kinds; 0 means that there is no such kind.
// It is an array because the journal's writer looks up the kind of every event.
var kindIndex = func() (index [256]uint8) {
	for i := range kinds {
		index[kinds[i].kind] = uint8(i + 1)
	}
	return index
}()

// Kinds returns all kinds of records.
func Kinds() (all []Kind) {
	for i := range kinds {
		all = append(all, kinds[i].kind)
	}
	return all
}

// Word returns the kind's name in the API; for a kind that does not exist, its letter.
func (k Kind) Word() string {
	if i := kindIndex[k]; i != 0 {
		return kinds[i-1].word
	}
	return string(rune(k))
}

// IsAdministration tells whether records of this kind belong to the administration, such as partners, terminals and
// settlements. The events that change them are in the list AdministrationChanges, so that auditors find who made each change.
func (k Kind) IsAdministration() bool {
	i := kindIndex[k]
	return i != 0 && kinds[i-1].isAdministration
}

// IsAdministrationChange tells whether the event is a change of a record of the administration (see IsAdministration), and
// somebody asked for the change. It is false for changes that the service makes itself, such as storing when a key was last
// used.
func (e *Event) IsAdministrationChange() bool {
	return e.Source.Kind.IsAdministration() && e.Author.Kind != BySystem
}

// AdministrationChanges is the list of the events for which IsAdministrationChange is true. The journal's writer keeps this
// list, so that a reader finds these events without a scan of the payments between them. An event is in the list by SeqID,
// not by the id of its record.
var AdministrationChanges = NewList(Organization, 1)

// SeqID returns an id that contains an event's Seq. It is the event's id in the list AdministrationChanges.
func SeqID(seq uint64) (id ID) {
	binary.BigEndian.PutUint64(id[len(id)-8:], seq)
	return id
}

// SeqOf returns the Seq that an id from SeqID contains; ok is false for any other id.
func SeqOf(id ID) (seq uint64, ok bool) {
	seq = binary.BigEndian.Uint64(id[len(id)-8:])
	return seq, id == SeqID(seq)
}
