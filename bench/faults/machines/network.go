package machines

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	tunDevice   = "/dev/net/tun"
	deviceName  = "eth0"
	packetSize  = 9000 // bytes of the longest packet; larger than usual, so that fewer packets need to be carried
	destination = 16   // where a packet of IPv4 has the address of its destination
	ipv4Header  = 20
	maxHosts    = 250

	// cutTable has the rule that drops packets from the hosts in the set "cut".
	cutTable = "table ip cuts { set cut { type ipv4_addr; }; chain in { type filter hook input priority 0; ip saddr @cut drop; }; }"
)

// Conditions are those of the way from one host to another. The zero value is a good way.
type Conditions struct {
	Delay, Jitter time.Duration // a packet takes from Delay to Delay+Jitter
	Loss          float64       // share of packets that are lost, from 0 to 1
}

// Host is a machine in a network.
type Host struct {
	*Namespace
	Address string // without a port

	number int
	device *os.File
	way    [maxHosts]atomic.Pointer[Conditions] // to the other hosts, by their numbers; nil: a good one
}

// Network carries packets between hosts.
type Network struct {
	mu    sync.RWMutex
	hosts []*Host
	work  sync.WaitGroup
}

// NetworkUnavailable returns an error that says why this machine cannot have a Network, or nil if it can.
func NetworkUnavailable() error {
	for _, program := range []string{"ip", "nft"} {
		if _, err := exec.LookPath(program); err != nil {
			return err
		}
	}
	var n Network
	_, err := n.Add()
	return errors.Join(err, n.Close())
}

// Add adds a host to the network.
func (n *Network) Add() (*Host, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	number := len(n.hosts)
	if number == maxHosts {
		return nil, fmt.Errorf("machines: a network has at most %d hosts", maxHosts)
	}
	space, err := NewNamespace()
	if err != nil {
		return nil, err
	}
	h := &Host{Namespace: space, number: number, Address: fmt.Sprintf("10.77.0.%d", number+1)}
	if err := h.connect(); err != nil {
		return nil, errors.Join(err, space.Close())
	}
	n.hosts = append(n.hosts, h)
	n.work.Go(func() { n.carry(h) })
	return h, nil
}

// connect makes the host's device, and gives it the host's address.
func (h *Host) connect() error {
	err := h.Do(func() error {
		fd, err := unix.Open(tunDevice, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return fmt.Errorf("machines: %s: %w", tunDevice, err)
		}
		request, err := unix.NewIfreq(deviceName)
		if err == nil {
			request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
			err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
		}
		if err != nil {
			_ = unix.Close(fd)
			return fmt.Errorf("machines: %s: %w", tunDevice, err)
		}
		h.device = os.NewFile(uintptr(fd), tunDevice)
		return nil
	})
	for _, arguments := range [][]string{
		{"ip", "address", "add", h.Address + "/24", "dev", deviceName},
		{"ip", "link", "set", deviceName, "mtu", fmt.Sprint(packetSize), "up"},
		{"ip", "link", "set", "lo", "up"},
		{"nft", cutTable},
	} {
		if err == nil {
			err = h.run(arguments[0], arguments[1:]...)
		}
	}
	if err != nil && h.device != nil {
		_ = h.device.Close()
	}
	return err
}

// carry takes the packets that a host sends to their receivers.
func (n *Network) carry(from *Host) {
	buffer := make([]byte, packetSize)
	for {
		size, err := from.device.Read(buffer)
		if err != nil {
			return // the device is closed
		}
		if size < ipv4Header || buffer[0]>>4 != 4 {
			continue // IPv6, which no host uses
		}
		n.mu.RLock()
		number := int(buffer[destination+3]) - 1
		var to *Host
		if number >= 0 && number < len(n.hosts) {
			to = n.hosts[number]
		}
		n.mu.RUnlock()
		if to == nil {
			continue
		}
		way := from.way[number].Load()
		switch {
		case way == nil:
			_, _ = to.device.Write(buffer[:size]) // a packet is lost if the receiver's queue is full
		case way.Loss > 0 && rand.Float64() < way.Loss:
		default:
			delay := way.Delay
			if way.Jitter > 0 {
				delay += rand.N(way.Jitter)
			}
			packet := append([]byte(nil), buffer[:size]...)
			time.AfterFunc(delay, func() { _, _ = to.device.Write(packet) })
		}
	}
}

// SetWay sets the conditions of the way from one host to another. The way back stays as it is.
func SetWay(from, to *Host, c Conditions) {
	if c == (Conditions{}) {
		from.way[to.number].Store(nil)
		return
	}
	from.way[to.number].Store(&c)
}

// Cut drops every packet from one host to another from now on. The way back stays open.
func Cut(from, to *Host) error {
	return to.run("nft", "add", "element", "ip", "cuts", "cut", "{", from.Address, "}")
}

// Mend ends all cuts and bad conditions of the network.
func (n *Network) Mend() error {
	n.mu.RLock()
	defer n.mu.RUnlock()
	var err error
	for _, from := range n.hosts {
		err = errors.Join(err, from.run("nft", "flush", "set", "ip", "cuts", "cut"))
		for _, to := range n.hosts {
			SetWay(from, to, Conditions{})
		}
	}
	return err
}

// Dial connects to an address from the host.
func (h *Host) Dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = h.Do(func() error {
		conn, err = new(net.Dialer).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// Close ends the network. The hosts' processes must have ended, or they lose their connections.
func (n *Network) Close() error {
	n.mu.RLock()
	hosts := n.hosts
	n.mu.RUnlock()
	var err error
	for _, h := range hosts {
		err = errors.Join(err, h.device.Close())
	}
	n.work.Wait()
	for _, h := range hosts {
		err = errors.Join(err, h.Close())
	}
	return err
}
