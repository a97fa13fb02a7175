package main

import (
	"fmt"
	"os"
)

func main() {
	if err := hideMemory(); err != nil {
		fmt.Fprintf(os.Stderr, "mizan: configuration: memory: %v\n", err)
		os.Exit(exitConfiguration)
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}
