/**
 * The alternative that requests are measured against: uWebSockets.js alone, which answers a constant of the
 * same size and reads request bodies to their end. A process of its own; prints its port.
 */
import { App, us_socket_local_port } from 'uWebSockets.js';

const constant = 'x'.repeat(Number(process.argv[2]));

const app = App()
  .get('/*', (response) => {
    response.writeHeader('Content-Type', 'application/json').end(constant);
  })
  .put('/*', (response) => {
    response.onAborted(() => undefined);
    response.onData((_chunk, isLast) => {
      if (isLast) response.writeHeader('Content-Type', 'application/json').end(constant);
    });
  });

app.listen('127.0.0.1', 0, (socket) => {
  if (socket === false) process.exit(1);
  process.stdout.write(`listens on http://127.0.0.1:${us_socket_local_port(socket)}\n`);
});
