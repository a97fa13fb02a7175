package clustering

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/config"
	"mizan/internal/durable"
	"mizan/internal/peer"
	"mizan/internal/secret"
)

// Names in the directory of a cluster sandbox.
const (
	clusterFile     = "cluster.json"
	keyringFile     = "keyring"
	tokenFile       = "admin-token"
	certificatesDir = "certificates"
	simulatorDir    = "simulator"
	maxClusterFile  = 1 << 20
	readyTime       = 2 * time.Minute
	stopTime        = 30 * time.Second
	pollInterval    = 100 * time.Millisecond
	requestTime     = 5 * time.Second
)

// sandbox is the content of cluster.json: what sandbox.json of a single server has, and the nodes.
type sandbox struct {
	values map[string]json.RawMessage // the members of sandbox.json

	Nodes     []node    `json:"nodes"`
	Shards    int       `json:"shards"`
	Simulator simulator `json:"simulator"`
}

type node struct {
	Name     string `json:"name"`
	BaseURL  string `json:"base_url"`
	PID      int    `json:"pid"`
	Data     string `json:"data"`
	Log      string `json:"log"`
	Listen   string `json:"listen"`
	Peer     string `json:"cluster_listen"`
	Metrics  string `json:"metrics_listen"`
	Keyring  string `json:"keyring"`
	TokenIn  string `json:"admin_token_file"`
	CertsDir string `json:"cluster_tls"`

	ended <-chan struct{} // closed when the process that this program has started has ended
}

type simulator struct {
	URL    string `json:"url"`
	PID    int    `json:"pid"`
	Data   string `json:"data"`
	Log    string `json:"log"`
	Listen string `json:"listen"`
}

// sandboxCommand is the command `mizan cluster sandbox`.
type sandboxCommand struct {
	Nodes  int    `name:"nodes" default:"3" placeholder:"N" help:"Number of nodes (default 3)."`
	Shards int    `name:"shards" default:"4" placeholder:"N" help:"Number of shards of organizations (default 4)."`
	Data   string `name:"data" default:"./cluster" placeholder:"DIR" help:"Directory of the sandbox (default ./cluster)."`
}

// Run implements the command. If the directory has a sandbox, its nodes are started again.
func (c *sandboxCommand) Run(s *cli.Streams) error {
	ctx, stop := cli.SignalContext()
	defer stop()
	if c.Nodes < 1 || c.Nodes > config.MaxNodes {
		return cli.BadConfiguration(fmt.Sprintf("nodes: has to be from 1 to %d", config.MaxNodes))
	}
	if c.Shards < 1 || c.Shards > config.MaxShards {
		return cli.BadConfiguration(fmt.Sprintf("shards: has to be from 1 to %d", config.MaxShards))
	}
	dir, err := filepath.Abs(c.Data)
	if err != nil {
		return cli.BadConfiguration("data: " + err.Error())
	}
	box, err := readSandbox(dir)
	if errors.Is(err, fs.ErrNotExist) {
		box, err = c.plan(dir)
	}
	if err != nil {
		return cli.StorageFault("%v", err)
	}
	err = box.start(ctx, dir, s)
	if err == nil {
		<-ctx.Done()
	}
	if current, readErr := readSandbox(dir); readErr == nil {
		box = current // `mizan cluster start` may have changed it
	}
	box.stop()
	return err
}

// plan makes the directory of a new sandbox: the keyring, the administration token, the certificates, and the ports.
func (c *sandboxCommand) plan(dir string) (*sandbox, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if _, err := secret.CreateKeyring(filepath.Join(dir, keyringFile), rand.Reader); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	token := secret.NewToken("mza_", rand.Reader)
	if err := durable.Replace(filepath.Join(dir, tokenFile), 0o600, []byte(token)); err != nil {
		return nil, err
	}
	ports, err := freeAddresses(3*c.Nodes + 1)
	if err != nil {
		return nil, err
	}
	box := &sandbox{Shards: c.Shards, values: make(map[string]json.RawMessage)}
	var names []string
	for i := range c.Nodes {
		name := "n" + strconv.Itoa(i+1)
		names = append(names, name)
		own := ports[3*i:]
		box.Nodes = append(box.Nodes, node{
			Name: name, BaseURL: "http://" + own[0], Listen: own[0], Peer: own[1], Metrics: own[2],
			Data: filepath.Join(dir, name), Log: filepath.Join(dir, name+".log"),
			Keyring: filepath.Join(dir, keyringFile), TokenIn: filepath.Join(dir, tokenFile), CertsDir: filepath.Join(dir, certificatesDir),
		})
	}
	last := ports[len(ports)-1]
	box.Simulator = simulator{URL: "http://" + last, Listen: last, Data: filepath.Join(dir, simulatorDir), Log: filepath.Join(dir, simulatorDir+".log")}
	return box, peer.MakeCertificates(filepath.Join(dir, certificatesDir), names, time.Now())
}

// freeAddresses returns addresses on the loopback interface on which nobody listens.
func freeAddresses(n int) (addresses []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }() // it stays open until all are chosen, so none is chosen twice
		addresses = append(addresses, l.Addr().String())
	}
	return addresses, nil
}

// start starts the simulated provider and all nodes, waits until every shard has a leader, and writes cluster.json.
func (b *sandbox) start(ctx context.Context, dir string, s *cli.Streams) (err error) {
	if b.Simulator.PID, _, err = launch(b.Simulator.Log, b.simulatorArguments(dir)...); err != nil {
		return cli.StorageFault("%v", err)
	}
	for i := range b.Nodes {
		if b.Nodes[i].PID, b.Nodes[i].ended, err = launch(b.Nodes[i].Log, b.nodeArguments(&b.Nodes[i])...); err != nil {
			return cli.StorageFault("%v", err)
		}
	}
	if err := b.write(dir); err != nil {
		return cli.StorageFault("%v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	if err := b.awaitLeaders(ctx, dir); err != nil {
		return err
	}
	if err := b.takeSeed(ctx); err != nil {
		return err
	}
	if err := b.write(dir); err != nil {
		return cli.StorageFault("%v", err)
	}
	_, err = fmt.Fprintf(s.Out, "mizan: cluster ready: %d nodes, %d shards; keys and tokens are in %s\n", len(b.Nodes), b.Shards, filepath.Join(dir, clusterFile))
	return err
}

func (b *sandbox) simulatorArguments(dir string) []string {
	return []string{"simulator", "--data", b.Simulator.Data, "--listen", b.Simulator.Listen, "--keyring", filepath.Join(dir, keyringFile), "--base-url", b.Nodes[0].BaseURL}
}

func (b *sandbox) nodeArguments(n *node) []string {
	var peers []string
	for i := range b.Nodes {
		peers = append(peers, b.Nodes[i].Name+"="+b.Nodes[i].Peer)
	}
	return []string{
		"serve", "--sandbox", "--data", n.Data, "--listen", n.Listen, "--tls", "off", "--base-url", n.BaseURL, "--keyring", n.Keyring,
		"--admin-token-file", n.TokenIn, "--metrics-listen", n.Metrics, "--simulator-url", b.Simulator.URL, "--access-log", "errors",
		"--cluster-node", n.Name, "--cluster-listen", n.Peer, "--cluster-peers", strings.Join(peers, ","),
		"--cluster-shards", strconv.Itoa(b.Shards), "--cluster-tls", n.CertsDir,
	}
}

// launch starts this program with the arguments, and returns the number of the process, and a channel that is closed when the
// process has ended. The output goes to the end of a file.
func launch(logPath string, arguments ...string) (pid int, ended <-chan struct{}, err error) {
	program, err := os.Executable()
	if err != nil {
		return 0, nil, err
	}
	out, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = out.Close() }()
	command := exec.Command(program, arguments...)
	command.Stdout, command.Stderr = out, out
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C at the terminal reaches only the sandbox, which stops the nodes in order
	if err := command.Start(); err != nil {
		return 0, nil, err
	}
	end := make(chan struct{})
	go func() {
		_ = command.Wait() // so that an ended process does not stay a zombie
		close(end)
	}()
	return command.Process.Pid, end, nil
}

// hasEnded tells whether the node's process, which this program has started, has ended. Unlike isRunning, it is right also while
// the process is being started, when the kernel does not show its arguments yet.
func (n *node) hasEnded() bool {
	select {
	case <-n.ended:
		return true
	default:
		return false
	}
}

// awaitLeaders waits until every node serves and knows a leader of every shard.
func (b *sandbox) awaitLeaders(ctx context.Context, dir string) error {
	token, err := os.ReadFile(filepath.Join(dir, tokenFile))
	if err != nil {
		return cli.StorageFault("%v", err)
	}
	b.set("admin_token", string(token))
	b.set("base_url", b.Nodes[0].BaseURL)
	for {
		ready := 0
		for i := range b.Nodes {
			if st, err := askStatus(ctx, b.Nodes[i].BaseURL, string(token)); err == nil && st.isReady() && isServing(ctx, b.Nodes[i].BaseURL) {
				ready++
			}
			if b.Nodes[i].hasEnded() {
				return &cli.Fault{Code: cli.ExitStorage, Lines: []string{"mizan: cluster: node " + b.Nodes[i].Name + " has ended; its output is in " + b.Nodes[i].Log}}
			}
		}
		if ready == len(b.Nodes) {
			return nil
		}
		if err := sleep(ctx); err != nil {
			return &cli.Fault{Code: cli.ExitStorage, Lines: []string{"mizan: cluster: not every shard has got a leader; the nodes' output is in " + dir}}
		}
	}
}

// takeSeed reads the values of sandbox.json that the node which first led shard 1 has written.
func (b *sandbox) takeSeed(ctx context.Context) error {
	if len(b.values["organization_id"]) > 0 {
		return nil
	}
	for {
		for i := range b.Nodes {
			content, err := cli.ReadFile(filepath.Join(b.Nodes[i].Data, "shards", "1", "store", "sandbox.json"), maxClusterFile)
			if err != nil {
				continue
			}
			var values map[string]json.RawMessage
			if err := json.Unmarshal(content, &values); err != nil {
				continue
			}
			for name, value := range values {
				b.values[name] = value
			}
			b.set("base_url", b.Nodes[0].BaseURL)
			b.set("console_url", b.Nodes[0].BaseURL+"/console")
			return nil
		}
		if err := sleep(ctx); err != nil {
			return &cli.Fault{Code: cli.ExitStorage, Lines: []string{"mizan: cluster: the first organizations were not made"}}
		}
	}
}

func sleep(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pollInterval):
		return nil
	}
}

// askStatus asks a node about the cluster.
func askStatus(ctx context.Context, baseURL, token string) (*status, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, baseURL+"/api/v1/cluster", nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct{ Data status }
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", response.StatusCode)
	}
	return &answer.Data, json.NewDecoder(io.LimitReader(response.Body, maxClusterFile)).Decode(&answer)
}

// stop stops the nodes and then the simulated provider.
func (b *sandbox) stop() {
	for i := range b.Nodes {
		signalProcess(b.Nodes[i].PID, b.Nodes[i].Data)
	}
	deadline := time.Now().Add(stopTime)
	for i := range b.Nodes {
		for isRunning(b.Nodes[i].PID, b.Nodes[i].Data) && time.Now().Before(deadline) {
			<-time.After(pollInterval)
		}
	}
	signalProcess(b.Simulator.PID, b.Simulator.Data)
}

// signalProcess asks a process to stop, if it is the one that was started with the data directory.
func signalProcess(pid int, data string) {
	if isRunning(pid, data) {
		_ = syscall.Kill(pid, syscall.SIGTERM) // it may have ended meanwhile
	}
}

// isRunning tells whether a process runs and was started with the data directory.
func isRunning(pid int, data string) bool {
	if pid <= 0 {
		return false
	}
	var arguments []byte
	var err error
	for range 10 {
		arguments, err = os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if err != nil || len(arguments) > 0 {
			break
		}
		<-time.After(pollInterval / 5) // a process has no arguments for a moment while it executes a program, and when it has just ended
	}
	if errors.Is(err, fs.ErrNotExist) {
		if _, procErr := os.Stat("/proc/self/cmdline"); procErr == nil {
			return false
		}
		return syscall.Kill(pid, 0) == nil // a system without /proc
	}
	if err == nil && len(arguments) == 0 {
		return !isZombie(pid)
	}
	return err == nil && strings.Contains(string(arguments), "\x00"+data+"\x00")
}

// isZombie tells whether a process without arguments has ended and is only waited for. Otherwise it is being started: for a moment
// after the start, the kernel shows no arguments.
func isZombie(pid int) bool {
	content, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, state, isFound := strings.Cut(string(content), ") ") // the name of the program ends before the state
	return err != nil || !isFound || strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X")
}

func (b *sandbox) set(name, value string) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // text can always be encoded
	}
	b.values[name] = text
}

// write writes cluster.json.
func (b *sandbox) write(dir string) error {
	members := make(map[string]any, len(b.values)+3)
	for name, value := range b.values {
		members[name] = value
	}
	members["nodes"], members["shards"], members["simulator"] = b.Nodes, b.Shards, b.Simulator
	content, err := json.MarshalIndent(members, "", "  ")
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(dir, clusterFile), 0o600, append(content, '\n'))
}

// readSandbox reads cluster.json.
func readSandbox(dir string) (*sandbox, error) {
	content, err := cli.ReadFile(filepath.Join(dir, clusterFile), maxClusterFile)
	if err != nil {
		return nil, err
	}
	b := new(sandbox)
	if err := json.Unmarshal(content, b); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, clusterFile), err)
	}
	if err := json.Unmarshal(content, &b.values); err != nil {
		return nil, err
	}
	for _, name := range []string{"nodes", "shards", "simulator"} {
		delete(b.values, name)
	}
	if len(b.Nodes) == 0 {
		return nil, errors.New(filepath.Join(dir, clusterFile) + " has no nodes")
	}
	return b, nil
}

// refuseExisting returns an error if there is something at the path.
func refuseExisting(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return cli.BadConfiguration("out: " + path + " is there already")
	}
	return nil
}

// isServing tells whether a node has started: it accepts requests, or would if it reached a leader.
func isServing(ctx context.Context, baseURL string) bool {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, baseURL+"/readyz", nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	var state struct{ Status string }
	err = json.NewDecoder(response.Body).Decode(&state)
	return err == nil && (state.Status == "ok" || state.Status == "cut_off")
}
