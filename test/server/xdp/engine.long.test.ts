/**
 * The engine behind a network interface: the table of probes gets the answers that sockets give, over IPv4 and IPv6, and answers are as
 * long as the MTU allows.
 */
import { MessageChannel } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { createEngine } from '../../../src/answer/engine.js';
import { DEFAULT_ENGINE_SETTINGS } from '../../../src/answer/state.js';
import { sleep } from '../../../src/base/clock.js';
import { Type } from '../../../src/dns/codes.js';
import { parseName } from '../../../src/dns/name.js';
import { meets, PROBE_APEX, PROBE_SETTINGS, PROBE_ZONE, PROBES } from '../../conformance/probe-table.js';
import { decodeMessage, makeQuery } from '../../support/message.js';
import { serveZones } from '../../support/served-zones.js';
import { whyNoInterfaces } from './veth.js';
import { type Ask, type Family, LAST, serveAtInterface, setMtu } from './world.js';

const skip = whyNoInterfaces() ?? false;
const PREFIX = `zpe${process.pid.toString(36)}`;

/** `udpSize`: octets of the longest answer. */
function serve(test: Test, name: string, mtu: number, udpSize: number): Promise<Ask> {
  const settings = { ...DEFAULT_ENGINE_SETTINGS, ...PROBE_SETTINGS, udpSize };
  const { writer } = serveZones([{ apex: PROBE_APEX, text: PROBE_ZONE }], settings);
  return serveAtInterface(test, name, mtu, {
    answer: createEngine(writer.reader, settings),
    connect: () => ({ data: { image: writer.current(), settings }, port: new MessageChannel().port2 }),
  });
}

t.test('the probes get the answers that they get over sockets', { skip }, async (t) => {
  const askOverWire = await serve(t, `${PREFIX}a`, 1500, DEFAULT_ENGINE_SETTINGS.udpSize);
  const probes = PROBES.filter(({ only }) => only !== 'tcp');
  for (const family of ['IPv4', 'IPv6'] as const) {
    const short = probes.filter(({ query }) => query.length <= 1400);
    t.ok(short.length > 100, `${short.length} of ${probes.length} probes fit into a frame`);
    const answers = await askOverWire(
      family,
      short.map(({ query }) => query),
    );
    const failed = short.filter((probe, i) => !meets(probe, answers[i])).map(({ what }) => what);
    t.strictSame(failed, [], family);
  }
});

const ask = (owner: string): Buffer => makeQuery(parseName(`${owner}.${PROBE_APEX}`), Type.txt, { edns: 4096 });

/** Which are truncated of an answer of 1 232 octets and OPT, and of one of about 1 650. */
async function cut(askOverWire: Ask, family: Family): Promise<(boolean | undefined)[]> {
  const answers = await askOverWire(family, [ask('fit1232'), ask('big')]);
  return answers.map((answer) => answer && decodeMessage(answer).tc);
}

t.test('answers are as long as the MTU allows', { skip }, async (t) => {
  const small = await serve(t, `${PREFIX}b`, 1500, 4096);
  t.strictSame(await cut(small, 'IPv4'), [false, true], 'MTU 1500');
  setMtu(`${PREFIX}b`, 1280);
  while ((await cut(small, 'IPv6'))[0] !== true) await sleep(100);
  t.strictSame(await cut(small, 'IPv6'), [true, true], 'IPv6 with MTU 1280, as soon as it is noticed');
  t.strictSame(await cut(small, 'IPv4'), [false, true], 'IPv4 has shorter headers');
});

t.test('an MTU of 9000: short frames come to us, long ones to the sockets', { skip }, async (t) => {
  const large = await serve(t, `${PREFIX}c`, 9000, 4096);
  for (const family of ['IPv4', 'IPv6'] as const) {
    t.strictSame(await cut(large, family), [false, false], `${family} with MTU 9000`);
    const long = Buffer.concat([LAST, Buffer.alloc(3000)]);
    // What goes there may come back later than what was sent after it.
    while (!(await large(family, [long]))[0]) await sleep(10);
    t.pass('answered by the sockets');
  }
});
