/** The sockets of this host: descriptors and epoll on Linux, node:dgram elsewhere. */
import type { Bell } from '../forwarding/transport.js';
import { Descriptors } from './descriptors.js';
import type { Opener } from './opener.js';

export interface HostSockets {
  readonly opener: Opener;
  readonly descriptors: Descriptors;
  newBell(): Bell;
  /** Bounds what a client can have sent before the server has read it; to be called when the server listens. */
  boundConnectionBuffers(): void;
}

/** Sockets of labs leave so many descriptors free, for files and for what has to be refused. */
const SPARE = 48;

/** Each kind is loaded only where it is used, as the C library's calls are looked up when it is. */
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
