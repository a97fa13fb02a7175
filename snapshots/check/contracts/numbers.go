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
// numbers with the same prefix are 1 to n without gaps, and the counter of that prefix is n. Each of the other counters
// is the number of contracts of one kind. Each contract is exactly once in each of its lists: the list of its product,
// the list of its environment, and the list of each of its parties.

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

// countContract counts a contract and records its number. It reports a number that was never assigned or that another
// contract has.
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
	switch number := r.Header.Number; {
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

// CheckNumbers reports every prefix whose contract numbers have gaps.
func (c *Check) CheckNumbers() {
	for prefix, n := range c.numbers {
		if n.distinct != n.largest {
			c.numberFault("%d contracts have numbers of %s, of which the last is %d", n.distinct, prefix, n.largest)
		}
	}
}

// counterSuffixes lists what may follow the slash in the name of a contract counter: a prefix of contract numbers (the init
// function in contracts.go adds the prefixes), or the suffix of the counter of unfinished batched actions.
var counterSuffixes = map[string]bool{strings.TrimPrefix(ledger.BatchedActionsKey, "contracts/"): true}

// counterKey returns the key of a counter in the maps of Check. If a counter counts the contracts of one environment,
// its window is the environment's name. Otherwise the window is empty.
func counterKey(name, window string) string { return name + "\x00" + window }

// CheckCounter compares a stored contract counter with the value that the contracts require. If the counter is not a contract
// counter, CheckCounter returns false.
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

// counters returns the required values of all contract counters, by counterKey.
func (c *Check) counters() map[string]uint64 {
	if c.requiredCounters == nil {
		c.requiredCounters = maps.Clone(c.contractCounts)
		for prefix, n := range c.numbers {
			c.requiredCounters[counterKey(posting.SequenceKey(prefix), "")] = n.largest
		}
	}
	return c.requiredCounters
}

// CheckMissingCounters reports contract counters that must exist but are not stored.
func (c *Check) CheckMissingCounters() {
	for key, want := range c.counters() {
		if want != 0 && !c.storedCounters[key] {
			name, window, _ := strings.Cut(key, "\x00")
			c.numberFault("there is no counter %s %s, and its contracts make it %d", name, window, want)
		}
	}
}

// expectLists records which lists must show a contract: the list of its product and reading, the list of its
// environment, and one list for each of its parties.
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

// listRowHash returns the hash of a list row that shows a contract. For each contract, the check adds the hashes of the
// required rows and subtracts the hashes of the stored rows. If the contract is exactly once in each of its lists, the
// result is 0.
func listRowHash(h *scan.Histories, list ledger.List, id ledger.ID) uint64 {
	return maphash.Comparable(h.Seed, struct {
		list ledger.List
		id   ledger.ID
	}{list, id})
}

// CheckListedParties checks rows of a list that shows the contracts of one environment or of one party.
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
