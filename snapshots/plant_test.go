package snapshots_test

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/tlog"

	"mizan/internal/clock"
	"mizan/ledger"
	words "mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/posting"
	"mizan/posting/store"
)

// planter changes rows of a closed store so that only their meaning is wrong:
// checksums and the chain of groups stay right, and so do the hashes of records and
// notices that events have (insider_test.go leaves these as they are).
type planter struct {
	t     testing.TB
	store *store.Store
	snap  *store.Snapshot
	group *store.Group
}

func (w *town) plant(t testing.TB, change func(*planter)) {
	t.Helper()
	s, err := store.Open(options(w.dir))
	if err != nil {
		t.Fatal(err)
	}
	n, hash := s.LastGroup()
	p := &planter{t: t, store: s, snap: s.Snapshot(), group: store.NewGroup(n+1, hash)}
	change(p)
	if p.group.Rows() == 0 {
		t.Fatal("nothing was planted")
	}
	p.apply()
	p.rehash()
	if p.group.Rows() > 0 {
		p.apply()
	}
	p.snap.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// apply makes what was planted durable, and begins the next group.
func (p *planter) apply() {
	p.t.Helper()
	hash := p.group.Seal()
	must(p.t, p.store.Apply(p.group))
	p.snap.Close()
	p.snap, p.group = p.store.Snapshot(), store.NewGroup(p.group.N()+1, hash)
}

// rehash rewrites the journals whose events have other hashes of records than there are.
func (p *planter) rehash() {
	p.t.Helper()
	var orgs []ledger.ID
	must(p.t, p.snap.Ascend(store.KeyBlocks(nil, ledger.ID{})[:1], nil, func(key, _ []byte) (bool, error) {
		if org := ledger.ID(key[1:17]); len(orgs) == 0 || orgs[len(orgs)-1] != org {
			orgs = append(orgs, org)
		}
		return true, nil
	}))
	for _, org := range orgs {
		if events, well := p.events(org); well && p.hashed(org, events) {
			p.deleteAll(store.KeyBlocks(nil, org))
			p.deleteAll(store.KeyTrees(nil, org))
			p.write(org, events, -1)
		}
	}
}

// hashed gives events the hashes of the records that there are, and tells whether
// there were others.
func (p *planter) hashed(org ledger.ID, events []ledger.Event) (changed bool) {
	seen, notices := make(map[ledger.Source]bool), p.notices(org)
	for i := len(events) - 1; i >= 0; i-- {
		e := &events[i]
		was, told := e.Stored.Record, e.Stored.Notices
		e.Stored.Notices = ledger.Hash{}
		if of := notices[e.Booked]; of != nil {
			e.Stored.Notices = store.HashNotices(of)
		}
		if row, found := p.stored(org, e.Source); found && !seen[e.Source] {
			e.Stored.Record = sha256.Sum256(row)
		}
		within := i+1 < len(events) && events[i+1].Source == e.Source
		if e.Source.Kind != ledger.Transfer && was == (ledger.Hash{}) && !within {
			e.Stored.Record = ledger.Hash{1} // of a state that was
		}
		seen[e.Source] = true
		changed = changed || e.Stored.Record != was || e.Stored.Notices != told
	}
	return changed
}

// notices is what the notices hash that there are of the events booked at each instant.
func (p *planter) notices(org ledger.ID) map[ledger.Micros][]byte {
	of := make(map[ledger.Micros][]byte)
	must(p.t, p.snap.Ascend(store.KeyNotices(nil, org), nil, func(key, row []byte) (bool, error) {
		if first, ok := store.ParseNoticePage(key); ok {
			_ = store.EachNotice(first, row, func(n *store.Notice) (bool, error) { // what can't be read is none
				of[n.Booked] = n.AppendHashed(of[n.Booked])
				return true, nil
			})
		}
		return true, nil
	}))
	return of
}

// stored is a record's row with the further ones of a long one.
func (p *planter) stored(org ledger.ID, s ledger.Source) ([]byte, bool) {
	row, found, err := p.snap.Get(store.KeyRecord(nil, org, s), nil)
	must(p.t, err)
	envelope, _, ok := store.DecodeRecord(row)
	for n := uint64(1); found && ok && n <= envelope.Parts; n++ {
		part, _, err := p.snap.Get(store.KeyPart(nil, org, s, n), nil)
		must(p.t, err)
		row = append(row, part...)
	}
	return row, found
}

// events are an organization's; well is false if its journal can't be read.
func (p *planter) events(org ledger.ID) (events []ledger.Event, well bool) {
	p.t.Helper()
	well = true
	must(p.t, p.snap.Ascend(store.KeyBlocks(nil, org), nil, func(key, row []byte) (bool, error) {
		block, err := store.DecodeBlock(key, row)
		if err == nil {
			err = block.Each(func(_ uint64, canonical []byte) (bool, error) {
				e, err := ledger.ParseCanonical(canonical)
				events = append(events, e)
				return true, err
			})
		}
		well = err == nil
		return well, nil
	}))
	return events, well
}

// rows are all rows that begin with a prefix.
func (p *planter) rows(prefix []byte) (keys, rows [][]byte) {
	p.t.Helper()
	err := p.snap.Ascend(prefix, nil, func(key, row []byte) (bool, error) {
		keys, rows = append(keys, bytes.Clone(key)), append(rows, bytes.Clone(row))
		return true, nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	if len(keys) == 0 {
		p.t.Fatalf("there are no rows with %x", prefix)
	}
	return keys, rows
}

func (p *planter) deleteAll(prefix []byte) {
	p.t.Helper()
	keys, _ := p.rows(prefix)
	for _, key := range keys {
		p.group.Delete(key)
	}
}

// record rewrites a record's row.
func (p *planter) record(org ledger.ID, s ledger.Source, change func(e *store.Envelope, payload []byte) []byte) {
	p.t.Helper()
	key := store.KeyRecord(nil, org, s)
	_, rows := p.rows(key)
	envelope, payload, ok := store.DecodeRecord(rows[0])
	if !ok {
		p.t.Fatal("the record can't be read")
	}
	payload = change(&envelope, bytes.Clone(payload))
	p.group.Set(key, store.EncodeRecord(nil, envelope, payload))
}

// lines rewrites the first page that has lines for which change returns another.
func (p *planter) lines(org ledger.ID, a ledger.Account, change func([]store.Line) []store.Line) {
	p.t.Helper()
	keys, rows := p.rows(store.KeyPages(nil, org, a))
	for i, row := range rows {
		var lines []store.Line
		if err := store.DecodePage(row, func(l *store.Line) (bool, error) {
			lines = append(lines, *l)
			return true, nil
		}); err != nil {
			p.t.Fatal(err)
		}
		before := len(row)
		row = nil
		for _, l := range change(lines) {
			row = store.EncodeLine(row, &l)
		}
		if len(row) == 0 {
			p.group.Delete(keys[i])
			return
		}
		if len(row) != before || !bytes.Equal(row, rows[i]) {
			p.group.Set(keys[i], row)
			return
		}
	}
	p.t.Fatal("no page was changed")
}

// journal rewrites an organization's journal with a tree that fits it; skip is
// the index of a leaf that the tree leaves out (-1: none).
func (p *planter) journal(org ledger.ID, skip int, change func([]ledger.Event) []ledger.Event) {
	p.t.Helper()
	events, well := p.events(org)
	if !well {
		p.t.Fatal("the journal can't be read")
	}
	p.deleteAll(store.KeyBlocks(nil, org))
	p.deleteAll(store.KeyTrees(nil, org))
	p.write(org, change(events), skip)
}

// write writes a journal in blocks of five events.
func (p *planter) write(org ledger.ID, events []ledger.Event, skip int) {
	var leaves []tlog.Hash
	for len(events) > 0 {
		n := min(5, len(events))
		var block store.Block
		first := len(leaves)
		for i := range events[:n] {
			canonical := events[i].AppendCanonical(nil)
			block.Add(events[i].Seq, canonical)
			if int(events[i].Seq)-1 != skip {
				leaves = append(leaves, tlog.RecordHash(canonical))
			}
		}
		events = events[n:]
		if p.group.Bytes() > 64<<10 { // less than half of what a group may have
			p.apply()
		}
		p.group.Set(store.KeyBlock(nil, org, block.First), store.EncodeBlock(nil, &block, root(leaves)))
		p.group.Set(store.KeyTree(nil, org, block.First), store.EncodeTree(nil, edge(leaves), crossing(leaves, first)))
	}
}

// root is RFC 6962's definition of the tree's hash, word by word.
func root(leaves []tlog.Hash) tlog.Hash {
	if len(leaves) == 1 {
		return leaves[0]
	}
	k := 1
	for 2*k < len(leaves) {
		k *= 2
	}
	return tlog.NodeHash(root(leaves[:k]), root(leaves[k:]))
}

// edge are the largest complete subtrees, from the left.
func edge(leaves []tlog.Hash) (edge []store.Subtree) {
	for at := 0; at < len(leaves); {
		level := 0
		for at+2<<level <= len(leaves) {
			level++
		}
		edge = append(edge, store.Subtree{Level: level, Index: uint64(at >> level), Hash: root(leaves[at : at+1<<level])})
		at += 1 << level
	}
	return edge
}

// crossing are the subtrees that end after the first leaves and begin among them.
func crossing(leaves []tlog.Hash, first int) (list []store.Subtree) {
	for end := first + 1; end <= len(leaves); end++ {
		for level := 1; end%(1<<level) == 0; level++ {
			if begin := end - 1<<level; begin < first {
				list = append(list, store.Subtree{Level: level, Index: uint64(begin >> level), Hash: root(leaves[begin:end])})
			}
		}
	}
	return list
}

// submit writes changes with the real writer.
func (w *town) submit(t testing.TB, changes ...*posting.Change) {
	t.Helper()
	submitTo(t, openJournal(t, w, clock.NewManual(start), nil), changes...)
}

// submitTo writes changes to a journal, one group each, and closes it.
func submitTo(t testing.TB, j *posting.Journal, changes ...*posting.Change) {
	t.Helper()
	for _, c := range changes {
		done := make(chan posting.Receipt, 1)
		j.Submit(c, func(r posting.Receipt) { done <- r })
		if r := <-done; r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// opening rewrites the entry that opened the second partner's balance in the
// test environment, its lines and its settlement with it.
func (w *town) opening(t testing.TB, change func([]ledger.Posting) []ledger.Posting) {
	w.plant(t, func(p *planter) {
		p.journal(w.second.Org, -1, func(events []ledger.Event) []ledger.Event {
			for i := range events {
				if entry := events[i].Entry; entry != nil && events[i].Source.Kind == ledger.Settlement {
					entry.Postings = change(entry.Postings)
					return events
				}
			}
			t.Fatal("there is no opening balance")
			return nil
		})
	})
}

func dropPosting(postings []ledger.Posting) []ledger.Posting { return postings[:len(postings)-1] }

func roundUp(postings []ledger.Posting) []ledger.Posting {
	postings[0].Amount = mustAdd(postings[0].Amount, 1)
	return postings
}

func mustAdd(a money.Amount, n uint64) money.Amount {
	sum, err := a.Add(money.FromUint64(n))
	if err != nil {
		panic(err)
	}
	return sum
}

func settlementKey(partner int64, reference string) string {
	return words.SettlementKey(partner, reference)
}

// stamp changes the writer's stamp of a transaction that is over.
func (w *town) stamp(t testing.TB, change func(*store.Envelope)) {
	w.plant(t, func(p *planter) {
		p.record(w.first.Org, transaction(w.refused.ID), func(e *store.Envelope, payload []byte) []byte {
			change(e)
			return payload
		})
	})
}

// firstOf is the first charged transaction of an organization.
func firstOf(p *planter, org ledger.ID) ledger.Source {
	keys, _ := p.rows(store.KeyRecords(nil, org, ledger.Transaction))
	_, source, _ := store.ParseRecordKey(keys[0])
	return source
}

// log rewrites the simulator's log.
func (w *town) log(t testing.TB, change func(lines []string) []string) {
	t.Helper()
	path := filepath.Join(w.dir, "simulator.log")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var changed strings.Builder
	for _, line := range change(strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")) {
		changed.WriteString(line)
		if strings.HasSuffix(line, "}") {
			changed.WriteByte('\n')
		}
	}
	if err := os.WriteFile(path, []byte(changed.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

var feesInUSD = ledger.Account{Path: ledger.Fees, Asset: usd}

func newID() ledger.ID { return uuid.New() }

// plantLater changes a stored transaction once the store is closed.
func (w *town) plantLater(id ledger.ID, fn func(*payment.Record)) {
	w.later = append(w.later, func(p *planter) {
		p.record(w.first.Org, transaction(id), func(_ *store.Envelope, payload []byte) []byte {
			r, err := paymentcodec.Decode(payload)
			must(p.t, err)
			fn(r)
			return paymentcodec.Encode(r)
		})
	})
}

// plantAll plants what was put off.
func (w *town) plantAll(t *testing.T) {
	t.Helper()
	if len(w.later) == 0 {
		return
	}
	w.plant(t, func(p *planter) {
		for _, fn := range w.later {
			fn(p)
		}
	})
}
