/** The DNS process: reads the store, publishes the zones as an image, answers on UDP and TCP. It never writes. */
import type { EngineSettings } from '../answer/state.js';
import { messageOf } from '../base/errors.js';
import { createLifecycle, type Lifecycle } from '../base/lifecycle.js';
import type { MetricSample } from '../base/metrics.js';
import { systemRandom } from '../base/random.js';
import { type Progress, type Publisher, startPublisher } from '../publish/publisher.js';
import { createZoneSource } from '../publish/source.js';
import { type DnsServers, startDnsServers } from '../server/start.js';
import type { TlsCredentials } from '../server/tls.js';
import { openStore, type Store } from '../store/driver.js';
import { requireSchema } from '../store/migrate.js';
import { findZone, servedZones } from '../store/zones/zones.js';
import { type Acknowledger, startAcknowledger } from './acknowledgement.js';
import { servingSettings } from './control-base.js';
import { DNS_PORT } from './dns-port.js';
import { engineSamples, engineSettings } from './engine-settings.js';
import type { DnsListener, DnsReport, DnsStatus } from './ipc.js';
import { STATUS_PERIOD_MS } from './limits.js';
import type { RoleContext, RunningRole } from './role.js';
import { explainStoreFailure } from './store-failure.js';
import { readTlsFiles, type TlsMaterial, watchTlsFiles } from './tls-files.js';

export interface DnsOptions extends RoleContext {
  readonly onStatus?: (status: DnsStatus) => void;
}

/** Starts it; every zone is loaded and every listener bound when this resolves. Rejects with a UserError otherwise. */
export async function startDns(options: DnsOptions): Promise<RunningRole<DnsReport>> {
  const { settings, clock, log, onStatus } = options;
  const lifecycle = createLifecycle(clock, log);
  try {
    const store = lifecycle.own('store', openStore(settings.dataDir, { readonly: true }), (part) => part.close());
    requireSchema(store);
    let acknowledger: Acknowledger | undefined;
    const onProgress = (progress: Progress): void => acknowledger?.tell(progress);
    const engine = engineSettings(settings);
    const publisher = lifecycle.own('publisher', publish(options, engine, store, onProgress), (part) => part.close());
    const encrypts = settings.dotPort !== undefined || settings.dohPort !== undefined;
    const tls = encrypts ? readTlsFiles(settings) : undefined;
    const servers = lifecycle.own('listeners', await listen(options, publisher, tls), (part) => part.close());
    if (tls) {
      const renew = (credentials: TlsCredentials): void => servers.renewCertificate(credentials);
      lifecycle.own('certificate watch', watchTlsFiles(tls.files, renew, clock, log), (end) => end());
    }
    // Only now does it serve what it says it serves.
    acknowledger = startAcknowledger(settings.dataDir, () => publisher.status(), clock);
    lifecycle.own('acknowledgements', acknowledger, (part) => part.close());
    const samples = (): MetricSample[] => [...servers.readCounters(), ...gauges(publisher), ...engineSamples(engine)];
    if (onStatus) reportStatus(options, onStatus, publisher, samples, lifecycle);
    return {
      report: describe(store, publisher, servers),
      drain: (limitMs) => lifecycle.stop(limitMs),
    };
  } catch (error) {
    await lifecycle.stop(STATUS_PERIOD_MS);
    throw explainStoreFailure(error);
  }
}

function publish(
  { settings, clock, log }: DnsOptions,
  engine: EngineSettings,
  store: Store,
  onProgress: (progress: Progress) => void,
): Publisher {
  return startPublisher({
    source: createZoneSource(store, servingSettings(settings)),
    engine,
    clock,
    log,
    seed: Buffer.from(systemRandom.bytes(4)).readUInt32LE(),
    onProgress,
  });
}

function listen(
  { settings, clock, log }: DnsOptions,
  publisher: Publisher,
  tls: TlsMaterial | undefined,
): Promise<DnsServers> {
  return startDnsServers({
    addresses: settings.dnsHost,
    port: settings.dnsPort ?? DNS_PORT,
    transport: settings.udpTransport,
    workers: settings.dnsWorkers,
    answer: publisher.answer,
    workerEngine: { connect: () => publisher.connectWorker() },
    ...(tls && settings.dotPort !== undefined && { tls: { port: settings.dotPort, credentials: tls.credentials } }),
    ...(tls && settings.dohPort !== undefined && { https: { port: settings.dohPort, credentials: tls.credentials } }),
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

/** Zones looked at for an example. */
const EXAMPLES = 20;

/** The first zone served; a reverse zone only when there is no other among the first. */
function findExampleZone(store: Store): string | undefined {
  const names = servedZones(store)
    .slice(0, EXAMPLES)
    .flatMap((seq) => findZone(store, seq)?.name ?? []);
  return names.find((name) => !name.endsWith('.arpa')) ?? names[0];
}

/** Tells how it is doing, at once and then periodically; the last word, when it stops, is that it is not ready. */
function reportStatus(
  { clock }: DnsOptions,
  onStatus: (status: DnsStatus) => void,
  publisher: Publisher,
  samples: () => MetricSample[],
  lifecycle: Lifecycle,
): void {
  const tell = (ready: boolean): void => {
    const { zones, appliedChange, failure } = publisher.status();
    onStatus({
      ready,
      zones,
      appliedChange,
      ...(failure !== undefined && { failure: messageOf(failure) }),
      samples: samples(),
    });
  };
  tell(true);
  const cancel = clock.every(STATUS_PERIOD_MS, () => tell(true));
  lifecycle.own('status reports', cancel, () => {
    cancel();
    tell(false);
  });
}

function gauges(publisher: Publisher): MetricSample[] {
  const { zones, appliedChange, heldZones, loadMs, image } = publisher.status();
  const values: readonly (readonly [name: string, help: string, value: number])[] = [
    ['dns_zones', 'Zones served', zones],
    [
      'dns_held_zones',
      'Zones that queries see as they were, because their changes cannot be published',
      heldZones.length,
    ],
    ['dns_applied_change', 'Number of the latest change that queries see', appliedChange],
    ['dns_load_seconds', 'Time it took to load all zones at the start', loadMs / 1000],
    ['dns_image_nodes', 'Names of all zones in memory', image.nodes],
    ['dns_image_heap_octets', 'Memory taken by names and records', image.heapOctets],
    ['dns_image_garbage_octets', 'Part of that memory that is no longer used', image.garbageOctets],
    ['dns_image_slot_octets', 'Memory taken by the index of names', image.slotOctets],
  ];
  return values.map(([name, help, value]) => ({ name, type: 'gauge', help, labels: {}, value }));
}
