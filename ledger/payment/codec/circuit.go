package codec

import (
	"bytes"
	"encoding/binary"
	"errors"

	"mizan/ledger"
)

// OpenCircuit is the row about a terminal whose circuit breaker is open. The row belongs to the platform. A closed circuit has no
// row.
type OpenCircuit struct {
	Terminal ledger.ID
	OpenedAt ledger.Micros // real time
	Provider string        // the terminal's provider
}

// OpenCircuits is the common prefix of the keys of the rows.
const OpenCircuits = "circuit/"

// Key returns the row's key: the prefix and the terminal's id.
func (c *OpenCircuit) Key() []byte { return append([]byte(OpenCircuits), c.Terminal[:]...) }

// Value returns the row's value: OpenedAt as a varint, and the provider's name.
func (c *OpenCircuit) Value() []byte {
	return append(binary.AppendUvarint(nil, uint64(c.OpenedAt)), c.Provider...)
}

// ReadOpenCircuit reads a row. The error says that the row has another form.
func ReadOpenCircuit(key, value []byte) (c OpenCircuit, err error) {
	id, hasPrefix := bytes.CutPrefix(key, []byte(OpenCircuits))
	at, n := binary.Uvarint(value)
	if !hasPrefix || len(id) != len(c.Terminal) || n <= 0 || n == len(value) {
		return OpenCircuit{}, errors.New("a circuit's row of an unknown form")
	}
	c = OpenCircuit{ledger.ID(id), ledger.Micros(at), string(value[n:])}
	if !bytes.Equal(c.Value(), value) {
		return OpenCircuit{}, errors.New("a circuit's row that is not in its shortest form")
	}
	return c, nil
}
