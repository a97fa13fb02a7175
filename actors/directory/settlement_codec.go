package directory

import (
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

type settlementRow struct {
	Partner   int64      `msgpack:"partner"`
	Terminal  []byte     `msgpack:"terminal,omitempty"` // the terminal whose provider settled; none: a settlement with the partner's bank
	Reference string     `msgpack:"reference"`
	Out       bool       `msgpack:"out,omitempty"`
	Lines     []moneyRow `msgpack:"lines"`
	Fee       []byte     `msgpack:"fee,omitempty"` // the fee on the single line; none: zero
}

func encodeSettlement(s *directory.Settlement) []byte {
	row := settlementRow{Partner: s.Partner, Reference: s.Reference, Out: s.Out}
	for _, line := range s.Lines {
		row.Lines = append(row.Lines, encodeMoney(line.Asset, line.Amount))
	}
	if s.WithProvider() {
		row.Terminal = s.Terminal[:]
	}
	if !s.Fee.IsZero() {
		row.Fee = s.Fee.AppendBinary(nil)
	}
	return encode(&row)
}

func decodeSettlement(org, id ledger.ID, payload []byte) (*directory.Settlement, error) {
	var row settlementRow
	if err := decode(payload, &row); err != nil {
		return nil, err
	}
	s := &directory.Settlement{ID: id, Org: org, Partner: row.Partner, Reference: row.Reference, Out: row.Out}
	if s.Partner < 1 || s.Reference == "" || len(row.Lines) == 0 {
		return nil, errForm
	}
	for _, line := range row.Lines {
		asset, amount, err := decodeMoney(line)
		if err != nil {
			return nil, err
		}
		s.Lines = append(s.Lines, directory.SettlementLine{Asset: asset, Amount: amount})
	}
	if len(row.Terminal) != 0 {
		if len(row.Terminal) != len(s.Terminal) || len(s.Lines) != 1 || s.Out {
			return nil, errForm
		}
		s.Terminal = ledger.ID(row.Terminal)
	}
	if len(row.Fee) != 0 {
		fee, rest, err := money.ReadAmount(row.Fee)
		if err != nil || len(rest) != 0 || !s.WithProvider() || s.Lines[0].Amount.Less(fee) {
			return nil, errForm
		}
		s.Fee = fee
	}
	return s, nil
}
