/**
 * The admin process, the only one that writes. It starts in three steps: the store (own-store.ts), the services that work beside the
 * API, and the API itself.
 */

import { createEventStreams } from '../api/events/streams.js';
import { createReaders, type Readers } from '../api/reading/readers.js';
import { createRequestMetrics } from '../api/request-metrics.js';
import { buildApi } from '../api/server.js';
import { parseCidrSet } from '../base/ip.js';
import { createLifecycle, type Lifecycle } from '../base/lifecycle.js';
import { watchLongTurns } from '../base/long-turns.js';
import type { MetricSample } from '../base/metrics.js';
import type { OwnCertificate } from '../certs/own-certificate.js';
import { replacedSettings } from '../config/allowed-networks.js';
import type { Settings } from '../config/schema.js';
import { createSecretAccessKeys } from '../control/access/secret-access-keys.js';
import { type FlattenRefresher, startFlattenRefresher } from '../control/flatten/refresher.js';
import type { ContextBase } from '../control/kernel/context.js';
import { createPropagation } from '../control/kernel/propagation.js';
import { noticesOfAccounts, noticesOfInstallation } from '../control/zones/notices.js';
import { logServingSettings } from '../control/zones/serving-settings.js';
import { createActivity } from '../observe/activity.js';
import type { ActivityReport } from '../observe/report.js';
import type { Resolver } from '../resolver/resolve.js';
import { createResolverMetrics } from '../resolver/resolver-metrics.js';
import { startStatistics } from '../statistics/recorder.js';
import type { Store } from '../store/driver.js';
import { servedZoneOfName } from '../store/zones/zones.js';
import { startAlertDelivery, startSender } from './alerts/service.js';
import type { ClusterMember } from './cluster/member.js';
import { SERVING_REMEDY, servingDifferences, watchServing } from './cluster/serving.js';
import { watchEdgeNeed } from './edge/need.js';
import { ensureAdministrator, importFirstZones, noticesOfAdminKey, withLoginLink } from './first-run.js';
import { type HearingOptions, hearProcesses } from './hear-processes.js';
import { startJobs } from './jobs.js';
import { type OwnStore, openOwnStore } from './own-store.js';
import { startProbing } from './probing/service.js';
import { createControlBase, lookUpsOf } from './process/control-base.js';
import type { AdminReport, DnsStatus, EdgeStatus } from './process/ipc.js';
import { STATUS_PERIOD_MS } from './process/limits.js';
import { createOwnResolver } from './process/own-resolver.js';
import { surroundingsOf } from './process/places.js';
import type { RunningRole } from './process/role.js';
import { explainStart } from './process/store-failure.js';
import { createReadiness, heldZonesOf, type ReadinessGate } from './readiness.js';
import { startListeners } from './services/admin-listeners.js';
import { startBucketApplication } from './services/bucket-application.js';
import { startWarnings } from './services/conditions.js';
import { startDiskRoom } from './services/disk.js';
import { startHostnames } from './services/hostnames.js';
import { createIncoming } from './services/incoming.js';
import { startObjects } from './services/object-bodies.js';
import { startOwnCertificate } from './services/own-certificate.js';
import { type Measured, ownSamples, printAll } from './services/own-samples.js';
import { type S3Parts, startS3Door } from './services/s3-door.js';
import { startScheduledBackups } from './services/scheduled-backups.js';
import { startMail, startSignIn } from './services/sign-in.js';
import { hasRoomForSpares } from './supervision/spare.js';

export { warmUp } from '../api/warm-up.js';

export interface AdminOptions extends HearingOptions {
  /** Called when `/readyz` begins to answer 200. */
  readonly onServing?: () => void;
  /** Called with whether any name could lead to an edge, at the start and when that changes. */
  readonly onEdgeNeeded?: (needed: boolean) => void;
  /** Called with the certificate of the service itself, and with each that takes its place (`tls-cert auto`). */
  readonly onCertificate?: (certificate: OwnCertificate) => void;
}

export interface RunningAdmin extends RunningRole<AdminReport> {
  /** Sets the last report of the DNS process; undefined when the process has ended. */
  readonly setDnsStatus: (status: DnsStatus | undefined) => void;
  /** The same of the edge process. */
  readonly setEdgeStatus: (status: EdgeStatus | undefined) => void;
}

/** Starts the admin process; resolves when the API answers. Rejects with a UserError when it cannot start. */
export async function startAdmin(options: AdminOptions): Promise<RunningAdmin> {
  const lifecycle = createLifecycle(options.clock, options.log);
  const ended = Promise.withResolvers<void>();
  try {
    const own = await openOwnStore(options, lifecycle, ended.resolve);
    const services = await startServices(options, lifecycle, own, ended.resolve);
    const running = await startApi(options, lifecycle, own, services);
    return { ...running, ended: ended.promise };
  } catch (error) {
    await lifecycle.stop(STATUS_PERIOD_MS);
    throw explainStart(error, options.settings.dataDir);
  }
}

/** The second step: what works beside the API, and what it asks. `startAnew`: this process must be replaced. */
async function startServices(options: AdminOptions, lifecycle: Lifecycle, own: OwnStore, startAnew: () => void) {
  const { settings, clock, log, version } = options;
  const { store, vault, member } = own;
  const [lookUps, resolverMetrics] = [lookUpsOf(settings, store, clock), createResolverMetrics()];
  const base = createOwnBase(options, own, { lookUps, disk: startDiskRoom(options, lifecycle) });
  const readers = startReaders(options, base, lifecycle);
  const firstSteps = await takeFirstSteps(options, base);
  const { differences, lookAtServing } = agreeOnServing(options, store, member, startAnew);
  const objects = await startObjects(options, store, member !== undefined, lifecycle, base.disk);
  const resolver = createOwnResolver(settings, base, resolverMetrics);
  const refresher = await startRefresher(options, base, resolver, lifecycle);
  const propagation = createPropagation(clock);
  const hostnames = await startHostnames({ settings, base, resolver, vault, lifecycle, version, propagation });
  const ownCertificate = await startOwnCertificate(settings, hostnames.certificates, options.onCertificate);
  const doors = await startDoors(options, { base, objects, lifecycle, member, ownCertificate });
  const incoming = createIncoming(settings, base, vault);
  const running = { store, clock, log, objects, base, hostnames, ownCertificate, incoming, member };
  const sharesBodies = settings.objects !== undefined;
  const jobs = await startJobs({
    ...{ ...running, sharesBodies, dataDir: settings.dataDir },
    lifecycleMs: settings.lifecycleInterval * 1000,
  });
  const runner = lifecycle.own('jobs', jobs, (part) => part.stop());
  const asked = startCounting(base, lifecycle);
  const edge = watchEdge(options, store, lifecycle);
  const events = createEventStreams(base, readers);
  const later = { look: (): void => {} };
  const looks = [edge.look, doors.s3.look, lookAtServing, () => later.look(), events.wake];
  const sources = { base, vault, propagation, onReport: asked.onReport, refresher, runner, looks, lifecycle, member };
  const hearing = await hearProcesses(options, sources);
  own.onCommit(hearing.afterCommit);
  const node = { region: settings.region ?? '', node: member?.name ?? '' };
  const probing = startProbing({ base, settings, node, living: hearing.living, copyStatus: member?.replica.status });
  lifecycle.own('probing', probing, (part) => part.close());
  const mail = startMail(settings, clock, lifecycle);
  const sendMail = mail?.send;
  const alerts = startAlertDelivery({ ...options, base, sendMail, node: node.node, living: hearing.living }, lifecycle);
  later.look = () => {
    for (const part of [probing, alerts]) part.look();
  };
  const backups = await startScheduledBackups(options, store, lifecycle);
  const measured = [
    alerts,
    events,
    runner,
    ...hearing.parts,
    lookUps,
    base.disk,
    backups,
    ...doors.measured,
    edge,
    probing,
    ...(mail ? [mail] : []),
  ];
  return {
    ...{ base, objects, hostnames, propagation, asked, ownCertificate, doors, edge, firstSteps, differences },
    ofCluster: hearing.ofCluster,
    ...{ probing, resolver, sendMail, events, readers },
    measured: [...measured, resolverMetrics, refresher, incoming],
  };
}

type Services = Awaited<ReturnType<typeof startServices>>;

/** The third step: the API, which answers when this resolves. */
async function startApi(
  options: AdminOptions,
  lifecycle: Lifecycle,
  { store, member, vault }: OwnStore,
  services: Services,
): Promise<RunningAdmin> {
  const { settings, clock, log, version } = options;
  const { base, objects, hostnames, propagation, asked, ownCertificate, doors, ofCluster, readers } = services;
  const heldZones = () => heldZonesOf(store, propagation);
  const isProbing = () => services.probing.isWell();
  const { isAlone } = services.probing;
  const gate = createReadiness(clock, { ...options, heldZones, copyStatus: member?.replica.status, isAlone });
  const [apiLog, requestMetrics] = [log.child({}), createRequestMetrics()];
  const warnings = startWarnings({ ...options, store, readers, heldZones, isProbing, ...ofCluster }, base, lifecycle);
  const measured: Measured[] = [requestMetrics, readers, warnings, ...services.measured];
  const signIn = startSignIn(settings, { ...base, log: apiLog }, vault, services.resolver, services.sendMail);
  const api = buildApi({
    ...{
      probing: services.probing,
      surroundings: surroundingsOf(settings),
      objects,
      hostnames,
      version,
      propagation,
      activity: asked.activity,
      statistics: asked.statistics,
      requestMetrics,
      readers,
      ...warnings,
    },
    ...{ base: { ...base, log: apiLog }, application: doors.application, s3Host: doors.s3.host },
    links: doors.s3.links,
    host: settings.adminHost,
    readiness: gate.readiness,
    ...ofCluster,
    signIn,
    events: services.events,
    sender: startSender(settings, base, services.resolver, lifecycle),
    rateLimit: settings.adminRateLimit,
    trustedProxies: parseCidrSet(settings.trustProxies),
    metricsPublic: settings.metricsPublic === 'on',
    metrics: () =>
      printAll(measured, [...gate.dnsSamples(), ...ownSamples({ base, version, objects, hashes: signIn.hashes })]),
  });
  const urls = await startListeners({ ...options, ownCertificate, ...doors }, api, apiLog, lifecycle);
  // Nobody waits for the long turns in which all of this is made.
  measured.push(lifecycle.own('turn watch', watchLongTurns('admin'), (part) => part.stop()));
  const { firstSteps, differences, edge } = services;
  return {
    report: {
      ...{ ...urls, ...doors.urls, email: settings.adminEmail, ...firstSteps },
      ...(await withLoginLink(base, firstSteps, urls.url)),
      notices: [...differences, ...noticesOfStart(settings, base)],
    },
    setDnsStatus: gate.setDnsStatus,
    setEdgeStatus: edge.setStatus,
    drain: (limitMs) => drain(gate, () => lifecycle.stop(limitMs)),
  };
}

/** The context of use cases in this process, which knows the disk and opens everything that is sealed. */
function createOwnBase(
  { settings, clock, log }: AdminOptions,
  { store, vault, zoneKeys }: OwnStore,
  { lookUps, disk }: { lookUps: ReturnType<typeof lookUpsOf>; disk: ReturnType<typeof startDiskRoom> },
) {
  return {
    ...createControlBase(settings, store, clock, log, zoneKeys, lookUps),
    disk,
    secretAccessKeys: createSecretAccessKeys(store, () => vault),
  };
}

/** What serves objects beside the API. */
async function startDoors(options: AdminOptions, parts: S3Parts) {
  const application = await startBucketApplication(options, parts);
  const s3 = await startS3Door(options, parts);
  const urls: Pick<AdminReport, 'bucketUrl' | 's3Url'> = {
    ...(application.url !== undefined && { bucketUrl: application.url }),
    ...(s3.url !== undefined && { s3Url: s3.url }),
  };
  return { application, s3, urls, measured: [application.metrics, s3] };
}

/** What may read for long is read by threads. */
function startReaders({ settings, clock, log }: AdminOptions, base: ContextBase, lifecycle: Lifecycle): Readers {
  const data = { dataDir: settings.dataDir, settings: base.settings, logLevel: log.level };
  return lifecycle.own('readers', createReaders(data, clock, log, hasRoomForSpares()), (part) => part.close());
}

/**
 * In a cluster, all nodes serve with the same settings: when they change, the other processes of this machine and this one are
 * replaced. Returns what this machine sets otherwise, and what is to be called after commits of this process and of commands.
 */
function agreeOnServing(options: AdminOptions, store: Store, member: ClusterMember | undefined, end: () => void) {
  if (!member) return { differences: [], lookAtServing() {} };
  const { log, onReplaced } = options;
  const startAnew = (): void => {
    log.info('the serving settings of the cluster have changed: the processes of this node are replaced');
    onReplaced?.();
    end();
  };
  const differences = servingDifferences(options, store).map((difference) => {
    log.warn({ remedy: SERVING_REMEDY }, difference);
    return `${difference}. ${SERVING_REMEDY}`;
  });
  return { differences, lookAtServing: watchServing(store, startAnew) };
}

function noticesOfStart(own: Settings, base: ContextBase): string[] {
  const { store, settings, clock } = base;
  const notices = [
    ...noticesOfAccounts(store, settings.activation, clock.nowUs()),
    ...noticesOfInstallation(store, settings),
  ];
  return [
    ...replacedSettings(own),
    ...noticesOfAdminKey(base, own),
    ...notices.map(({ text, remedy }) => `${text}. ${remedy}`),
  ];
}

/** What a new installation needs, and what follows from changed settings. */
async function takeFirstSteps(
  { settings, origins, terminal }: AdminOptions,
  base: ContextBase,
): Promise<Pick<AdminReport, 'initialKey' | 'initialKeyFile' | 'keyUnused' | 'firstImport'>> {
  const key = await ensureAdministrator(base, settings, terminal);
  await logServingSettings(base);
  const firstImport = await importFirstZones(base, settings, origins.zonesDir.kind === 'default');
  return { ...key, ...(firstImport && { firstImport }) };
}

/** What DNS is asked: now and in the last day, and over a month. */
function startCounting(base: ContextBase, lifecycle: Lifecycle) {
  const activity = createActivity(base.clock, (name) => servedZoneOfName(base.store, name));
  const statistics = lifecycle.own('statistics', startStatistics(base), (part) => part.close());
  const onReport = (report: ActivityReport): void => {
    activity.add(report);
    statistics.add(report);
  };
  return { activity, statistics, onReport };
}

/** What the edge process says, and whether there is to be one. */
function watchEdge({ clock, onEdgeNeeded }: AdminOptions, store: Store, lifecycle: Lifecycle) {
  let status: EdgeStatus | undefined;
  const need = onEdgeNeeded && watchEdgeNeed(store, clock, onEdgeNeeded);
  if (need) lifecycle.own('edge watch', need, (part) => part.close());
  return {
    look: (): void => need?.look(),
    samples: (): readonly MetricSample[] => status?.samples ?? [],
    setStatus(next: EdgeStatus | undefined): void {
      status = next;
    },
  };
}

/** Keeps the answers of flattened names up to date. */
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

function drain(gate: ReadinessGate, stop: () => Promise<boolean>): Promise<boolean> {
  gate.close();
  return stop();
}
