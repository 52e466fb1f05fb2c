/**
 * The compiled image: incremental changes equal a rebuild, growth and compaction lose nothing, readers never see two
 * states mixed.
 */
import { MessageChannel, Worker } from 'node:worker_threads';
import t from 'tap';
import { createEngine } from '../../src/answer/engine.js';
import { DEFAULT_ENGINE_SETTINGS } from '../../src/answer/state.js';
import { Transport } from '../../src/answer/transport.js';
import { Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import type { RRset } from '../../src/dns/rr.js';
import { Control, type ImageBuffers } from '../../src/image/layout.js';
import { ImageWriter, type WriterOptions } from '../../src/image/writer.js';
import { soaRRsets } from '../../src/zone/derive/soa.js';
import { failAt } from '../support/failing-memory.js';

const APEX = parseName('example.');
const SOA = soaRRsets({
  mname: parseName('ns1.example.'),
  rname: parseName('hostmaster.example.'),
  serial: 1,
  refresh: 1,
  retry: 1,
  expire: 1,
  minimum: 60,
  ttl: 300,
});

const a = (last: number): RRset => ({ type: Type.a, ttl: 300, rdatas: [Uint8Array.of(192, 0, 2, last)] });
const cname = (target: string): RRset => ({ type: Type.cname, ttl: 300, rdatas: [parseName(target)] });
const node = (owner: string, ...rrsets: RRset[]) => ({ owner: parseName(owner), apex: APEX, rrsets });

function newZone(options: WriterOptions = { seed: 7 }): { writer: ImageWriter; zone: number } {
  const writer = new ImageWriter(options);
  const zone = writer.beginZone(APEX);
  writer.loadNode(zone, node('example.', ...SOA));
  writer.publishZone(zone);
  writer.commit();
  return { writer, zone };
}

function queryFor(name: string, type: number): Uint8Array {
  const wire = parseName(name);
  const out = new Uint8Array(12 + wire.length + 4);
  out[5] = 1;
  out.set(wire, 12);
  out[out.length - 3] = type;
  out[out.length - 1] = 1;
  return out;
}

/** rcode and the octets of the answer's last four octets, enough for an A record's address. */
function ask(
  writer: ImageWriter,
  name: string,
  type: number = Type.a,
): { rcode: number; answers: number; last: number } {
  const answer = createEngine(writer.reader, DEFAULT_ENGINE_SETTINGS);
  const request = queryFor(name, type);
  const out = new Uint8Array(65535);
  const length = answer(request, 0, request.length, out, 0, 65535, Transport.tcp);
  return { rcode: out[3]! & 15, answers: out[7]!, last: out[length - 1]! };
}

t.test('nodes are added, changed and removed', async (t) => {
  const { writer, zone } = newZone();
  t.equal(ask(writer, 'www.example.').rcode, 3);
  writer.putNode(zone, node('www.example.', a(1)));
  t.equal(ask(writer, 'www.example.').rcode, 3, 'not before the commit');
  writer.commit();
  t.strictSame(ask(writer, 'www.example.'), { rcode: 0, answers: 1, last: 1 });
  writer.putNode(zone, node('www.example.', a(2)));
  writer.commit();
  t.equal(ask(writer, 'www.example.').last, 2);
  writer.removeNode(zone, parseName('www.example.'));
  writer.commit();
  t.equal(ask(writer, 'www.example.').rcode, 3);
});

t.test('cuts and wildcards are effective as soon as they exist, and forgotten afterwards', async (t) => {
  const { writer, zone } = newZone();
  const ns: RRset = { type: Type.ns, ttl: 300, rdatas: [parseName('ns.elsewhere.')] };
  writer.putNode(zone, node('*.example.', a(9)));
  writer.putNode(zone, node('sub.example.', ns));
  writer.commit();
  t.equal(ask(writer, 'any.example.').last, 9);
  t.strictSame([ask(writer, 'x.sub.example.').rcode, ask(writer, 'x.sub.example.').answers], [0, 0], 'referral');
  writer.removeNode(zone, parseName('sub.example.'));
  writer.removeNode(zone, parseName('*.example.'));
  writer.commit();
  t.equal(ask(writer, 'x.sub.example.').rcode, 3);
});

t.test('a rebuilt zone appears at once, a removed one is refused', async (t) => {
  const { writer, zone } = newZone();
  writer.putNode(zone, node('old.example.', a(1)));
  writer.commit();
  const next = writer.beginZone(APEX);
  writer.loadNode(next, node('example.', ...SOA));
  writer.loadNode(next, node('new.example.', a(2)));
  t.equal(ask(writer, 'new.example.').rcode, 3, 'invisible while it is loaded');
  writer.publishZone(next, zone);
  writer.commit();
  t.equal(ask(writer, 'old.example.').rcode, 3);
  t.equal(ask(writer, 'new.example.').last, 2);
  writer.removeZone(next);
  writer.commit();
  t.equal(ask(writer, 'new.example.').rcode, 5);
});

t.test('growth and compaction keep every name, and memory returns to its level', async (t) => {
  const writer = new ImageWriter({ seed: 3, heapWords: 4096, slots: 256 });
  const zone = writer.beginZone(APEX);
  writer.loadNode(zone, node('example.', ...SOA));
  for (let i = 0; i < 5000; i++) writer.loadNode(zone, node(`h${i}.example.`, a(i & 255)));
  writer.publishZone(zone);
  writer.commit();
  const wrong = (): number => {
    let count = 0;
    for (let i = 0; i < 5000; i++) if (ask(writer, `h${i}.example.`).last !== (i & 255)) count++;
    return count;
  };
  t.equal(wrong(), 0);
  const settled = writer.usage().heapOctets;
  for (let round = 0; round < 40; round++) {
    for (let i = 0; i < 5000; i++) writer.putNode(zone, node(`h${i}.example.`, a(i & 255)));
    writer.commit();
    writer.compact();
  }
  t.equal(wrong(), 0);
  t.ok(writer.usage().generation > 2, 'buffers were renewed');
  t.ok(writer.usage().heapOctets < settled * 8, 'garbage was collected');
  t.equal(writer.usage().nodes, 5001);
});

/** A million takes half a minute. */
const ROUNDS = Number(process.env['ZONEPLANE_PUBLISH_ROUNDS'] ?? 20_000);

t.test('a reader in another thread sees only whole changes', async (t) => {
  const { writer, zone } = newZone({ seed: 11 });
  writer.putNode(zone, node('alias.example.', cname('t0.example.')));
  writer.putNode(zone, node('t0.example.', a(0)));
  writer.commit();
  const { port1, port2 } = new MessageChannel();
  writer.onGeneration = (buffers) => port1.postMessage(buffers);
  const stop = new Int32Array(new SharedArrayBuffer(8));
  const worker = new Worker(new URL('./asking-worker.js', import.meta.url), {
    workerData: {
      engine: { image: writer.current(), settings: DEFAULT_ENGINE_SETTINGS },
      port: port2,
      stop,
      request: queryFor('alias.example.', Type.a),
    },
    transferList: [port2],
  });
  const result = new Promise<{ asked: number; broken: number }>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  while (Atomics.load(stop, 1) === 0) await new Promise((resolve) => setImmediate(resolve));
  for (let round = 1; round <= ROUNDS; round++) {
    // The alias moves to a new target while the old target vanishes: half of it would be NXDOMAIN.
    writer.putNode(zone, node('alias.example.', cname(`t${round}.example.`)));
    writer.putNode(zone, node(`t${round}.example.`, a(round & 255)));
    writer.removeNode(zone, parseName(`t${round - 1}.example.`));
    writer.commit();
  }
  Atomics.store(stop, 0, 1);
  const { asked, broken } = await result;
  port1.close();
  await worker.terminate();
  t.ok(asked > 100, `${asked} questions were answered meanwhile`);
  t.equal(broken, 0);
  t.comment(`${ROUNDS} changes, ${asked} questions`);
  const { heapOctets, nodes } = writer.usage();
  t.equal(nodes, 3);
  t.ok(heapOctets < 8 << 20, `${heapOctets} octets: garbage was collected`);
});

t.test('after any failure in a commit, readers see the former state, and the next commit succeeds', async (t) => {
  for (const [what, stage] of [
    ['a changed name', (writer, zone) => writer.putNode(zone, node('www.example.', a(2)))],
    ['a name that goes', (writer, zone) => writer.removeNode(zone, parseName('www.example.'))],
    [
      'more names than there are slots',
      (writer, zone) => {
        for (let i = 0; i < 200; i++) writer.putNode(zone, node(`n${i}.example.`, a(2)));
        writer.putNode(zone, node('www.example.', a(2)));
      },
    ],
    [
      'another zone',
      (writer) => {
        const zone = writer.beginZone(parseName('other.'));
        try {
          writer.loadNode(zone, { owner: parseName('other.'), apex: parseName('other.'), rrsets: SOA });
          writer.publishZone(zone);
        } catch (error) {
          writer.abandonZone(zone);
          throw error;
        }
      },
    ],
    ['a zone that goes', (writer, zone) => writer.removeZone(zone)],
  ] as readonly (readonly [string, (writer: ImageWriter, zone: number) => void])[]) {
    let failures = 0;
    // Some hundred steps are alike: one node is copied after the other.
    for (let step = 1, failed = true; failed; step += step < 20 ? 1 : 23) {
      const { writer, zone } = newZone();
      for (let i = 0; i < 100; i++) writer.putNode(zone, node(`h${i}.example.`, a(1)));
      writer.putNode(zone, node('www.example.', a(1)));
      writer.commit();
      const before = ask(writer, 'www.example.');
      const { heapOctets } = writer.usage();
      const sequence = Atomics.load(writer.reader.control, Control.sequence);
      const posted: number[] = [];
      writer.onGeneration = ({ generation }) => void posted.push(generation);
      failed = failAt(step, () => {
        stage(writer, zone);
        writer.commit();
        writer.compact();
      });
      if (!failed) break;
      failures++;
      t.equal(Atomics.load(writer.reader.control, Control.sequence), sequence, `${what}, step ${step}`);
      t.strictSame(ask(writer, 'www.example.'), before);
      writer.discard();
      t.equal(writer.usage().zones, 1);
      t.equal(writer.usage().nodes, 102);
      stage(writer, zone);
      writer.commit();
      t.equal(new Set(posted).size, posted.length, 'no generation is posted twice');
      const fresh = newZone();
      for (let i = 0; i < 100; i++) fresh.writer.putNode(fresh.zone, node(`h${i}.example.`, a(1)));
      fresh.writer.putNode(fresh.zone, node('www.example.', a(1)));
      fresh.writer.commit();
      stage(fresh.writer, fresh.zone);
      fresh.writer.commit();
      for (const name of ['www.example.', 'h1.example.', 'n7.example.', 'other.', 'example.']) {
        t.strictSame(ask(writer, name), ask(fresh.writer, name), `${what}: ${name}`);
      }
      t.ok(writer.usage().heapOctets >= heapOctets / 2);
    }
    t.ok(failures > 0 || what === 'a name that goes' || what === 'a zone that goes', `${failures} failures of ${what}`);
  }
});

t.test('a new generation that cannot be delivered is not used', async (t) => {
  const { writer, zone } = newZone();
  writer.putNode(zone, node('www.example.', a(1)));
  writer.commit();
  const generation = (): number => Atomics.load(writer.reader.control, Control.generation);
  writer.onGeneration = () => {
    throw new Error('the port is gone');
  };
  const fill = (): void => {
    for (let i = 0; i < 4000; i++) writer.putNode(zone, node(`n${i}.example.`, a(2)));
    writer.putNode(zone, node('www.example.', a(2)));
    writer.commit();
  };
  t.throws(fill, /port is gone/);
  t.equal(generation(), 1);
  t.equal(ask(writer, 'www.example.').last, 1);
  const posted: number[] = [];
  writer.onGeneration = (buffers) => void posted.push(buffers.generation);
  writer.discard();
  fill();
  t.ok(posted[0]! > 2, 'the number of the one before is not used again');
  t.equal(generation(), posted.at(-1));
  t.equal(ask(writer, 'www.example.').last, 2);
});

t.test('new buffers are shown before anything is in them', (t) => {
  const shown: number[] = [];
  const onAllocate = ({ generation, heap, slots, filter, zoneSlots }: ImageBuffers): void => {
    for (const memory of [heap, slots, filter, zoneSlots]) {
      t.ok(
        new Int32Array(memory).every((word) => word === 0),
        'nothing is in it',
      );
    }
    shown.push(generation);
  };
  const { writer, zone } = newZone({ seed: 7, slots: 256, onAllocate });
  for (let i = 0; i < 200; i++) writer.putNode(zone, node(`n${i}.example.`, a(i)));
  writer.commit();
  t.strictSame(shown, [1, 2]);
  t.equal(ask(writer, 'n199.example.').last, 199);
  t.end();
});
