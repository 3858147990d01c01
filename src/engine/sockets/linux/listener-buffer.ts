/**
 * The receive buffer of the connections that the HTTP server accepts. Its library reads 512 KiB at a time and continues
 * as long as reads are full, even when it was told to pause: a client as fast as the server would never be throttled.
 * With a smaller buffer no read is ever full.
 */
import { SO_ACCEPTCONN, SO_RCVBUF, SOL_SOCKET } from './constants.js';
import { libc } from './libc.js';

/** The kernel doubles this, to make room for its own overhead. */
export const CONNECTION_BUFFER = 192 * 1024;
/** The server listens early, so its descriptor is a small number. */
const MOST_DESCRIPTORS = 1024;
const INT = 4;

/** Call when the server listens; accepted connections inherit the size. Returns the number of listening sockets. */
export function boundConnectionBuffers(): number {
  const size = new Uint8Array(new Int32Array([CONNECTION_BUFFER]).buffer);
  let listening = 0;
  for (let fd = 0; fd < MOST_DESCRIPTORS; fd++) {
    if (!isListening(fd)) continue;
    libc.setsockopt(fd, SOL_SOCKET, SO_RCVBUF, size, INT);
    listening++;
  }
  return listening;
}

function isListening(fd: number): boolean {
  const value = new Int32Array(1);
  const found = libc.getsockopt(
    fd,
    SOL_SOCKET,
    SO_ACCEPTCONN,
    new Uint8Array(value.buffer),
    new Uint32Array([INT]),
  );
  return found === 0 && value[0] === 1;
}
