package codec

import (
	"bytes"
	"testing"

	"github.com/google/uuid"
)

func TestRowOfAnOpenCircuit(t *testing.T) {
	row := OpenCircuit{Terminal: uuid.New(), OpenedAt: 1_700_000_000_000_000, Provider: "simulator"}
	got, err := ReadOpenCircuit(row.Key(), row.Value())
	if err != nil || got != row {
		t.Errorf("%+v %v, want %+v", got, err, row)
	}
	for name, changed := range map[string][2][]byte{
		"another prefix":        {append([]byte("circuit:"), row.Terminal[:]...), row.Value()},
		"a key that is short":   {row.Key()[:len(row.Key())-1], row.Value()},
		"a key that is long":    {append(row.Key(), 0), row.Value()},
		"no value":              {row.Key(), nil},
		"no provider":           {row.Key(), row.Value()[:8]},
		"a number of 11 bytes":  {row.Key(), append(bytes.Repeat([]byte{0xff}, 10), "\x01simulator"...)},
		"a number that is long": {row.Key(), append([]byte{0x81, 0x00}, "simulator"...)},
	} {
		if got, err := ReadOpenCircuit(changed[0], changed[1]); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
