/**
 * The functions of the C library that the packet path needs. Pointers are plain numbers: user-space addresses fit into
 * 47 bits, and a number costs nothing to pass.
 */
import koffi from 'koffi';

const library = koffi.load(null);

type Call<Args extends unknown[]> = (...args: Args) => number;

function declare<Args extends unknown[]>(prototype: string): Call<Args> {
  return library.func(prototype) as Call<Args>;
}

export const libc = {
  socket: declare<[domain: number, type: number, protocol: number]>('int socket(int, int, int)'),
  bind: declare<[fd: number, address: Uint8Array, length: number]>(
    'int bind(int, const uint8_t *, uint32_t)',
  ),
  listen: declare<[fd: number, backlog: number]>('int listen(int, int)'),
  accept: declare<[fd: number, address: number, length: number, flags: number]>(
    'int accept4(int, uintptr_t, uintptr_t, int)',
  ),
  connect: declare<[fd: number, address: Uint8Array, length: number]>(
    'int connect(int, const uint8_t *, uint32_t)',
  ),
  setsockopt: declare<[fd: number, level: number, name: number, value: Uint8Array, length: number]>(
    'int setsockopt(int, int, int, const uint8_t *, uint32_t)',
  ),
  getsockopt: declare<[fd: number, level: number, name: number, value: Uint8Array, length: Uint32Array]>(
    'int getsockopt(int, int, int, uint8_t *, uint32_t *)',
  ),
  open: declare<[path: string, flags: number]>('int open(const char *, int)'),
  ioctl: declare<[fd: number, request: number, argument: Uint8Array]>(
    'int ioctl(int, unsigned long, uint8_t *)',
  ),
  close: declare<[fd: number]>('int close(int)'),
  read: declare<[fd: number, buffer: number, length: number]>('int64_t read(int, uintptr_t, size_t)'),
  write: declare<[fd: number, buffer: number, length: number]>('int64_t write(int, uintptr_t, size_t)'),
  send: declare<[fd: number, buffer: number, length: number, flags: number]>(
    'int64_t send(int, uintptr_t, size_t, int)',
  ),
  sendto: declare<
    [fd: number, buffer: number, length: number, flags: number, address: Uint8Array, addressLength: number]
  >('int64_t sendto(int, uintptr_t, size_t, int, const uint8_t *, uint32_t)'),
  sendmsg: declare<[fd: number, message: number, flags: number]>('int64_t sendmsg(int, uintptr_t, int)'),
  sendmmsg: declare<[fd: number, messages: number, count: number, flags: number]>(
    'int sendmmsg(int, uintptr_t, unsigned int, int)',
  ),
  recvmsg: declare<[fd: number, message: number, flags: number]>('int64_t recvmsg(int, uintptr_t, int)'),
  recvmmsg: declare<[fd: number, messages: number, count: number, flags: number, timeout: number]>(
    'int recvmmsg(int, uintptr_t, unsigned int, int, uintptr_t)',
  ),
  eventfd: declare<[initial: number, flags: number]>('int eventfd(unsigned int, int)'),
  epollCreate: declare<[flags: number]>('int epoll_create1(int)'),
  epollControl: declare<[epoll: number, operation: number, fd: number, event: number]>(
    'int epoll_ctl(int, int, int, uintptr_t)',
  ),
  fcntl: declare<[fd: number, command: number, value: number]>('int fcntl(int, int, int)'),
  mmap: declare<
    [address: number, length: number, protection: number, flags: number, fd: number, offset: number]
  >('uintptr_t mmap(uintptr_t, size_t, int, int, int, int64_t)'),
  munmap: declare<[address: number, length: number]>('int munmap(uintptr_t, size_t)'),
  prctl: declare<[option: number, value: number]>('int prctl(int, unsigned long)'),
  ifNameToIndex: declare<[name: string]>('unsigned int if_nametoindex(const char *)'),
} as const;
