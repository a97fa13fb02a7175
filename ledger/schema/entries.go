package schema

import (
	"encoding/json"
	"strconv"
)

// Entries returns a column whose values are lists of records of another type. The field of a fault contains the index of
// the entry and the column of the entry, for example "overdraft_limit.0.amount".
func Entries[E any](key uint8, name string, entryType *Type[E], options ...Option) TypedColumn[[]E] {
	return NewTypedColumn[[]E](key, name, entriesKind[E]{entryType}, append(options, func(c *Column) { c.Nested = entryType.Table }))
}

// entriesKind is the kind of columns whose values are lists of records. The values have the type []E.
type entriesKind[E any] struct{ entryType *Type[E] }

// String returns a name of the kind that mentions the columns of its entries.
func (k entriesKind[E]) String() string {
	return "list of " + k.entryType.shownNames()
}

// shownNames returns the names of the columns that responses show, such as "a, b and c".
func (t *Type[R]) shownNames() string {
	var names []string
	for _, c := range t.shownColumns {
		names = append(names, c.Name)
	}
	return JoinWords(names, "and")
}

// Parse implements Kind. ParseParts is called instead.
func (k entriesKind[E]) Parse(c *Column, raw []byte, _ ParseOptions) (any, string) {
	var f Faults
	value := k.ParseParts(c, raw, &f)
	return value, faultsText(&f)
}

// Check implements Kind. CheckParts is called instead.
func (k entriesKind[E]) Check(c *Column, value any) string {
	var f Faults
	k.CheckParts(c, value, &f)
	return faultsText(&f)
}

// faultsText returns all faults as one text, or "" if there are none.
func faultsText(f *Faults) string {
	if f.IsEmpty() {
		return ""
	}
	return f.Err().Error()
}

// ParseParts implements MultiPart.
func (k entriesKind[E]) ParseParts(c *Column, raw []byte, f *Faults) any {
	var documents []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &documents) != nil {
		f.Add(c.Name, "%s must be a list", c.Name)
		return []E(nil)
	}
	if len(documents) > c.maxEntries() {
		f.Add(c.Name, "%s has more than %d entries", c.Name, c.maxEntries())
		return []E(nil)
	}
	var entries []E
	for i, raw := range documents {
		var input Input
		if raw[0] != '{' || json.Unmarshal(raw, &input) != nil {
			f.Add(c.Name, "%s must hold objects", c.Name)
			return []E(nil)
		}
		var entryFaults Faults
		entries = append(entries, *k.entryType.Create(input, &entryFaults))
		f.addEntry(c, i, &entryFaults)
	}
	return entries
}

// CheckParts implements MultiPart.
func (k entriesKind[E]) CheckParts(c *Column, value any, f *Faults) {
	entries := value.([]E)
	if len(entries) > c.maxEntries() {
		f.Add(c.Name, "has more than %d entries", c.maxEntries())
		return
	}
	for i := range entries {
		var entryFaults Faults
		k.entryType.Check(nil, &entries[i], &entryFaults)
		f.addEntry(c, i, &entryFaults)
	}
}

// addEntry adds the faults of one entry to f. entry is the index of the entry in the column c.
func (f *Faults) addEntry(c *Column, entry int, faults *Faults) {
	for _, fault := range faults.List {
		if field := c.Name + "." + strconv.Itoa(entry) + "." + fault.Field; !f.Has(field) {
			f.List = append(f.List, Fault{field, fault.Message})
		}
	}
}

// AppendStored implements Kind. Entries must not have secret columns, so it needs no sealer to encrypt them.
func (k entriesKind[E]) AppendStored(_ *Column, dst []byte, value any) []byte {
	entries := value.([]E)
	for i := range entries {
		entry, _ := k.entryType.AppendStored(nil, &entries[i], nil)
		dst = AppendBytes(dst, entry)
	}
	return dst
}

// ReadStored implements Kind.
func (k entriesKind[E]) ReadStored(_ *Column, stored []byte) (any, bool) {
	var entries []E
	for len(stored) > 0 {
		entry, rest, ok := CutBytes(stored)
		if !ok {
			return nil, false
		}
		r := new(E)
		if k.entryType.ReadStored(entry, r, nil) != nil {
			return nil, false
		}
		entries, stored = append(entries, *r), rest
	}
	return entries, true
}

// AppendJSON implements Kind.
func (k entriesKind[E]) AppendJSON(_ *Column, dst []byte, value any, style Style) []byte {
	entries := value.([]E)
	dst = append(dst, '[')
	for i := range entries {
		dst = append(k.entryType.AppendFields(append(appendComma(dst), '{'), &entries[i], style), '}')
	}
	return append(dst, ']')
}

// Shape implements Shaped.
func (entriesKind[E]) Shape() Shape { return Document }

// IsEmpty implements Kind.
func (k entriesKind[E]) Empty(value any) bool { return len(value.([]E)) == 0 }

// maxEntries returns the largest number of entries that a list in the column may have.
func (c *Column) maxEntries() int {
	if c.MaxLength == 0 {
		return MaxList
	}
	return c.MaxLength
}
