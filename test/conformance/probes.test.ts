/**
 * The table of probes, sent to the engine directly, over TCP and over both UDP transports, which must all give the same
 * answer; and to NSD, Knot and BIND, so that no row expects an answer that no other server gives.
 */
import { MessageChannel } from 'node:worker_threads';
import t from 'tap';
import { createEngine } from '../../src/answer/engine.js';
import { DEFAULT_ENGINE_SETTINGS } from '../../src/answer/state.js';
import { Transport } from '../../src/answer/transport.js';
import { SystemClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/log.js';
import { Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import { startDnsServers } from '../../src/server/start.js';
import { makeQuery } from '../support/message.js';
import { askAll, askAllByTcp, missingReferences, startReferences } from '../support/reference-servers.js';
import { serveZones } from '../support/served-zones.js';
import { meets, PROBE_APEX, PROBE_SETTINGS, PROBE_ZONE, PROBES, type Probe } from './probe-table.js';

/** Silence has to be waited for, milliseconds. */
const PATIENCE_MS = 300;
/** Other programs may have the processors. */
const REFERENCE_PATIENCE_MS = 2000;
const LATE_MS = 20_000;

const SETTINGS = { ...DEFAULT_ENGINE_SETTINGS, ...PROBE_SETTINGS };
const ZONES = [{ apex: PROBE_APEX, text: PROBE_ZONE }];
const served = serveZones(ZONES, SETTINGS);
const forUdp = PROBES.filter(({ only }) => only !== 'tcp');
const forTcp = PROBES.filter(({ only }) => only !== 'udp');
t.strictSame([...served.refused], [], 'the zone loads');

function direct(query: Buffer, transport: 0 | 1 | 2 | 3): Buffer | undefined {
  const out = Buffer.alloc(65535);
  const length = served.answer(query, 0, query.length, out, 0, out.length, transport);
  return length === 0 ? undefined : out.subarray(0, length);
}

type Tap = Pick<typeof t, 'strictSame'>;

function checkAll(t: Tap, probes: readonly Probe[], answers: readonly (Buffer | undefined)[], where: string): void {
  const wrong = probes.flatMap((probe, index) =>
    meets(probe, answers[index])
      ? []
      : [`${probe.what} (${probe.rfc}): ${answers[index]?.subarray(0, 100).toString('hex') ?? 'silence'}`],
  );
  t.strictSame(wrong, [], `${probes.length} probes, ${where}`);
}

const queriesOf = (probes: readonly Probe[]): Buffer[] => probes.map(({ query }) => query);

t.test('the engine', async (t) => {
  const answersBy = (probes: readonly Probe[], transport: 0 | 1): (Buffer | undefined)[] =>
    probes.map(({ query }) => direct(query, transport));
  checkAll(t, forUdp, answersBy(forUdp, Transport.udp), 'as over UDP');
  checkAll(t, forTcp, answersBy(forTcp, Transport.tcp), 'as over TCP');
});

for (const transport of ['portable', 'batched'] as const) {
  const skip = transport === 'batched' && process.platform !== 'linux' ? 'batched system calls are for Linux' : false;
  t.test(`over sockets, ${transport}`, { skip }, async (t) => {
    const servers = await startDnsServers({
      addresses: ['127.0.0.1'],
      port: 0,
      transport,
      workers: 1,
      answer: createEngine(served.writer.reader, SETTINGS),
      workerEngine: {
        connect: () => ({
          data: { image: served.writer.current(), settings: SETTINGS },
          port: new MessageChannel().port2,
        }),
      },
      log: silentLogger(),
      clock: new SystemClock(),
    });
    try {
      checkAll(t, forUdp, await askOurs(servers.port), 'UDP');
      checkAll(t, forTcp, await askAllByTcp(servers.port, queriesOf(forTcp)), 'TCP');
    } finally {
      await servers.close();
    }
  });
}

/** Who has to answer gets more time than who has to be silent. */
async function askOurs(port: number): Promise<(Buffer | undefined)[]> {
  const answers = await askAll(port, queriesOf(forUdp), PATIENCE_MS, 1);
  const missing = [...forUdp.entries()].filter(([i, probe]) => !answers[i] && !meets(probe, undefined));
  const late = await askAll(port, queriesOf(missing.map(([, probe]) => probe)), LATE_MS, 1);
  for (const [at, [i]] of missing.entries()) answers[i] = late[at];
  return answers;
}

function byProbe(probes: readonly Probe[], answers: readonly (Buffer | undefined)[]): Map<Probe, Buffer | undefined> {
  return new Map(probes.map((probe, index) => [probe, answers[index]]));
}

/** One connection each, a few at a time: some close it after what they do not like, some take only so many. */
async function askOneByOne(port: number, probes: readonly Probe[]): Promise<(Buffer | undefined)[]> {
  const answers: (Buffer | undefined)[] = [];
  const left = [...probes.entries()];
  const askNext = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift()) {
      answers[next[0]] = (await askAllByTcp(port, [next[1].query], REFERENCE_PATIENCE_MS))[0];
    }
  };
  await Promise.all(Array.from({ length: 10 }, askNext));
  return answers;
}

const missing = missingReferences();
const skip = missing.length > 0 && process.env['CI'] !== 'true' ? `not installed: ${missing.join(', ')}` : false;
t.test('at least one of NSD, Knot and BIND gives the expected answer', { skip }, async (t) => {
  const { servers, stop } = await startReferences(ZONES);
  try {
    const answers = await Promise.all(
      servers.map(async ({ port }) => ({
        udp: byProbe(forUdp, await askAll(port, queriesOf(forUdp), REFERENCE_PATIENCE_MS, 1)),
        tcp: byProbe(forTcp, await askOneByOne(port, forTcp)),
      })),
    );
    const alone = (probes: readonly Probe[], kind: 'udp' | 'tcp'): string[] =>
      probes.flatMap((probe) =>
        probe.ours !== undefined || answers.some((all) => meets(probe, all[kind].get(probe)))
          ? []
          : [`${probe.what}: ${answers.map((all) => all[kind].get(probe)?.toString('hex') ?? 'silence').join(' ')}`],
      );
    t.strictSame(alone(forUdp, 'udp'), [], 'over UDP');
    // Over TCP they close the connection over some messages that they answer over UDP: what they say there holds.
    const spoken = forTcp.filter(
      (probe) => probe.only === 'tcp' || answers.some(({ tcp }) => tcp.get(probe) !== undefined),
    );
    t.ok(spoken.length > forTcp.length / 2, `${spoken.length} of ${forTcp.length} answered over TCP`);
    t.strictSame(alone(spoken, 'tcp'), [], 'over TCP');
    servers.forEach(({ name }, at) => {
      const met = forUdp.filter((probe) => meets(probe, answers[at]!.udp.get(probe))).length;
      t.comment(`${name}: ${met} of ${forUdp.length} over UDP`);
    });
  } finally {
    await stop();
  }
});

t.test('answers over encrypted transports are padded if the query was (RFC 8467 §4.1)', async (t) => {
  const www = parseName(`www.${PROBE_APEX}`);
  const plain = makeQuery(www, Type.a, { edns: 1232 });
  const padded = makeQuery(www, Type.a, { edns: 1232, options: Buffer.from('000c000400000000', 'hex') });
  const length = (query: Buffer, transport: 1 | 2 | 3): number => direct(query, transport)!.length;
  t.equal(length(padded, Transport.tls), 468);
  t.equal(length(padded, Transport.https), 468);
  t.ok(length(padded, Transport.tcp) < 100, 'not in the clear');
  t.ok(length(plain, Transport.tls) < 100, 'not unasked');
});
