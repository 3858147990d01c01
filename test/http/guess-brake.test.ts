/** How many wrong passwords an address gets answered: counted, on a clock that is set. */
import t from 'tap';
import { GuessBrake } from '../../src/http/guess-brake.js';
import { headerOf, jsonOf, RawConnection, rawRequest } from '../support/raw-client.js';
import { startServer } from '../support/server-process.js';
import { upgrade } from '../support/upgrade.js';

const FREE = 10;
const WAITING = 4;
const MOST_ADDRESSES = 1024;

function rig(): { brake: GuessBrake; lines: object[]; wait: (milliseconds: number) => void } {
  let time = 1_000_000;
  const lines: object[] = [];
  const log = { warn: (line: object) => lines.push(line) };
  const brake = new GuessBrake({ log, now: () => time });
  return { brake, lines, wait: (milliseconds) => (time += milliseconds) };
}

/** As many wrong passwords as are looked at; how long each of them waits. */
function guesses(brake: GuessBrake, address: string, most = 1000): number[] {
  const waits: number[] = [];
  while (waits.length < most && brake.closedMs(address) === 0) waits.push(brake.wrong(address));
  return waits;
}

void t.test('some wrong passwords are free, some wait, and then nothing is looked at', (t) => {
  const { brake } = rig();
  t.same(guesses(brake, '192.0.2.1'), [...Array<number>(FREE).fill(0), 1000, 2000, 3000, 4000]);
  t.equal(brake.closedMs('192.0.2.1'), 1000);
  t.equal(brake.closedMs('192.0.2.2'), 0, 'another address is not concerned');
  t.end();
});

void t.test('an address that keeps on is answered once a second, however often it asks', (t) => {
  const { brake, wait } = rig();
  let answered = 0;
  for (let second = 0; second < 100; second++) {
    answered += guesses(brake, '192.0.2.1').length;
    for (let part = 0; part < 10; part++) wait(100);
  }
  t.equal(answered, FREE + WAITING + 99);
  t.end();
});

void t.test('places become free again with time', (t) => {
  const { brake, wait } = rig();
  guesses(brake, '192.0.2.1');
  wait(3600_000);
  t.equal(guesses(brake, '192.0.2.1').length, FREE + WAITING);
  t.end();
});

void t.test('the addresses of one IPv6 network are one, those of IPv4 never', (t) => {
  const { brake } = rig();
  const network = '2001:0db8:0000:0001';
  guesses(brake, `${network}:0000:0000:0000:0001`);
  t.not(brake.closedMs(`${network}:ffff:0000:0000:0002`), 0);
  t.equal(brake.closedMs('2001:0db8:0000:0002:0000:0000:0000:0001'), 0);
  const mapped = '0000:0000:0000:0000:0000:ffff';
  guesses(brake, `${mapped}:c000:0201`);
  t.not(brake.closedMs(`${mapped}:c000:0201`), 0);
  t.equal(brake.closedMs(`${mapped}:c000:0202`), 0);
  t.end();
});

void t.test('so many addresses are remembered, those that guessed last', (t) => {
  const { brake } = rig();
  guesses(brake, 'first');
  for (let number = 0; number < MOST_ADDRESSES - 1; number++) guesses(brake, `address ${number}`, 1);
  t.not(brake.closedMs('first'), 0);
  guesses(brake, 'address 0', 20);
  guesses(brake, 'one more', 1);
  t.equal(brake.closedMs('first'), 0, 'the one that has not guessed for longest is forgotten');
  t.not(brake.closedMs('address 0'), 0);
  t.end();
});

void t.test('the log has a few lines a minute, and how many it has not', (t) => {
  const { brake, lines, wait } = rig();
  for (let number = 0; number < 500; number++) brake.wrong(`192.0.2.${number % 200}`);
  t.equal(lines.length, 10);
  t.same(lines[0], { address: '192.0.2.0' });
  wait(60_000);
  brake.wrong('192.0.2.7');
  brake.wrong('192.0.2.8');
  t.same(lines.slice(10), [{ address: '192.0.2.7', unlogged: 490 }, { address: '192.0.2.8' }]);
  t.end();
});

void t.test('an address that guesses is slowed, and no other', async (t) => {
  const server = await startServer(t, {
    flags: ['--user', 'ann', '--log-level', 'warn'],
    environment: { WIREFARM_PASSWORD: 'right' },
  });
  const basic = (password: string): Record<string, string> => ({
    Authorization: `Basic ${Buffer.from(`ann:${password}`).toString('base64')}`,
  });
  const connections = await Promise.all(Array.from({ length: 60 }, () => RawConnection.open(server.port)));
  t.teardown(() => {
    for (const connection of connections) connection.close();
  });
  for (const connection of connections) connection.send('GET', '/v2/version', { headers: basic('wrong') });
  const others = await RawConnection.open(server.port, '127.0.0.1', '127.0.0.2');
  t.teardown(() => {
    others.close();
  });
  for (let count = 0; count < 20; count++) {
    others.send('GET', '/v2/version', { headers: basic('right') });
    t.equal((await others.reply()).status, 200);
  }
  const replies = await Promise.all(connections.map((connection) => connection.reply()));
  const refused = replies.filter(({ status }) => status === 503);
  t.equal(replies.filter(({ status }) => status === 401).length + refused.length, 60);
  t.ok(refused.length > 0, `${refused.length} were not looked at`);
  for (const reply of refused) {
    t.match(jsonOf(reply), { message: /wrong passwords came from this address/, status: 503 });
    t.match(headerOf(reply, 'Retry-After'), /^[1-5]$/);
  }
  const url = `${server.url}/v2/notifications/ws`;
  const upgrades = await Promise.all(Array.from({ length: 40 }, () => upgrade(url, basic('wrong'))));
  t.ok(upgrades.includes(503), 'WebSockets are guarded by the same brake');
  t.notOk(upgrades.includes(101));
  t.equal(
    (await rawRequest(server.port, 'GET', '/v2/version')).status,
    401,
    'to ask without a password is no guess',
  );
  const lines = server.log().trim().split('\n');
  t.equal(lines.length, 10, 'the log is not flooded');
  t.match(JSON.parse(lines[0] ?? ''), { address: '127.0.0.1', msg: /wrong user name or password/ });
});
