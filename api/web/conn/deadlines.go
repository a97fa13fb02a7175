package conn

import (
	"net"
	"time"
)

// deadlines are a connection's deadlines for reads and writes. The transport sets several for each request, and each is a timer of
// the runtime. So a deadline is passed on to the socket only before a read or a write that it is for. One goroutine uses the connection.
type deadlines struct {
	wantedRead, read   time.Time // read and write are what the socket has
	wantedWrite, write time.Time
}

// writeSlack is how much too early a write may end because its deadline is that of an earlier write.
const writeSlack = time.Second

func (d *deadlines) wantRead(t time.Time) error {
	d.wantedRead = t
	return nil
}

func (d *deadlines) wantWrite(t time.Time) error {
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

// beforeWrite gives the socket the deadline for a write, unless the one that it has is at most writeSlack earlier.
func (d *deadlines) beforeWrite(socket net.Conn) error {
	isNone, wasNone := d.wantedWrite.IsZero(), d.write.IsZero()
	if earlier := d.wantedWrite.Sub(d.write); isNone == wasNone && earlier >= 0 && earlier <= writeSlack {
		return nil
	}
	d.write = d.wantedWrite
	return socket.SetWriteDeadline(d.write)
}
