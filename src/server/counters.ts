/**
 * What the DNS sockets count, in shared memory.
 *
 * Every thread that answers owns one block of doubles and is its only writer, so that counting is a plain addition:
 * no atomics, no messages. A double counts exactly up to 2^53 and is read in one piece on 64-bit machines. The reader
 * sums the blocks when somebody looks. A restarted worker gets its old block again, hence sums never go back.
 */
// hot
import type { MetricSample } from '../base/metrics.js';
import { RCODE_MNEMONICS } from '../dns/codes.js';

/** Places in a block. `response` and `type` begin runs. */
export const Count = {
  /** Four places, one per transport code. */
  query: 0,
  silent: 4,
  discarded: 5,
  truncated: 6,
  sendFailed: 7,
  receiveFailed: 8,
  batch: 9,
  fault: 10,
  connectionAccepted: 11,
  connectionEvicted: 12,
  connectionTimedOut: 13,
  connectionFailed: 14,
  frameRefused: 15,
  /** Sixteen places, one per rcode of the header. */
  response: 16,
  /** One place per line of TYPE_NAMES. */
  type: 32,
} as const;

const TYPE_NAMES: readonly (readonly [mnemonic: string, code: number])[] = [
  ['other', 0],
  ['A', 1],
  ['NS', 2],
  ['CNAME', 5],
  ['SOA', 6],
  ['PTR', 12],
  ['MX', 15],
  ['TXT', 16],
  ['AAAA', 28],
  ['SRV', 33],
  ['NAPTR', 35],
  ['DS', 43],
  ['SSHFP', 44],
  ['DNSKEY', 48],
  ['TLSA', 52],
  ['CDS', 59],
  ['SVCB', 64],
  ['HTTPS', 65],
  ['IXFR', 251],
  ['AXFR', 252],
  ['ANY', 255],
  ['CAA', 257],
];

/** Doubles in a block: whole cache lines, so that threads do not share one. */
const BLOCK = 64;
const TYPE_LIMIT = 512;

/** Type code → place in a block. */
const TYPE_PLACES = new Uint8Array(TYPE_LIMIT).fill(Count.type);
for (let line = 1; line < TYPE_NAMES.length; line++) TYPE_PLACES[TYPE_NAMES[line]![1]] = Count.type + line;

/** One thread's block. */
export type CountBlock = Float64Array<SharedArrayBuffer>;

export interface Counters {
  /** The blocks of all threads, to be sent to workers. */
  readonly memory: SharedArrayBuffer;
  /** Threads there is room for; block 0 is the main thread's. */
  readonly threads: number;
}

export function createCounters(threads: number): Counters {
  return { memory: new SharedArrayBuffer(threads * BLOCK * 8), threads };
}

export function countBlock(memory: SharedArrayBuffer, thread: number): CountBlock {
  return new Float64Array(memory, thread * BLOCK * 8, BLOCK);
}

/** The QTYPE of a request, or 0 if there is no whole question. Reads nothing outside `start … start + length`. */
export function questionType(bytes: Uint8Array, start: number, length: number): number {
  const last = start + length - 5;
  let at = start + 12;
  while (at <= last) {
    const label = bytes[at]!;
    if (label === 0) return (bytes[at + 1]! << 8) | bytes[at + 2]!;
    if (label > 63) return 0;
    at += label + 1;
  }
  return 0;
}

/** Counts a request of `transport`, by type. */
export function countQuery(
  block: Float64Array,
  bytes: Uint8Array,
  start: number,
  length: number,
  transport: number,
): void {
  block[Count.query + transport]! += 1;
  const type = questionType(bytes, start, length);
  block[type < TYPE_LIMIT ? TYPE_PLACES[type]! : Count.type]! += 1;
}

/** Counts an answer by the rcode of its header; the upper bits that EDNS adds are not looked for. */
export function countResponse(block: Float64Array, bytes: Uint8Array, at: number, length: number): void {
  if (length === 0) {
    block[Count.silent]! += 1;
    return;
  }
  block[Count.response + (bytes[at + 3]! & 15)]! += 1;
  if ((bytes[at + 2]! & 2) !== 0) block[Count.truncated]! += 1;
}

const SINGLE: readonly (readonly [place: number, name: string, help: string])[] = [
  [Count.silent, 'dns_queries_unanswered_total', 'Messages that are not answered by rule, such as responses'],
  [Count.discarded, 'dns_datagrams_discarded_total', 'Datagrams too long or from port 0'],
  [Count.truncated, 'dns_responses_truncated_total', 'Answers with the TC flag'],
  [Count.sendFailed, 'dns_send_errors_total', 'Answers the system refused to send'],
  [Count.receiveFailed, 'dns_receive_errors_total', 'Errors reported when receiving'],
  [Count.batch, 'dns_batches_total', 'System calls that received at least one datagram'],
  [Count.fault, 'dns_faults_total', 'Queries that met a fault of the program and got SERVFAIL'],
  [Count.connectionAccepted, 'dns_connections_accepted_total', 'Stream connections accepted'],
  [Count.connectionEvicted, 'dns_connections_evicted_total', 'Idle connections closed to make room for others'],
  [Count.connectionTimedOut, 'dns_connections_timed_out_total', 'Connections closed for idleness or slowness'],
  [Count.connectionFailed, 'dns_connections_failed_total', 'Connections that ended in an error'],
  [Count.frameRefused, 'dns_frames_refused_total', 'Stream frames shorter than a DNS header'],
];

const TRANSPORT_NAMES = ['udp', 'tcp', 'tls', 'https'] as const;

/** The sums over all threads. Types and rcodes that never came are left out. */
export function readCounters(counters: Counters): MetricSample[] {
  const sums = new Float64Array(BLOCK);
  for (let thread = 0; thread < counters.threads; thread++) {
    const block = countBlock(counters.memory, thread);
    for (let place = 0; place < BLOCK; place++) sums[place]! += block[place]!;
  }
  const samples: MetricSample[] = [];
  const type = 'counter';
  for (let code = 0; code < TRANSPORT_NAMES.length; code++) {
    const labels = { transport: TRANSPORT_NAMES[code]! };
    const help = 'DNS messages received, by transport';
    samples.push({ type, name: 'dns_queries_total', help, labels, value: sums[Count.query + code]! });
  }
  for (let line = 0; line < TYPE_NAMES.length; line++) {
    const labels = { type: TYPE_NAMES[line]![0] };
    const help = 'DNS messages received, by type asked';
    const value = sums[Count.type + line]!;
    if (value > 0) samples.push({ type, name: 'dns_queries_by_type_total', help, labels, value });
  }
  for (let rcode = 0; rcode < 16; rcode++) {
    const labels = { rcode: RCODE_MNEMONICS[rcode] ?? `RCODE${rcode}` };
    const help = 'DNS answers given, by response code of the header';
    const value = sums[Count.response + rcode]!;
    if (value > 0) samples.push({ type, name: 'dns_responses_total', help, labels, value });
  }
  for (const [place, name, help] of SINGLE) samples.push({ type, name, help, labels: {}, value: sums[place]! });
  return samples;
}
