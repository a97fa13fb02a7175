package accesslog

import (
	"strconv"
	"time"

	"mizan/ledger"
	"mizan/ledger/schema"
)

// maxLine is the maximum length in bytes of a line that is encoded without allocating memory. Even the line of the
// longest route is less than half as long.
const maxLine = 1 << 10

// Line describes a request and its response.
type Line struct {
	At           time.Time // when the response was complete
	RequestID    []byte    // the response's x-request-id
	Method       string    // a known HTTP method, or "other"
	Route        string    // the path pattern of the route, not the request's path
	Status       int
	Took         time.Duration
	Organization ledger.ID // the nil UUID if the organization is unknown
	Partner      int64     // number of the partner; 0 if there is none
	Bytes        int64     // length of the response's body in bytes
}

// appendTo appends the line in the format of package slog. An unknown value is omitted in the text format and null in JSON.
func (l *Line) appendTo(dst []byte, asJSON bool) []byte {
	if asJSON {
		return l.appendJSON(dst)
	}
	dst = l.At.AppendFormat(append(dst, "time="...), "2006-01-02T15:04:05.000Z07:00")
	dst = append(append(dst, " level=INFO msg=request request_id="...), l.RequestID...)
	dst = append(append(dst, " method="...), l.Method...)
	dst = append(append(dst, " route="...), l.Route...)
	dst = strconv.AppendInt(append(dst, " status="...), int64(l.Status), 10)
	dst = appendMilliseconds(append(dst, " ms="...), l.Took)
	if l.Organization != (ledger.ID{}) {
		dst = schema.AppendID(append(dst, " organization_id="...), l.Organization)
	}
	if l.Partner != 0 {
		dst = strconv.AppendInt(append(dst, " partner_id="...), l.Partner, 10)
	}
	dst = strconv.AppendInt(append(dst, " bytes="...), l.Bytes, 10)
	return append(dst, '\n')
}

func (l *Line) appendJSON(dst []byte) []byte {
	dst = l.At.AppendFormat(append(dst, `{"time":"`...), time.RFC3339Nano)
	dst = append(append(dst, `","level":"INFO","msg":"request","request_id":"`...), l.RequestID...)
	dst = append(append(dst, `","method":"`...), l.Method...)
	dst = append(append(dst, `","route":"`...), l.Route...)
	dst = strconv.AppendInt(append(dst, `","status":`...), int64(l.Status), 10)
	dst = appendMilliseconds(append(dst, `,"ms":`...), l.Took)
	dst = append(dst, `,"organization_id":`...)
	if l.Organization != (ledger.ID{}) {
		dst = append(schema.AppendID(append(dst, '"'), l.Organization), '"')
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"partner_id":`...)
	if l.Partner != 0 {
		dst = strconv.AppendInt(dst, l.Partner, 10)
	} else {
		dst = append(dst, "null"...)
	}
	dst = strconv.AppendInt(append(dst, `,"bytes":`...), l.Bytes, 10)
	return append(dst, "}\n"...)
}

// appendMilliseconds appends a duration in milliseconds, with three decimals.
func appendMilliseconds(dst []byte, d time.Duration) []byte {
	micros := max(0, d.Microseconds())
	dst = strconv.AppendInt(dst, micros/1000, 10)
	fraction := micros % 1000
	return append(dst, '.', byte('0'+fraction/100), byte('0'+fraction/10%10), byte('0'+fraction%10))
}
