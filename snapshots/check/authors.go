package check

import (
	"encoding/binary"
	"slices"

	"mizan/ledger"
	"mizan/posting/store"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// For rule 5 of the checker (journals, hash trees, groups), this file checks the authors of events. Some authors refer to a
// record by naming the event that created the record. This event must be earlier in the same journal, and this kind of author
// must be allowed to refer to this kind of record. Providers may cause only events of transactions, and payers only events of
// transactions and of cached replies. For rule 4, the list of the administration's changes must have exactly one row for each
// event that is a change by the administration.

// authors has what is needed to check the authors of one organization's events.
type authors struct {
	creationSeqs  map[ledger.Kind][]uint64 // seqs of the events that created the records to which authors refer, in ascending order
	changes       scan.Multiset            // the rows that the list of the administration's changes must have
	listedChanges scan.Multiset            // the rows that the list has
}

// recordsOfAuthors are the kinds of records to which authors may refer.
var recordsOfAuthors = func() (kinds []ledger.Kind) {
	for _, kind := range ledger.Kinds() {
		if slices.ContainsFunc(ledger.AuthorKinds(), func(k ledger.AuthorKind) bool { return k.MayRefer(kind) }) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}()

// followAuthor checks the author of an event.
func (j *journal) followAuthor(e *ledger.Event) {
	c := j.orgCheck
	switch a := e.Author; {
	case a.Kind.HasRecord() && !c.authors.hasCreated(a):
		c.authorFault(e, "its author is no earlier event that created a record of the author's kind")
	case !mayCause(a.Kind, e.Source.Kind):
		c.authorFault(e, "an author of its kind causes no events of such a record")
	}
	if e.Version == 1 && slices.Contains(recordsOfAuthors, e.Source.Kind) {
		if c.authors.creationSeqs == nil {
			c.authors.creationSeqs = make(map[ledger.Kind][]uint64)
		}
		c.authors.creationSeqs[e.Source.Kind] = append(c.authors.creationSeqs[e.Source.Kind], e.Seq)
	}
	if e.IsAdministrationChange() {
		c.authors.changes.Add(c.seed, changeRow(&store.ListRow{Booked: e.Booked, IsCreation: e.Version == 1, ID: ledger.SeqID(e.Seq)}))
	}
}

func (c *orgCheck) authorFault(e *ledger.Event, what string) {
	c.Report.Breach(findings.RuleJournal, "organization %v: event %d of %s: %s", c.organization.ID, e.Seq, scan.NameOf(e.Source), what)
}

// hasCreated tells whether an earlier event has created the author's record.
func (s *authors) hasCreated(a ledger.Author) bool {
	for kind, seqs := range s.creationSeqs {
		if _, found := slices.BinarySearch(seqs, a.Seq); found && a.Kind.MayRefer(kind) {
			return true
		}
	}
	return false
}

// mayCause tells whether an author of this kind may cause an event of a record of this kind.
func mayCause(author ledger.AuthorKind, record ledger.Kind) bool {
	switch author {
	case ledger.ByPayer:
		return record == ledger.Transaction || record == ledger.Reply
	case ledger.ByProvider:
		return record == ledger.Transaction
	}
	return true
}

// followChangeRow counts a row of the list of the administration's changes.
func (c *orgCheck) followChangeRow(row *store.ListRow) {
	c.authors.listedChanges.Add(c.seed, changeRow(row))
}

// changeRow encodes the parts of a list's row that are compared.
func changeRow(row *store.ListRow) []byte {
	bytes := append(binary.BigEndian.AppendUint64(nil, uint64(row.Booked)), row.ID[:]...)
	if row.IsCreation {
		return append(bytes, 1)
	}
	return bytes
}

// checkChangesListed compares the rows of the list of the administration's changes with the events, after both have
// been read.
func (c *orgCheck) checkChangesListed() {
	if c.authors.listedChanges != c.authors.changes {
		c.Report.Breach(findings.RuleClaims, "organization %v: the list of the administration's changes has other rows than its events", c.organization.ID)
	}
}
