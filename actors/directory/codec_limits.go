package directory

import (
	"time"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

// The stored forms of limits and of the blocklist, by the rules of codec.go.

// limitRow stores the parts of the asset separately, because a velocity limit may have no currency.
type limitRow struct {
	Partner   int64  `msgpack:"partner"`
	Terminal  []byte `msgpack:"terminal,omitempty"`
	Kind      string `msgpack:"kind"`
	Type      string `msgpack:"type,omitempty"`
	Currency  string `msgpack:"currency,omitempty"`
	Network   string `msgpack:"network,omitempty"`
	Env       string `msgpack:"env"`
	MaxAmount []byte `msgpack:"max_amount,omitempty"`
	MaxCount  int64  `msgpack:"max_count,omitempty"`
	Window    int64  `msgpack:"window,omitempty"` // microseconds
	Scope     string `msgpack:"scope"`
	Active    bool   `msgpack:"active"`
}

type blockRow struct {
	Kind   string `msgpack:"kind"`
	Value  string `msgpack:"value"`
	Masked string `msgpack:"masked,omitempty"`
	Active bool   `msgpack:"active"`
}

func encodeLimit(l *directory.Limit) []byte {
	row := limitRow{
		Partner: l.Partner, Kind: string(l.Kind), Type: string(l.Type), Currency: string(l.Asset.Currency),
		Network: string(l.Asset.Network), Env: l.Asset.Env.String(), MaxCount: l.MaxCount, Window: l.Window.Microseconds(),
		Scope: string(l.Scope), Active: l.Active,
	}
	if l.Terminal != (ledger.ID{}) {
		row.Terminal = l.Terminal[:]
	}
	if l.Kind != directory.Velocity {
		row.MaxAmount = l.MaxAmount.AppendBinary(nil)
	}
	return encode(&row)
}

func decodeLimit(org, id ledger.ID, payload []byte) (*directory.Limit, error) {
	var row limitRow
	if err := decode(payload, &row); err != nil {
		return nil, err
	}
	env, _ := money.ParseEnv(row.Env)
	l := &directory.Limit{
		ID: id, Org: org, Partner: row.Partner, Kind: directory.LimitKind(row.Kind), Type: directory.TerminalType(row.Type),
		Asset: money.Asset{Currency: money.Currency(row.Currency), Network: money.Network(row.Network), Env: env}, MaxCount: row.MaxCount,
		Window: time.Duration(row.Window) * time.Microsecond, Scope: directory.Scope(row.Scope), Active: row.Active,
	}
	if len(row.Terminal) != 0 && copy(l.Terminal[:], row.Terminal) != len(row.Terminal) || len(row.Terminal)%len(l.Terminal) != 0 {
		return nil, errForm
	}
	if l.Kind != directory.Velocity {
		amount, rest, err := money.ReadAmount(row.MaxAmount)
		if err != nil || len(rest) != 0 || amount.IsZero() {
			return nil, errForm
		}
		l.MaxAmount = amount
	}
	if !wellMade(l) {
		return nil, errForm
	}
	return l, nil
}

// wellMade tells whether directory.NewLimit could have made the limit.
func wellMade(l *directory.Limit) bool {
	switch {
	case l.Partner < 1 || !l.Kind.Valid() || !l.Scope.Valid() || !l.Asset.Env.Valid():
		return false
	case l.Type != "" && l.Type != directory.PaymentTerminal && l.Type != directory.PayoutTerminal:
		return false
	case l.Kind == directory.Velocity:
		return l.MaxCount > 0 && l.WindowName() != ""
	}
	return l.MaxCount == 0 && l.Window == 0 && l.Asset.Currency != ""
}

func encodeBlock(b *directory.Block) []byte {
	return encode(&blockRow{string(b.Kind), b.Value, b.Masked, b.Active})
}

func decodeBlock(org, id ledger.ID, payload []byte) (*directory.Block, error) {
	var row blockRow
	if err := decode(payload, &row); err != nil {
		return nil, err
	}
	b := &directory.Block{
		ID: id, Org: org, Kind: directory.BlockKind(row.Kind), Value: row.Value, Masked: row.Masked, Active: row.Active,
	}
	_, isRange := b.Prefix()
	if !b.Kind.Valid() || directory.BlockID(org, b.Kind, b.Value) != id || isRange != (b.Kind == directory.BlockIP) {
		return nil, errForm
	}
	return b, nil
}
