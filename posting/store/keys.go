package store

import (
	"encoding/binary"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Kinds of rows. The first byte of each key is the kind of its row. Two more kinds are prefixGroup (group.go) and
// prefixValues (values.go).
const (
	prefixBlock      = 'b' // a block: consecutive events of an organization
	prefixPage       = 'p' // a page: lines of an account (its postings, with the totals after each)
	prefixShifted    = 's' // a line whose effective day is not its booked day
	prefixTree       = 't' // hashes of an organization's hash tree after a block
	prefixRecord     = 'r' // a record, with the beginning of its payload
	prefixPart       = 'q' // a further part of a record's payload
	prefixSealed     = 'x' // a ciphertext beside a record
	prefixClaim      = 'c' // a unique key and its owner
	prefixCounter    = 'n' // a counter: an amount
	prefixDue        = 'd' // a due row: records on which work becomes due in the same second
	prefixList       = 'l' // a page of a list of records
	prefixBuffer     = 'y' // a page-buffer row: lines of accounts and rows of lists that are on no page yet
	prefixKV         = 'w' // an actor's own data, or a page of notices
	prefixPlacement  = 'o' // an organization's placement, if it has moved or is moving
	prefixSingleRows = 'm' // the row of KeyLowWaterMark, and the row with the version of the schema
)

// keyCapacity is the capacity of a new key. It is enough for most keys, so that such a key needs only one allocation.
const keyCapacity = 64

func orgKey(dst []byte, prefix byte, org ledger.ID) []byte {
	dst = slices.Grow(dst, keyCapacity)
	return append(append(dst, prefix), org[:]...)
}

// KeyBlock appends the key of a block: kind of row, org, seq of the block's first event.
func KeyBlock(dst []byte, org ledger.ID, firstSeq uint64) []byte {
	return binary.BigEndian.AppendUint64(orgKey(dst, prefixBlock, org), firstSeq)
}

// KeyBlocks appends the common prefix of the keys of an organization's blocks.
func KeyBlocks(dst []byte, org ledger.ID) []byte { return orgKey(dst, prefixBlock, org) }

// KeyTreeRow appends the key of a tree row: kind of row, org, seq of the first event in the row's block.
func KeyTreeRow(dst []byte, org ledger.ID, firstSeq uint64) []byte {
	return binary.BigEndian.AppendUint64(orgKey(dst, prefixTree, org), firstSeq)
}

// KeyTreeRows appends the common prefix of the keys of an organization's tree rows.
func KeyTreeRows(dst []byte, org ledger.ID) []byte { return orgKey(dst, prefixTree, org) }

// ParseTreeKey parses the key of a tree row. It returns the seq of the first event in the row's block.
func ParseTreeKey(key []byte) (firstSeq uint64, ok bool) {
	if len(key) != 1+16+8 || key[0] != prefixTree {
		return 0, false
	}
	firstSeq = binary.BigEndian.Uint64(key[17:])
	return firstSeq, firstSeq != 0
}

// KeyPages appends the common prefix of the keys of an account's pages: kind of row, org, environment, path, currency,
// network. Each text ends with a zero byte, so that the prefix of one account is never the beginning of another account's
// prefix.
func KeyPages(dst []byte, org ledger.ID, a ledger.Account) []byte {
	return accountKey(orgKey(dst, prefixPage, org), a)
}

// KeyPage appends the key of a page: the prefix from KeyPages, and the booked time of the page's first line. The key contains
// the time instead of the seq, because balances are requested by time. Booked times increase strictly within an organization,
// just like seqs.
func KeyPage(dst []byte, org ledger.ID, a ledger.Account, firstBooked ledger.Micros) []byte {
	return binary.BigEndian.AppendUint64(KeyPages(dst, org, a), uint64(firstBooked))
}

// After returns the first key that is greater than all keys with the prefix. If there is none, it returns nil. After
// overwrites the prefix.
func After(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xff {
			prefix[i]++
			return prefix[:i+1]
		}
	}
	return nil
}

// KeyAccounts appends the common prefix of the keys of pages whose accounts belong to an organization and an environment, and
// have paths that begin with prefix.
func KeyAccounts(dst []byte, org ledger.ID, env money.Env, prefix string) []byte {
	return append(append(orgKey(dst, prefixPage, org), byte(env)), prefix...)
}

func accountKey(dst []byte, a ledger.Account) []byte {
	dst = append(dst, byte(a.Asset.Env))
	dst = append(append(dst, a.Path...), 0)
	dst = append(append(dst, a.Asset.Currency...), 0)
	return append(append(dst, a.Asset.Network...), 0)
}

// ParsePageKey returns the account in the key of a page.
func ParsePageKey(key []byte) (ledger.Account, bool) {
	if len(key) < 8 {
		return ledger.Account{}, false
	}
	return ParsePagePrefix(key[:len(key)-8])
}

// ParsePagePrefix is the inverse of KeyPages: it returns the account in the prefix.
func ParsePagePrefix(prefix []byte) (ledger.Account, bool) {
	var a ledger.Account
	if len(prefix) < 1+16+1+3 || prefix[0] != prefixPage {
		return a, false
	}
	a.Asset.Env = money.Env(prefix[17])
	unparsed := prefix[18:]
	var texts [3]string
	for i := range texts {
		end := 0
		for end < len(unparsed) && unparsed[end] != 0 {
			end++
		}
		if end == len(unparsed) {
			return a, false
		}
		texts[i], unparsed = string(unparsed[:end]), unparsed[end+1:]
	}
	a.Path, a.Asset.Currency, a.Asset.Network = ledger.Path(texts[0]), money.Currency(texts[1]), money.Network(texts[2])
	return a, len(unparsed) == 0
}

// KeyShifts appends the common prefix of the keys of an account's shifted lines. A line is shifted if its effective day is
// not its booked day.
func KeyShifts(dst []byte, org ledger.ID, a ledger.Account) []byte {
	return accountKey(orgKey(dst, prefixShifted, org), a)
}

// KeyShifted appends the key of a shifted line: the prefix from KeyShifts, the effective day, the seq, and the index of the
// line.
func KeyShifted(dst []byte, org ledger.ID, a ledger.Account, effective ledger.Date, seq uint64, line int) []byte {
	dst = binary.BigEndian.AppendUint32(KeyShifts(dst, org, a), uint32(effective))
	dst = binary.BigEndian.AppendUint64(dst, seq)
	return binary.BigEndian.AppendUint16(dst, uint16(line))
}

// KeyRecord appends the key of a record: kind of row, org, kind of record, id. In the keys of records, their parts and their
// sealed rows, the ids of transactions are in their ordered form (see appendRecordID).
func KeyRecord(dst []byte, org ledger.ID, s ledger.Source) []byte {
	return appendRecordID(orgKey(dst, prefixRecord, org), s)
}

// appendRecordID appends the kind and the id of a record. The ids of transactions are in their ordered form, in which new ids
// follow earlier ones (ledger.TimedID).
func appendRecordID(dst []byte, s ledger.Source) []byte {
	id := s.ID
	if s.Kind == ledger.Transaction {
		id = ledger.OrderedID(id)
	}
	return append(append(dst, byte(s.Kind)), id[:]...)
}

// KeyPart appends the key of further row n of a record whose payload is too long for one row: kind of row, org, kind of
// record, id, n.
func KeyPart(dst []byte, org ledger.ID, s ledger.Source, n uint64) []byte {
	dst = appendRecordID(orgKey(dst, prefixPart, org), s)
	return binary.BigEndian.AppendUint64(dst, n)
}

// KeySealed appends the key of a record's sealed row, a ciphertext that is stored beside the record for a while: kind of row,
// org, kind of record, id.
func KeySealed(dst []byte, org ledger.ID, s ledger.Source) []byte {
	return appendRecordID(KeySealeds(dst, org), s)
}

// KeySealeds appends the common prefix of the keys of an organization's sealed rows.
func KeySealeds(dst []byte, org ledger.ID) []byte { return orgKey(dst, prefixSealed, org) }

// ParseSealedKey returns the record of a sealed row.
func ParseSealedKey(key []byte) (s ledger.Source, ok bool) {
	_, s, ok = parseSourceKey(prefixSealed, key)
	return s, ok
}

// KeyRecords appends the common prefix of the keys of an organization's records of one kind.
func KeyRecords(dst []byte, org ledger.ID, kind ledger.Kind) []byte {
	return append(orgKey(dst, prefixRecord, org), byte(kind))
}

// KeyAllRecords appends the common prefix of the keys of all records of all organizations.
func KeyAllRecords(dst []byte) []byte { return append(dst, prefixRecord) }

// ParseRecordKey parses a record's key.
func ParseRecordKey(key []byte) (org ledger.ID, s ledger.Source, ok bool) {
	return parseSourceKey(prefixRecord, key)
}

func parseSourceKey(prefix byte, key []byte) (org ledger.ID, s ledger.Source, ok bool) {
	if len(key) != 1+16+1+16 || key[0] != prefix {
		return org, s, false
	}
	copy(org[:], key[1:17])
	s.Kind = ledger.Kind(key[17])
	copy(s.ID[:], key[18:])
	if s.Kind == ledger.Transaction {
		s.ID = ledger.OrderedID(s.ID)
	}
	return org, s, true
}

// KeyClaim appends the key of a claim: kind of row, org, kind of claim, the claim's own key.
func KeyClaim(dst []byte, org ledger.ID, kind ledger.ClaimKind, key string) []byte {
	return append(KeyClaims(dst, org, kind), key...)
}

// KeyClaims appends the common prefix of the keys of an organization's claims of one kind.
func KeyClaims(dst []byte, org ledger.ID, kind ledger.ClaimKind) []byte {
	return append(orgKey(dst, prefixClaim, org), byte(kind))
}

// KeyCounter appends the key of a counter's row: kind of row, org, the counter's own key, a zero byte, window.
func KeyCounter(dst []byte, org ledger.ID, key, window string) []byte {
	dst = append(orgKey(dst, prefixCounter, org), key...)
	return append(append(dst, 0), window...)
}

// KeyCounters appends the common prefix of the keys of an organization's counters.
func KeyCounters(dst []byte, org ledger.ID) []byte { return orgKey(dst, prefixCounter, org) }

// KeyDue appends the key of a due row: kind of row, second, number of the group. A due row contains the items that one group
// has scheduled for one second.
func KeyDue(dst []byte, second int64, group uint64) []byte {
	dst = binary.BigEndian.AppendUint64(append(dst, prefixDue), uint64(second))
	return binary.BigEndian.AppendUint64(dst, group)
}

// KeyDueFrom appends the key at which a scan of the due rows of this second begins.
func KeyDueFrom(dst []byte, second int64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, prefixDue), uint64(second))
}

// KeyDues appends the common prefix of the keys of all due rows.
func KeyDues(dst []byte) []byte { return append(dst, prefixDue) }

// ParseDueKey returns the second and the number of the group in the key of a due row.
func ParseDueKey(key []byte) (second int64, group uint64, ok bool) {
	if len(key) != 17 || key[0] != prefixDue {
		return 0, 0, false
	}
	return int64(binary.BigEndian.Uint64(key[1:9])), binary.BigEndian.Uint64(key[9:]), true
}

// KeyListPages appends the common prefix of the keys of a list's pages.
func KeyListPages(dst []byte, org ledger.ID, list ledger.List) []byte {
	return append(orgKey(dst, prefixList, org), list[:]...)
}

// KeyListPage appends the key of a page of a list: the prefix from KeyListPages, and the booked time of the page's first row.
func KeyListPage(dst []byte, org ledger.ID, list ledger.List, firstBooked ledger.Micros) []byte {
	return binary.BigEndian.AppendUint64(KeyListPages(dst, org, list), uint64(firstBooked))
}

// ParseListPrefix is the inverse of KeyListPages: it returns the list in the prefix.
func ParseListPrefix(prefix []byte) (list ledger.List, ok bool) {
	if len(prefix) != 1+16+len(list) || prefix[0] != prefixList {
		return list, false
	}
	return ledger.List(prefix[17:]), true
}

// KeyLowWaterMark is the key of the low-water mark of due rows. The mark is a time in seconds. Due rows of earlier seconds
// are never read again.
var KeyLowWaterMark = []byte("mdue")

// ParseShiftedDate returns the effective day in the key of a shifted line.
func ParseShiftedDate(key []byte) (ledger.Date, bool) {
	const dateSeqLine = 4 + 8 + 2 // bytes of the effective date, the seq and the line's index
	if len(key) < 1+16+dateSeqLine || key[0] != prefixShifted {
		return 0, false
	}
	return ledger.Date(binary.BigEndian.Uint32(key[len(key)-dateSeqLine:])), true
}
