/**
 * Starts and stops all DNS sockets of a process: UDP and TCP on the same port of every address, TLS and HTTPS on their
 * own ports.
 */
import { availableParallelism } from 'node:os';
import type { Answer, AnswerDeferred, GroupOfDeferred } from '../answer/transport.js';
import { toHex } from '../base/bytes.js';
import type { Clock } from '../base/clock.js';
import { messageOf, UserError } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import type { MetricSample } from '../base/metrics.js';
import { sampleReports } from '../base/sample-reports.js';
import { readCounters } from './counter-samples.js';
import { type CountBlock, countBlock, createCounters, sumOfCounters } from './counters.js';
import { guardAnswer, guardDeferred, type ReportFault } from './guard.js';
import { type HttpsListenOptions, startHttps } from './https.js';
import { HTTPS_LIMITS, HttpsConnections } from './https-connections.js';
import { ListenError } from './listen-error.js';
import type { AnswerTransfer } from './streams/stream-connection.js';
import { STREAM_LIMITS, StreamConnections, type StreamLimits } from './streams/stream-connections.js';
import { loadSyscalls, type Syscalls, SyscallsUnavailable } from './syscalls.js';
import { canSharePorts, type PortSharing, type StreamListener, startTcp } from './tcp.js';
import { startTls, type TlsCredentials, type TlsListener } from './tls.js';
import { AnswerTurns } from './turns/answer-turns.js';
import { startUdpBatched, type UdpServer } from './udp-batched.js';
import { startUdpPortable } from './udp-portable.js';
import type { WorkerEngineSource } from './udp-workers.js';
import { startXdp, type XdpServers } from './xdp/start.js';

export type UdpTransport = 'batched' | 'portable';

export interface DnsServersOptions {
  /** Literal addresses. */
  readonly addresses: readonly string[];
  /** For UDP and TCP; 0 chooses a port that is free for both. */
  readonly port: number;
  /**
   * Bind beside the process that serves these ports now, for a start without a gap. Otherwise a port in use is an error.
   * Has no effect where the system does not let processes share ports.
   */
  readonly takeOver?: boolean | undefined;
  /** It served before, so an interface of `xdp` that is away is waited for. */
  readonly isRestart?: boolean | undefined;
  /** `auto`: batched if this machine supports it. */
  readonly transport: 'auto' | UdpTransport;
  /** Network interfaces whose queries do not go through the sockets of the system. */
  readonly xdp?: readonly string[] | undefined;
  /** Threads for UDP; undefined: one for each core. */
  readonly workers?: number | undefined;
  /** Engine of this thread: for TCP and TLS, and for UDP if sockets cannot share a port. */
  readonly answer: Answer;
  /** Engines of the UDP workers. */
  readonly workerEngine: WorkerEngineSource;
  readonly answerTransfer?: AnswerTransfer | undefined;
  /** Answers what the engine defers: queries that are signed. */
  readonly answerDeferred?: AnswerDeferred | undefined;
  readonly groupOfDeferred?: GroupOfDeferred | undefined;
  readonly limits?: Partial<StreamLimits> | undefined;
  /** DNS over TLS on the same addresses. */
  readonly tls?: { readonly port: number; readonly credentials?: TlsCredentials | undefined } | undefined;
  /** DNS over HTTPS on the same addresses. */
  readonly https?: { readonly port: number; readonly credentials?: TlsCredentials | undefined } | undefined;
  readonly log: Logger;
  readonly clock: Clock;
}

export interface DnsServers {
  /** The addresses in use; without IPv6 on the machine, `::` is missing. */
  readonly addresses: readonly string[];
  readonly port: number;
  readonly tlsPort: number | undefined;
  readonly httpsPort: number | undefined;
  readonly transport: UdpTransport;
  /** The engine of this thread with counting and error handling, for further transports. */
  readonly answer: Answer;
  /** Sums over all threads, for the Prometheus text format. */
  readCounters(): MetricSample[];
  /** A text that changes with the counters and with the number of open connections; it costs much less than they do. */
  mark(): string;
  /** Replaces the certificate of DNS over TLS and HTTPS. */
  renewCertificate(credentials: TlsCredentials): void;
  /** Resolves within a second, when nothing is bound any more. */
  close(): Promise<void>;
}

/** Threads that answer over UDP, those of interfaces included. `wanted`: of one kind; undefined: one for each core. */
export function udpThreads(wanted: number | undefined, xdp: readonly string[]): number {
  return socketThreads(wanted) * (1 + xdp.length);
}

function socketThreads(wanted: number | undefined): number {
  return Math.max(1, wanted ?? availableParallelism());
}

/** Attempts to find a port that is free for both UDP and TCP. */
const PORT_ATTEMPTS = 20;
/** Time for sending written answers at shutdown, in milliseconds. */
const CLOSE_GRACE_MS = 500;

/** Rejects with a {@link ListenError} or another UserError and leaves nothing bound. */
export async function startDnsServers(options: DnsServersOptions): Promise<DnsServers> {
  if (options.addresses.length === 0) throw new UserError('there is no address to serve DNS on');
  const calls = await chooseTransport(options.transport, options.log);
  for (let attempt = 1; ; attempt++) {
    try {
      return await bindAll(options, calls);
    } catch (error) {
      if (attempt < PORT_ATTEMPTS && mayTryAgain(error, options)) continue;
      if (!lacksIPv6(error) || !options.addresses.includes('0.0.0.0')) throw error;
      options.log.warn({ reason: messageOf(error) }, 'this machine has no IPv6; DNS is served over IPv4 only');
      return startDnsServers({ ...options, addresses: options.addresses.filter((host) => host !== '::') });
    }
  }
}

async function chooseTransport(setting: DnsServersOptions['transport'], log: Logger): Promise<Syscalls | undefined> {
  if (setting === 'portable') return undefined;
  try {
    return await loadSyscalls();
  } catch (error) {
    if (!(error instanceof SyscallsUnavailable)) throw error;
    if (setting === 'batched') {
      throw new UserError(`UDP transport 'batched' cannot be used: ${error.message}`, `Choose 'auto' or 'portable'.`);
    }
    log.info({ reason: error.message }, 'using the portable UDP transport');
    return undefined;
  }
}

/** AF_XDP is another way beside both transports. */
async function requireCalls(calls: Syscalls | undefined): Promise<Syscalls> {
  try {
    return calls ?? (await loadSyscalls());
  } catch (error) {
    if (!(error instanceof SyscallsUnavailable)) throw error;
    throw new UserError(`AF_XDP cannot be used: ${error.message}`, `Leave 'dns-xdp' out.`);
  }
}

/** The system chose a port for one protocol that another protocol cannot use. */
function mayTryAgain(error: unknown, { port, tls, https }: DnsServersOptions): boolean {
  if (!(error instanceof ListenError) || error.code !== 'EADDRINUSE') return false;
  const { protocol } = error.listen;
  return (protocol === 'TLS' ? tls?.port : protocol === 'HTTPS' ? https?.port : port) === 0;
}

/** A machine without IPv6 refuses `::`, which is a default address. */
function lacksIPv6(error: unknown): boolean {
  return error instanceof ListenError && error.listen.host === '::' && error.addressMissing;
}

/** The sockets bound so far, which are closed together. */
interface Bound {
  readonly connections: StreamConnections;
  readonly httpsConnections: HttpsConnections;
  readonly streams: StreamListener[];
  readonly tls: TlsListener[];
  readonly https: TlsListener[];
  udp: UdpServer | undefined;
  xdp: XdpServers | undefined;
  readonly sharing: PortSharing;
}

async function bindAll(options: DnsServersOptions, calls: Syscalls | undefined): Promise<DnsServers> {
  const { addresses, log, clock } = options;
  const workers = socketThreads(options.workers);
  const { xdp = [] } = options;
  const counters = createCounters(1 + udpThreads(options.workers, xdp));
  const counts = countBlock(counters.memory, 0);
  const report = faultLogger(log);
  const answer = guardAnswer(options.answer, counts, report);
  const { answerTransfer } = options;
  const answerDeferred = options.answerDeferred && guardDeferred(options.answerDeferred, counts, report);
  const context = { answer, answerTransfer, answerDeferred, counts, log, clock };
  const limits = { ...STREAM_LIMITS, ...options.limits };
  const turns = new AnswerTurns();
  const canShare = await canSharePorts();
  const takeOver = options.takeOver === true && canShare;
  const bound: Bound = {
    connections: new StreamConnections(context, limits, turns),
    httpsConnections: new HttpsConnections(counts, HTTPS_LIMITS, clock),
    streams: [],
    tls: [],
    https: [],
    udp: undefined,
    xdp: undefined,
    sharing: canShare ? (takeOver ? 'now' : 'later') : 'never',
  };
  try {
    const { workerEngine: engine, groupOfDeferred } = options;
    const threads = { workers, engine, answerDeferred, groupOfDeferred, turns, counters, firstThread: 1 };
    const udpOptions = { addresses, port: options.port, takeOver, ...threads, log, clock };
    const udp = calls ? await startUdpBatched(calls, udpOptions) : await startUdpPortable({ ...udpOptions, answer });
    bound.udp = udp;
    await bindStreams(options, udp.port, counts, bound);
    await bindHttps(options, { answer, answerDeferred, turns, counts }, bound);
    if (xdp.length > 0)
      bound.xdp = await startXdp(await requireCalls(calls), {
        ...udpOptions,
        port: udp.port,
        interfaces: xdp,
        firstThread: 1 + workers,
        isRestart: options.isRestart,
      });
    return {
      addresses,
      port: udp.port,
      tlsPort: bound.tls[0]?.port,
      httpsPort: bound.https[0]?.port,
      transport: calls ? 'batched' : 'portable',
      answer,
      readCounters: () => [...readCounters(counters), ...readGauges(bound, udp)],
      mark: () => `${sumOfCounters(counters)} ${bound.connections.size + bound.httpsConnections.size}`,
      renewCertificate: (credentials) => {
        for (const listener of [...bound.tls, ...bound.https]) listener.renew(credentials);
      },
      close: () => closeAll(bound),
    };
  } catch (error) {
    await closeAll(bound);
    throw error;
  }
}

async function bindStreams(options: DnsServersOptions, port: number, counts: CountBlock, bound: Bound): Promise<void> {
  const { addresses, tls, log, clock } = options;
  const { connections, sharing } = bound;
  for (const host of addresses) bound.streams.push(await startTcp({ host, port, sharing, connections, log }));
  if (!tls) return;
  let tlsPort = tls.port;
  for (const host of addresses) {
    const { credentials } = tls;
    const listener = await startTls({ host, port: tlsPort, sharing, connections, credentials, counts, log, clock });
    bound.tls.push(listener);
    tlsPort = listener.port;
  }
}

async function bindHttps(
  { addresses, https, log, clock }: DnsServersOptions,
  engine: Pick<HttpsListenOptions, 'answer' | 'answerDeferred' | 'turns' | 'counts'>,
  bound: Bound,
): Promise<void> {
  if (!https) return;
  let port = https.port;
  for (const host of addresses) {
    const { credentials } = https;
    const { httpsConnections: connections, sharing } = bound;
    const listener = await startHttps({ host, port, sharing, credentials, connections, ...engine, log, clock });
    bound.https.push(listener);
    port = listener.port;
  }
}

async function closeAll({ connections, httpsConnections, streams, tls, https, udp, xdp }: Bound): Promise<void> {
  // The sockets answer what comes from now on.
  await xdp?.close();
  for (const listener of [...streams, ...tls, ...https]) listener.close();
  httpsConnections.close();
  await Promise.all([udp?.close(), connections.close(CLOSE_GRACE_MS)]);
}

function faultLogger(log: Logger): ReportFault {
  const admit = sampleReports();
  return (error, request) => {
    const seen = admit();
    if (seen === undefined) return;
    const stack = error instanceof Error ? error.stack : String(error);
    log.error(
      { request: toHex(request), stack, seen },
      'a fault in the answer engine; SERVFAIL or nothing was answered',
    );
  };
}

function readGauges({ connections, httpsConnections, xdp }: Bound, udp: UdpServer): MetricSample[] {
  const samples: MetricSample[] = [
    {
      name: 'dns_connections',
      type: 'gauge',
      help: 'Stream connections open now',
      labels: {},
      value: connections.size + httpsConnections.size,
    },
  ];
  const [atSockets, atInterfaces] = [udp.countQueueDrops(), xdp ? xdp.countQueueDrops() : 0];
  if (atSockets !== undefined && atInterfaces !== undefined) {
    const drops = atSockets + atInterfaces;
    const help = 'Datagrams the kernel dropped because a receive queue was full';
    samples.push({ name: 'dns_udp_queue_drops_total', type: 'counter', help, labels: {}, value: drops });
  }
  return samples;
}
