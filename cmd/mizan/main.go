package main

import (
	"fmt"
	"os"

	"mizan/cmd/mizan/cli"
	"mizan/cmd/mizan/serving"
)

func main() {
	if err := serving.HideMemory(); err != nil {
		fmt.Fprintf(os.Stderr, "mizan: configuration: memory: %v\n", err)
		os.Exit(cli.ExitConfiguration)
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}
