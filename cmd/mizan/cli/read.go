package cli

import (
	"fmt"
	"io"
	"os"
)

// ReadFile reads a file. If the file is larger than limit bytes, it returns an error.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return ReadAll(f, limit)
}

// ReadAll reads an open file to the end. If it reads more than limit bytes, it returns an error.
func ReadAll(f *os.File, limit int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes", f.Name(), limit)
	}
	return content, nil
}

// ReadFileOrStdin reads a file, or stdin if path is "-". If it reads more than limit bytes, it returns an error.
func ReadFileOrStdin(path string, limit int64) ([]byte, error) {
	if path == "-" {
		return ReadAll(os.Stdin, limit)
	}
	return ReadFile(path, limit)
}
