/** The real program under load and under attack: a change is served when it is committed, and the effect of garbage packets. */
import { execFileSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { sleep } from '../../src/base/clock.js';
import { parseName } from '../../src/dns/name.js';
import { decodeMessage, makeQuery } from '../support/message.js';
import { startProgram, stopProgram } from '../support/program.js';
import { askAll } from '../support/reference-servers.js';
import { seededRandom } from '../support/seeded-random.js';

const KEY = 'serving-key-0123456789-0123456789-0123456789';
const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
const directory = mkdtempSync(join(tmpdir(), 'zoneplane-serving-'));

mkdirSync(join(directory, 'zones'));
writeFileSync(
  join(directory, 'zones', 'example.com.zone'),
  '$ORIGIN example.com.\n$TTL 300\n@ SOA ns h 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\nwww A 192.0.2.2\n*.wild TXT "w"\nsub NS ns.sub\nns.sub A 192.0.2.3\n',
);
const program = await startProgram({ directory, key: KEY });
const { child: server, dnsPort, adminPort } = program;
const api = `${program.api}/client/v4`;
t.teardown(async () => {
  await stopProgram(program);
  rmSync(directory, { recursive: true, force: true });
});

async function isReady(): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${adminPort}/readyz`)).ok;
  } catch {
    return false;
  }
}

async function zoneId(): Promise<string> {
  const response = await fetch(`${api}/zones?name=example.com`, { headers: HEADERS });
  return ((await response.json()) as { result: { id: string }[] }).result[0]!.id;
}

/** How often DNS is asked after the API's answer until it gives the new address. */
async function looksUntilServed(zone: string, index: number): Promise<number> {
  const body = JSON.stringify({ type: 'A', name: `p${index}`, content: `192.0.2.${index % 250}`, ttl: 60 });
  const response = await fetch(`${api}/zones/${zone}/dns_records`, { method: 'POST', headers: HEADERS, body });
  if (response.status !== 200) throw new Error(await response.text());
  await response.arrayBuffer();
  const query = makeQuery(parseName(`p${index}.example.com.`), 1);
  for (let looks = 1; ; looks++) {
    const [answer] = await askAll(dnsPort, [query], 500, 3);
    if ((answer && decodeMessage(answer).rcode === 0) || looks === 10_000) return looks;
  }
}

t.test('a change is served when it is committed, not when the DNS process looks by itself', async (t) => {
  const zone = await zoneId();
  const looks: number[] = [];
  for (let i = 0; i < 200; i++) looks.push(await looksUntilServed(zone, i));
  looks.sort((a, b) => a - b);
  t.ok(looks.at(-1)! < 10_000, 'each one is served');
  // Without wake-ups, half of them would take 250 ms and longer (IDLE_LOOK_MS of publish/publisher.ts), which is many questions.
  t.ok(looks[100]! < 20, `half of them were seen by ${looks[100]} questions`);
});

const VALID = ['www', 'none', 'x.wild', 'x.sub', '@'].map((owner) =>
  makeQuery(parseName(owner === '@' ? 'example.com.' : `${owner}.example.com.`), 1, { edns: 1232 }),
);
const octets = seededRandom(7);

/** Random octets, or a good query with a few octets changed or its end cut off. */
function makeGarbage(): Buffer {
  const [kind, a, b, c] = octets.bytes(4) as unknown as [number, number, number, number];
  if (kind < 80) return Buffer.from(octets.bytes((a % 120) + 1));
  const message = Buffer.from(VALID[a % VALID.length]!);
  for (let i = 0; i < (b % 5) + 1; i++) message[octets.bytes(1)[0]! % message.length] = octets.bytes(1)[0]!;
  return kind < 110 ? message.subarray(0, c % message.length) : message;
}

function processOf(role: 'admin' | 'dns'): number {
  const all = execFileSync('ps', ['--ppid', String(server.pid), '-o', 'pid=,args='], { encoding: 'utf8' });
  return Number.parseInt(all.split('\n').find((line) => line.includes(`--role ${role}`))!, 10);
}

function dnsMemory(): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${processOf('dns')}/status`, 'latin1'))![1]) / 1024;
}

t.test('edits stand back behind answers', { skip: process.platform !== 'linux' }, async (t) => {
  const of = (role: 'admin' | 'dns'): number[] => {
    const pid = processOf(role);
    const threads = readdirSync(`/proc/${pid}/task`);
    // Those that work for the ones that wait stand back more.
    return threads.map((thread) => getPriority(Number(thread))).sort((a, b) => a - b);
  };
  t.equal(of('dns')[0], getPriority());
  t.equal(of('admin')[0], Math.min(19, getPriority() + 5), 'all threads of the admin process');
});

const MAY_ANSWER = [0, 1, 3, 4, 5, 9, 16];

t.test(
  '100 000 random and mutated packets',
  { skip: process.platform !== 'linux' && 'reads /proc', timeout: 300_000 },
  async (t) => {
    const before = dnsMemory();
    const seen = new Map<number, number>();
    let answered = 0;
    const socket = createSocket('udp4');
    socket.on('message', (message) => {
      const { rcode } = decodeMessage(message);
      seen.set(rcode, (seen.get(rcode) ?? 0) + 1);
      answered++;
    });
    for (let sent = 0; sent < 80_000; sent++) {
      socket.send(makeGarbage(), dnsPort, '127.0.0.1');
      // Until they are read: few enough at once for any receive queue.
      if (sent % 200 === 0) await askAll(dnsPort, [VALID[0]!]);
    }
    await sleep(200);
    socket.close();
    for (let round = 0; round < 40; round++) await sendGarbageByTcp(500);
    t.strictSame(
      [...seen.keys()].filter((rcode) => !MAY_ANSWER.includes(rcode)),
      [],
      'only response codes that make sense',
    );
    t.ok(answered > 10_000, 'much of it is answered');
    t.comment(`80 000 by UDP, answers by rcode: ${JSON.stringify([...seen].sort((a, b) => a[0] - b[0]))}`);
    const [answer] = await askAll(dnsPort, [VALID[0]!]);
    t.equal(answer && decodeMessage(answer).answer.length, 1, 'it serves on');
    const grown = dnsMemory() - before;
    t.ok(grown < 64, `memory grew by ${grown.toFixed(0)} MiB`);
    t.ok(await isReady(), 'nothing was restarted meanwhile or is down');
  },
);

/** Frames of garbage over one connection; the server may close it whenever it likes. */
async function sendGarbageByTcp(count: number): Promise<void> {
  const socket = connect(dnsPort, '127.0.0.1');
  socket.on('error', () => {});
  socket.resume();
  await once(socket, 'connect');
  for (let i = 0; i < count && !socket.destroyed; i++) {
    const packet = makeGarbage();
    const prefix = Buffer.alloc(2);
    prefix.writeUInt16BE(packet.length);
    socket.write(Buffer.concat([prefix, packet]));
  }
  socket.end();
  if (!socket.closed) await Promise.race([once(socket, 'close'), sleep(2000)]);
  socket.destroy();
}
