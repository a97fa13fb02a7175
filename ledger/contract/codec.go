package contract

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// recordVersion is the first byte of a contract's stored form. The next bytes are the product, the reading (secular or
// religious form), the environment and the status. Then follow the columns that have a value, each with its key and length.
// ReadRecord skips columns whose key it does not know.
const recordVersion = 1

// AppendRecord appends a contract's stored form. The writer (package posting) stores the id, the number and the
// version beside this form.
func AppendRecord(dst []byte, r *Record) []byte {
	dst = append(dst, recordVersion, r.Product.Code, r.Reading.Code, byte(r.Asset.Env))
	dst = schema.AppendBytes(dst, string(r.Status))
	return r.Product.Columns.AppendStored(dst, r.Values)
}

// ReadRecord parses the form that AppendRecord writes.
func ReadRecord(id ledger.ID, stored []byte) (*Record, error) {
	if len(stored) < 4 || stored[0] != recordVersion {
		return nil, schema.ErrStored
	}
	product, reading := productOf(stored[1]), readingOf(stored[2])
	if product == nil || reading == nil || product.Variants[reading] == nil {
		return nil, schema.ErrStored
	}
	r := &Record{ID: id, Product: product, Reading: reading}
	status, storedValues, ok := schema.CutBytes(stored[4:])
	if !ok || !product.Machine(reading).HasState(Status(status)) {
		return nil, schema.ErrStored
	}
	r.Status = Status(status)
	values, err := product.Columns.ReadStored(storedValues)
	if err != nil {
		return nil, err
	}
	r.Values = values
	r.Asset = money.Asset{Currency: money.Currency(Currency.Get(values)), Env: money.Env(stored[3])}
	if !r.Asset.Env.IsValid() || r.Asset.Currency == "" {
		return nil, schema.ErrStored
	}
	return r, nil
}

// productOf returns the product with the code, or nil if this build has no such product.
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
