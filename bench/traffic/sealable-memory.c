/* DPDK makes its memory so that it cannot be sealed, and an engine takes none that is not. Preloaded, this changes that. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOW_SEALING 2u

int memfd_create(const char *name, unsigned int flags)
{
	return (int)syscall(SYS_memfd_create, name, flags | ALLOW_SEALING);
}
