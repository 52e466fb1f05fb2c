/** Assembles the edge: everything between its sockets and the origins. */
import type { Clock } from '../base/clock.js';
import { createLifecycle, type Lifecycle } from '../base/lifecycle.js';
import type { Logger } from '../base/log.js';
import { createMemoryShares } from '../base/memory-shares.js';
import type { MetricSample } from '../base/metrics.js';
import { residentOctets } from '../base/process/resident-memory.js';
import type { Random } from '../base/random.js';
import type { Blobs } from '../bucket/blobs.js';
import { createLocalStore } from '../bucket/local-store.js';
import { storedRootsPem } from '../certs/embedded/issuers.js';
import { createTrustedRoots } from '../certs/trusted-roots.js';
import type { Egress } from '../egress/egress.js';
import type { BucketRoute, OriginRoute } from '../hostnames/routing/find-route.js';
import type { Resolver } from '../resolver/resolve.js';
import type { ServingSettings } from '../serving/zone.js';
import type { Store } from '../store/driver.js';
import { loopIdOf } from '../store/meta.js';
import type { Vault } from '../vault/vault.js';
import { createAccessLog } from './access-log.js';
import { createBalancing, type Whereabouts } from './balance/balancing.js';
import { createBalancedStage } from './balance/stage.js';
import { createBucketStage, type SmallObjects } from './bucket/from-bucket.js';
import { createEdgeCache } from './cache/cache.js';
import type { CacheResult } from './cache/cache-status.js';
import { createCacheStage } from './cache/stage.js';
import { createCompression } from './compress/compression.js';
import { createCompressingStage } from './compress/stage.js';
import type { Stage } from './exchange/exchange.js';
import { createOpenStreams, type OpenStreams } from './exchange/open-streams.js';
import type { OriginTimes } from './exchange/origin-place.js';
import { type Acknowledged, createStalls, type Stalls } from './exchange/stalls.js';
import type { RequestReport } from './listen/client-side.js';
import { type Connections, createConnections } from './listen/connections.js';
import { createFront, type Front, type FrontOptions } from './listen/front.js';
import type { HttpLimits } from './listen/http1.js';
import { type EdgePlaces, type Listeners, listenAt } from './listen/listeners.js';
import { createWebSockets } from './listen/web-socket.js';
import { createEdgeMetrics, type EdgeMetrics } from './metrics.js';
import { createAnswer, createFindDirect } from './proxy/answer.js';
import { createOriginStage } from './proxy/from-origin.js';
import { createOriginPlaces, REQUEST_PLACES, WEB_SOCKET_PLACES } from './proxy/origin-places.js';
import { createOriginPlanner } from './proxy/origin-plan.js';
import { createOriginPools } from './proxy/origin-pools.js';
import { createUpgrader } from './proxy/upgrade.js';
import { followPurges } from './purge/follow.js';
import { createPurgedItems } from './purge/purged.js';
import { createQuickAnswers } from './quick/quick.js';
import { followStore, type Progress, type StoreFollower } from './route/follow.js';
import { createServedNames } from './route/served-names.js';
import { createRoutingTable, type RoutingTable } from './route/table.js';
import { createEdgeRules, type EdgeRules } from './rules/rules.js';
import type { SharedMemory } from './shared/counts.js';
import type { SessionExchange } from './shared/sessions.js';
import { isUsable } from './tls/certificates.js';
import { createTlsContexts, type TlsContexts } from './tls/contexts.js';
import { createTicketKeys } from './tls/ticket-keys.js';

export interface EdgeOptions {
  readonly store: Store;
  readonly vault: Vault;
  readonly resolver: Resolver;
  readonly serving: ServingSettings;
  readonly places: EdgePlaces;
  /** One of several processes at these places, and what they count together. */
  readonly shared?: SharedMemory | undefined;
  readonly sessions?: SessionExchange | undefined;
  /** Where large bodies of objects are; default: files beside the database. */
  readonly blobs?: Blobs | undefined;
  /** Decides to what it connects. */
  readonly egress: Egress;
  /** Where this node is, and where clients are; absent: nothing is known. */
  readonly whereabouts?: Whereabouts | undefined;
  /** Reads PEM: roots that are trusted in addition to the usual ones and those of the built-in authority. */
  readonly readCaBundle?: () => string | undefined;
  /** The largest body of a request, octets. */
  readonly bodyLimit: number;
  /** Memory for stored responses of all processes, each of which has its part; 0: nothing is stored. */
  readonly cacheOctets: number;
  /** Logs one request out of this many; 0 logs none. */
  readonly logEvery: number;
  /** Whether error answers contain causes and remedies. */
  readonly details: boolean;
  /** Called when {@link Edge.progress} is another one. */
  readonly onRead?: (progress: Progress) => void;
  /** Resolves when it is to listen; without it, at once. */
  readonly turn?: Promise<void> | undefined;
  /** Absent: slow readers are noticed by what is handed to the system. */
  readonly acknowledged?: Acknowledged | undefined;
  readonly limits?: HttpLimits;
  readonly originTimes?: Partial<OriginTimes>;
  /** The most exchanges of one client with origins at once. */
  readonly originConnectionsOfClient?: number;
  /** Whether fields reach origins whose names have underscores. */
  readonly keepsUnderscores?: boolean;
  /** The most requests over HTTP/2 that are open at once. */
  readonly openStreams?: { readonly client: number; readonly account: number };
  /** The most connections of one client. */
  readonly mostConnections?: number;
  readonly handshakeMs?: number;
  /** How long the network of a client that floods is refused, milliseconds. */
  readonly floodPenaltyMs?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

export interface Edge {
  readonly addresses: readonly string[];
  /** What it has read; it answers by everything stored until then. */
  progress(): Progress;
  /** Whether something was committed that it has not read yet. */
  isBehind(): boolean;
  /** Reads at once after a commit. */
  wake(): void;
  samples(): MetricSample[];
  /** Stops accepting, finishes requests in progress, and ends after `limitMs` milliseconds at the latest. */
  drain(limitMs: number): Promise<boolean>;
}

const MOST_CONNECTIONS_OF_ONE = 4096;
const FLOOD_PENALTY_MS = 10_000;
const DRAIN_LOOK_MS = 50;

/** Rejects with an EdgeListenError when it cannot listen. */
export async function startEdge(options: EdgeOptions): Promise<Edge> {
  const { store, serving, clock, places } = options;
  const lifecycle = createLifecycle(clock, options.log);
  const onFault = (err: unknown): void => options.log.error({ err }, 'a request could not be answered');
  const metrics = createEdgeMetrics();
  const connections = createConnections({
    clock,
    mostOfOne: options.mostConnections ?? MOST_CONNECTIONS_OF_ONE,
    penaltyMs: options.floodPenaltyMs ?? FLOOD_PENALTY_MS,
    shared: options.shared,
  });
  const tickets = createTicketKeys(options);
  const stalls = lifecycle.own('slow clients', createStalls(clock, options.acknowledged), (part) => part.close());
  const openStreams = createOpenStreams(options.shared?.processes, options.openStreams);
  const table = createRoutingTable(store, serving);
  const contexts = createTlsContexts({
    ...options,
    tickets,
    onSecure: (socket, tls) => front.onSecure(socket, tls),
    onFailed: () => metrics.countRefusedHandshake('failed'),
  });
  const origins = createOrigins(options, table, metrics.countOriginLatency, onFault);
  lifecycle.own('connections to origins', origins.pools, (part) => part.close());
  const served = eitherStage(origins.stage, origins.bucket);
  const balancing = createBalancing({ ...options, sessionKeys: tickets.sessionKeys });
  const cached = createCached(options, served, metrics.countCacheResult);
  const rules = createEdgeRules({ store, clock, country: countryOf(options.whereabouts) });
  const dependents = {
    table: withRules(table, rules),
    forgetAddresses: origins.planner.forget,
    forgetCertificates: contexts.forget,
    isUsable: (owner: string) => isUsable(options, owner),
    readPurges: cached.readPurges,
    ...{ readHealth: balancing.readHealth, healthVersion: balancing.healthVersion },
  };
  const follower = lifecycle.own('follower', followStore({ ...options, dependents }), (part) => part.close());
  const answering = {
    ...places,
    ...{ store, clock, table, loopId: origins.loopId, balancing, rules, stage: cached.stage },
  };
  const front: Front = createFront({
    ...options,
    answer: createAnswer(answering),
    ...(cached.cache &&
      createQuickAnswers({
        findDirect: createFindDirect(answering),
        ...{ cache: cached.cache, pass: cached.stage.pass, origins: origins.options, objects: origins.objects },
        ...{ clock, stalls, onResult: metrics.countCacheResult },
      })),
    webSockets: createWebSockets({ ...options, ...places, ...origins, table, balancing, rules, stalls, onFault }),
    ...{ connections, stalls, openStreams, onFault },
    ...findingBy(table, contexts),
    ...reporting(metrics, createAccessLog(options.log, clock, options.logEvery)),
  });
  lifecycle.own('connections', front, (part) => part.close());
  if (options.turn) await options.turn.then(follower.wake);
  const listeners = await listen(places, front, lifecycle);
  return {
    addresses: listeners.addresses,
    progress: follower.progress,
    isBehind: follower.isBehind,
    wake: follower.wake,
    samples: () => [
      ...metrics.samples({ ...gaugesOf({ connections, stalls, openStreams, table, follower }), ...cached.gauges() }),
      ...[cached, origins, balancing].flatMap((part) => part.samples()),
    ],
    drain: (limitMs) => drain(options, { listeners, front, connections, lifecycle }, limitMs),
  };
}

/** What is known of a host before its requests are answered. */
function findingBy(table: RoutingTable, contexts: TlsContexts): Pick<FrontOptions, 'findTls' | 'accountOf'> {
  return {
    findTls: (host) => contexts.find(table.find(host)),
    accountOf: (host) => table.find(host).zone?.account ?? 0,
  };
}

/** What forgets a zone forgets its rules. */
function withRules(table: RoutingTable, rules: EdgeRules): RoutingTable {
  return {
    ...table,
    forgetZone(zone) {
      table.forgetZone(zone);
      rules.forgetZone(zone);
    },
    forgetAll() {
      table.forgetAll();
      rules.forgetAll();
    },
  };
}

function countryOf(whereabouts: Whereabouts | undefined): ((address: Uint8Array) => number) | undefined {
  return whereabouts && ((address) => whereabouts.find(address)?.country ?? 0);
}

interface Draining {
  readonly listeners: Listeners;
  readonly front: Front;
  readonly connections: Connections;
  readonly lifecycle: Lifecycle;
}

async function drain(
  { clock }: EdgeOptions,
  { listeners, front, connections, lifecycle }: Draining,
  limitMs: number,
): Promise<boolean> {
  const closed = listeners.close();
  const cancelLooks = clock.every(DRAIN_LOOK_MS, () => front.drain());
  const cancel = clock.after(limitMs, () => connections.destroyAll());
  front.drain();
  await closed;
  cancelLooks();
  cancel();
  return lifecycle.stop(limitMs);
}

interface Counted {
  readonly connections: Connections;
  readonly stalls: Stalls;
  readonly openStreams: OpenStreams;
  readonly table: RoutingTable;
  readonly follower: StoreFollower;
}

function gaugesOf({ connections, stalls, openStreams, table, follower }: Counted): Record<string, number> {
  return {
    edge_hosts: table.size(),
    edge_behind: follower.isBehind() ? 1 : 0,
    edge_connections: connections.count(),
    edge_connections_refused: connections.refused(),
    edge_streams_refused: openStreams.refused(),
    edge_stalled_clients: stalls.cuts(),
    edge_resident_memory_bytes: residentOctets(),
  };
}

/** Where what happens at the listeners is counted and written. */
function reporting(metrics: EdgeMetrics, writeLog: (report: RequestReport) => void) {
  return {
    onReport(report: RequestReport) {
      metrics.countRequest(report.httpVersion, report.outcome);
      writeLog(report);
    },
    onHandshake: metrics.countHandshake,
    onRefusedHandshake: metrics.countRefusedHandshake,
    onBadInput: metrics.countBadInput,
    onHandedOver: metrics.countHandedOver,
  };
}

/** If it cannot listen, everything that was started before ends. */
async function listen(places: EdgePlaces, front: Front, lifecycle: Lifecycle): Promise<Listeners> {
  try {
    return await listenAt(places, { http: front.acceptHttp, https: front.acceptHttps });
  } catch (error) {
    await lifecycle.stop(1000);
    throw error;
  }
}

function createBuckets(options: EdgeOptions): { readonly bucket: Stage<BucketRoute>; readonly objects: SmallObjects } {
  const objects = createLocalStore(options);
  const onFault = (err: unknown): void => options.log.error({ err }, 'an object of a bucket could not be sent');
  return { objects, bucket: createBucketStage({ objects, random: options.random, onFault }) };
}

/** The stage behind the cache: what the route leads to answers. */
function eitherStage(origin: Stage<OriginRoute>, bucket: Stage<BucketRoute>): Stage {
  return (request, route, sink) =>
    route.kind === 'bucket' ? bucket(request, route, sink) : origin(request, route, sink);
}

/** The largest body that is stored: a fraction of the cache, never more than 512 MiB. */
const OBJECT_SHARE = 1 / 4;
const LARGEST_OBJECT = 512 * 1024 * 1024;

/** The stage that answers from the cache, in front of the stage that can answer everything. */
function createCached(options: EdgeOptions, origin: Stage, onResult: (result: CacheResult) => void) {
  const { store, clock, log, shared } = options;
  const cacheOctets = Math.floor(options.cacheOctets / (shared?.processes ?? 1));
  const compression = createCompression(clock);
  const { samples } = compression;
  if (cacheOctets === 0) {
    const onFault = (err: unknown): void => log.error({ err }, 'a response could not be compressed');
    const stage = createCompressingStage(origin, compression, onFault);
    return { stage, cache: undefined, readPurges: () => false, gauges: () => ({}), samples };
  }
  const purged = createPurgedItems();
  const maxObjectOctets = Math.min(cacheOctets * OBJECT_SHARE, LARGEST_OBJECT);
  const cache = createEdgeCache({ clock, purged, compression, maxOctets: cacheOctets, maxObjectOctets });
  return {
    cache,
    stage: createCacheStage({
      ...{ cache, origin, compression, onResult },
      onFault: (err) => log.error({ err }, 'the cache could not answer a request'),
    }),
    readPurges: followPurges(store, purged, cache.sweepPurged),
    gauges: () => ({ edge_cache_bytes: cache.octets(), edge_cache_urls: cache.count() }),
    samples,
  };
}

/** Memory for responses that are read ahead of their clients. */
const READ_AHEAD_OCTETS = 64 * 1024 * 1024;

/** The parts that connect to origins, for requests and for WebSockets. */
function createOrigins(
  options: EdgeOptions,
  table: RoutingTable,
  onLatency: (ms: number) => void,
  onFault: (error: unknown) => void,
) {
  const { store, resolver, clock, egress, shared, readCaBundle = () => undefined } = options;
  const buckets = createBuckets(options);
  const planner = createOriginPlanner({ resolver, egress, served: createServedNames(store, table), clock });
  const client = options.originConnectionsOfClient ?? REQUEST_PLACES.client;
  const readRoots = (): string => [storedRootsPem(store, clock.nowMs()), readCaBundle()].filter(Boolean).join('\n');
  const trustedRoots = createTrustedRoots(clock, readRoots, (err) =>
    options.log.error({ err }, 'the root certificates for origins cannot be read again'),
  );
  const pools = createOriginPools({ clock, trustedRoots, times: options.originTimes });
  const requests = createOriginPlaces(clock, { ...REQUEST_PLACES, client }, shared);
  const webSockets = createOriginPlaces(clock, WEB_SOCKET_PLACES, shared);
  const memory = createMemoryShares(READ_AHEAD_OCTETS);
  const loopId = loopIdOf(store);
  const rules = { loopId, keepsUnderscores: options.keepsUnderscores ?? false };
  const asking = { planner, pools, bucket: buckets.bucket, places: requests, memory, rules, clock, onLatency, onFault };
  return {
    ...buckets,
    planner,
    pools,
    loopId,
    options: asking,
    stage: createBalancedStage(createOriginStage(asking)),
    upgrader: createUpgrader({ planner, places: webSockets, rules, trustedRoots, clock }),
    samples: () => [...requests.samples(), ...webSockets.samples()],
  };
}
