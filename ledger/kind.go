package ledger

import "encoding/binary"

// kinds describes each kind of record: its name in the API, and whether such records belong to the administration (see
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
	{Session, "session", false}, // the log of logins shows changes of sessions
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
	{SettlementReport, "settlement_report", false}, // the page of a report shows who imported it
	{SettlementLines, "settlement_lines", false},
	{Difference, "difference", false}, // the list of differences shows the decisions
	{ReconciledDay, "reconciled_day", true},
}

// kindIndex maps the letter of a kind to one plus the index of the kind in kinds, or to 0 if there is no such kind. It is an
// array because the journal's writer looks up the kind of every event, and an array is faster than a map.
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

// Word returns the kind's name in the API. If there is no such kind, Word returns the letter.
func (k Kind) Word() string {
	if i := kindIndex[k]; i != 0 {
		return kinds[i-1].word
	}
	return string(rune(k))
}

// IsAdministration tells whether records of this kind belong to the administration, such as partners, terminals and
// settlements. The list AdministrationChanges shows the events that change such records, so that auditors can find out who made
// each change.
func (k Kind) IsAdministration() bool {
	i := kindIndex[k]
	return i != 0 && kinds[i-1].isAdministration
}

// IsAdministrationChange tells whether the event changes a record that belongs to the administration (see IsAdministration), at
// somebody's request. For changes that the service makes itself, such as storing when a key was last used, it returns false.
func (e *Event) IsAdministrationChange() bool {
	return e.Source.Kind.IsAdministration() && e.Author.Kind != BySystem
}

// AdministrationChanges is the list of the events for which IsAdministrationChange is true. The journal's writer maintains this
// list, so that these events can be read without scanning the payments between them. Other lists contain ids of records. This
// list contains the SeqID of each event.
var AdministrationChanges = NewList(Organization, 1)

// SeqID returns the id that stands for the event with the given Seq in the list AdministrationChanges.
func SeqID(seq uint64) (id ID) {
	binary.BigEndian.PutUint64(id[len(id)-8:], seq)
	return id
}

// SeqOf returns the Seq from which SeqID has made the id. If the id was not made by SeqID, ok is false.
func SeqOf(id ID) (seq uint64, ok bool) {
	seq = binary.BigEndian.Uint64(id[len(id)-8:])
	return seq, id == SeqID(seq)
}
