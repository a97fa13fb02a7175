package api_test

import (
	"bytes"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mizan/api"
)

// BenchmarkPayments sends payments to a server on loopback, each until it is charged. The figures include the client, which
// allocates nothing for a payment.
func BenchmarkPayments(b *testing.B) {
	for _, connections := range []int{1, 256} {
		b.Run(strconv.Itoa(connections), func(b *testing.B) {
			f := newFixture(b, func(c *api.Config) { c.Observe = nil })
			request := f.rawPayment()
			clients := make(chan *benchClient, connections)
			for range connections {
				clients <- newBenchClient(b, f.address, request)
			}
			var payments atomic.Uint64
			b.ReportAllocs()
			b.SetParallelism(max(1, connections/2)) // RunParallel starts this number of goroutines per core, and the figures are for two cores
			b.ResetTimer()                          // the start of the server is not measured
			b.RunParallel(func(pb *testing.PB) {
				select {
				case c := <-clients:
					for pb.Next() {
						c.pay(b, payments.Add(1))
					}
				default: // another goroutine uses the last connection
				}
			})
		})
	}
}

// rawPayment returns the bytes of a request for a card payment. The txid ends with numberRoom.
func (f *fixture) rawPayment() []byte {
	body := paymentBody(`"amount":"1000","currency":"USD","txid":"bench-` + numberRoom + `"`)
	var head strings.Builder
	fmt.Fprintf(&head, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", transactions, f.address, len(body))
	for name, value := range f.partner().headers {
		fmt.Fprintf(&head, "%s: %s\r\n", name, value)
	}
	return []byte(head.String() + "\r\n" + body)
}

// numberRoom is the part of the request that each payment replaces by its number.
const numberRoom = "################"

// benchClient makes payments over one connection.
type benchClient struct {
	net.Conn
	request  []byte
	room     []byte // the part of request that has the payment's number
	response []byte
}

func newBenchClient(b *testing.B, address string, request []byte) *benchClient {
	connection, err := net.Dial("tcp", address)
	must(b, err)
	b.Cleanup(func() { must(b, connection.Close()) })
	must(b, connection.SetDeadline(time.Now().Add(patience)))
	c := &benchClient{Conn: connection, request: bytes.Clone(request), response: make([]byte, 8<<10)}
	at := bytes.Index(c.request, []byte(numberRoom))
	c.room = c.request[at:][:len(numberRoom)]
	return c
}

var (
	createdLine = []byte("HTTP/1.1 201 ")
	charged     = []byte(`"status":"charged"`)
	bodyEnd     = []byte(`"}`)
)

// pay makes one payment. It reads until the last bytes of the response have arrived.
func (c *benchClient) pay(b *testing.B, number uint64) {
	strconv.AppendUint(c.room[:0], 1e15+number, 10)
	_, err := c.Write(c.request)
	received := 0
	for err == nil && !bytes.HasSuffix(c.response[:received], bodyEnd) {
		var n int
		n, err = c.Read(c.response[received:])
		received += n
	}
	if err != nil || !bytes.HasPrefix(c.response, createdLine) || !bytes.Contains(c.response[:received], charged) {
		b.Errorf("%s, %v", c.response[:received], err)
	}
}
