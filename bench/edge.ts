/**
 * The edge against nginx and Varnish: one process each, the same certificate and origin, objects of 1 KiB, in turn. The first
 * figure of a kind is the processor time of a request, which other programs on the machine disturb little; requests a second
 * are beside it.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { measureCompression } from './edge-compression.js';
import { addHostnames, nameOf, prepareData } from './edge-data.js';
import {
  FLOODS,
  fetchOnce,
  type Load,
  load,
  openWebSocket,
  startFlood,
  startSlowClients,
  tailOf,
} from './edge-load.js';
import {
  type Front,
  LARGE,
  LARGE_OCTETS,
  LONGER,
  makePair,
  PASSED,
  type Ports,
  STORED,
  startEdge,
  startNginxFront,
  startOrigin,
  startVarnish,
  ZONE,
} from './edge-servers.js';
import { median } from './median.js';
import { cpuSeconds, memoryOctets, type Started, stop } from './processes.js';
import type { Figures } from './writes.js';

export interface EdgeBenchOptions {
  readonly rounds: number;
  /** Of one measurement. */
  readonly requests: number;
  /** Of {@link EDGE_SECTIONS}. */
  readonly sections: readonly string[];
}

export const EDGE_SECTIONS = ['speed', 'compression', 'tails', 'slow', 'flood', 'memory', 'processes'] as const;

const HOSTNAMES = 10_000;
const SLOW_CLIENTS = 500;
const FLOODERS = 4;
const WEB_SOCKETS = 1000;
/** The edge takes 256 of a client. */
const WEB_SOCKETS_OF_ONE = 200;
const CONNECTIONS = 50;
const HANDSHAKES = 600;
/** The compiler works for as many: of the first 10 000 it takes half as long as they do, of the second a third. */
const WARMING = 30_000;
const MB = 1e6;
/** The measured servers have one processor, everything else the other. */
const [SERVER_CPU, LOAD_CPU] = availableParallelism() > 1 ? [0, 1] : [0, 0];

/** Ports from `port` on. */
export async function measureEdge(directory: string, port: number, options: EdgeBenchOptions): Promise<Figures> {
  const own = mkdtempSync(join(directory, 'edge-'));
  const started: Started[] = [];
  const keep = <Server extends Started>(server: Server): Server => {
    started.push(server);
    return server;
  };
  const wants = (part: (typeof EDGE_SECTIONS)[number]): boolean => options.sections.includes(part);
  try {
    const origin = keep(await startOrigin(own, port, LOAD_CPU));
    const pair = makePair(own, [ZONE, `*.${ZONE}`]);
    await prepareData(own, origin.port, pair);
    const ports = (at: number): Ports => ({ http: port + at, https: port + at + 1 });
    const figures: Record<string, number> = {};
    if (EDGE_SECTIONS.some((part) => part !== 'memory' && part !== 'processes' && wants(part))) {
      const edge = keep(await startEdge(own, ports(10), SERVER_CPU));
      const nginx = keep(await startNginxFront(own, ports(20), origin.port, pair, SERVER_CPU));
      const varnish = await startVarnish(own, port + 30, origin.port, SERVER_CPU);
      if (varnish) keep(varnish);
      if (wants('speed')) Object.assign(figures, await measureSpeed({ edge, nginx, varnish }, options));
      if (wants('compression')) {
        const cpu = LOAD_CPU;
        Object.assign(
          figures,
          await measureCompression(edge, nginx, { ...options, requests: options.requests / 10, cpu }),
        );
      }
      if (wants('tails')) Object.assign(figures, await measureTails(own, { edge, nginx, varnish }, options));
      if (wants('slow')) Object.assign(figures, await measureSlowClients(own, edge, options));
      if (wants('flood')) Object.assign(figures, await measureFloods(own, edge, options));
      await stop(edge);
    }
    if (wants('memory')) Object.assign(figures, await measureMemory(own, ports(40), origin.port, keep));
    if (wants('processes')) Object.assign(figures, await measureProcesses(own, ports(50), options, keep));
    return figures;
  } finally {
    for (const server of started.reverse()) await stop(server);
  }
}

interface Fronts {
  readonly edge: Front;
  readonly nginx: Front;
  readonly varnish: Front | undefined;
}

type Wanted = Omit<Load, 'requests' | 'cpu' | 'connections'>;
const over = (version: 'h1' | 'h2', path: string): Wanted => ({ scheme: 'https', version, path, head: 'browser' });
const inClear = (path: string, head: Wanted['head'] = 'browser'): Wanted => ({
  ...{ scheme: 'http', version: 'h1', path },
  head,
});

interface Kind {
  readonly load: Wanted;
  /** How many times as fast as nginx the edge is to be, by processor time. */
  readonly bar?: number;
  /** Whose connections each have one request. */
  readonly handshakes?: true;
}

const KINDS: Readonly<Record<string, Kind>> = {
  proxied: { load: inClear(PASSED), bar: 0.8 },
  cached: { load: inClear(STORED), bar: 1.5 },
  'proxied, bare head': { load: inClear(PASSED, 'bare') },
  'cached, bare head': { load: inClear(STORED, 'bare') },
  'proxied 128 KiB': { load: inClear(LONGER), bar: 1.2 },
  'proxied, TLS': { load: over('h1', PASSED), bar: 0.75 },
  'cached, TLS': { load: over('h1', STORED), bar: 1.3 },
  'proxied, HTTP/2': { load: over('h2', PASSED) },
  'cached, HTTP/2': { load: over('h2', STORED), bar: 0.6 },
  handshakes: { load: over('h1', STORED), bar: 0.8, handshakes: true },
};

/** Whose answer times are measured, with so many connections at once. */
const TAILS = ['proxied', 'cached'] as const;
const TAIL_CONNECTIONS = [50, 500] as const;

interface Sample {
  /** Microseconds of processor time. */
  readonly cpuMicros: number;
  readonly perSecond: number;
}

/** The servers in turn, the ratios of each round. */
async function measureSpeed(fronts: Fronts, { rounds, requests }: EdgeBenchOptions): Promise<Figures> {
  const figures: Record<string, number> = {};
  for (const [kind, { load: wanted, bar, handshakes }] of Object.entries(KINDS)) {
    const samples = new Map<string, Sample[]>();
    // The first round warms caches and the compiler of the edge and does not count.
    for (let round = -1; round < rounds; round++) {
      for (const [name, front] of Object.entries(fronts)) {
        // Varnish stores what it is asked for, and speaks neither TLS nor HTTP/2.
        if (!front || (name === 'varnish' && kind !== 'cached')) continue;
        const counted = round < 0 ? Math.max(WARMING, requests) : requests;
        const sample = await measure(front, wanted, handshakes ? HANDSHAKES : counted);
        if (round >= 0) samples.set(name, [...(samples.get(name) ?? []), sample]);
      }
    }
    for (const [name, all] of samples) {
      figures[`${name} ${kind}, CPU µs`] = median(all.map(({ cpuMicros }) => cpuMicros));
      figures[`${name} ${kind}, /s`] = median(all.map(({ perSecond }) => perSecond));
    }
    const ours = samples.get('edge')!;
    for (const [name, theirs] of samples) {
      if (name === 'edge') continue;
      const goal = bar === undefined || name !== 'nginx' ? '' : ` (bar ${bar})`;
      const byCpu = ours.map(({ cpuMicros }, i) => theirs[i]!.cpuMicros / cpuMicros);
      figures[`${kind}: times the speed of ${name} by CPU${goal}`] = median(byCpu);
    }
  }
  return figures;
}

/**
 * One process on one processor beside two on two. The load needs a processor, too, so what two processes answer in a second of the clock
 * is less than what they could; a second of their processors says that.
 */
async function measureProcesses(
  directory: string,
  { http }: Ports,
  { rounds, requests }: EdgeBenchOptions,
  keep: (front: Front) => Front,
): Promise<Figures> {
  // The load is one client, whose places are not what is measured.
  const places = { ZONEPLANE_EDGE_CLIENT_CONNECTIONS: '1024' };
  const both = `${SERVER_CPU},${LOAD_CPU}`;
  const one = keep(await startEdge(directory, { http, https: http + 1 }, SERVER_CPU, places));
  const two = keep(
    await startEdge(directory, { http: http + 2, https: http + 3 }, both, { ...places, ZONEPLANE_EDGE_PROCESSES: '2' }),
  );
  const figures: Record<string, number> = {};
  for (const kind of ['proxied', 'cached', 'cached, TLS'] as const) {
    const samples: (readonly [Sample, Sample])[] = [];
    for (let round = -1; round < rounds; round++) {
      const wanted = KINDS[kind]!.load;
      const pair = [await measure(one, wanted, requests), await measure(two, wanted, requests)] as const;
      if (round >= 0) samples.push(pair);
    }
    figures[`${kind}, CPU µs: one process`] = median(samples.map(([{ cpuMicros }]) => cpuMicros));
    figures[`${kind}, CPU µs: two processes`] = median(samples.map(([, { cpuMicros }]) => cpuMicros));
    figures[`${kind}: times the rate of one, by processor time (bar 1.8)`] = median(
      samples.map(([alone, together]) => (2 * alone.cpuMicros) / together.cpuMicros),
    );
    figures[`${kind}: times the rate of one, by the clock`] = median(
      samples.map(([alone, together]) => together.perSecond / alone.perSecond),
    );
  }
  return figures;
}

async function measure(front: Front, wanted: Wanted, requests: number): Promise<Sample> {
  // Each connection of a handshake has one request.
  const connections = requests === HANDSHAKES ? HANDSHAKES : CONNECTIONS;
  const before = cpuSeconds(front);
  const { answered, seconds: took } = await load(front.ports, { ...wanted, connections, requests, cpu: LOAD_CPU });
  const used = cpuSeconds(front) - before;
  return { cpuMicros: (used / answered) * 1e6, perSecond: answered / took };
}

async function measureTails(
  directory: string,
  { edge, nginx }: Fronts,
  { rounds, requests }: EdgeBenchOptions,
): Promise<Figures> {
  const figures: Record<string, number> = {};
  for (const kind of TAILS) {
    for (const connections of TAIL_CONNECTIONS) {
      const wanted: Load = { ...KINDS[kind]!.load, connections, requests, cpu: LOAD_CPU };
      const [ours, theirs]: [number[], number[]] = [[], []];
      // As in measureSpeed, the first round warms caches and the compiler of the edge and does not count.
      for (const { ports } of [edge, nginx]) await load(ports, { ...wanted, requests: Math.max(WARMING, requests) });
      for (let round = 0; round < rounds; round++) {
        ours.push(await tailOf(directory, edge.ports, wanted));
        theirs.push(await tailOf(directory, nginx.ports, wanted));
      }
      const what = `${kind}, ${connections} connections`;
      figures[`p99 ${what}, edge, ms`] = median(ours);
      figures[`p99 ${what}, nginx, ms`] = median(theirs);
      figures[`p99 ${what}: of nginx's (bar 2)`] = median(ours.map((ms, i) => ms / theirs[i]!));
    }
  }
  return figures;
}

/** Few connections, so that what they wait for is not each other. */
async function measureSlowClients(
  directory: string,
  edge: Front,
  { rounds, requests }: EdgeBenchOptions,
): Promise<Figures> {
  const wanted: Load = { ...over('h1', STORED), connections: 4, requests: requests / 4, cpu: LOAD_CPU };
  const [idle, beside]: [number[], number[]] = [[], []];
  await tailOf(directory, edge.ports, wanted);
  for (let round = 0; round < rounds; round++) {
    idle.push(await tailOf(directory, edge.ports, wanted));
    const end = await startSlowClients(edge.ports, SLOW_CLIENTS);
    beside.push(await tailOf(directory, edge.ports, wanted));
    end();
    await sleep(500);
  }
  return {
    'p99 idle, ms': median(idle),
    [`p99 beside ${SLOW_CLIENTS} slow clients, ms`]: median(beside),
    'p99 beside slow clients to idle (bar 2)': median(beside.map((ms, i) => ms / idle[i]!)),
  };
}

/** A client with a connection that was open before, beside clients that flood and come back as often as they can. */
async function measureFloods(directory: string, edge: Front, { rounds, requests }: EdgeBenchOptions): Promise<Figures> {
  const wanted: Load = { ...over('h1', STORED), connections: 1, requests: requests / 10, cpu: LOAD_CPU };
  await tailOf(directory, edge.ports, wanted);
  const figures: Record<string, number> = {};
  for (const kind of FLOODS) {
    const tails: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const tail = tailOf(directory, edge.ports, wanted);
      await sleep(100);
      const end = startFlood(edge.ports, kind, FLOODERS);
      tails.push(await tail);
      end();
      // Until the flooders' network is no longer refused.
      await sleep(11_000);
    }
    figures[`p99 beside ${FLOODERS} clients with ${kind}, ms (bar 100)`] = median(tails);
  }
  return figures;
}

async function measureMemory(
  directory: string,
  ports: Ports,
  origin: number,
  keep: (server: Front) => Front,
): Promise<Figures> {
  const figures: Record<string, number> = {};
  const edge = keep(await startEdge(directory, ports, SERVER_CPU));
  const mb = (front: Front): number => memoryOctets(front) / MB;
  figures['memory at the start, MB'] = mb(edge);
  let most = 0;
  const timer = setInterval(() => (most = Math.max(most, mb(edge))), 100);
  const octets = await fetchOnce(edge.ports, `www.${ZONE}`, LARGE);
  clearInterval(timer);
  if (octets < LARGE_OCTETS) throw new Error(`only ${octets} octets came`);
  figures['most memory while 1 GiB passes, MB'] = most;
  const before = mb(edge);
  const sockets = await openWebSockets(edge, origin);
  figures[`memory of ${WEB_SOCKETS} idle WebSockets, MB more`] = mb(edge) - before;
  sockets();
  await stop(edge);
  await addHostnames(directory, HOSTNAMES);
  const full = keep(await startEdge(directory, ports, SERVER_CPU));
  for (let i = 0; i < HOSTNAMES; i++) await fetchOnce(full.ports, nameOf(i), STORED);
  figures[`memory with ${HOSTNAMES} hostnames, each asked for, MB`] = mb(full);
  return figures;
}

/** Opens them to an origin that this program plays. The returned function ends both. */
async function openWebSockets(edge: Front, origin: number): Promise<() => void> {
  const server = createServer();
  server.on('upgrade', (request, socket) => {
    const digest = createHash('sha1').update(
      `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`,
    );
    const head = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade';
    socket.write(`${head}\r\nSec-WebSocket-Accept: ${digest.digest('base64')}\r\n\r\n`);
    socket.on('error', () => {});
  });
  await once(server.listen(origin + 1, '127.0.0.1'), 'listening');
  const sockets: Socket[] = [];
  for (let i = 0; i < WEB_SOCKETS; i++) {
    sockets.push(await openWebSocket(edge.ports, `127.0.0.${10 + Math.floor(i / WEB_SOCKETS_OF_ONE)}`));
  }
  return () => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    server.close();
  };
}
