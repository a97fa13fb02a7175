package inject

import "strings"

// calls lists every system call that the server makes. The value has those of the errors EIO, ENOSPC, EMFILE and ENOMEM that the
// call may return in Linux, on some file system or socket. Calls that return none of them are listed too, so that a test can
// notice a call that is new in the server.
var calls = map[string]string{
	// Files.
	"access": "EIO ENOMEM", "close": "EIO ENOSPC", "fallocate": "EIO ENOSPC", "fchmod": "EIO ENOMEM", "fchmodat": "EIO ENOMEM", "fchown": "EIO ENOMEM", "fcntl": "EMFILE",
	"fdatasync": "EIO ENOSPC", "flock": "EIO ENOMEM", "fstat": "EIO ENOMEM", "fsync": "EIO ENOSPC", "ftruncate": "EIO ENOSPC",
	"getdents64": "EIO ENOMEM", "ioctl": "EIO", "linkat": "EIO ENOSPC ENOMEM", "lseek": "EIO", "mkdirat": "EIO ENOSPC ENOMEM",
	"newfstatat": "EIO ENOMEM", "openat": "EIO ENOSPC EMFILE ENOMEM", "pread64": "EIO ENOMEM", "pwrite64": "EIO ENOSPC ENOMEM",
	"read": "EIO ENOMEM", "readlinkat": "EIO ENOMEM", "renameat": "EIO ENOSPC ENOMEM", "renameat2": "EIO ENOSPC ENOMEM", "statfs": "EIO ENOMEM", "unlinkat": "EIO ENOSPC ENOMEM",
	"write": "EIO ENOSPC ENOMEM",
	// Sockets and events.
	"accept4": "EMFILE ENOMEM", "bind": "ENOMEM", "connect": "ENOMEM", "epoll_create1": "EMFILE ENOMEM", "epoll_ctl": "ENOSPC ENOMEM",
	"epoll_pwait": "", "eventfd2": "EMFILE ENOMEM", "getpeername": "ENOMEM", "getsockname": "ENOMEM", "getsockopt": "ENOMEM",
	"listen": "ENOMEM", "pipe2": "EMFILE", "recvfrom": "ENOMEM", "recvmsg": "ENOMEM", "sendmmsg": "ENOMEM", "sendmsg": "ENOMEM", "sendto": "ENOMEM", "setsockopt": "ENOMEM", "shutdown": "", "socket": "EMFILE ENOMEM", "writev": "EIO ENOSPC ENOMEM",
	// Memory and threads.
	"brk": "ENOMEM", "clone": "ENOMEM", "clone3": "ENOMEM", "execve": "EIO EMFILE ENOMEM", "futex": "ENOMEM", "madvise": "EIO ENOMEM", "mmap": "ENOMEM", "mprotect": "ENOMEM", "mremap": "ENOMEM",
	"msync": "EIO ENOSPC ENOMEM", "munmap": "ENOMEM", "sigaltstack": "ENOMEM",
	// Calls that can't return any of these errors.
	"arch_prctl": "", "exit": "", "exit_group": "", "getpid": "", "getppid": "", "getrandom": "", "getrlimit": "", "gettid": "", "kill": "", "nanosleep": "", "poll": "", "ppoll": "", "prctl": "",
	"prlimit64": "", "restart_syscall": "", "rseq": "", "rt_sigaction": "", "rt_sigprocmask": "", "rt_sigreturn": "", "sched_getaffinity": "", "sched_yield": "",
	"set_robust_list": "", "set_tid_address": "", "tgkill": "", "timer_create": "", "timer_delete": "", "timer_settime": "", "uname": "",
	"clock_gettime": "", "clock_nanosleep": "", "getuid": "", "geteuid": "", "getgid": "", "getegid": "", "getcwd": "", "sysinfo": "",
}

// onFilesAndSockets are calls that the server makes on sockets and on files, but mostly on sockets. Therefore there are also
// cases in which such a call fails only on files of the store.
var onFilesAndSockets = map[string]bool{"close": true, "fcntl": true, "fstat": true, "mmap": true, "newfstatat": true, "openat": true, "read": true, "write": true}

// errorsOf lists the errors of a call.
func errorsOf(call string) []string { return strings.Fields(calls[call]) }
