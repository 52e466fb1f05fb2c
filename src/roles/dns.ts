/** The DNS process: reads the store, publishes the zones as an image, and answers queries. It never writes. */
import type { MadeTable } from '../answer/made.js';
import type { Observation } from '../answer/observation.js';
import type { EngineSettings } from '../answer/state.js';
import type { AnswerDeferred } from '../answer/transport.js';
import { messageOf } from '../base/errors.js';
import { createLifecycle, type Lifecycle } from '../base/lifecycle.js';
import { watchLongTurns } from '../base/long-turns.js';
import type { MetricSample } from '../base/metrics.js';
import { systemRandom } from '../base/random.js';
import type { Settings } from '../config/schema.js';
import type { Listener } from '../egress/own-listeners.js';
import { type Progress, type Publisher, startPublisher } from '../publish/publisher.js';
import { createZoneSource } from '../publish/source.js';

import { type DnsServers, startDnsServers, udpThreads } from '../server/start.js';
import type { TlsCredentials } from '../server/tls.js';
import { openStore, type Store } from '../store/driver.js';
import { requireSchema } from '../store/migrate.js';
import { findZone, servedZones } from '../store/zones/zones.js';
import { engineSamples, engineSettings } from './engine-settings.js';
import { type Acknowledger, type AnsweredChanges, startAcknowledger } from './process/acknowledgement.js';
import { servingSettings } from './process/control-base.js';
import { DNS_PORT } from './process/dns-port.js';
import type { DnsListener, DnsReport, DnsStatus } from './process/ipc.js';
import { loadLargePages } from './process/large-pages.js';
import { STATUS_PERIOD_MS } from './process/limits.js';
import { tellListeners } from './process/listening.js';
import { readPlaces, watchPlaces } from './process/places.js';
import type { RoleContext, RunningRole } from './process/role.js';
import { explainStoreFailure } from './process/store-failure.js';
import { readTlsFiles, type TlsMaterial, watchTlsFiles } from './process/tls-files.js';
import { createDnsCompact } from './services/dns-compact.js';
import { createDnsTransfers, type DnsTransfers } from './services/dns-transfers.js';
import { createDnsVault } from './services/dns-vault.js';
import { observationOf, startObservation } from './services/observation.js';
import { startStatusReports } from './services/status-reports.js';

export interface DnsOptions extends RoleContext {
  readonly onStatus?: (status: DnsStatus) => void;
}

export interface RunningDns extends RunningRole<DnsReport> {
  /** Replaces the certificate for new connections over TLS and HTTPS (`tls-cert auto`). */
  readonly renewCertificate: (credentials: TlsCredentials) => void;
}

/**
 * Starts the DNS process; resolves when every zone is loaded and every listener is bound. Rejects with a UserError
 * otherwise.
 */
export async function startDns(options: DnsOptions): Promise<RunningDns> {
  const { settings, clock, log, onStatus } = options;
  const lifecycle = createLifecycle(clock, log);
  try {
    const store = lifecycle.own('store', openStore(settings.dataDir, { readonly: true }), (part) => part.close());
    requireSchema(store);
    let acknowledger: Acknowledger<AnsweredChanges> | undefined;
    const onProgress = (progress: Progress): void => acknowledger?.tell(progress);
    const engineOptions = engineSettings(settings);
    const vault = createDnsVault(store, () => acknowledger?.askKeys());
    const transfers = createDnsTransfers({
      settings,
      store,
      serving: servingSettings(settings, store),
      udpSize: engineOptions.udpSize,
      clock,
      log,
      vault,
      onTransferred: (zone, address) => acknowledger?.tellTransferred(zone, address),
      onNotified: (zone) => acknowledger?.tellNotified(zone),
      relay: async (request, address) => acknowledger?.relay(request, address) ?? 'away',
    });
    lifecycle.own('transfers', transfers, (part) => part.close());
    const compact = createDnsCompact({ store, vault, clock, log });
    const { keyNames, secondaryNames } = transfers;
    const engine = { ...engineOptions, keyNames, secondaryNames, signingTime: compact.signingTime };
    const observation = observationOf(settings, 1 + udpThreads(settings.dnsWorkers, settings.dnsXdp));
    const publishing = await publish(options, engine, compact.made, observation, store, onProgress);
    const publisher = lifecycle.own('publisher', publishing, (part) => part.close());
    const ends = watchPlaces(settings, (places) => publisher.setPlaces(places), clock, log);
    lifecycle.own('places of addresses', ends, (end) => end());
    const signing = lifecycle.own('compact denial', compact.answerWith(publisher.deferred), (part) => part.close());
    const tls = tlsMaterialOf(settings);
    const turns = lifecycle.own('turn watch', watchLongTurns('dns'), (part) => part.stop());
    const servers = lifecycle.own(
      'listeners',
      await listen(options, publisher, { ...transfers, answerDeferred: transfers.answerDeferred(signing) }, tls),
      (part) => part.close(),
    );
    const report = tellPlaces(options, describe(store, publisher, servers), lifecycle);
    if (tls) watchCertificate(options, servers, tls, lifecycle);
    // Only now does it serve what it reports.
    const wake = (): void => {
      for (const part of [publisher, transfers]) part.wake();
    };
    acknowledger = startAcknowledger(settings.dataDir, publisher.status, clock, wake, vault.setKeys);
    lifecycle.own('acknowledgements', acknowledger, (part) => part.close());
    const observing = observation && (await startObservation(options, observation, store, acknowledger.tellObserved));
    if (observing) lifecycle.own('observation', observing, (part) => part.close());
    const samples = (): MetricSample[] => [
      ...[turns, transfers, signing].flatMap((part) => part.samples()),
      ...servers.readCounters(),
      ...gauges(publisher),
      ...engineSamples(engine),
      ...(observing?.metrics() ?? []),
    ];
    if (onStatus) reportStatus(options, onStatus, { publisher, transfers, servers, samples }, lifecycle);
    return {
      report,
      renewCertificate: (credentials) => servers.renewCertificate(credentials),
      drain: (limitMs) => lifecycle.stop(limitMs),
    };
  } catch (error) {
    await lifecycle.stop(STATUS_PERIOD_MS);
    throw explainStoreFailure(error);
  }
}

/** Undefined where nothing is encrypted. */
function tlsMaterialOf(settings: Settings): TlsMaterial | undefined {
  return settings.dotPort !== undefined || settings.dohPort !== undefined ? readTlsFiles(settings) : undefined;
}

/** Certificates whose files change, or after a signal, are used for new connections. */
function watchCertificate(
  { settings, clock, log, onReload }: DnsOptions,
  servers: DnsServers,
  { files }: TlsMaterial,
  lifecycle: Lifecycle,
): void {
  const renew = (credentials: TlsCredentials): void => servers.renewCertificate(credentials);
  lifecycle.own('certificate watch', watchTlsFiles(files, renew, clock, log), (end) => end());
  onReload(() => renew(readTlsFiles(settings)!.credentials));
}

async function publish(
  { settings, clock, log }: DnsOptions,
  engine: EngineSettings,
  made: MadeTable,
  observation: Observation | undefined,
  store: Store,
  onProgress: (progress: Progress) => void,
): Promise<Publisher> {
  return startPublisher({
    source: createZoneSource(store, servingSettings(settings, store), settings.region),
    engine,
    made,
    observation,
    places: readPlaces(settings),
    onMemory: await loadLargePages(),
    clock,
    log,
    seed: Buffer.from(systemRandom.bytes(4)).readUInt32LE(),
    onProgress,
  });
}

/** What answers beside the engines. */
interface AnsweringParts extends Pick<DnsTransfers, 'answer' | 'groupOfDeferred'> {
  readonly answerDeferred: AnswerDeferred;
}

function listen(
  { settings, takeOver, isRestart, clock, log }: DnsOptions,
  publisher: Publisher,
  { answer: answerTransfer, answerDeferred, groupOfDeferred }: AnsweringParts,
  tls: TlsMaterial | undefined,
): Promise<DnsServers> {
  return startDnsServers({
    addresses: settings.dnsHost,
    port: settings.dnsPort ?? DNS_PORT,
    takeOver,
    isRestart,
    transport: settings.udpTransport,
    xdp: settings.dnsXdp,
    workers: settings.dnsWorkers,
    answer: publisher.answer,
    answerTransfer,
    answerDeferred,
    groupOfDeferred,
    workerEngine: { connect: (worker) => publisher.connectWorker(worker) },
    ...(settings.dotPort !== undefined && { tls: { port: settings.dotPort, credentials: tls?.credentials } }),
    ...(settings.dohPort !== undefined && { https: { port: settings.dohPort, credentials: tls?.credentials } }),
    log,
    clock,
  });
}

function describe(store: Store, publisher: Publisher, servers: DnsServers): DnsReport {
  const { zones, recordsLoaded } = publisher.status();
  const listeners = servers.addresses.flatMap((host): DnsListener[] => [
    { protocol: 'udp', host, port: servers.port },
    { protocol: 'tcp', host, port: servers.port },
    ...(servers.tlsPort === undefined ? [] : [{ protocol: 'tls' as const, host, port: servers.tlsPort }]),
    ...(servers.httpsPort === undefined ? [] : [{ protocol: 'https' as const, host, port: servers.httpsPort }]),
  ]);
  const exampleZone = findExampleZone(store);
  return {
    listeners,
    transport: servers.transport,
    zones,
    records: recordsLoaded,
    ...(exampleZone === undefined ? {} : { exampleZone }),
  };
}

/** Tells the other processes what this one listens on. */
function tellPlaces({ settings, log }: DnsOptions, report: DnsReport, lifecycle: Lifecycle): DnsReport {
  const places = report.listeners.map(({ protocol, host, port }): Listener => {
    return { host, port, place: protocol === 'https' ? 'here' : 'dns' };
  });
  lifecycle.own('list of listeners', tellListeners(settings.dataDir, 'dns', places, log), (end) => end());
  return report;
}

/** Zones that are considered as the example. */
const EXAMPLES = 20;

/** The first served zone; a reverse zone only if the first zones include no other. */
function findExampleZone(store: Store): string | undefined {
  const names = servedZones(store)
    .slice(0, EXAMPLES)
    .flatMap((seq) => findZone(store, seq)?.name ?? []);
  return names.find((name) => !name.endsWith('.arpa')) ?? names[0];
}

interface ReportedParts {
  readonly publisher: Publisher;
  readonly transfers: DnsTransfers;
  readonly servers: DnsServers;
  readonly samples: () => MetricSample[];
}

/** Reports its status at once and whenever it changes; the final report, when it stops, is "not ready". */
function reportStatus(
  { clock }: DnsOptions,
  onStatus: (status: DnsStatus) => void,
  { publisher, transfers, servers, samples }: ReportedParts,
  lifecycle: Lifecycle,
): void {
  const failureNow = (): unknown => publisher.status().failure ?? transfers.failure();
  const read = (ready: boolean): DnsStatus => {
    const { zones, appliedChange } = publisher.status();
    const failure = failureNow();
    return {
      ready,
      zones,
      appliedChange,
      ...(failure !== undefined && { failure: messageOf(failure) }),
      samples: samples(),
    };
  };
  const mark = (): string => {
    const { zones, appliedChange, heldZones } = publisher.status();
    const failure = failureNow();
    return `${zones} ${appliedChange} ${heldZones.length} ${failure === undefined ? '' : messageOf(failure)} ${servers.mark()}`;
  };
  const cancel = startStatusReports(clock, () => read(true), onStatus, mark);
  lifecycle.own('status reports', cancel, () => {
    cancel();
    onStatus(read(false));
  });
}

function gauges(publisher: Publisher): MetricSample[] {
  const { zones, appliedChange, heldZones, loadMs, image } = publisher.status();
  const values: readonly (readonly [name: string, help: string, value: number])[] = [
    ['dns_zones', 'Zones served', zones],
    [
      'dns_held_zones',
      'Zones that queries see in their former state, because their changes cannot be published',
      heldZones.length,
    ],
    ['dns_applied_change', 'Number of the latest published change', appliedChange],
    ['dns_load_seconds', 'Time it took to load all zones at the start', loadMs / 1000],
    ['dns_image_nodes', 'Names in memory, of all zones', image.nodes],
    ['dns_image_heap_bytes', 'Memory used by names and records', image.heapOctets],
    ['dns_image_garbage_bytes', 'Part of that memory that is garbage', image.garbageOctets],
    ['dns_image_slot_bytes', 'Memory used by the index of names', image.slotOctets],
  ];
  return values.map(([name, help, value]) => ({ name, type: 'gauge', help, labels: {}, value }));
}
