package money

// Signed is a difference of two amounts. For example, an account's balance that is not on its normal side is negative,
// and so is a merchant's share if the fee is above the amount. This package never sets Negative on 0, and its methods
// treat a negative 0 as plain 0.
type Signed struct {
	Negative bool
	Abs      Amount
}

// Difference returns a − b.
func Difference(a, b Amount) Signed {
	if a.Less(b) {
		a, b = b, a
		return Signed{Negative: true, Abs: differenceOfOrdered(a, b)}
	}
	return Signed{Abs: differenceOfOrdered(a, b)}
}

// differenceOfOrdered returns a − b; b must not be greater than a.
func differenceOfOrdered(a, b Amount) Amount {
	a.limbs.Sub(&a.limbs, &b.limbs)
	return a
}

// ParseSigned parses the form of Signed.String: canonical digits, preceded by a minus sign if
// negative. "-0" is ErrSyntax.
func ParseSigned(s string) (Signed, error) {
	negative := len(s) > 0 && s[0] == '-'
	if negative {
		s = s[1:]
	}
	abs, err := Parse(s)
	if err != nil {
		return Signed{}, err
	}
	if negative && abs.IsZero() {
		return Signed{}, ErrSyntax
	}
	return Signed{Negative: negative, Abs: abs}, nil
}

// isNegative tells whether s is less than 0.
func (s Signed) isNegative() bool { return s.Negative && !s.Abs.IsZero() }

// IsZero tells whether s is 0.
func (s Signed) IsZero() bool { return s.Abs.IsZero() }

// Neg returns −s.
func (s Signed) Neg() Signed { return Signed{Negative: !s.Negative && !s.Abs.IsZero(), Abs: s.Abs} }

// Amount returns s as an Amount, if it is not negative.
func (s Signed) Amount() (Amount, bool) {
	if s.isNegative() {
		return Amount{}, false
	}
	return s.Abs, true
}

// Add returns s + other. The error is ErrOverflow if the magnitude is out of an Amount's range.
func (s Signed) Add(other Signed) (Signed, error) {
	if s.isNegative() != other.isNegative() {
		if s.isNegative() {
			s, other = other, s
		}
		return Difference(s.Abs, other.Abs), nil
	}
	sum, err := s.Abs.Add(other.Abs)
	if err != nil {
		return Signed{}, err
	}
	return Signed{Negative: s.isNegative(), Abs: sum}, nil
}

// Cmp returns -1, 0 or +1 if s is less than, equal to or greater than other.
func (s Signed) Cmp(other Signed) int {
	switch {
	case s.isNegative() && other.isNegative():
		return other.Abs.Cmp(s.Abs)
	case s.isNegative():
		return -1
	case other.isNegative():
		return 1
	}
	return s.Abs.Cmp(other.Abs)
}

// Less tells whether s is less than other.
func (s Signed) Less(other Signed) bool { return s.Cmp(other) < 0 }

// String returns the digits, preceded by a minus sign if negative; never "-0".
func (s Signed) String() string {
	if s.isNegative() {
		return "-" + s.Abs.String()
	}
	return s.Abs.String()
}

// MarshalJSON writes a JSON string.
func (s Signed) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

// UnmarshalJSON reads a JSON string that ParseSigned accepts.
func (s *Signed) UnmarshalJSON(b []byte) error {
	text, ok := unquote(b)
	if !ok {
		return ErrSyntax
	}
	parsed, err := ParseSigned(string(text))
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}

// AppendBinary appends the stored form: one byte for the sign, which is 1 if s is negative and 0 otherwise, followed by
// the stored form of the magnitude (an Amount).
func (s Signed) AppendBinary(dst []byte) []byte {
	sign := byte(0)
	if s.isNegative() {
		sign = 1
	}
	return s.Abs.AppendBinary(append(dst, sign))
}

// ReadSigned parses a value that AppendBinary has written, and returns the rest of src. For all other bytes, including an
// encoded "-0", the error is ErrEncoding.
func ReadSigned(src []byte) (Signed, []byte, error) {
	if len(src) == 0 || src[0] > 1 {
		return Signed{}, nil, ErrEncoding
	}
	abs, tail, err := ReadAmount(src[1:])
	if err != nil {
		return Signed{}, nil, err
	}
	negative := src[0] == 1
	if negative && abs.IsZero() {
		return Signed{}, nil, ErrEncoding
	}
	return Signed{Negative: negative, Abs: abs}, tail, nil
}

// MarshalBinary implements encoding.BinaryMarshaler. It returns the bytes that AppendBinary appends.
func (s Signed) MarshalBinary() ([]byte, error) {
	return s.AppendBinary(make([]byte, 0, 2+maxBytes)), nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler. If bytes follow the value, it returns ErrEncoding.
func (s *Signed) UnmarshalBinary(b []byte) error {
	parsed, tail, err := ReadSigned(b)
	if err != nil {
		return err
	}
	if len(tail) != 0 {
		return ErrEncoding
	}
	*s = parsed
	return nil
}
