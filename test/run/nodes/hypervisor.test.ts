/** The client of Dynamips's hypervisor port, against a program that speaks its protocol and one that does not. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { Hypervisor, HypervisorRefusal } from '../../../src/run/nodes/dynamips/hypervisor.js';

interface Fake {
  readonly hypervisor: Hypervisor;
  /** The lines that have come. */
  readonly asked: string[];
}

/** A connection to a server that answers each line with the next of these texts. */
async function fake(t: Test, ...answers: readonly string[]): Promise<Fake> {
  const asked: string[] = [];
  const left = [...answers];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      for (const line of bytes.toString().split('\n').slice(0, -1)) {
        asked.push(line);
        for (const piece of left.shift()?.match(/[^]{1,7}/g) ?? []) socket.write(piece);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const hypervisor = new Hypervisor(connect((server.address() as AddressInfo).port, '127.0.0.1'));
  t.teardown(() => {
    hypervisor.close();
    server.close();
  });
  return { hypervisor, asked };
}

void t.test('names are quoted, and answers of several lines come in pieces', async (t) => {
  const { hypervisor, asked } = await fake(t, '100-OK\r\n', '101 a b\r\n101 c\r\n100-OK\r\n');
  t.same(await Promise.all([hypervisor.ask('vm create', ['R 1', 7]), hypervisor.ask('vm list')]), [
    ['OK'],
    ['a b', 'c', 'OK'],
  ]);
  t.same(asked, ['vm create "R 1" 7', 'vm list']);
});

void t.test('a refusal has its number, and the connection goes on', async (t) => {
  const { hypervisor } = await fake(t, '209-unable to start\r\n', '100-OK\r\n');
  await t.rejects(hypervisor.ask('vm start', ['R']), new HypervisorRefusal(209, 'unable to start'));
  t.same(await hypervisor.ask('vm stop', ['R']), ['OK']);
});

void t.test('a name cannot end its command', async (t) => {
  const { hypervisor, asked } = await fake(t);
  for (const name of ['a" b', 'a\nhypervisor stop', 'a\r'])
    t.throws(() => void hypervisor.ask('vm stop', [name]));
  t.same(asked, []);
});

void t.test('an answer that does not come, or is none, ends the connection', async (t) => {
  const silent = await fake(t);
  await t.rejects(silent.hypervisor.ask('vm stop', ['R'], 20), /in time/);
  await t.rejects(silent.hypervisor.ask('vm stop', ['R']), /closed/);
  const strange = await fake(t, 'hello\r\n');
  await t.rejects(strange.hypervisor.ask('vm stop', ['R']), /no answer/);
  const endless = await fake(t, '101 x\r\n'.repeat(10_001));
  await t.rejects(endless.hypervisor.ask('vm list'), /no answer/);
});
