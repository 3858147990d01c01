/** The clients behind proxies: what they write about themselves does not count. */
import { BlockList } from 'node:net';
import t from 'tap';
import { Proxies, type Requester } from '../../src/http/proxies.js';
import { rawRequest } from '../support/raw-client.js';
import { startServer } from '../support/server-process.js';

const trusted = new BlockList();
trusted.addAddress('192.0.2.1', 'ipv4');
trusted.addSubnet('10.0.0.0', 8, 'ipv4');
trusted.addSubnet('2001:db8::', 32, 'ipv6');
const proxies = new Proxies(trusted);

function clientOf(address: string, ...headers: readonly (readonly [string, string])[]): Requester {
  return proxies.clientOf({ address, scheme: 'http' }, (callback) => {
    for (const [name, value] of headers) callback(name, value);
  });
}

const addressOf = (address: string, ...lists: readonly string[]): string =>
  clientOf(address, ...lists.map((list) => ['x-forwarded-for', list] as const)).address;

void t.test('the last address that is no trusted proxy is the client', (t) => {
  t.equal(addressOf('192.0.2.1', '198.51.100.7'), '198.51.100.7');
  t.equal(
    addressOf('192.0.2.1', '1.1.1.1, 198.51.100.7'),
    '198.51.100.7',
    'the client has written the first',
  );
  t.equal(addressOf('192.0.2.1', '1.1.1.1, 198.51.100.7, 10.1.1.1'), '198.51.100.7', 'two proxies');
  t.equal(
    addressOf('192.0.2.1', '1.1.1.1', '198.51.100.7'),
    '198.51.100.7',
    'a header of the client before it',
  );
  t.equal(addressOf('192.0.2.1', '10.1.1.2,10.1.1.1'), '10.1.1.2', 'a proxy asks by itself');
  t.equal(addressOf('192.0.2.1'), '192.0.2.1');
  t.equal(addressOf('192.0.2.1', `${'1.1.1.1,'.repeat(5000)}198.51.100.7`), '198.51.100.7');
  t.end();
});

void t.test('the word of others does not count', (t) => {
  t.equal(addressOf('198.51.100.7', '1.1.1.1'), '198.51.100.7');
  t.match(clientOf('198.51.100.7', ['x-forwarded-proto', 'https']), { scheme: 'http' });
  t.equal(new Proxies(new BlockList()).isTrusted('192.0.2.1'), false);
  t.end();
});

void t.test('an address that cannot be read ends the search', (t) => {
  for (const text of ['unknown', '', '1.2.3', '999.1.1.1', 'fe80::1%eth0', '[::1', '_hidden', '1.1.1.1 x'])
    t.equal(addressOf('192.0.2.1', `1.1.1.1,${text},10.1.1.1`), '10.1.1.1', text);
  t.end();
});

void t.test('addresses have the form that the library gives them', (t) => {
  t.equal(addressOf('192.0.2.1', '198.51.100.7:4711'), '198.51.100.7');
  const long = '2001:0db9:0000:0000:0000:0000:0000:0007';
  for (const text of ['2001:db9::7', '[2001:db9::7]', '[2001:DB9::7]:80', long])
    t.equal(addressOf('192.0.2.1', text), long, text);
  t.equal(addressOf('192.0.2.1', '::'), '0000:0000:0000:0000:0000:0000:0000:0000');
  t.equal(addressOf('192.0.2.1', '::ffff:1.2.3.4'), '0000:0000:0000:0000:0000:ffff:0102:0304');
  t.equal(addressOf('2001:0db8:0000:0000:0000:0000:0000:0001', '1.1.1.1'), '1.1.1.1');
  t.equal(addressOf('0000:0000:0000:0000:0000:ffff:c000:0201', '1.1.1.1'), '1.1.1.1', 'an IPv4 proxy at ::');
  t.end();
});

void t.test('the nearest proxy says by which scheme it was called', (t) => {
  const schemeOf = (value: string): string =>
    clientOf('192.0.2.1', ['x-forwarded-proto', value], ['accept', '*/*']).scheme;
  t.equal(schemeOf('https'), 'https');
  t.equal(schemeOf('http, HTTPS'), 'https');
  t.equal(schemeOf('https,http'), 'http');
  t.equal(schemeOf('gopher'), 'http');
  t.end();
});

void t.test('the log and the brake on wrong passwords know clients behind a proxy', async (t) => {
  const server = await startServer(t, {
    flags: ['--user', 'ann', '--trusted-proxies', '127.0.0.1', '--public-url', 'https://labs.example.org'],
    environment: { WIREFARM_PASSWORD: 'right' },
  });
  const ask = async (forwardedFor: string, password: string, host = 'labs.example.org'): Promise<number> => {
    const headers = {
      Host: host,
      Origin: 'https://labs.example.org',
      'X-Forwarded-For': forwardedFor,
      'X-Forwarded-Proto': 'https',
      Authorization: `Basic ${Buffer.from(`ann:${password}`).toString('base64')}`,
    };
    return (await rawRequest(server.port, 'POST', '/v2/reload', { headers })).status;
  };
  t.equal(await ask('203.0.113.1, 198.51.100.7', 'right'), 200);
  await server.logged(/"address":"198\.51\.100\.7".*"method":"POST"/);
  t.equal(await ask('', 'right', 'evil.example.org'), 403);
  const wrong = Array.from({ length: 60 }, (_, number) => ask(`203.0.113.${number}, 198.51.100.7`, 'wrong'));
  t.equal(await ask('198.51.100.8', 'right'), 200, 'another client is not slowed');
  const refused = (await Promise.all(wrong)).filter((status) => status === 503);
  t.ok(refused.length > 0, 'addresses that a client invents do not let it guess faster');
});
