package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"mizan/bench/server"
)

// Times.
const (
	startTime    = 3 * time.Minute
	stopTime     = 45 * time.Second
	requestTime  = 30 * time.Second
	pollInterval = 50 * time.Millisecond
)

// node is a process that takes requests.
type node struct {
	Name    string
	BaseURL string `json:"base_url"`
	Metrics string `json:"metrics_listen"`
	PID     int
}

// system is a server or a cluster under test.
type system struct {
	Nodes     []node
	Simulator struct{ PID int }
	sandbox   server.Sandbox
	programs  []*exec.Cmd // what this process has started, in the order in which it is stopped
	client    *http.Client
}

// startServer starts one server and its simulated provider.
func startServer(ctx context.Context, dir string) (s *system, err error) {
	s = &system{client: &http.Client{Timeout: requestTime}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	addresses, err := freeAddresses(3)
	if err != nil {
		return nil, err
	}
	data, keyring, base := filepath.Join(dir, "data"), filepath.Join(dir, "keyring"), "http://"+addresses[0]
	if err := s.runProgram(ctx, "keyring", keyring); err != nil {
		return nil, err
	}
	simulator, err := s.startProgram(dir, "simulator", "--data", filepath.Join(dir, "simulator"), "--listen", addresses[1], "--keyring", keyring, "--base-url", base)
	if err != nil {
		return nil, err
	}
	serving, err := s.startProgram(dir, "serve", "--sandbox", "--tls", "off", "--listen", addresses[0], "--base-url", base, "--data", data, "--keyring", keyring,
		"--simulator-url", "http://"+addresses[1], "--metrics-listen", addresses[2], "--log-level", "warn", "--access-log", "errors")
	if err != nil {
		return nil, err
	}
	s.programs = []*exec.Cmd{serving, simulator}
	s.Nodes = []node{{Name: "server", BaseURL: base, Metrics: addresses[2], PID: serving.Process.Pid}}
	s.Simulator.PID = simulator.Process.Pid
	err = s.await(ctx, func() error {
		if s.sandbox, err = server.ReadSandbox(data); err != nil {
			return err
		}
		return s.request(ctx, http.MethodGet, base, "/readyz", nil, nil, nil)
	})
	return s, err
}

// startCluster starts a cluster of three nodes with the given number of shards.
func startCluster(ctx context.Context, dir string, nodes, shards int) (s *system, err error) {
	s = &system{client: &http.Client{Timeout: requestTime}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	data := filepath.Join(dir, "cluster")
	if _, err = s.startProgram(dir, "cluster", "sandbox", "--nodes", strconv.Itoa(nodes), "--shards", strconv.Itoa(shards), "--data", data); err != nil {
		return nil, err
	}
	err = s.await(ctx, func() error {
		content, err := os.ReadFile(filepath.Join(data, "cluster.json"))
		if err == nil {
			err = errors.Join(json.Unmarshal(content, s), json.Unmarshal(content, &s.sandbox))
		}
		if err == nil && s.sandbox.OrganizationID == "" {
			err = errors.New("the cluster is not ready")
		}
		return err
	})
	return s, err
}

// startProgram starts this program with other arguments. Its output goes to a file.
func (s *system) startProgram(dir string, args ...string) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	out, err := os.OpenFile(filepath.Join(dir, args[0]+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	command := exec.Command(program, args...)
	command.Stdout, command.Stderr = out, out
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches only this process, which stops the others in order
	if err := command.Start(); err != nil {
		return nil, err
	}
	s.programs = append(s.programs, command)
	return command, nil
}

func (s *system) runProgram(ctx context.Context, args ...string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("bench: %s: %w: %s", args[0], err, out)
	}
	return nil
}

// stop ends the processes that this one has started. A cluster sandbox ends its nodes and its provider itself.
func (s *system) stop() (err error) {
	for _, p := range s.programs {
		_ = p.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(stopTime, func() { _ = p.Process.Kill() })
		err = errors.Join(err, p.Wait())
		kill.Stop()
	}
	s.programs = nil
	s.client.CloseIdleConnections()
	return err
}

// await repeats try until it succeeds.
func (s *system) await(ctx context.Context, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("bench: the processes are not ready: %w", err)
		case <-time.After(pollInterval):
		}
	}
}

// request sends a request, decodes the answer into a value, unless that is nil, and fails unless the status is 200 or 201.
// header, if it is not nil, gets the header of the answer.
func (s *system) request(ctx context.Context, method, base, path string, body any, headers map[string]string, into any) error {
	_, err := s.exchange(ctx, method, base, path, body, headers, into)
	return err
}

func (s *system) exchange(ctx context.Context, method, base, path string, body any, headers map[string]string, into any) (http.Header, error) {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, base+path, content)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusCreated {
		return nil, fmt.Errorf("bench: %s %s: %d %.200s", method, path, response.StatusCode, answer)
	}
	if into != nil {
		err = json.Unmarshal(answer, into)
	}
	return response.Header, err
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
