#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static char all[1 << 16];

/* ptrace is the system call, but PTRACE_SETREGSET takes a part of the extended registers too, as
 * PTRACE_GETREGSET does: the others keep their values. */
long ptrace(enum __ptrace_request request, ...)
{
	va_list args;
	va_start(args, request);
	pid_t pid = va_arg(args, pid_t);
	void *addr = va_arg(args, void *);
	void *data = va_arg(args, void *);
	va_end(args);

	struct iovec whole = {all, sizeof all}, *part = data;
	if (request == PTRACE_SETREGSET && (long)addr == NT_X86_XSTATE) {
		if (syscall(SYS_ptrace, PTRACE_GETREGSET, pid, addr, &whole) < 0)
			return -1;
		memcpy(all, part->iov_base, part->iov_len < whole.iov_len ? part->iov_len : whole.iov_len);
		data = &whole;
	}
	long word;
	int peeks = request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA || request == PTRACE_PEEKUSER;
	long result = syscall(SYS_ptrace, request, pid, addr, peeks ? &word : data);
	if (!peeks || result < 0)
		return result;
	errno = 0;
	return word;
}
