/**
 * uWebSockets.js alone, with files: writes what comes where it comes, reads the same way, and syncs at the end when
 * it is told to. No digests, no temporary names, and its only thread waits for every disk call. A process of its own:
 * takes the folder, and `sync`; prints its port.
 */
import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { basename, join } from 'node:path';
import { App, us_socket_local_port } from 'uWebSockets.js';

const READ_LENGTH = 256 * 1024;

const [folder = '', durability] = process.argv.slice(2);

const app = App()
  .post('/*', (response, request) => {
    const fd = openSync(placeOf(request.getUrl()), 'w');
    response.onAborted(() => {
      closeSync(fd);
    });
    response.onData((chunk, isLast) => {
      const bytes = new Uint8Array(chunk);
      for (let written = 0; written < bytes.length;) written += writeSync(fd, bytes, written);
      if (!isLast) return;
      if (durability === 'sync') fsyncSync(fd);
      closeSync(fd);
      response.writeStatus('201 Created').end();
    });
  })
  .get('/*', (response, request) => {
    const fd = openSync(placeOf(request.getUrl()), 'r');
    const { size } = fstatSync(fd);
    const piece = new Uint8Array(READ_LENGTH);
    const send = (): boolean => {
      for (;;) {
        const length = readSync(fd, piece, 0, READ_LENGTH, response.getWriteOffset());
        const [isSent, isDone] = response.tryEnd(piece.subarray(0, length), size);
        if (isDone) closeSync(fd);
        if (isDone || !isSent) return isDone;
      }
    };
    response.onAborted(() => {
      closeSync(fd);
    });
    response.onWritable(send);
    send();
  });

app.listen('127.0.0.1', 0, (socket) => {
  if (socket === false) process.exit(1);
  process.stdout.write(`listens on http://127.0.0.1:${us_socket_local_port(socket)}\n`);
});

function placeOf(url: string): string {
  return join(folder, basename(url));
}
