/** Reads the samples that answering threads left in their rings (answer/observation.ts). */
import { DNSSEC_OK, Mark, type ObservationBlock, SampleWord, SIGNED, SKIP, Word } from '../answer/observation.js';
import { RRsetSource } from '../dns/rr.js';
import { plainNameEnd } from '../dns/wire-name.js';

/** One answer. Octets are views of the ring, valid until the reader goes on. */
export interface Sample {
  /** Mark bits. */
  readonly marks: number;
  /** Microseconds since 1970 of the question's arrival at the engine, and the time it took. */
  readonly atUs: number;
  readonly tookUs: number;
  /** A Transport code. */
  readonly transport: number;
  readonly rcode: number;
  /** RRsetSource bits. */
  readonly sources: number;
  readonly signed: boolean;
  readonly dnssecOk: boolean;
  /** 4 or 16 octets; none when it is unknown. */
  readonly client: Uint8Array;
  readonly clientPort: number;
  readonly own: Uint8Array;
  /** Wire name in lower case; none when no zone answered. */
  readonly apex: Uint8Array;
  /** Cut after the question unless the sample is for dnstap. */
  readonly request: Uint8Array;
  /** None unless the sample is for dnstap. */
  readonly response: Uint8Array;
  /** Octets of the answer; 0 when there was none. */
  readonly size: number;
}

/** Gives all waiting samples to `take`, then frees their room; `limit` bounds the words read at once. */
export function readSamples({ control, ring, ringOctets }: ObservationBlock, take: (sample: Sample) => void): number {
  const head = Atomics.load(control, Word.head);
  let tail = control[Word.tail]!;
  let count = 0;
  while (tail !== head) {
    const at = tail & (ring.length - 1);
    const length = ring[at + SampleWord.length]!;
    if (length === SKIP) {
      tail = (tail + ring.length - at) | 0;
      continue;
    }
    take(sampleAt(ring, ringOctets, at));
    count += 1;
    tail = (tail + length) | 0;
    Atomics.store(control, Word.tail, tail);
  }
  Atomics.store(control, Word.tail, tail);
  return count;
}

function sampleAt(ring: Int32Array, octets: Uint8Array, at: number): Sample {
  const word = (place: number): number => ring[at + place]!;
  const facts = word(SampleWord.facts);
  const rcode = word(SampleWord.rcode);
  const apexAndPort = word(SampleWord.apex);
  const messages = word(SampleWord.messages);
  const client = (at + SampleWord.octets) * 4;
  const apex = client + 32;
  const apexLength = apexAndPort & 0xff;
  const request = apex + padded(apexLength);
  const requestLength = messages & 0xffff;
  const response = request + padded(requestLength);
  return {
    marks: facts & (Mark.statistics | Mark.log | Mark.tap),
    atUs: (word(SampleWord.seconds) >>> 0) * 1e6 + word(SampleWord.micros),
    tookUs: word(SampleWord.took),
    transport: (facts >>> 8) & 0xff,
    rcode: rcode & 0xfff,
    sources: (facts >>> 16) & (RRsetSource.flattened | RRsetSource.proxied | RRsetSource.https),
    signed: (facts & SIGNED) !== 0,
    dnssecOk: (facts & DNSSEC_OK) !== 0,
    client: octets.subarray(client, client + ((rcode >>> 16) & 0xff)),
    clientPort: apexAndPort >>> 16,
    own: octets.subarray(client + 16, client + 16 + (rcode >>> 24)),
    apex: octets.subarray(apex, apex + apexLength),
    request: octets.subarray(request, request + requestLength),
    response: octets.subarray(response, response + (messages >>> 16)),
    size: word(SampleWord.size),
  };
}

function padded(octets: number): number {
  return (octets + 3) & ~3;
}

/** The question of a message: where its name ends, and its type. Undefined when it has none that can be read. */
export function questionOf(request: Uint8Array): { readonly name: Uint8Array; readonly type: number } | undefined {
  if (request.length < 12 || request[4] !== 0 || request[5] === 0) return undefined;
  const end = plainNameEnd(request, 12, request.length - 4);
  if (end < 0) return undefined;
  return { name: request.subarray(12, end), type: (request[end]! << 8) | request[end + 1]! };
}

/** Where an answer comes from, in a word. */
export function sourceName(sources: number): 'plain' | 'flattened' | 'proxied' | 'https' {
  if ((sources & RRsetSource.https) !== 0) return 'https';
  if ((sources & RRsetSource.proxied) !== 0) return 'proxied';
  return (sources & RRsetSource.flattened) !== 0 ? 'flattened' : 'plain';
}
