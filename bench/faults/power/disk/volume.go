package disk

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

const (
	loopControl    = "/dev/loop-control"
	attachAttempts = 100             // several, because another program may take the free loop device first
	unmountTimeout = 1 * time.Minute // an unmount has to wait until the files of killed processes are closed

	shutdownRequest    = 0x8004587d // FS_IOC_SHUTDOWN, which is _IOR('X', 125, __u32): ext4 and xfs
	shutdownWithoutLog = 2          // writes nothing, not even the journal
)

// Volume is a file system on a device that can lose its power.
type Volume struct {
	*Disk
	Dir     string // where the file system is mounted
	Options string // options of the next mount

	kind      string // of the file system
	deviceDir string // where the FUSE file system is mounted
	server    *fuse.Server
	isMounted bool
}

// Unavailable returns an error that says why this machine can't have volumes of a kind, or nil if it can.
func Unavailable(kind string) error {
	if os.Geteuid() != 0 {
		return errors.New("mounting takes root")
	}
	for _, path := range []string{fuseDevice, loopControl} {
		if f, err := os.OpenFile(path, os.O_RDWR, 0); err != nil {
			return err
		} else {
			_ = f.Close()
		}
	}
	if _, err := exec.LookPath("mkfs." + kind); err != nil {
		return err
	}
	systems, err := os.ReadFile("/proc/filesystems")
	if err == nil && !bytes.Contains(systems, []byte("\t"+kind+"\n")) {
		_ = exec.Command("modprobe", kind).Run() // if modprobe fails, the kind is still missing at the next read
		if systems, err = os.ReadFile("/proc/filesystems"); err == nil && !bytes.Contains(systems, []byte("\t"+kind+"\n")) {
			err = fmt.Errorf("this kernel has no %s", kind)
		}
	}
	return err
}

// NewVolume makes a device of the given size with a file system of the given kind ("ext4" or "xfs"), and mounts the file system
// in a directory below dir.
func NewVolume(dir, kind string, size int64) (_ *Volume, err error) {
	d, err := New(size)
	if err != nil {
		return nil, err
	}
	v := &Volume{Disk: d, Dir: filepath.Join(dir, "volume"), kind: kind, deviceDir: filepath.Join(dir, "device")}
	defer func() {
		if err != nil {
			err = errors.Join(err, v.Close())
		}
	}()
	for _, path := range []string{v.Dir, v.deviceDir} {
		if err := os.Mkdir(path, 0o700); err != nil {
			return nil, err
		}
	}
	if v.server, err = serve(d, v.deviceDir); err != nil {
		return nil, err
	}
	if err := v.withLoopDevice(v.format); err != nil {
		return nil, err
	}
	return v, v.Mount()
}

// format makes the file system.
func (v *Volume) format(device string) error {
	args := []string{"-q", "-F", "-b", "4096", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", device}
	if v.kind == "xfs" {
		args = []string{"-q", "-f", "-K", device}
	}
	if out, err := exec.Command("mkfs."+v.kind, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("disk: mkfs.%s: %w: %s", v.kind, err, bytes.TrimSpace(out))
	}
	return nil
}

// Mount mounts the file system. The file system then replays its journal.
func (v *Volume) Mount() error {
	return v.withLoopDevice(func(device string) error {
		if err := unix.Mount(device, v.Dir, v.kind, unix.MS_NOATIME, v.Options); err != nil {
			return fmt.Errorf("disk: mounting %s: %w", v.kind, err)
		}
		v.isMounted = true
		return nil
	})
}

// withLoopDevice attaches a loop device to the device's file and calls fn with the loop device's name. The loop device ends
// when nothing uses it any more. This is when fn has returned or, if fn has mounted a file system, when this file system is
// unmounted.
func (v *Volume) withLoopDevice(fn func(device string) error) error {
	backing, err := os.OpenFile(filepath.Join(v.deviceDir, fileName(v.Generation())), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("disk: %w", err)
	}
	defer func() { _ = backing.Close() }()
	control, err := os.OpenFile(loopControl, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("disk: %w", err)
	}
	defer func() { _ = control.Close() }()
	for range attachAttempts {
		number, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return fmt.Errorf("disk: no free loop device: %w", err)
		}
		name := "/dev/loop" + strconv.Itoa(number)
		loop, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return fmt.Errorf("disk: %w", err)
		}
		config := unix.LoopConfig{Fd: uint32(backing.Fd()), Size: SectorSize, Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR}}
		err = unix.IoctlLoopConfigure(int(loop.Fd()), &config)
		if err == nil {
			err = fn(name)
			return errors.Join(err, loop.Close())
		}
		_ = loop.Close()
		if err != unix.EBUSY {
			return fmt.Errorf("disk: attaching %s: %w", name, err)
		}
	}
	return fmt.Errorf("disk: other programs took %d loop devices", attachAttempts)
}

// Detach cuts the power and unmounts the file system, so that the kernel drops its caches. Processes with open files in
// the file system must have ended.
func (v *Volume) Detach() error {
	v.Cut()
	if err := v.shutDown(); err != nil {
		return err
	}
	return v.unmount()
}

// shutDown stops the file system at once. Without this call, an unmount would try to write everything, and would report each
// error.
func (v *Volume) shutDown() error {
	dir, err := os.Open(v.Dir)
	if err != nil {
		return nil // the file system has stopped itself; if it has not, the unmount reports an error
	}
	defer func() { _ = dir.Close() }()
	if err := unix.IoctlSetPointerInt(int(dir.Fd()), shutdownRequest, shutdownWithoutLog); err != nil && err != unix.EIO {
		return fmt.Errorf("disk: stopping the file system: %w", err)
	}
	return nil
}

func (v *Volume) unmount() error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(unmountTimeout); ; <-tick.C {
		err := unix.Unmount(v.Dir, 0)
		if err == nil {
			v.isMounted = false
			return nil
		}
		if err != unix.EBUSY || time.Now().After(end) {
			return fmt.Errorf("disk: unmounting: %w", err)
		}
	}
}

// Reboot is called after a cut. It detaches the file system, switches the power on, and mounts the file system again.
func (v *Volume) Reboot(loss Loss, random *rand.Rand) (Outcome, error) {
	if err := v.Detach(); err != nil {
		return Outcome{}, err
	}
	o := v.Restore(loss, random)
	return o, v.Mount()
}

// StartWriting makes the kernel begin to write a file's cached pages to the device, without a flush. It returns without waiting.
func StartWriting(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
}

// Close detaches everything and frees the memory. Even if the file system can't be detached, Close unmounts the device's file.
// It returns the errors of both steps.
func (v *Volume) Close() error {
	var err error
	if v.isMounted {
		err = v.Detach()
	}
	if v.server != nil {
		// The loop device closes the file a moment after the unmount.
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for end := time.Now().Add(unmountTimeout); ; <-tick.C {
			unmountErr := unix.Unmount(v.deviceDir, 0)
			if unmountErr == nil {
				break
			}
			if errors.Is(unmountErr, syscall.EBUSY) && time.Now().Before(end) {
				continue
			}
			return errors.Join(err, fmt.Errorf("disk: unmounting the device's file: %w", unmountErr))
		}
		v.server.Wait()
	}
	v.Free()
	return err
}
