/** Sums the counters of all threads and names them for the Prometheus text format. */
import type { MetricSample } from '../base/metrics.js';
import { RCODE_MNEMONICS } from '../dns/codes.js';
import { BLOCK, Count, type Counters, countBlock, LATENCY_LIMITS_US, TIMED_BATCH, TYPE_NAMES } from './counters.js';

const SINGLE: readonly (readonly [place: number, name: string, help: string])[] = [
  [Count.silent, 'dns_queries_unanswered_total', 'Messages that must not be answered, such as responses'],
  [Count.discarded, 'dns_datagrams_discarded_total', 'Datagrams too long or from port 0'],
  [Count.truncated, 'dns_responses_truncated_total', 'Answers with the TC flag'],
  [Count.sendFailed, 'dns_send_errors_total', 'Answers the system refused to send'],
  [Count.receiveFailed, 'dns_receive_errors_total', 'Errors reported when receiving'],
  [Count.batch, 'dns_batches_total', 'System calls that received at least one datagram'],
  [Count.fault, 'dns_faults_total', 'Queries answered with SERVFAIL because of a bug in the program'],
  [Count.connectionAccepted, 'dns_connections_accepted_total', 'Stream connections accepted'],
  [Count.connectionEvicted, 'dns_connections_evicted_total', 'Idle connections closed to make room for others'],
  [Count.connectionTimedOut, 'dns_connections_timed_out_total', 'Connections closed because they were idle or slow'],
  [Count.connectionFailed, 'dns_connections_failed_total', 'Connections that ended in an error'],
  [Count.frameRefused, 'dns_frames_refused_total', 'Stream frames shorter than a DNS header'],
];

const TRANSPORT_NAMES = ['udp', 'tcp', 'tls', 'https'] as const;

/** A histogram in Prometheus form: each bucket includes those below it. */
function latencySamples(sums: Float64Array): MetricSample[] {
  const name = 'dns_udp_batch_seconds';
  const help = `Time from the arrival of UDP messages until their answers were handed to the system, for one batch in ${TIMED_BATCH}`;
  const common = { name, type: 'histogram', help } as const;
  let count = 0;
  const buckets = [...LATENCY_LIMITS_US, Number.POSITIVE_INFINITY].map((limit, line): MetricSample => {
    count += sums[Count.latency + line]!;
    const le = Number.isFinite(limit) ? String(limit / 1e6) : '+Inf';
    return { ...common, suffix: '_bucket', labels: { le }, value: count };
  });
  return [
    ...buckets,
    { ...common, suffix: '_sum', labels: {}, value: sums[Count.latencySum]! / 1e6 },
    { ...common, suffix: '_count', labels: {}, value: count },
  ];
}

/** The sums over all threads. Types and rcodes that never occurred are omitted. */
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
  return [...samples, ...latencySamples(sums)];
}
