package conn

import (
	"net"
	"time"
)

// deadlines are a connection's deadlines for reads and writes. fasthttp sets several deadlines for each request, and each
// deadline that is set on the socket costs a timer of the runtime. So the socket gets a deadline only just before a read or a
// write. Only one goroutine may use a connection.
type deadlines struct {
	wantedRead, read   time.Time // the deadline that fasthttp has set, and the socket's present deadline
	wantedWrite, write time.Time
}

// writeSlack is how much too early a write may time out. It may time out early because the socket may still have the deadline
// of a previous write.
const writeSlack = time.Second

func (d *deadlines) setReadDeadline(t time.Time) error {
	d.wantedRead = t
	return nil
}

func (d *deadlines) setWriteDeadline(t time.Time) error {
	d.wantedWrite = t
	return nil
}

func (d *deadlines) want(t time.Time) error {
	d.wantedRead, d.wantedWrite = t, t
	return nil
}

// beforeRead gives the socket the deadline for a read.
func (d *deadlines) beforeRead(socket net.Conn) error {
	if d.read == d.wantedRead {
		return nil
	}
	d.read = d.wantedRead
	return socket.SetReadDeadline(d.read)
}

// beforeWrite gives the socket the deadline for a write. If the socket's present deadline is at most writeSlack earlier, the
// present deadline stays.
func (d *deadlines) beforeWrite(socket net.Conn) error {
	isNone, wasNone := d.wantedWrite.IsZero(), d.write.IsZero()
	if earlier := d.wantedWrite.Sub(d.write); isNone == wasNone && earlier >= 0 && earlier <= writeSlack {
		return nil
	}
	d.write = d.wantedWrite
	return socket.SetWriteDeadline(d.write)
}
