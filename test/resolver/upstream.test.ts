/** The outbound client against Knot DNS, and against servers that forge, fail, truncate or do not answer. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { SystemClock, sleep } from '../../src/base/clock.js';
import { createDelegationFinder } from '../../src/resolver/delegation.js';
import { createUpstream, type UpstreamServer } from '../../src/resolver/upstream.js';
import { anywhere } from '../support/egress.js';
import { freePort } from '../support/free-ports.js';

const clock = new SystemClock();

const ZONE = `
example.com. 300 IN SOA ns1.example.com. hostmaster.example.com. 7 3600 600 86400 60
example.com. 300 IN NS NS1.example.com.
example.com. 300 IN NS ns2.example.net.
example.com. 300 IN MX 10 Mail.example.com.
example.com. 300 IN CAA 0 issue "ca.example"
ns1.example.com. 300 IN A 127.0.0.1
child.example.com. 300 IN NS NS1.zoneplane.test.
child.example.com. 300 IN NS ns1.child.example.com.
ns1.child.example.com. 300 IN A 192.0.2.2
a.b.sub.example.com. 300 IN NS ns9.example.net.
www.example.com. 60 IN AAAA 2001:db8::7
alias.example.com. 60 IN CNAME www.example.com.
only-v4.example.com. 60 IN A 192.0.2.9
text.example.com. 60 IN TXT "one" "two"
${Array.from({ length: 12 }, (_, index) => `big.example.com. 60 IN TXT "${String(index).padStart(100, 'x')}"`).join('\n')}
`;

async function startKnot(): Promise<{ server: UpstreamServer; stop: () => Promise<void> }> {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-upstream-'));
  const port = await freePort();
  mkdirSync(join(directory, 'db'));
  writeFileSync(join(directory, 'example.com.zone'), ZONE);
  writeFileSync(
    join(directory, 'knot.conf'),
    `server:
    listen: 127.0.0.1@${port}
    rundir: ${directory}
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
database:
    storage: ${directory}/db
zone:
  - domain: example.com
    file: ${directory}/example.com.zone
    zonefile-sync: -1
    journal-content: none
`,
  );
  const knot: ChildProcess = spawn('knotd', ['-c', join(directory, 'knot.conf')], { stdio: 'ignore' });
  const server = { host: '127.0.0.1', port };
  const upstream = createUpstream({ servers: [server], clock, timeoutMs: 100 });
  for (let tries = 0; tries < 600; tries++) {
    if ((await upstream.query('example.com', 'SOA')).status === 'ok') break;
    await sleep(50);
  }
  const stop = async (): Promise<void> => {
    knot.kill('SIGTERM');
    await once(knot, 'exit');
    rmSync(directory, { recursive: true });
  };
  return { server, stop };
}

const hasKnot = spawnSync('knotd', ['--version']).status === 0;

t.test('Knot DNS', { skip: hasKnot ? false : 'knotd is not installed' }, async (t) => {
  const { server, stop } = await startKnot();
  t.teardown(stop);
  const upstream = createUpstream({ servers: [server], clock });

  const soa = await upstream.query('Example.COM.', 'SOA');
  t.equal(soa.status, 'ok');
  t.same(soa.records, [
    {
      name: 'example.com',
      type: 'SOA',
      ttl: 300,
      content: 'ns1.example.com hostmaster.example.com 7 3600 600 86400 60',
    },
  ]);
  const ns = await upstream.query('example.com', 'NS');
  t.same(ns.records.map(({ content }) => content).sort(), ['ns1.example.com', 'ns2.example.net']);
  t.equal((await upstream.query('example.com', 'MX')).records[0]?.content, '10 mail.example.com');
  t.equal((await upstream.query('example.com', 'CAA')).records[0]?.content, '0 issue "ca.example"');
  t.equal((await upstream.query('text.example.com', 'TXT')).records[0]?.content, 'onetwo');
  const alias = await upstream.query('alias.example.com', 'AAAA');
  t.equal(alias.status, 'ok');
  t.same(
    alias.records.map(({ type, content }) => `${type} ${content}`),
    ['CNAME www.example.com', 'AAAA 2001:db8::7'],
  );
  t.match(await upstream.query('only-v4.example.com', 'AAAA'), { status: 'nodata', records: [] });
  t.match(await upstream.query('none.example.com', 'A'), { status: 'nxdomain', records: [] });
  t.match(await upstream.query('example.org', 'A'), { status: 'servfail', reason: /answered (REFUSED|NOTAUTH)/ });

  const big = await upstream.query('big.example.com', 'TXT');
  t.equal(big.status, 'ok');
  t.equal(big.records.length, 12, 'the whole answer came over TCP');

  const findDelegation = createDelegationFinder({ upstream, clock, egress: anywhere(clock), port: server.port });
  t.same((await findDelegation('Child.example.com.'))?.slice().sort(), ['ns1.child.example.com', 'ns1.zoneplane.test']);
  t.equal(await findDelegation('www.example.com'), undefined, 'a name without a delegation');
  t.equal(await findDelegation('none.example.com'), undefined, 'a name that does not exist');
  t.same(await findDelegation('a.b.sub.example.com'), ['ns9.example.net'], 'the parent may be several labels above');
  const lost = createDelegationFinder({
    upstream: createUpstream({ servers: [], clock }),
    clock,
    egress: anywhere(clock),
  });
  t.equal(await lost('child.example.com'), undefined, 'nobody to ask');
});

/** A UDP server that answers what `reply` makes of the query; undefined keeps silent. */
async function startLiar(
  reply: (query: Buffer) => Buffer | undefined,
): Promise<{ server: UpstreamServer; socket: Socket }> {
  const socket = createSocket('udp4');
  socket.on('message', (query, { address, port }) => {
    const answer = reply(query);
    if (answer) socket.send(answer, port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { server: { host: '127.0.0.1', port: socket.address().port }, socket };
}

/** The query as an empty answer with `flags` in its second 16 bits. */
function echo(query: Buffer, flags: number): Buffer {
  const answer = Buffer.from(query);
  answer.writeUInt16BE(flags, 2);
  return answer;
}

t.test('answers that must not be trusted', async (t) => {
  const cases: [string, (query: Buffer) => Buffer | undefined, object][] = [
    ['silence', () => undefined, { status: 'timeout', reason: /no answer within \d+ ms/ }],
    [
      'another id',
      (query) => {
        const answer = echo(query, 0x8180);
        answer.writeUInt16BE(query.readUInt16BE(0) ^ 1, 0);
        return answer;
      },
      { status: 'timeout' },
    ],
    [
      'another question',
      (query) => {
        const answer = echo(query, 0x8180);
        answer[13] = 'x'.charCodeAt(0);
        return answer;
      },
      { status: 'servfail', reason: /another question/ },
    ],
    ['the query sent back', (query) => query, { status: 'servfail', reason: /another question/ }],
    [
      'an announced record that is missing',
      (query) => {
        const answer = echo(query, 0x8180);
        answer.writeUInt16BE(1, 6);
        return answer;
      },
      { status: 'servfail', reason: /cannot be read/ },
    ],
    ['SERVFAIL', (query) => echo(query, 0x8182), { status: 'servfail', reason: /answered SERVFAIL/ }],
    ['NXDOMAIN', (query) => echo(query, 0x8183), { status: 'nxdomain', records: [] }],
    ['truncated, and no TCP there', (query) => echo(query, 0x8380), { status: 'servfail', reason: /ECONNREFUSED/ }],
  ];
  for (const [name, reply, expected] of cases) {
    const { server, socket } = await startLiar(reply);
    const answer = await createUpstream({ servers: [server], clock, timeoutMs: 80 }).query('a.example', 'A');
    t.match(answer, expected, name);
    socket.close();
  }
});

t.test('the next server is asked when one fails', async (t) => {
  const silent = await startLiar(() => undefined);
  const failing = await startLiar((query) => echo(query, 0x8182));
  const good = await startLiar((query) => echo(query, 0x8180));
  t.teardown(() => [silent, failing, good].forEach(({ socket }) => void socket.close()));
  const servers = [silent.server, failing.server, good.server];
  const answer = await createUpstream({ servers, clock, timeoutMs: 50 }).query('a.example', 'A');
  t.same(answer, { status: 'nodata', records: [], referral: [] });
  const failures = await createUpstream({ servers: servers.slice(0, 2), clock, timeoutMs: 50 }).query('a.example', 'A');
  t.match(failures, { status: 'servfail', reason: /no answer.*; .*answered SERVFAIL/ });
  const late = await createUpstream({ servers, clock, timeoutMs: 50, deadlineMs: 50 }).query('a.example', 'A');
  t.equal(late.status, 'timeout', 'the deadline ends the walk through the servers');
});

t.test('a TCP server that never answers is abandoned', async (t) => {
  const tcp = createServer(() => {}).listen(0, '127.0.0.1');
  await once(tcp, 'listening');
  const { port } = tcp.address() as { port: number };
  const socket = createSocket('udp4');
  socket.on('message', (query, remote) => socket.send(echo(query, 0x8380), remote.port, remote.address));
  socket.bind(port, '127.0.0.1');
  await once(socket, 'listening');
  const sockets: { destroy(): void }[] = [];
  tcp.on('connection', (connection) => sockets.push(connection));
  const upstream = createUpstream({ servers: [{ host: '127.0.0.1', port }], clock, timeoutMs: 80 });
  t.match(await upstream.query('a.example', 'A'), { status: 'timeout', reason: /over TCP/ });
  socket.close();
  for (const connection of sockets) connection.destroy();
  tcp.close();
});

t.test('no servers, unknown servers', async (t) => {
  t.match(await createUpstream({ servers: [], clock }).query('a.example', 'A'), { status: 'timeout' });
  const unknown = { host: 'resolver.invalid', port: 53 };
  t.match(await createUpstream({ servers: [unknown], clock }).query('a.example', 'A'), {
    status: 'timeout',
    reason: /address of this server is unknown/,
  });
});

t.test(
  'a server that no datagram can be sent to',
  { skip: process.platform !== 'linux' && 'Linux only' },
  async (t) => {
    // Linux refuses datagrams to this address (EACCES), as it does where there is no route (ENETUNREACH).
    const server = { host: '255.255.255.255', port: 53 };
    t.match(await createUpstream({ servers: [server], clock, timeoutMs: 50 }).query('a.example', 'A'), {
      status: 'timeout',
      reason: /EACCES/,
    });
  },
);
