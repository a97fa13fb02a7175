package contracts

import (
	"hash/maphash"
	"maps"
	"math/big"
	"strings"

	contractactor "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// For rule 4 of the checker (claims, lists, numbers), this file checks numbers and lists of contracts. The contract
// numbers with the same prefix are 1 to n, and the counter of that prefix is n. Each other counter of contracts has
// the number of contracts of one kind. Each contract is exactly once in the list of its product, of its environment,
// and of each of its parties.

// numberSet is the set of the contract numbers with one prefix.
type numberSet struct {
	bits     []uint64 // one bit for each number
	distinct uint64
	largest  uint64
}

// add adds a number to the set. It returns false if the set already has the number.
func (n *numberSet) add(number uint64) bool {
	word, bit := number/64, uint64(1)<<(number%64)
	for uint64(len(n.bits)) <= word {
		n.bits = append(n.bits, 0)
	}
	if n.bits[word]&bit != 0 {
		return false
	}
	n.bits[word] |= bit
	n.distinct++
	n.largest = max(n.largest, number)
	return true
}

// countContract records a contract's number and counts the contract.
func (c *Check) countContract(r *scan.Record, p *contract.Record) {
	o := r.Organization
	prefix := p.Product.Variants[p.Reading].Prefix
	c.contractCounts[contractactor.CountKey(p.Product, p.Reading)+"\x00"+p.Asset.Env.String()]++
	c.Report.Count(findings.RuleClaims, 1)
	numbers := c.numbers[prefix]
	if numbers == nil {
		numbers = new(numberSet)
		c.numbers[prefix] = numbers
	}
	switch number := r.Stamp.Number; {
	case number == 0 || number > uint64(o.Histories.Len()): // a number can't be greater than the number of records
		c.numberFault("%s has the number %d of %s, which was never assigned", scan.NameOf(r.Source), number, prefix)
	case !numbers.add(number):
		c.numberFault("%s has the number %d of %s, which another contract has", scan.NameOf(r.Source), number, prefix)
	}
}

// numberFault reports a fault in a contract number or a counter, as a breach of rule 4 (claims, lists, numbers).
func (c *Check) numberFault(format string, args ...any) {
	c.Report.Breach(findings.RuleClaims, "organization %v: "+format, append([]any{c.organization.ID}, args...)...)
}

// CheckNumbers reports prefixes with gaps in the numbers of contracts.
func (c *Check) CheckNumbers() {
	for prefix, n := range c.numbers {
		if n.distinct != n.largest {
			c.numberFault("%d contracts have numbers of %s, of which the last is %d", n.distinct, prefix, n.largest)
		}
	}
}

// counterSuffixes has the texts that may follow the slash in the name of a counter of contracts. These are the prefixes of
// contract numbers, which the init function in contracts.go adds, and the suffix of the counter of batched actions that are
// under way.
var counterSuffixes = map[string]bool{strings.TrimPrefix(ledger.BatchedActionsKey, "contracts/"): true}

// counterKey returns the key of a counter in the maps of Check. The window of a counter of contracts is an
// environment or empty.
func counterKey(name, window string) string { return name + "\x00" + window }

// CheckCounter compares a stored counter of contracts with the contracts. It returns false if the counter is of another kind.
func (c *Check) CheckCounter(name, window string, row []byte) bool {
	kind, suffix, _ := strings.Cut(name, "/")
	if !counterSuffixes[suffix] || kind != "number" && kind != "contracts" {
		return false
	}
	c.Report.Count(findings.RuleClaims, 1)
	key := counterKey(name, window)
	want := c.counters()[key]
	c.storedCounters[key] = true
	amount, remainder, err := money.ReadAmount(row)
	if err != nil || len(remainder) != 0 || scan.BigAmount(amount).Cmp(new(big.Int).SetUint64(want)) != 0 {
		c.numberFault("counter %s %s is %v, and its contracts make it %d", name, window, amount, want)
	}
	return true
}

// counters returns all counters that the contracts require.
func (c *Check) counters() map[string]uint64 {
	if c.requiredCounters == nil {
		c.requiredCounters = maps.Clone(c.contractCounts)
		for prefix, n := range c.numbers {
			c.requiredCounters[counterKey(posting.SequenceKey(prefix), "")] = n.largest
		}
	}
	return c.requiredCounters
}

// CheckMissingCounters reports required counters of contracts that are not stored.
func (c *Check) CheckMissingCounters() {
	for key, want := range c.counters() {
		if want != 0 && !c.storedCounters[key] {
			name, window, _ := strings.Cut(key, "\x00")
			c.numberFault("there is no counter %s %s, and its contracts make it %d", name, window, want)
		}
	}
}

// expectLists records the lists that must show a contract: the list of its product in its reading,
// the list of its environment, and one list for each of its parties.
func (c *Check) expectLists(r *scan.Record, p *contract.Record, l *Lifecycle) {
	histories := r.Organization.Histories
	histories.ExpectLists(r.History, contractactor.ListOf(p.Product, p.Reading))
	l.ListHash += listRowHash(histories, contractactor.ListOfEnv(p.Product, p.Reading, p.Asset.Env), p.ID)
	parties := []ledger.ID{p.Customer()}
	for _, h := range p.Register.Holders {
		parties = append(parties, h.Investor)
	}
	for _, party := range parties {
		if party != (ledger.ID{}) { // the zero id names no party
			l.ListHash += listRowHash(histories, contractactor.ListOfPerson(p.Product, p.Reading, party), p.ID)
		}
	}
}

// listRowHash returns the hash of a row that shows a contract in a list. The check adds the
// hash for each required row and subtracts it for each stored one. The sum is 0 for a contract that is
// exactly once in each of its lists.
func listRowHash(h *scan.Histories, list ledger.List, id ledger.ID) uint64 {
	return maphash.Comparable(h.Seed, struct {
		list ledger.List
		id   ledger.ID
	}{list, id})
}

// CheckListedParties checks rows of a list that shows the contracts of an environment or of a party.
func (c *Check) CheckListedParties(list ledger.List, rows []store.ListRow) {
	for i := range rows {
		source := ledger.Source{Kind: ledger.Contract, ID: rows[i].ID}
		h := c.organization.Histories.Find(source)
		if h == nil || h.Marks&scan.HasRow == 0 {
			c.Report.Breach(findings.RuleClaims, "organization %v: a list shows %s, which does not exist", c.organization.ID, scan.NameOf(source))
			continue
		}
		c.LifecycleOf(h).ListHash -= listRowHash(c.organization.Histories, list, rows[i].ID)
	}
}
