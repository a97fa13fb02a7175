package disk

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

const (
	fuseDevice  = "/dev/fuse"
	maxRequest  = 1 << 20 // bytes of a read or a write; the kernel splits longer ones
	filePrefix  = "disk-" // the number of the generation follows, so that the kernel uses no cache of an earlier generation
	fileModeBit = 0o600
)

// root is the directory of the FUSE file system. Its only file is the device in the present generation. A new generation begins
// at the end of each power cut.
type root struct {
	fs.Inode
	disk *Disk
}

// file is the only file in root. When a new generation has begun, writes to the file of an earlier generation fail.
type file struct {
	fs.Inode
	disk       *Disk
	generation int
}

var (
	_ fs.NodeLookuper  = (*root)(nil)
	_ fs.NodeGetattrer = (*file)(nil)
	_ fs.NodeSetattrer = (*file)(nil)
	_ fs.NodeOpener    = (*file)(nil)
	_ fs.NodeReader    = (*file)(nil)
	_ fs.NodeWriter    = (*file)(nil)
	_ fs.NodeFsyncer   = (*file)(nil)
)

// serve mounts the file system at a directory and serves it until it is unmounted.
func serve(d *Disk, dir string) (*fuse.Server, error) {
	syscall.ForkLock.RLock() // no child may start before closeOnExec has run
	defer syscall.ForkLock.RUnlock()
	server, err := fs.Mount(dir, &root{disk: d}, &fs.Options{MountOptions: fuse.MountOptions{
		DirectMountStrict: true, // the program fusermount is not used
		MaxWrite:          maxRequest,
		DisableXAttrs:     true,
		DisableSplice:     true, // reads come from memory, and the library logs each splice that is larger than a pipe
		Name:              "mizan-disk", FsName: "mizan-disk",
	}})
	if err != nil {
		return nil, fmt.Errorf("disk: mounting the device's file: %w", err)
	}
	return server, closeOnExec()
}

// closeOnExec keeps child processes from inheriting the handles of FUSE connections. The FUSE library (2.12.1, with a direct
// mount) does not prevent this. A connection ends when the last process with a handle of it ends. If the server inherited the
// handle, the connection would stay open after this process had died. The server would then wait for ever for its own disk, and
// so would every program that lists loop devices.
func closeOnExec() error {
	const handles = "/proc/self/fd"
	entries, err := os.ReadDir(handles)
	if err != nil {
		return fmt.Errorf("disk: %w", err)
	}
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join(handles, e.Name())); err == nil && target == fuseDevice {
			if fd, err := strconv.Atoi(e.Name()); err == nil {
				syscall.CloseOnExec(fd)
			}
		}
	}
	return nil
}

// fileName returns the name of the device's file.
func fileName(generation int) string { return filePrefix + strconv.Itoa(generation) }

// Lookup implements fs.NodeLookuper.
func (r *root) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	number, found := strings.CutPrefix(name, filePrefix)
	generation, err := strconv.Atoi(number)
	if !found || err != nil || generation != r.disk.Generation() {
		return nil, syscall.ENOENT
	}
	f := &file{disk: r.disk, generation: generation}
	f.setAttr(&out.Attr)
	return r.NewInode(ctx, f, fs.StableAttr{Mode: fuse.S_IFREG, Ino: uint64(generation) + 2}), 0
}

func (f *file) setAttr(out *fuse.Attr) {
	out.Mode, out.Size = fuse.S_IFREG|fileModeBit, uint64(f.disk.Size())
}

// Getattr implements fs.NodeGetattrer.
func (f *file) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	f.setAttr(&out.Attr)
	return 0
}

// Setattr implements fs.NodeSetattrer. It changes nothing, because the kernel sets only times, which the file does not keep.
func (f *file) Setattr(_ context.Context, _ fs.FileHandle, _ *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	f.setAttr(&out.Attr)
	return 0
}

// Open implements fs.NodeOpener. It keeps the kernel from caching the file, so that each write of the loop device
// arrives here before it is acknowledged.
func (f *file) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_DIRECT_IO, 0
}

// Read implements fs.NodeReader.
func (f *file) Read(_ context.Context, _ fs.FileHandle, dest []byte, at int64) (fuse.ReadResult, syscall.Errno) {
	return fuse.ReadResultData(dest[:f.disk.readAt(dest, at)]), 0
}

// Write implements fs.NodeWriter. The disk copies data, because the library reuses the memory of data.
func (f *file) Write(_ context.Context, _ fs.FileHandle, data []byte, at int64) (uint32, syscall.Errno) {
	if errno := f.disk.writeAt(f.generation, data, at); errno != 0 {
		return 0, errno
	}
	return uint32(len(data)), 0
}

// Fsync implements fs.NodeFsyncer. The loop device calls Fsync for each flush of the file system on it (REQ_PREFLUSH, and after
// a write with REQ_FUA).
func (f *file) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	return f.disk.flush(f.generation)
}
