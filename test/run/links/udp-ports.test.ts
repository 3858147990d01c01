import t from 'tap';
import { UdpPorts } from '../../../src/run/links/udp-ports.js';

const always = (): Promise<boolean> => Promise.resolve(true);

void t.test('the lowest free port is given out, and again when it has come back', async (t) => {
  const ports = new UdpPorts([100, 110], always);
  t.same([await ports.reserve('a'), await ports.reserve('b'), await ports.reserve('a')], [100, 101, 102]);
  ports.release(101, 'b');
  ports.release(100, 'a');
  t.same(ports.reserved, [102]);
  t.same([await ports.reserve('c'), await ports.reserve('c'), await ports.reserve('c')], [100, 101, 103]);
});

void t.test('a port is only released by who has it', async (t) => {
  const ports = new UdpPorts([100, 110], always);
  await ports.reserve('a');
  ports.release(100, 'b');
  ports.release(105, 'a');
  t.same(ports.reserved, [100]);
});

void t.test('a port for a moment is the highest, so that low ones are there for who had them', async (t) => {
  const ports = new UdpPorts([100, 103], (port) => Promise.resolve(port !== 103));
  t.same([await ports.borrow('a'), await ports.borrow('b'), await ports.reserve('c')], [102, 101, 100]);
  ports.release(102, 'a');
  t.equal(await ports.borrow('c'), 102);
  await t.rejects(ports.borrow('c'), { code: 'udp_ports_taken' });
});

void t.test('all ports of one owner come back at once', async (t) => {
  const ports = new UdpPorts([1, 9], always);
  for (const owner of ['a', 'b', 'a', 'b', 'a']) await ports.reserve(owner);
  ports.releaseAllOf('a');
  t.same(ports.reserved, [2, 4]);
  t.equal(await ports.reserve('c'), 1);
});

void t.test('requests at once get different ports, also when some cannot be bound', async (t) => {
  const ports = new UdpPorts([1, 1000], async (port) => {
    await new Promise((resolve) => setTimeout(resolve, port % 3));
    return port % 4 !== 0;
  });
  const given = await Promise.all(Array.from({ length: 300 }, () => ports.reserve('a')));
  t.equal(new Set(given).size, 300);
  t.notOk(given.some((port) => port % 4 === 0));
  t.same(
    ports.reserved,
    given.sort((a, b) => a - b),
  );
});

void t.test('a range that is used up is told with the reason', async (t) => {
  const ports = new UdpPorts([1, 2], always);
  await ports.reserve('a');
  await ports.reserve('a');
  await t.rejects(ports.reserve('b'), {
    status: 409,
    message: 'Could not find a free port between 1 and 2 on host 0.0.0.0, last exception: all are given out',
  });
  const taken = new UdpPorts([1, 2], () => Promise.resolve(false));
  await t.rejects(taken.reserve('b'), { status: 409, message: /port 2 is in use by another program$/ });
  t.same(taken.reserved, []);
});
