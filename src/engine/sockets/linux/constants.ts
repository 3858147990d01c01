/** Numbers of the Linux kernel's interface, the same on x86-64 and ARM64. */

export const AF_UNIX = 1;
export const AF_INET = 2;
export const AF_INET6 = 10;
export const AF_PACKET = 17;
export const SOCK_STREAM = 1;
export const SOCK_DGRAM = 2;
export const SOCK_RAW = 3;
/** SOCK_NONBLOCK and SOCK_CLOEXEC. */
export const SOCK_FLAGS = 0o4000 | 0o2000000;

export const SOL_SOCKET = 1;
export const SO_SNDBUF = 7;
export const SO_RCVBUF = 8;
export const SO_ACCEPTCONN = 30;
export const SO_SNDBUFFORCE = 32;
export const SO_RCVBUFFORCE = 33;
export const SO_MEMINFO = 55;
export const SOL_UDP = 17;
export const UDP_SEGMENT = 103;
export const UDP_GRO = 104;
export const SOL_PACKET = 263;
export const PACKET_ADD_MEMBERSHIP = 1;
export const PACKET_MR_PROMISC = 1;
export const PACKET_AUXDATA = 8;
export const PACKET_IGNORE_OUTGOING = 23;
export const TP_STATUS_VLAN_VALID = 0x10;
export const TP_STATUS_VLAN_TPID_VALID = 0x40;

export const MSG_CTRUNC = 0x08;
export const MSG_TRUNC = 0x20;
export const MSG_DONTWAIT = 0x40;
export const MSG_NOSIGNAL = 0x4000;
export const MSG_CMSG_CLOEXEC = 0x4000_0000;
export const SCM_RIGHTS = 1;

export const EPOLL_CLOEXEC = 0o2000000;
export const EPOLL_CTL_ADD = 1;
export const EPOLL_CTL_DEL = 2;
export const EPOLL_CTL_MOD = 3;
export const EPOLLIN = 1;
export const EPOLLONESHOT = 1 << 30;
/** Readiness is told once for each time that something arrives, and nothing has to be read. */
export const EPOLLET = 1 << 31;
/** The kernel packs this structure on x86-64 only. */
export const EPOLL_EVENT = process.arch === 'x64' ? { size: 12, data: 4 } : { size: 16, data: 8 };

export const PR_SET_TIMERSLACK = 29;

/** Offsets in struct mmsghdr: a message header and the number of bytes transferred. */
export const MESSAGE = {
  size: 64,
  vectors: 16,
  vectorCount: 24,
  control: 32,
  controlLength: 40,
  flags: 48,
  length: 56,
} as const;
export const VECTOR_SIZE = 16;
export const CONTROL = { level: 8, type: 12, data: 16 } as const;
