/** The tasks about sockets and files of QEMU, without a thread. */
import type { ComputeFiles } from '../../src/run/files.js';
import { qemuHostTasks } from '../../src/run/nodes/qemu/qemu-host-tasks.js';

export const qemuFiles = {
  run: (name: 'holdSocket' | 'openedFiles' | 'releaseSocket', input: never) =>
    new Promise((resolve) => {
      resolve(qemuHostTasks[name](input));
    }),
} as unknown as ComputeFiles;
