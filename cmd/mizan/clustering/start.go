package clustering

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"mizan/cmd/mizan/cli"
	"mizan/internal/filelock"
)

// startCommand is the command `mizan cluster start`.
type startCommand struct {
	Data string `name:"data" default:"./cluster" placeholder:"DIR" help:"Directory of the sandbox (default ./cluster)."`
	Node string `name:"node" required:"" placeholder:"NAME" help:"The node to start."`
}

// Run implements the command. It returns when the node serves.
func (c *startCommand) Run(s *cli.Streams) error {
	dir, err := filepath.Abs(c.Data)
	if err != nil {
		return cli.BadConfiguration("data: " + err.Error())
	}
	n, err := launchAgain(dir, c.Node)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyTime)
	defer cancel()
	for !isServing(ctx, n.BaseURL) {
		if n.hasEnded() || sleep(ctx) != nil {
			return &cli.Fault{Code: cli.ExitStorage, Lines: []string{"mizan: cluster: node " + n.Name + " does not serve; its output is in " + n.Log}}
		}
	}
	_, err = fmt.Fprintf(s.Out, "mizan: node %s serves at %s\n", n.Name, n.BaseURL)
	return err
}

// launchAgain starts the process of a node, and notes it in cluster.json. Of several such commands, one does so at a time.
func launchAgain(dir, name string) (n *node, err error) {
	lock, err := os.Open(dir)
	if err == nil {
		err = filelock.Wait(lock)
	}
	if err != nil {
		return nil, cli.BadConfiguration("data: " + err.Error())
	}
	defer func() { _ = filelock.Release(lock) }()
	box, err := readSandbox(dir)
	if err != nil {
		return nil, cli.BadConfiguration("data: " + err.Error())
	}
	i := slices.IndexFunc(box.Nodes, func(n node) bool { return n.Name == name })
	if i < 0 {
		return nil, cli.BadConfiguration("node: the sandbox has no node " + name)
	}
	n = &box.Nodes[i]
	if isRunning(n.PID, n.Data) {
		return nil, cli.BadConfiguration("node: " + n.Name + " runs already")
	}
	if n.PID, n.ended, err = launch(n.Log, box.nodeArguments(n)...); err == nil {
		err = box.write(dir)
	}
	if err != nil {
		return nil, cli.StorageFault("%v", err)
	}
	return n, nil
}
