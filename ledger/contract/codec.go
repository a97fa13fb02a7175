package contract

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
)

// recordVersion begins a contract's payload: product, reading, environment, status,
// then the columns that have a value, each with its key and length. A reader leaves
// out keys that it does not know.
const recordVersion = 1

// AppendRecord appends a contract's stored form, without its id and what the writer
// keeps of it.
func AppendRecord(dst []byte, r *Record) []byte {
	dst = append(dst, recordVersion, r.Product.Code, r.Reading.Code, byte(r.Asset.Env))
	dst = appendBytes(dst, string(r.Status))
	return appendRow(dst, r.Product.Columns, r.Values)
}

var errStored = errors.New("contract: unknown form")

// ReadRecord reads what AppendRecord wrote.
func ReadRecord(id ledger.ID, stored []byte) (*Record, error) {
	if len(stored) < 4 || stored[0] != recordVersion {
		return nil, errStored
	}
	product, reading := productOf(stored[1]), readingOf(stored[2])
	if product == nil || reading == nil || product.Variants[reading] == nil {
		return nil, errStored
	}
	r := &Record{ID: id, Product: product, Reading: reading}
	status, rest, ok := cutBytes(stored[4:])
	if !ok || !product.Machine(reading).Has(Status(status)) {
		return nil, errStored
	}
	r.Status = Status(status)
	values, err := readRow(product.Columns, rest)
	if err != nil {
		return nil, err
	}
	r.Values = values
	r.Asset = money.Asset{Currency: money.Currency(Currency.Of(values)), Env: money.Env(stored[3])}
	if !r.Asset.Env.Valid() || r.Asset.Currency == "" {
		return nil, errStored
	}
	return r, nil
}

// productOf is the product with the code; nil: this build has none.
func productOf(code byte) *Product {
	i := slices.IndexFunc(Products, func(p *Product) bool { return p.Code == code })
	if i < 0 {
		return nil
	}
	return Products[i]
}

func readingOf(code byte) *Reading {
	for _, reading := range Readings {
		if reading.Code == code {
			return reading
		}
	}
	return nil
}

func appendBytes[T string | []byte](dst []byte, b T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

func cutBytes(src []byte) (b, rest []byte, ok bool) {
	n, size := binary.Uvarint(src)
	if size <= 0 || n > uint64(len(src)-size) {
		return nil, nil, false
	}
	return src[size : size+int(n) : size+int(n)], src[size+int(n):], true
}

// appendRow appends the columns that have a value.
func appendRow(dst []byte, t *Table, r Row) []byte {
	var value []byte
	for _, c := range t.Columns {
		if r[c.place] == nil || c.Transient {
			continue
		}
		value = c.appendValue(value[:0], r[c.place])
		dst = append(dst, c.Key)
		dst = appendBytes(dst, value)
	}
	return dst
}

func (c *Column) appendValue(dst []byte, value any) []byte {
	switch v := value.(type) {
	case string:
		return append(dst, v...)
	case ledger.ID:
		return append(dst, v[:]...)
	case int64:
		return binary.AppendVarint(dst, v)
	case bool:
		if v {
			return append(dst, 1)
		}
		return append(dst, 0)
	case money.Amount:
		return v.AppendBinary(dst)
	case money.Signed:
		return v.AppendBinary(dst)
	case ledger.Date:
		return binary.AppendVarint(dst, int64(v))
	case ledger.Micros:
		return binary.AppendVarint(dst, int64(v))
	case Ratio:
		return binary.AppendVarint(binary.AppendVarint(dst, v.Bank), v.Customer)
	case Approval:
		v.Texts(func(name, said string) { dst = appendBytes(appendBytes(dst, name), said) })
		return dst
	case []string:
		for _, said := range v {
			dst = appendBytes(dst, said)
		}
		return dst
	case []byte:
		return append(dst, v...)
	case []Row:
		for _, row := range v {
			dst = appendBytes(dst, appendRow(nil, c.Of, row))
		}
		return dst
	}
	panic(fmt.Sprintf("contract: column %s holds a %T", c.Name, value))
}

// readRow reads what appendRow wrote.
func readRow(t *Table, src []byte) (Row, error) {
	r := t.New()
	for len(src) > 0 {
		key := src[0]
		stored, rest, ok := cutBytes(src[1:])
		if !ok {
			return nil, errStored
		}
		src = rest
		c := t.ByKey(key)
		if c == nil || c.From != nil { // what follows is not taken from the store
			continue
		}
		value, ok := c.readValue(stored)
		if !ok {
			return nil, fmt.Errorf("contract: column %s: unknown form", c.Name)
		}
		r[c.place] = value
	}
	return r, nil
}

func (c *Column) readValue(b []byte) (value any, ok bool) {
	switch c.Kind {
	case Text, Enum:
		return string(b), true
	case UUID:
		if len(b) != 16 {
			return nil, false
		}
		return ledger.ID(b), true
	case Bool:
		return len(b) == 1 && b[0] == 1, len(b) == 1
	case Amount:
		a, rest, err := money.ReadAmount(b)
		return a, err == nil && len(rest) == 0
	case Signed:
		s, rest, err := money.ReadSigned(b)
		return s, err == nil && len(rest) == 0
	case Object, List:
		return slices.Clone(b), true
	case Integer, Percent, Date, Instant, Shares:
		return c.readNumbers(b)
	case Review:
		return readTexts(b, Approval(nil), 2, func(a Approval, pair [][]byte) Approval {
			return append(a, ApprovalText{string(pair[0]), string(pair[1])})
		})
	case Texts:
		return readTexts(b, []string(nil), 1, func(all []string, one [][]byte) []string { return append(all, string(one[0])) })
	case Rows:
		return c.readRows(b)
	}
	return nil, false
}

func (c *Column) readNumbers(b []byte) (any, bool) {
	first, n := binary.Varint(b)
	if n <= 0 {
		return nil, false
	}
	b = b[n:]
	if c.Kind == Shares {
		second, n := binary.Varint(b)
		return Ratio{Bank: first, Customer: second}, n > 0 && n == len(b)
	}
	switch c.Kind {
	case Date:
		return ledger.Date(first), len(b) == 0 && int64(ledger.Date(first)) == first
	case Instant:
		return ledger.Micros(first), len(b) == 0
	}
	return first, len(b) == 0
}

// readTexts puts together what so many texts at a time say.
func readTexts[T any](b []byte, all T, each int, put func(T, [][]byte) T) (any, bool) {
	some := make([][]byte, each)
	for len(b) > 0 {
		for i := range some {
			var ok bool
			if some[i], b, ok = cutBytes(b); !ok {
				return nil, false
			}
		}
		all = put(all, some)
	}
	return all, true
}

func (c *Column) readRows(b []byte) (any, bool) {
	rows := []Row{}
	for len(b) > 0 {
		stored, rest, ok := cutBytes(b)
		if !ok {
			return nil, false
		}
		row, err := readRow(c.Of, stored)
		if err != nil {
			return nil, false
		}
		rows, b = append(rows, row), rest
	}
	return rows, true
}
