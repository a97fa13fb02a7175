package posting

import (
	"cmp"
	"maps"
	"slices"

	"mizan/ledger"
	"mizan/posting/store"
)

// section is what one group's daybook has of a page.
type section struct {
	group uint64
	lines []byte
}

// sections are what daybooks have of each page, by the prefix of its keys.
type sections map[string][]section

// maxSearches is how often a view looks through an organization's daybook for one
// page. Who asks about more pages is likely to ask about many, and the view reads
// the whole daybook and keeps it.
const maxSearches = 16

// gathered are a page's lines that no stored page has, in the order of booking:
// the daybook's, but for those that were carried since.
func (v *View) gathered(prefix []byte) ([]byte, error) {
	org := ledger.ID(prefix[1:17])
	if found, ok := v.foreseen[string(prefix)]; ok {
		return v.join(prefix, found)
	}
	if v.searches++; v.searches > maxSearches || v.daybooks[org] != nil {
		all, err := v.load(org)
		if err != nil {
			return nil, err
		}
		return v.join(prefix, all[string(prefix)])
	}
	head := store.PageHead(nil, prefix)
	var found []section
	for _, share := range [...]byte{store.Share(head), store.Undealt} {
		err := v.eachDay(org, share, func(group uint64, row []byte) error {
			return store.FindSections(row, head, func(lines []byte) {
				found = append(found, section{group, slices.Clone(lines)})
			})
		})
		if err != nil {
			return nil, err
		}
	}
	return v.join(prefix, found)
}

// Foresee looks for several accounts' lines in the daybook at once, for who is going to
// read them all: one after the other would read it for each, or keep all of it.
func (v *View) Foresee(org ledger.ID, accounts []ledger.Account) error {
	if v.daybooks[org] != nil {
		return nil
	}
	prefixes := make(map[string]string) // by head
	looked := [256]bool{store.Undealt: true}
	for _, a := range accounts {
		prefix := store.KeyPages(nil, org, a)
		if _, known := v.foreseen[string(prefix)]; known {
			continue
		}
		head := store.PageHead(nil, prefix)
		prefixes[string(head)] = string(prefix)
		looked[store.Share(head)] = true
	}
	if len(prefixes) == 0 {
		return nil
	}
	found := make(sections)
	for _, share := range store.EachShare() {
		if !looked[share] {
			continue
		}
		err := v.eachDay(org, share, func(group uint64, row []byte) error {
			return store.EachSection(row, func(head, lines []byte) error {
				if prefix, wanted := prefixes[string(head)]; wanted {
					found[prefix] = append(found[prefix], section{group, slices.Clone(lines)})
				}
				return nil
			})
		})
		if err != nil {
			return err
		}
	}
	if v.foreseen == nil {
		v.foreseen = make(sections)
	}
	for _, prefix := range prefixes {
		v.foreseen[prefix] = found[prefix] // also where there is nothing
	}
	return nil
}

// eachDay calls fn with the daybook rows of a share, oldest first. It begins where
// rows are not removed yet: looking over removed ones would take ever longer.
func (v *View) eachDay(org ledger.ID, share byte, fn func(group uint64, row []byte) error) error {
	from := store.KeyDaybook(nil, store.DayKey{Org: org, Share: share, Group: v.low})
	return v.snap.Ascend(store.KeyDaybookShare(nil, org, share), from, func(key, row []byte) (bool, error) {
		k, ok := store.ParseDaybookKey(key)
		if !ok {
			return false, damaged("daybook row with key %x", key)
		}
		return true, fn(k.Group, row)
	})
}

// join puts a page's sections together, without those that are on stored pages.
// A page carries all that has gathered, so they are the older ones.
func (v *View) join(prefix []byte, found []section) (lines []byte, err error) {
	if len(found) == 0 {
		return nil, nil
	}
	carried, err := carriedUntil(v.snap, prefix)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(found, func(a, b section) int { return cmp.Compare(a.group, b.group) })
	for _, s := range found {
		first, _, err := store.Span(prefix[0], s.lines)
		if err != nil {
			return nil, err
		}
		if first > carried {
			lines = append(lines, s.lines...)
		}
	}
	return lines, nil
}

// Gathered calls fn with every page of an organization that has lines which no
// stored page has: the prefix of its keys, and the lines.
func (v *View) Gathered(org ledger.ID, fn func(prefix, lines []byte) error) error {
	all, err := v.load(org)
	if err != nil {
		return err
	}
	for _, prefix := range slices.Sorted(maps.Keys(all)) {
		lines, err := v.join([]byte(prefix), all[prefix])
		if err == nil && len(lines) > 0 {
			err = fn([]byte(prefix), lines)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// load reads an organization's whole daybook, which the view keeps.
func (v *View) load(org ledger.ID) (sections, error) {
	if all := v.daybooks[org]; all != nil {
		return all, nil
	}
	all := make(sections)
	var prefix []byte
	for _, share := range store.EachShare() {
		err := v.eachDay(org, share, func(group uint64, row []byte) error {
			return store.EachSection(slices.Clone(row), func(head, lines []byte) error {
				prefix = store.PagePrefix(prefix[:0], org, head)
				found := all[string(prefix)]
				all[string(prefix)] = append(found, section{group, lines})
				return nil
			})
		})
		if err != nil {
			return nil, err
		}
	}
	if v.daybooks == nil {
		v.daybooks = make(map[ledger.ID]sections)
	}
	v.daybooks[org] = all
	return all, nil
}

// descend calls fn with the lines of a page's rows, newest rows first: what has
// gathered, then the stored pages that begin at or before from.
func (v *View) descend(prefix, from []byte, fn func(lines []byte) (more bool, err error)) error {
	lines, err := v.gathered(prefix)
	if err != nil {
		return err
	}
	if len(lines) > 0 {
		if more, err := fn(lines); err != nil || !more {
			return err
		}
	}
	return v.snap.Descend(prefix, from, func(_, page []byte) (bool, error) { return fn(page) })
}
