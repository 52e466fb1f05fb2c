/** The admin process: the only one that writes. Migrates the store, makes the first administrator, serves the API. */
import { createSecureListener, type SecureListener } from '../api/secure-listener.js';
import { buildApi } from '../api/server.js';
import { AppError, messageOf, UserError } from '../base/errors.js';
import { createLifecycle, type Lifecycle } from '../base/lifecycle.js';
import type { Logger } from '../base/log.js';
import { type MetricSample, printMetrics } from '../base/metrics.js';
import { systemRandom } from '../base/random.js';
import { createLocalStore } from '../bucket/local-store.js';
import { type FlattenRefresher, startFlattenRefresher } from '../control/flatten/refresher.js';
import type { ContextBase } from '../control/write/context.js';
import { createPropagation } from '../control/write/propagation.js';
import { logServingSettings } from '../control/zones/serving-settings.js';
import { createResolver, type Resolver } from '../resolver/resolve.js';
import { createResolverMetrics } from '../resolver/resolver-metrics.js';
import { createUpstream } from '../resolver/upstream.js';
import { openStore, type Store, storeSize } from '../store/driver.js';
import { migrate } from '../store/migrate.js';
import { ALL_PURPOSES } from '../store/sealed-columns.js';
import { unlockVault } from '../vault/unlock.js';
import type { Vault } from '../vault/vault.js';
import { hearAcknowledgements } from './acknowledgement.js';
import { startBucketApplication } from './bucket-application.js';
import { createControlBase, masterKeysOf, upstreamServers } from './control-base.js';
import { ensureAdministrator, importFirstZones } from './first-run.js';
import type { AdminReport, DnsStatus } from './ipc.js';
import { startJobs } from './jobs.js';
import { STATUS_PERIOD_MS } from './limits.js';
import { listenFor } from './listen.js';
import { lockDataDirectory } from './lock.js';
import { createReadiness, heldZoneNames, type ReadinessGate } from './readiness.js';
import type { RoleContext, RunningRole } from './role.js';
import { startHostnames } from './services/hostnames.js';
import { explainStoreFailure } from './store-failure.js';
import { type PemPair, readTlsFiles, watchTlsFiles } from './tls-files.js';

export interface AdminOptions extends RoleContext {
  /** The DNS process runs elsewhere: readiness is that of this process alone. */
  readonly dnsApart?: boolean;
  /** Called when `/readyz` begins to answer 200. */
  readonly onServing?: () => void;
}

export interface RunningAdmin extends RunningRole<AdminReport> {
  /** What the DNS process said last; undefined when it is gone. */
  readonly setDnsStatus: (status: DnsStatus | undefined) => void;
}

/** Starts it; the API answers when this resolves. Rejects with a UserError when it cannot. */
export async function startAdmin(options: AdminOptions): Promise<RunningAdmin> {
  const { settings, origins, clock, log, terminal, version } = options;
  const lifecycle = createLifecycle(clock, log);
  try {
    const { store, vault } = await openOwnStore(options, lifecycle);
    const base = createControlBase(settings, store, clock, log);
    const key = await ensureAdministrator(base, settings, terminal);
    await logServingSettings(base);
    const firstImport = await importFirstZones(base, settings, origins.zonesDir.kind === 'default');

    const resolverMetrics = createResolverMetrics();
    const objects = createLocalStore({ store, clock, random: systemRandom, log });
    const resolver = createResolver({
      store,
      upstream: createUpstream({ servers: upstreamServers(settings), clock }),
      clock,
      random: systemRandom,
      metrics: resolverMetrics,
      serving: base.settings,
    });
    const refresher = await startRefresher(options, base, resolver, lifecycle);
    const hostnames = await startHostnames({ settings, base, resolver, vault, lifecycle, version });
    const application = await startBucketApplication(options, { base, objects, lifecycle });
    const runner = await startJobs({ store, clock, log, objects, base, hostnames });
    const jobs = lifecycle.own('jobs', runner, (part) => part.stop());
    const propagation = createPropagation(clock);
    const gate = createReadiness(clock, { ...options, heldZones: () => heldZoneNames(store, propagation) });
    const hearing = await hearAcknowledgements(settings.dataDir, propagation, log);
    lifecycle.own('acknowledgements', hearing, (part) => part.close());
    const apiLog = log.child({});
    const api = buildApi({
      base: { ...base, log: apiLog },
      objects,
      hostnames,
      host: settings.adminHost,
      version,
      readiness: gate.readiness,
      propagation,
      rateLimit: settings.adminRateLimit,
      metrics: () =>
        printMetrics([
          ...gate.dnsSamples(),
          ...application.metrics.samples(),
          ...resolverMetrics.samples(),
          ...refresher.samples(),
          ...jobs.samples(),
          ...ownSamples(store, version),
        ]),
    });
    return {
      report: {
        ...(await startListeners(options, api, apiLog, lifecycle)),
        ...(application.url !== undefined && { bucketUrl: application.url }),
        email: settings.adminEmail,
        ...key,
        ...(firstImport && { firstImport }),
      },
      setDnsStatus: gate.setDnsStatus,
      drain: (limitMs) => drain(gate, () => lifecycle.stop(limitMs)),
    };
  } catch (error) {
    await lifecycle.stop(STATUS_PERIOD_MS);
    if (error instanceof AppError) throw new UserError(error.message);
    throw explainStoreFailure(error);
  }
}

/** Keeps the answers of flattened names fresh. */
async function startRefresher(
  { settings }: AdminOptions,
  base: ContextBase,
  resolver: Resolver,
  lifecycle: Lifecycle,
): Promise<FlattenRefresher> {
  const policy = { edgeAddresses: base.settings.edgeAddresses, privateAddresses: settings.flattenPrivate };
  const refresher = await startFlattenRefresher({ base, resolver, policy });
  return lifecycle.own('flattening', refresher, (part) => part.close());
}

/** The store, brought up to date, once no other admin process has it; its vault opens. */
async function openOwnStore(options: AdminOptions, lifecycle: Lifecycle): Promise<{ store: Store; vault: Vault }> {
  const { settings, clock, log } = options;
  lifecycle.own('lock', lockDataDirectory(settings.dataDir, 'adminLock'), (part) => part.release());
  const store = lifecycle.own('store', openStore(settings.dataDir), (part) => closeStore(part, log));
  migrate(store, clock, systemRandom);
  const keys = masterKeysOf(options);
  const vault = await unlockVault({ store, keys, random: systemRandom, purposes: ALL_PURPOSES });
  return { store, vault };
}

/** Listens for the API, also over TLS where that is set; returns the URLs. Rejects with a UserError when it cannot listen. */
async function startListeners(
  options: AdminOptions,
  api: ReturnType<typeof buildApi>,
  apiLog: Logger,
  lifecycle: Lifecycle,
): Promise<Pick<AdminReport, 'url' | 'secureUrl'>> {
  const { adminHost: host, adminPort: port } = options.settings;
  // Fastify's own line about listening would repeat what is announced anyway.
  apiLog.level = 'warn';
  const url = await listenFor(api, { what: 'the admin API', host, port, settings: 'admin' });
  apiLog.level = options.log.level;
  lifecycle.own('admin API', api, (part) => part.close());
  const secureUrl = await startSecureListener(options, api, lifecycle);
  return { url, ...(secureUrl !== undefined && { secureUrl }) };
}

/** The same API over TLS, where a port is set for it. Rejects with a UserError when it cannot listen there. */
async function startSecureListener(
  { settings, clock, log }: AdminOptions,
  api: ReturnType<typeof buildApi>,
  lifecycle: Lifecycle,
): Promise<string | undefined> {
  const { adminHost: host, adminTlsPort: port } = settings;
  const tls = port === undefined ? undefined : readTlsFiles(settings);
  if (port === undefined || tls === undefined) return undefined;
  const listener = createListener(api, tls.credentials);
  const place = { what: 'the admin API over HTTPS', host, port, settings: 'admin-tls' };
  const url = await listenFor(listener, place);
  lifecycle.own('admin API over HTTPS', listener, (part) => part.close());
  const endWatch = watchTlsFiles(tls.files, listener.renew, clock, log);
  lifecycle.own('certificate watch', endWatch, (end) => end());
  return url.replace(/^http:/, 'https:');
}

function createListener(api: ReturnType<typeof buildApi>, credentials: PemPair): SecureListener {
  try {
    return createSecureListener(api, credentials);
  } catch (error) {
    throw new UserError(
      `the certificate or key of the admin API cannot be used: ${messageOf(error)}`,
      'Check --tls-cert and --tls-key: both must be PEM, and belong together.',
    );
  }
}

function drain(gate: ReadinessGate, stop: () => Promise<boolean>): Promise<boolean> {
  gate.close();
  return stop();
}

/** What cannot be moved out of the write-ahead log now, for want of room, is safe there until the next start. */
function closeStore(store: Store, log: Logger): void {
  try {
    store.checkpoint();
  } catch (error) {
    log.warn({ reason: messageOf(error) }, 'the write-ahead log was not moved into the database');
  }
  store.close();
}

function ownSamples(store: Store, version: string): MetricSample[] {
  const gauge = (name: string, help: string, value: number, labels = {}): MetricSample => ({
    name,
    type: 'gauge',
    help,
    labels,
    value,
  });
  return [
    gauge('build_info', 'The running version', 1, { version, node: process.version }),
    gauge('store_octets', 'Size of the database on disk', storeSize(store)),
    gauge('admin_resident_octets', 'Memory of the admin process', process.memoryUsage.rss()),
  ];
}
