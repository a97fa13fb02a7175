package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mizan/bench/faults/machines"
)

// diskSize is the size of a node's disk, in bytes. The file that has it takes only what is written. With less than some hundred
// MiB free, a node refuses commands.
const diskSize = 4 << 30

// equipment tells which of the machines' parts can fail separately here. A nil error: this part can.
type equipment struct{ network, disk, clock error }

// parts is the equipment of this machine.
var parts = sync.OnceValue(func() equipment {
	dir, err := os.MkdirTemp("", "mizan-disk-")
	if err != nil {
		return equipment{err, err, err}
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return equipment{machines.NetworkUnavailable(), machines.DiskUnavailable(dir), machines.ClockUnavailable()}
})

// node is a node of the cluster, on a machine of its own as far as this machine permits.
type node struct {
	name, data, log       string
	listen, peer, metrics string
	host                  *machines.Host // nil: all nodes share the loopback interface
	disk                  *machines.Disk // nil: the node shares the disk of the tests

	mu      sync.Mutex
	process *process        // guarded by mu; nil: it was never started
	clock   *machines.Clock // guarded by mu; nil: the node has the machine's clock
	skew    time.Duration   // guarded by mu; how far the node's clock is ahead
}

// space returns the namespace of the node's host.
func (n *node) space() *machines.Namespace {
	if n.host == nil {
		return nil
	}
	return n.host.Namespace
}

func (n *node) baseURL() string { return "http://" + n.listen }

// process is a process that was started.
type process struct {
	*os.Process
	ended chan struct{} // closed when the process has ended
	exit  int           // its exit code; -1: a signal has ended it
}

func (p *process) runs() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// launch starts the binary under test in a namespace. Its output goes to the end of a file. It ends with the test process.
func launch(space *machines.Namespace, log string, start func(*exec.Cmd) error, program string, arguments ...string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	cmd := exec.Command(program, arguments...)
	cmd.Stdout, cmd.Stderr = out, out
	// The program would execute itself again without this setting, and then have the machine's clock.
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GOGC=") }), "GODEBUG=asyncpreemptoff=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	p := &process{ended: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The kernel sends Pdeathsig when the thread that has started the process ends, so the thread waits for the process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := space.Do(func() error {
			if err := start(cmd); err != nil {
				return err
			}
			p.Process = cmd.Process
			started <- nil
			_ = cmd.Wait() // the exit code says all
			p.exit = cmd.ProcessState.ExitCode()
			close(p.ended)
			return nil
		})
		if err != nil {
			started <- err
		}
	}()
	return p, <-started
}

// current returns the node's last process; nil if it was never started.
func (n *node) current() *process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process
}

// runs tells whether the node's process runs.
func (n *node) runs() bool {
	p := n.current()
	return p != nil && p.runs()
}

// signal sends a signal to the node, if it runs.
func (n *node) signal(sig syscall.Signal) {
	if p := n.current(); p != nil && p.runs() {
		_ = p.Signal(sig) // it may have ended meanwhile
	}
}

// setClock sets the node's clock: it is ahead of the right time by the given time.
func (n *node) setClock(skew time.Duration) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.skew = skew
	if n.clock == nil {
		return errors.New("the node has no clock of its own")
	}
	return n.clock.Set(skew)
}

// launch starts the node's process.
func (f *fleet) launch(n *node) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	start := func(cmd *exec.Cmd) error { return cmd.Start() }
	if parts().clock == nil {
		start = func(cmd *exec.Cmd) (err error) {
			if n.clock, err = machines.Start(cmd); err == nil {
				err = n.clock.Set(n.skew)
			}
			return err
		}
	}
	p, err := launch(n.space(), n.log, start, f.program, f.arguments(n)...)
	if err == nil {
		n.process = p
	}
	return err
}

// arguments returns the command line of a node.
func (f *fleet) arguments(n *node) []string {
	var peers []string
	for _, other := range f.all() {
		peers = append(peers, other.name+"="+other.peer)
	}
	return []string{
		"serve", "--sandbox", "--data", n.data, "--listen", n.listen, "--tls", "off", "--base-url", n.baseURL(), "--keyring", f.path("keyring"),
		"--admin-token-file", f.path("token"), "--metrics-listen", n.metrics, "--simulator-url", "http://" + f.simulator, "--access-log", "errors",
		"--cluster-node", n.name, "--cluster-listen", n.peer, "--cluster-peers", strings.Join(peers, ","),
		"--cluster-shards", strconv.Itoa(shards), "--cluster-tls", f.path("certificates"),
	}
}

// makeNode makes the machine of a new node.
func (f *fleet) makeNode(name string) *node {
	f.t.Helper()
	n := &node{name: name, log: f.path(name + ".log"), data: f.path(name), listen: freeAddress(f.t), peer: freeAddress(f.t), metrics: freeAddress(f.t)}
	var err error
	if parts().network == nil {
		if n.host, err = f.network.Add(); err != nil {
			f.t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(n.peer) // freeAddress returns a valid one
		n.peer = net.JoinHostPort(n.host.Address, port)
		f.forwardSimulator(n.space())
	}
	if parts().disk == nil {
		if n.disk, err = machines.NewDisk(f.path(name), diskSize); err != nil {
			f.t.Fatal(err)
		}
		n.data = filepath.Join(n.disk.Dir, "data")
	}
	return n
}

// forwardSimulator lets processes in a namespace reach the simulated provider, which listens on the loopback interface of the
// tests, at the same address. So a node that is cut off from the other nodes still reaches the provider.
func (f *fleet) forwardSimulator(space *machines.Namespace) {
	f.t.Helper()
	var l net.Listener
	if err := space.Do(func() (err error) { l, err = net.Listen("tcp", f.simulator); return err }); err != nil {
		f.t.Fatal(err)
	}
	f.forwarders = append(f.forwarders, l)
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return // the listener is closed
			}
			go func() {
				defer func() { _ = in.Close() }()
				out, err := net.Dial("tcp", f.simulator)
				if err != nil {
					return
				}
				defer func() { _ = out.Close() }()
				go func() {
					_, _ = io.Copy(out, in) // an end of the connection ends the other direction, too
					_ = out.Close()
				}()
				_, _ = io.Copy(in, out)
			}()
		}
	}()
}

// transport returns an HTTP transport whose connections to a node begin on the node's own machine. So clients reach a node that is
// cut off from the others.
func (f *fleet) transport() *http.Transport {
	return &http.Transport{
		MaxIdleConnsPerHost: 64,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			for _, n := range f.all() {
				if n.listen == address && n.host != nil {
					return n.host.Dial(ctx, network, address)
				}
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}
}

// freeAddress returns an address on the loopback interface on which nobody listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// mustRun runs the binary with the arguments on a node's machine. If the exit code is not 0, the test fails.
func (f *fleet) mustRun(n *node, arguments ...string) {
	f.t.Helper()
	if err := f.run(n, arguments...); err != nil {
		f.t.Fatal(err)
	}
}

// run runs the binary with the arguments on a node's machine. If the exit code is not 0, the error has what it printed.
func (f *fleet) run(n *node, arguments ...string) error {
	err := n.space().Do(func() error {
		out, err := exec.Command(f.program, arguments...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("mizan %s: %w", strings.Join(arguments, " "), err)
	}
	return nil
}

// lastLines returns the end of a node's log.
func (n *node) lastLines() string {
	file, err := os.Open(n.log)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = file.Close() }()
	var lines []string
	for in := bufio.NewScanner(file); in.Scan(); {
		if lines = append(lines, in.Text()); len(lines) > 20 {
			lines = lines[1:]
		}
	}
	return fmt.Sprintf("the end of %s:\n%s", n.log, strings.Join(lines, "\n"))
}
