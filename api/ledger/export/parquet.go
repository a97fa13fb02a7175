package export

import (
	"io"

	"github.com/parquet-go/parquet-go"
)

// Numbers of rows of a Parquet file that are buffered in memory before they are written.
const (
	groupRows = 64 << 10 // rows in one row group
	batchRows = 512      // rows passed to the Parquet writer at once
)

// parquetRow is a row of a Parquet file. Amounts are text, because no decimal type that all readers
// support has 78 digits.
type parquetRow struct {
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
	Author      string  `parquet:"author,dict"`
	AuthorID    *string `parquet:"author_id,optional,dict"`
}

func writeParquet(out io.Writer, x *exporter) error {
	writer := parquet.NewGenericWriter[parquetRow](out, parquet.Compression(&parquet.Snappy), parquet.MaxRowsPerRowGroup(groupRows))
	batch := make([]parquetRow, 0, batchRows)
	var buf []byte
	flush := func() error {
		_, err := writer.Write(batch)
		batch = batch[:0]
		return err
	}
	err := x.eachRow(func(r *row) error {
		buf = decimal(buf[:0], r.amount, r.scale)
		batch = append(batch, parquetRow{
			Seq: int64(r.seq), Line: int32(r.line), BookedAt: int64(r.booked), Effective: int32(r.effective) - 1,
			Phase: r.phase, Event: r.event, SourceKind: r.kind, Source: r.source.String(), Version: int64(r.version),
			Reverses: optionalSeq(r.reverses), Closes: optionalSeq(r.closes), Account: r.account, Side: r.side,
			Currency: r.currency, Network: optionalText(r.network), Env: r.env, Scale: optionalScale(r),
			AmountMinor: r.amount.String(), Amount: string(buf), Author: r.author, AuthorID: optionalText(r.authorID),
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
	return writer.Close()
}

func optionalSeq(seq uint64) *int64 {
	if seq == 0 {
		return nil
	}
	n := int64(seq)
	return &n
}

func optionalScale(r *row) *int32 {
	if !r.hasScale {
		return nil
	}
	n := int32(r.scale)
	return &n
}

func optionalText(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
