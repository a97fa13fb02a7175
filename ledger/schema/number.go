package schema

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
)

// The kinds whose values are numbers, booleans, amounts or instants.
var (
	KindInteger Kind = integerKind{"integer"} // int64
	KindPercent Kind = integerKind{"percent"} // int64, whole percent
	KindBool    Kind = boolKind{}             // bool
	KindAmount  Kind = amountKind{}           // money.Amount, in minor units of the record's asset
	KindMinor   Kind = minorKind{}            // money.Amount, in minor units; always a JSON integer
	KindSigned  Kind = signedKind{}           // money.Signed, in minor units of the record's asset
	KindInstant Kind = instantKind{}          // ledger.Micros
	KindSeq     Kind = seqKind{}              // int64, assigned when the record is stored
)

// Integer returns a column of integers within bounds.
func Integer(key uint8, name string, low, high int64, options ...Option) TypedColumn[int64] {
	return NewTypedColumn[int64](key, name, KindInteger, append(options, func(c *Column) { c.Min, c.Max = low, high }))
}

// Percent returns a column of percentages that are integers within bounds.
func Percent(key uint8, name string, low, high int64, options ...Option) TypedColumn[int64] {
	return NewTypedColumn[int64](key, name, KindPercent, append(options, func(c *Column) { c.Min, c.Max = low, high }))
}

// DerivedInteger returns a column of integers that requests cannot set.
func DerivedInteger(key uint8, name string, options ...Option) TypedColumn[int64] {
	return NewTypedColumn[int64](key, name, KindInteger, options)
}

// Bool returns a column of booleans.
func Bool(key uint8, name string, options ...Option) TypedColumn[bool] {
	return NewTypedColumn[bool](key, name, KindBool, options)
}

// Amount returns a column of amounts in minor units.
func Amount(key uint8, name string, options ...Option) TypedColumn[money.Amount] {
	return NewTypedColumn[money.Amount](key, name, KindAmount, options)
}

// MinorUnits returns a column of amounts in minor units that are JSON integers in every request and response.
func MinorUnits(key uint8, name string, options ...Option) TypedColumn[money.Amount] {
	return NewTypedColumn[money.Amount](key, name, KindMinor, options)
}

// Signed returns a column of amounts that may be below zero.
func Signed(key uint8, name string, options ...Option) TypedColumn[money.Signed] {
	return NewTypedColumn[money.Signed](key, name, KindSigned, options)
}

// Instant returns a column of instants.
func Instant(key uint8, name string, options ...Option) TypedColumn[ledger.Micros] {
	return NewTypedColumn[ledger.Micros](key, name, KindInstant, options)
}

// Seq returns a column of numbers that are assigned when the record is stored.
func Seq(key uint8, name string, options ...Option) TypedColumn[int64] {
	return NewTypedColumn[int64](key, name, KindSeq, options)
}

func appendNumber(dst []byte, n int64) []byte { return binary.AppendVarint(dst, n) }

// readNumber parses the bytes that appendNumber wrote. If stored is anything else, it returns false.
func readNumber(stored []byte) (int64, bool) {
	n, size := binary.Varint(stored)
	return n, size > 0 && size == len(stored)
}

type integerKind struct{ name string }

func (k integerKind) String() string { return k.name }

func (integerKind) Empty(any) bool { return false }

func (integerKind) Parse(c *Column, raw []byte, _ ParseOptions) (any, string) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if isCanonical := err == nil && strconv.FormatInt(n, 10) == string(raw); !isCanonical {
		return nil, integerRule(c)
	}
	return n, ""
}

func (integerKind) Check(c *Column, value any) string {
	if n := value.(int64); n < c.Min || n > c.Max {
		return integerRule(c)
	}
	return ""
}

func integerRule(c *Column) string {
	if c.Max == math.MaxInt64 {
		return "must be an integer of at least " + strconv.FormatInt(c.Min, 10)
	}
	return "must be an integer from " + strconv.FormatInt(c.Min, 10) + " to " + strconv.FormatInt(c.Max, 10)
}

func (integerKind) AppendStored(_ *Column, dst []byte, value any) []byte {
	return appendNumber(dst, value.(int64))
}

func (integerKind) ReadStored(_ *Column, stored []byte) (any, bool) {
	n, ok := readNumber(stored)
	return n, ok
}

func (integerKind) AppendJSON(_ *Column, dst []byte, value any, _ Style) []byte {
	return strconv.AppendInt(dst, value.(int64), 10)
}

type seqKind struct{ integerKind }

func (seqKind) String() string { return "integer" }

func (seqKind) AppendJSON(_ *Column, dst []byte, value any, style Style) []byte {
	if n := value.(int64); n != 0 || style.NumberPlaceholder == nil {
		return strconv.AppendInt(dst, n, 10)
	}
	return append(dst, style.NumberPlaceholder...)
}

type boolKind struct {
	NeverEmpty
	Unbounded
}

func (boolKind) String() string { return "boolean" }

func (boolKind) Parse(_ *Column, raw []byte, _ ParseOptions) (any, string) {
	if s := string(raw); s == "true" || s == "false" {
		return s == "true", ""
	}
	return nil, "must be true or false"
}

func (boolKind) AppendStored(_ *Column, dst []byte, value any) []byte {
	if value.(bool) {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func (boolKind) ReadStored(_ *Column, stored []byte) (any, bool) {
	return len(stored) == 1 && stored[0] == 1, len(stored) == 1
}

func (boolKind) AppendJSON(_ *Column, dst []byte, value any, _ Style) []byte {
	return strconv.AppendBool(dst, value.(bool))
}

type amountKind struct{ NeverEmpty }

func (amountKind) String() string { return "amount" }

// Parse implements Kind. It accepts an amount in minor units, written as digits without a leading zero.
func (amountKind) Parse(_ *Column, raw []byte, options ParseOptions) (any, string) {
	message := "must be a string of minor units"
	if options.LooseAmounts {
		message = "must be minor units, as an integer or a string of digits"
	}
	digits := raw
	switch {
	case raw[0] == '"':
		digits = raw[1 : len(raw)-1]
	case !options.LooseAmounts:
		return nil, message
	}
	a, err := money.ParseBytes(digits)
	if err != nil {
		return nil, message
	}
	return a, ""
}

func (amountKind) Check(c *Column, value any) string {
	switch a := value.(money.Amount); {
	case a.IsZero() && !c.AllowZero:
		return "must be above zero"
	case ledger.MaxAmount.Less(a):
		return "is out of range"
	}
	return ""
}

func (amountKind) AppendStored(_ *Column, dst []byte, value any) []byte {
	return value.(money.Amount).AppendBinary(dst)
}

func (amountKind) ReadStored(_ *Column, stored []byte) (any, bool) {
	a, rest, err := money.ReadAmount(stored)
	return a, err == nil && len(rest) == 0
}

func (amountKind) AppendJSON(_ *Column, dst []byte, value any, style Style) []byte {
	return AppendSigned(dst, money.Signed{Abs: value.(money.Amount)}, style)
}

type minorKind struct{ amountKind }

func (minorKind) String() string { return "integer of minor units" }

// Shape implements Shaped.
func (minorKind) Shape() Shape { return Number }

// Parse implements Kind. It accepts a non-negative JSON integer.
func (minorKind) Parse(_ *Column, raw []byte, _ ParseOptions) (any, string) {
	a, err := money.ParseBytes(raw)
	if err != nil {
		return nil, "must be an integer of minor units"
	}
	return a, ""
}

func (minorKind) AppendJSON(_ *Column, dst []byte, value any, _ Style) []byte {
	return value.(money.Amount).AppendDecimal(dst)
}

type signedKind struct {
	NeverEmpty
	Unsettable
}

func (signedKind) String() string { return "signed amount" }

func (signedKind) AppendStored(_ *Column, dst []byte, value any) []byte {
	return value.(money.Signed).AppendBinary(dst)
}

func (signedKind) ReadStored(_ *Column, stored []byte) (any, bool) {
	s, rest, err := money.ReadSigned(stored)
	return s, err == nil && len(rest) == 0
}

func (signedKind) AppendJSON(_ *Column, dst []byte, value any, style Style) []byte {
	return AppendSigned(dst, value.(money.Signed), style)
}

// AppendSigned appends the JSON of an amount that may be below zero.
func AppendSigned(dst []byte, s money.Signed, style Style) []byte {
	if !style.NumericAmounts {
		dst = append(dst, '"')
	}
	if s.Negative && !s.IsZero() {
		dst = append(dst, '-')
	}
	dst = s.Abs.AppendDecimal(dst)
	if !style.NumericAmounts {
		dst = append(dst, '"')
	}
	return dst
}

type instantKind struct {
	NeverEmpty
	Unbounded
}

func (instantKind) String() string { return "instant" }

// Parse implements Kind. It accepts an RFC 3339 time.
func (instantKind) Parse(_ *Column, raw []byte, _ ParseOptions) (any, string) {
	const message = "must be an RFC 3339 time"
	text, problem := readString(raw)
	if problem != "" {
		return nil, problem
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return nil, message
	}
	return ledger.MicrosOf(at), ""
}

func (instantKind) AppendStored(_ *Column, dst []byte, value any) []byte {
	return appendNumber(dst, int64(value.(ledger.Micros)))
}

func (instantKind) ReadStored(_ *Column, stored []byte) (any, bool) {
	n, ok := readNumber(stored)
	return ledger.Micros(n), ok
}

func (instantKind) AppendJSON(_ *Column, dst []byte, value any, _ Style) []byte {
	return AppendInstant(dst, value.(ledger.Micros))
}
