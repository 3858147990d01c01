/** The sockets of this host: descriptors and epoll on Linux, node:dgram elsewhere. */
import type { Bell } from '../forwarding/transport.js';
import { Descriptors } from './descriptors.js';
import type { Opener } from './opener.js';

export interface HostSockets {
  readonly opener: Opener;
  readonly descriptors: Descriptors;
  newBell(): Bell;
  /** Bounds the bytes that a client can have sent before the server reads them. Call when the server listens. */
  boundConnectionBuffers(): void;
}

/** Sockets of labs leave this many descriptors free, for files and for connections that are to be refused. */
const SPARE = 48;

/** Loads only the sockets of this platform: loading the Linux ones looks up functions of the C library. */
export async function hostSockets(platform: NodeJS.Platform): Promise<HostSockets> {
  const descriptors = new Descriptors();
  if (platform === 'linux') {
    const [{ LinuxOpener }, { LinuxBell }, { boundConnectionBuffers }] = await Promise.all([
      import('./linux/linux-opener.js'),
      import('./linux/linux-bell.js'),
      import('./linux/listener-buffer.js'),
    ]);
    return {
      opener: new LinuxOpener(descriptors.most - SPARE),
      descriptors,
      newBell: () => new LinuxBell(),
      boundConnectionBuffers,
    };
  }
  const [{ PortableOpener }, { PortableBell }] = await Promise.all([
    import('./portable/portable-opener.js'),
    import('./portable/portable-bell.js'),
  ]);
  return {
    opener: new PortableOpener(),
    descriptors,
    newBell: () => new PortableBell(),
    boundConnectionBuffers: () => undefined,
  };
}
