package ledger

import (
	"encoding/binary"
	"fmt"

	"mizan/internal/assert"
	"mizan/ledger/money"
)

// List is the key of a list of records. The first byte is the kind of the records in the list. The second byte is a number that
// distinguishes lists of the same kind of records. The rest identifies the owner of the list; only the package that declares
// the list knows the encoding of the owner. The zero value means "no list".
type List [2 + ListOwnerLength]byte

// ListOwnerLength is the length of the owner in a List. An owner is, for example, a partner and an environment.
const ListOwnerLength = 9

// NewList returns the key of the list with the given kind, number and owner. The owner has at most ListOwnerLength bytes. All
// lists with the same kind and number must have owners of the same length.
func NewList(kind Kind, number byte, owner ...byte) (l List) {
	assert.That(len(owner) <= ListOwnerLength, "a list's owner of %d bytes", len(owner))
	l[0], l[1] = byte(kind), number
	copy(l[2:], owner)
	return l
}

// Kind returns the kind of the records that the list shows.
func (l List) Kind() Kind { return Kind(l[0]) }

// Number returns the number that distinguishes the list from other lists of the same kind.
func (l List) Number() byte { return l[1] }

// String returns the kind, number and owner of the list, for messages.
func (l List) String() string { return fmt.Sprintf("%c%d of %x", l[0], l[1], l[2:]) }

// PartnerLists declares all partners' lists of one kind of record. Each partner has every declared list once for each
// environment.
type PartnerLists[R any] struct {
	kind  Kind
	owner func(*R) (partner int64, env money.Env)
	lists []declaredList[R]
}

// declaredList is a list together with a function that tells whether the list shows a record.
type declaredList[R any] struct {
	list  PartnerList
	shows func(*R) bool
}

// MaxPartnerLists is the maximum number of lists of one kind of record.
const MaxPartnerLists = 8

// NewPartnerLists returns a PartnerLists without lists, to which Declare adds lists. The function owner must return the partner
// and the environment of a record.
func NewPartnerLists[R any](kind Kind, owner func(*R) (partner int64, env money.Env)) *PartnerLists[R] {
	return &PartnerLists[R]{kind: kind, owner: owner}
}

// Declare adds a list that shows the records for which the function shows returns true. For the same record, shows must always
// return the same result. The number is part of stored keys, so it must never change.
func (p *PartnerLists[R]) Declare(number byte, shows func(*R) bool) PartnerList {
	l := PartnerList{p.kind, number}
	for i := range p.lists {
		assert.That(p.lists[i].list != l, "two lists of kind %c have number %d", p.kind, number)
	}
	assert.That(len(p.lists) < MaxPartnerLists, "more than %d lists of kind %c", MaxPartnerLists, p.kind)
	p.lists = append(p.lists, declaredList[R]{l, shows})
	return l
}

// Of returns the lists that show a record. If no list shows the record, both results are zero. The first list is returned
// separately, so that Of needs no allocation for most records, which are in a single list.
func (p *PartnerLists[R]) Of(r *R) (first List, others []List) {
	for i := range p.lists {
		if !p.lists[i].shows(r) {
			continue
		}
		if l := p.lists[i].list.Of(p.owner(r)); first == (List{}) {
			first = l
		} else {
			others = append(others, l)
		}
	}
	return first, others
}

// PartnerList is a list that every partner has once for each environment.
type PartnerList struct {
	kind   Kind
	number byte
}

// Of returns the key of a partner's list for an environment.
func (p PartnerList) Of(partner int64, env money.Env) (l List) {
	l[0], l[1], l[2] = byte(p.kind), p.number, byte(env)
	binary.BigEndian.PutUint64(l[3:], uint64(partner))
	return l
}
