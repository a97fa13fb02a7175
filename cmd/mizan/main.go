package main

import (
	"fmt"
	"os"
	"runtime"

	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/serving"
)

func main() {
	runtime.MemProfileRate = 0 // no memory profiles; if the server is configured to serve profiles, package serving sets a rate
	if err := serving.HideMemory(); err != nil {
		fmt.Fprintf(os.Stderr, "mizan: configuration: memory: %v\n", err)
		os.Exit(cli.ExitConfiguration)
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}
