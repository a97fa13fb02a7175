package export

import (
	"io"

	"github.com/parquet-go/parquet-go"
)

// Bounds of what is kept in memory of a Parquet file before it is written.
const (
	groupRows = 64 << 10 // rows of a row group
	batchRows = 512
)

// stored is a row in Parquet. Amounts are text, because no decimal type that readers share has
// 78 digits.
type stored struct {
	Seq         int64   `parquet:"seq,delta"`
	Line        int32   `parquet:"line"`
	BookedAt    int64   `parquet:"booked_at,timestamp(microsecond)"`
	Effective   int32   `parquet:"effective_date,date"`
	Phase       string  `parquet:"phase,dict"`
	Event       string  `parquet:"event,dict"`
	SourceKind  string  `parquet:"source_kind,dict"`
	Source      string  `parquet:"source"`
	Version     int64   `parquet:"version"`
	Reverses    *int64  `parquet:"reverses,optional"`
	Closes      *int64  `parquet:"closes,optional"`
	Account     string  `parquet:"account,dict"`
	Side        string  `parquet:"side,dict"`
	Currency    string  `parquet:"currency,dict"`
	Network     *string `parquet:"network,optional,dict"`
	Env         string  `parquet:"env,dict"`
	Scale       *int32  `parquet:"scale,optional"`
	AmountMinor string  `parquet:"amount_minor"`
	Amount      string  `parquet:"amount"`
}

func writeParquet(out io.Writer, x *exporter) error {
	w := parquet.NewGenericWriter[stored](out, parquet.Compression(&parquet.Snappy), parquet.MaxRowsPerRowGroup(groupRows))
	batch := make([]stored, 0, batchRows)
	var buf []byte
	flush := func() error {
		_, err := w.Write(batch)
		batch = batch[:0]
		return err
	}
	err := x.eachRow(func(one *row) error {
		buf = decimal(buf[:0], one.amount, one.scale)
		batch = append(batch, stored{
			Seq: int64(one.seq), Line: int32(one.line), BookedAt: int64(one.booked), Effective: int32(one.effective) - 1,
			Phase: one.phase, Event: one.event, SourceKind: one.kind, Source: one.source.String(), Version: int64(one.version),
			Reverses: some(one.reverses), Closes: some(one.closes), Account: one.account, Side: one.side,
			Currency: one.currency, Network: someText(one.network), Env: one.env, Scale: someScale(one),
			AmountMinor: one.amount.String(), Amount: string(buf),
		})
		if len(batch) < batchRows {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	if err := flush(); err != nil {
		return err
	}
	return w.Close()
}

func some(seq uint64) *int64 {
	if seq == 0 {
		return nil
	}
	n := int64(seq)
	return &n
}

func someScale(one *row) *int32 {
	if !one.resolved {
		return nil
	}
	n := int32(one.scale)
	return &n
}

func someText(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
