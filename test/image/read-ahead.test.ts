/** What is read before the questions of a batch are answered: where they lead, whatever they are, and nothing else. */
import t from 'tap';
import { parseName } from '../../src/dns/name.js';
import { hashName } from '../../src/image/layout.js';
import { ReadAhead } from '../../src/image/read-ahead.js';
import { ImageWriter } from '../../src/image/writer.js';
import { throwDice } from '../support/dice.js';

const SEED = 20261127;
const STRIDE = 300;
const ROOM = 64;

function largeImage(zones: readonly string[], names: readonly string[]) {
  const writer = new ImageWriter({ seed: 7, slots: 1 << 16 });
  const nodes = new Map<string, number>();
  for (const zone of zones) {
    const apex = parseName(`${zone}.`);
    const number = writer.beginZone(apex);
    const owners = ['', ...names].map((name) => `${name}${name && '.'}${zone}`);
    for (const owner of owners) {
      const rrsets = [{ type: 1, ttl: 60, rdatas: [Uint8Array.of(192, 0, 2, 1)] }];
      writer.loadNode(number, { owner: parseName(`${owner}.`), apex, rrsets });
    }
    writer.publishZone(number);
    writer.commit();
    for (const owner of owners) {
      const wire = parseName(`${owner}.`);
      const view = new DataView(wire.buffer, wire.byteOffset, wire.byteLength);
      nodes.set(owner, writer.reader.findNode(number, hashName(7, wire), view, 0, wire.length));
    }
  }
  return { image: writer.reader, nodes };
}

/** Questions about these names behind headers, each in its place. */
function messages(names: readonly string[]): DataView {
  const octets = new Uint8Array(STRIDE * ROOM);
  for (const [i, name] of names.entries()) octets.set(parseName(`${name}.`), i * STRIDE + 12);
  // Upper case as some resolvers send it.
  for (const [at, octet] of octets.entries()) if (octet >= 97 && at % 3 === 0) octets[at] = octet - 32;
  return new DataView(octets.buffer);
}

/** The words of an image that are read. */
function readWords(image: ReturnType<typeof largeImage>['image'], read: (ahead: ReadAhead) => void): Set<number> {
  const seen = new Set<number>();
  const words = new Proxy(image.words, {
    get(target, key) {
      if (typeof key === 'string' && /^\d+$/.test(key)) seen.add(Number(key));
      return Reflect.get(target, key, target);
    },
  });
  const watched = Object.create(image, { words: { value: words } });
  read(new ReadAhead(watched));
  return seen;
}

t.test('the nodes of the names that exist', async (t) => {
  const { image, nodes } = largeImage(['one.test', 'two.test', 'deep.two.test'], ['www', 'a.b']);
  const asked = [...nodes.keys(), 'absent.one.test', 'elsewhere.example'];
  const seen = readWords(image, (ahead) => ahead.read(messages(asked), 0, STRIDE, asked.length));
  const unread = [...nodes].filter(([, node]) => !seen.has(node)).map(([name]) => name);
  t.same(unread, [], 'in any zone');
  const few = readWords(image, (ahead) => ahead.read(messages(asked), 0, STRIDE, 3));
  t.equal(few.size, 0, 'not for few questions');
});

t.test('whatever is asked', async (t) => {
  const { image } = largeImage(['one.test'], ['www']);
  const { below } = throwDice(SEED);
  const octets = new Uint8Array(STRIDE * ROOM);
  const ahead = new ReadAhead(image);
  for (let round = 0; round < 60; round++) {
    // Mostly short labels, so that names go on.
    for (let at = 0; at < octets.length; at++) octets[at] = below(4) === 0 ? below(256) : below(12);
    ahead.read(new DataView(octets.buffer), 0, STRIDE, ROOM);
  }
  for (const octet of [0, 1, 63, 64, 192, 255]) {
    ahead.read(new DataView(octets.fill(octet).buffer), 0, STRIDE, ROOM);
    t.ok(Number.isInteger(ahead.sum));
  }
});
