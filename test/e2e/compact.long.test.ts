/**
 * Compact denial in the whole program: unbound validates every kind of answer before, during and after changes of the denial, a
 * flood of names that do not exist takes no more than its time, and a DNS process that is replaced gets its key again.
 */
import { createSocket } from 'node:dgram';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { sleep } from '../../src/base/clock.js';
import { Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import { type DecodedMessage, decodeMessage, makeQuery } from '../support/message.js';
import { type Program, startProgram, stopProgram } from '../support/program.js';
import { askAll } from '../support/reference-servers.js';
import { isUnboundMissing, startUnbound, WITHOUT_CACHE } from '../support/unbound.js';
import { until } from '../support/until.js';

const skip = !isUnboundMissing() || process.env['CI'] === 'true' ? false : 'not installed: unbound';
const KEY = 'k0123456789abcdef0123456789abcdef0123';
const ZONE = 'compact.test';
const OTHER = 'other.test';
/** With this, NXDOMAIN is wanted (RFC 9824 §5.1). */
const COMPACT_OK = 0x40;

interface World {
  readonly program: Program;
  readonly directory: string;
  call(method: string, path: string, body?: object): Promise<unknown>;
  /** The zones' identifiers. */
  readonly zone: string;
}

async function start(t: Test): Promise<World> {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-compact-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const program = await startProgram({ directory, key: KEY });
  t.teardown(() => stopProgram(program));
  const call = async (method: string, path: string, body?: object): Promise<unknown> => {
    const response = await fetch(`${program.api}/client/v4${path}`, {
      method,
      headers: { 'X-Auth-Email': 'admin@localhost', 'X-Auth-Key': KEY, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const { success, errors, result } = (await response.json()) as {
      success: boolean;
      errors: object;
      result: unknown;
    };
    if (!success) throw new Error(JSON.stringify(errors));
    return result;
  };
  const [zone, other] = [await makeZone(ZONE), await makeZone(OTHER)];
  async function makeZone(name: string): Promise<string> {
    return ((await call('POST', '/zones', { name })) as { id: string }).id;
  }
  await call('POST', `/zones/${other}/dns_records`, { type: 'A', name: 'www', content: '192.0.2.9', ttl: 60 });
  for (const [type, name, content] of [
    ['A', 'www', '192.0.2.1'],
    ['TXT', 'a.b.c', '"below empty non-terminals"'],
    ['A', '*.wild', '192.0.2.2'],
    ['CNAME', '*.al', `q.wild.${ZONE}`],
    ['CNAME', 'gone', `missing.${ZONE}`],
    ['NS', 'cut', 'ns.elsewhere.test'],
  ] as const) {
    await call('POST', `/zones/${zone}/dns_records`, { type, name, content, ttl: 60 });
  }
  return { program, directory, call, zone };
}

const KINDS: readonly (readonly [name: string, type: number])[] = [
  ['www', Type.a],
  ['WWW', Type.aaaa],
  ['missing', Type.a],
  ['deep.missing', Type.txt],
  ['b.c', Type.a],
  ['x.b.c', Type.a],
  ['x.wild', Type.a],
  ['x.wild', Type.txt],
  ['x.al', Type.a],
  ['x.al', Type.mx],
  ['gone', Type.a],
  ['cut', Type.ds],
];

function dnssecQuery(name: string, type: number, flags = 0): Buffer {
  const query = makeQuery(parseName(`${name}.`), type, { edns: 1232, dnssecOk: true });
  query[query.length - 4]! |= flags;
  return query;
}

async function ask({ dnsPort }: Program, name: string, type: number, flags = 0): Promise<DecodedMessage> {
  const [answer] = await askAll(dnsPort, [dnssecQuery(name, type, flags)], 3000, 5);
  return decodeMessage(answer!);
}

/** Over TCP. */
function askStream({ dnsPort }: Program, name: string, type: number): Promise<DecodedMessage> {
  const query = dnssecQuery(name, type);
  return new Promise((resolve, reject) => {
    const socket = connect(dnsPort, '127.0.0.1');
    const pieces: Buffer[] = [];
    socket.on('error', reject);
    socket.on('data', (piece) => {
      pieces.push(piece);
      const octets = Buffer.concat(pieces);
      if (octets.length < 2 || octets.length < 2 + octets.readUInt16BE(0)) return;
      socket.destroy();
      resolve(decodeMessage(octets.subarray(2)));
    });
    socket.write(Buffer.concat([Buffer.of(query.length >>> 8, query.length), query]));
  });
}

async function metric({ api }: Program, name: string): Promise<number> {
  const text = await (await fetch(`${api}/metrics`)).text();
  return Number(new RegExp(`^zoneplane_${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

t.test(
  'unbound believes every answer of nsec, nsec3 and compact zones, also what it remembers',
  { skip, timeout: 540_000 },
  async (t) => {
    const { program, call, zone } = await start(t);
    const { ds } = (await call('PATCH', `/zones/${zone}/dnssec`, { status: 'active' })) as { ds: string };
    const common = { names: [ZONE], ports: [program.dnsPort], anchors: [ds] };
    const fresh = await startUnbound(t, { ...common, settings: WITHOUT_CACHE });
    const remembering = await startUnbound(t, { ...common, settings: ['aggressive-nsec: yes'] });
    await until(async () => (await fresh.judge(ZONE, Type.soa)) === 'secure 0');
    for (const [round, denial] of ['nsec', 'compact', 'nsec3', 'compact', 'nsec'].entries()) {
      await call('PATCH', `/zones/${zone}/dnssec`, { denial });
      const serial = ((await call('GET', `/zones/${zone}/dnssec/status`)) as { denial: string }).denial;
      t.equal(serial, denial);
      // No NSEC3PARAM, or a list of types: the change is served.
      const isServed = async (): Promise<boolean> => {
        const { authority, rcode } = await ask(program, `r${round}.${ZONE}`, Type.a);
        const types = authority.map(({ type }) => type);
        const kind = rcode === 3 ? (types.includes(Type.nsec3) ? 'nsec3' : 'nsec') : 'compact';
        return rcode !== 2 && kind === denial;
      };
      await until(isServed);
      for (const { judge } of [fresh, remembering]) {
        for (const [name, type] of KINDS) {
          const full = `${name}.${ZONE}`;
          t.match(await judge(full, type), /^secure [03]$/, `${denial}: ${full} ${type}`);
        }
        t.match(await judge(`r${round}x.${ZONE}`, Type.a), /^secure [03]$/);
      }
    }
  },
);

t.test('a flood, a process that is replaced, and a master key that is away', { skip, timeout: 540_000 }, async (t) => {
  const { program, call, zone, directory } = await start(t);
  await call('PATCH', `/zones/${zone}/dnssec`, { status: 'active', denial: 'compact' });
  await until(async () => (await ask(program, `first.${ZONE}`, Type.a)).authority.length === 4);
  t.equal((await ask(program, `first.${ZONE}`, Type.a)).rcode, 0);
  t.equal((await ask(program, `first.${ZONE}`, Type.a, COMPACT_OK)).rcode, 3);
  t.equal((await askStream(program, `first.${ZONE}`, Type.a)).rcode, 0);

  const before = [
    await metric(program, 'dns_compact_signed_total'),
    await metric(program, 'dns_compact_seconds_total'),
  ];
  const began = performance.now();
  const socket = createSocket('udp4');
  let truncated = 0;
  let whole = 0;
  socket.on('message', (message) => ((message[2]! & 2) !== 0 ? truncated++ : whole++));
  let [asked, others] = [0, 0];
  // On a slow machine it takes longer until the budget is used up.
  for (let i = 0; i < 400 || (truncated <= whole && i < 8000); i++) {
    for (let j = 0; j < 50; j++) socket.send(dnssecQuery(`f${i}-${j}.${ZONE}`, Type.a), program.dnsPort, '127.0.0.1');
    if (i % 20 === 0) {
      asked++;
      const stream = await askStream(program, `s${i}.${ZONE}`, Type.a);
      t.match([stream.rcode, stream.authority.length], [0, 4], 'a stream gets its proof');
      others += (await ask(program, `www.${OTHER}`, Type.a)).answer.length;
    }
    await sleep(5);
  }
  const seconds = (performance.now() - began) / 1000;
  // Processes tell their metrics once a second.
  await sleep(1500);
  socket.close();
  const signedSince = async (): Promise<number> => (await metric(program, 'dns_compact_signed_total')) - before[0]!;
  await until(async () => (await signedSince()) >= whole);
  const signed = await signedSince();
  const spent = (await metric(program, 'dns_compact_seconds_total')) - before[1]!;
  t.comment(`${seconds} s: ${whole} signed, ${truncated} truncated, ${signed} signatures, ${spent} s`);
  t.ok(truncated > whole, 'most are sent to TCP');
  t.ok(whole > 0 && whole <= signed);
  t.ok(spent < 0.2 * (seconds + 1.5) + 0.4, `no more than its part of a thread: ${spent} s`);
  t.equal(others, asked, 'other zones are answered');

  const key = join(directory, 'data', 'master.key');
  const text = readFileSync(key);
  rmSync(key);
  const killed = dnsProcess(program);
  process.kill(killed, 'SIGKILL');
  await until(async () => dnsProcess(program, killed) !== 0);
  await until(
    async () => (await askAll(program.dnsPort, [dnssecQuery(`www.${ZONE}`, Type.a)], 500, 1))[0] !== undefined,
  );
  t.equal((await ask(program, `www.${ZONE}`, Type.a)).answer.length, 2, 'what exists needs no key');
  const failed = await ask(program, `without.${ZONE}`, Type.a);
  t.strictSame([failed.rcode, failed.opt?.options.toString('hex')], [2, '000f0002000e']);
  writeFileSync(key, text, { mode: 0o600 });
  await until(async () => (await ask(program, `again.${ZONE}`, Type.a)).authority.length === 4);
  t.notMatch(program.printed(), /PRIVATE KEY/);
});

/** The process number of the DNS process, other than `before`; 0: there is none. */
function dnsProcess({ child }: Program, before = 0): number {
  const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'latin1')
    .trim()
    .split(' ')
    .map(Number);
  const isDns = (pid: number): boolean => readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('dns');
  return children.find((pid) => pid > 0 && pid !== before && isDns(pid)) ?? 0;
}
