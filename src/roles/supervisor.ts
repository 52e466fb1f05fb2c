/**
 * `serve`: one admin and one DNS process, started together; if the admin process has to migrate the database first, it
 * starts alone. Then the edge process starts, if it is needed. All are watched. At shutdown the DNS process answers
 * until the others have ended. The supervisor itself handles neither zones nor requests.
 */
import { availableParallelism } from 'node:os';
import { type Clock, steadyMs } from '../base/clock.js';
import { UserError } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import { processLimit } from '../base/process/limits.js';
import { openFileLimit } from '../base/process/open-files.js';
import type { LoadedSettings } from '../config/load.js';
import type { Settings } from '../config/schema.js';
import type { FileLock } from '../store/file-lock.js';
import { type Announcer, createAnnouncer } from './announce.js';
import { requireSharedPorts } from './edge/several.js';
import { createSupervisedEdge, type SupervisedEdge } from './edge/supervised-edge.js';
import { lockDataDirectory, outlastPredecessor } from './lock.js';
import {
  type DataDirectory,
  forgetInitialKey,
  isUpToDate,
  prepareDataDirectory,
  type Running,
  removeRunning,
  writeRunning,
} from './process/data-directory.js';
import { chooseDnsPort, type PortChoice } from './process/dns-port.js';
import type { AdminReport, CredentialsMessage, DnsReport, DnsStatus, Notice, StartOrder } from './process/ipc.js';
import { DRAIN_LIMIT_MS, KILL_GRACE_MS, PREDECESSOR_LIMIT_MS } from './process/limits.js';
import { type Reload, reloadSettings } from './process/reload.js';
import { withoutSecretSettings, withoutSecrets, withoutStorageKeys } from './process/secrets.js';
import { createSuccession, tellMainProcess } from './services/successor.js';
import { findPredecessor, relieve } from './services/take-over.js';
import { watchSignals } from './signals.js';
import { hasRoomForSpares } from './supervision/spare.js';
import { SupervisedChild } from './supervision/supervised-child.js';

export interface ServeOptions {
  readonly loaded: LoadedSettings;
  /** Loads the settings again, as the command line, the environment and the file give them now. */
  readonly load: () => LoadedSettings;
  /** The program's entry, which the children also run. */
  readonly program: string;
  readonly version: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly clock: Clock;
  readonly log: Logger;
  /** Whether standard output is a terminal. */
  readonly terminal: boolean;
  /** Takes the place of the server that runs in the data directory, if there is one. */
  readonly takeOver?: boolean | undefined;
  readonly print: (line: string) => void;
}

/** Serves until a signal comes. Resolves to the exit code; rejects with a UserError when it cannot start. */
export async function serve(options: ServeOptions): Promise<number> {
  const { loaded, clock, log } = options;
  const startedMs = steadyMs(clock);
  requireOpenFiles();
  requireAddressSpace(loaded.settings);
  await requireSharedPorts(loaded.settings);
  const directory = prepareDataDirectory(loaded.settings.dataDir);
  const predecessor = options.takeOver ? findPredecessor(directory.path) : undefined;
  let lock = predecessor ? undefined : lockDataDirectory(directory.path, 'serveLock');
  let reload = (): void => {};
  let succeed = (): void => log.warn('a successor can be started when this server has started');
  const signals = watchSignals(clock, { onReload: () => reload(), onSucceed: () => succeed() });
  const announcer = createAnnouncer(options.terminal, options.print, log);
  try {
    announceStart(options, directory, announcer);
    const choice = await choosePort(loaded.settings, predecessor);
    const family = createFamily(options, directory, announcer, choice);
    let running = loaded.settings;
    reload = () => {
      running = reloadSettings(running, options.load, log, (change, ofDns) => {
        log.level = change.logLevel;
        family.reload(change, ofDns);
      });
    };
    try {
      if (predecessor) {
        await family.startBeside();
        lock = await takePlace(options, directory, predecessor);
      }
      await outlastPredecessor(directory.path, PREDECESSOR_LIMIT_MS);
      const started = await Promise.race([family.start(), signals.first]);
      if (started !== 'signal') announcer.ready((steadyMs(clock) - startedMs) / 1000);
      succeed = createSuccession(options.program, log);
      await signals.first;
    } catch (error) {
      await family.drain();
      throw error;
    }
    log.info('stopping: finishing current work');
    const clean = await Promise.race([family.drain(), signals.second]);
    if (clean === 'signal') family.kill();
    if (clean === true) log.info('stopped');
    return clean === true ? 0 : 1;
  } finally {
    signals.stop();
    if (lock) removeRunning(directory.path);
    lock?.release();
  }
}

/** Resolves with the lock of the server that ran before. */
async function takePlace(
  { environment, clock, log }: ServeOptions,
  { path }: DataDirectory,
  predecessor: Running,
): Promise<FileLock> {
  await tellMainProcess(process.pid, environment, log);
  try {
    return await relieve(path, predecessor, clock);
  } catch (error) {
    await tellMainProcess(predecessor.pid, environment, log);
    throw error;
  }
}

function choosePort(
  { dnsHost, dnsPort }: Settings,
  predecessor: Running | undefined,
): Promise<PortChoice> | PortChoice {
  if (dnsPort !== undefined) return { port: dnsPort };
  // The port that it would choose is in use by the server that it replaces.
  const listener = predecessor?.dns.find(({ protocol }) => protocol === 'udp');
  return listener ? { port: listener.port } : chooseDnsPort(dnsHost);
}

/** The fewest open files with which all processes start and serve some clients. */
const FEWEST_FILES = 128;

function requireOpenFiles(): void {
  const limit = openFileLimit();
  if (limit === undefined || limit >= FEWEST_FILES) return;
  throw new UserError(
    `this process may have ${limit} open files, and zoneplane needs at least ${FEWEST_FILES}`,
    'Raise the limit, such as with `ulimit -n 4096`, or LimitNOFILE= in a systemd unit.',
  );
}

/** Octets of address space that an empty server reserves, and each UDP worker more. It uses a twentieth of that. */
const LEAST_ADDRESS_SPACE = 2 * 1024 ** 3;
const ADDRESS_SPACE_OF_WORKER = 512 << 20;

function requireAddressSpace({ dnsWorkers = availableParallelism() }: Settings): void {
  const limit = processLimit('address space');
  const least = LEAST_ADDRESS_SPACE + dnsWorkers * ADDRESS_SPACE_OF_WORKER;
  if (limit === undefined || limit >= least) return;
  const mib = (octets: number): number => Math.floor(octets / 1024 ** 2);
  throw new UserError(
    `this process may have ${mib(limit)} MiB of address space, and zoneplane with ${dnsWorkers} UDP workers needs at least ${mib(least)} MiB`,
    'Lift the limit (`ulimit -v unlimited`). Limit the memory itself with MemoryMax= in a systemd unit, or that of a container.',
  );
}

function announceStart({ loaded, version, log }: ServeOptions, directory: DataDirectory, announcer: Announcer): void {
  if (directory.openToOthers) {
    log.warn(`the data directory ${directory.path} is accessible to other users: chmod 700 ${directory.path}`);
  }
  const { dataDir, dnsWorkers = availableParallelism() } = loaded.settings;
  announcer.started({ version, dataDir, isNew: directory.isNew, nodeVersion: process.version, workers: dnsWorkers });
}

interface Family {
  /** Answers queries beside the server that runs, unless the database must be migrated first. */
  startBeside(): Promise<void>;
  /** Resolves when queries are answered and `/readyz` reports it. */
  start(): Promise<void>;
  /** True when both processes ended in time and without an error. */
  drain(): Promise<boolean>;
  /** `ofDns`: changed settings that need another DNS process. */
  reload(change: Reload, ofDns: Partial<Settings> | undefined): void;
  kill(): void;
}

function createFamily(
  options: ServeOptions,
  directory: DataDirectory,
  announcer: Announcer,
  choice: PortChoice,
): Family {
  const { loaded, program, environment, version, terminal, clock, log } = options;
  const settings = { ...loaded.settings, dnsPort: choice.port };
  const start = { settings, origins: loaded.origins, version, terminal };
  const common = { program, clock, log, spare: hasRoomForSpares() ? ('loaded' as const) : undefined };
  let adminReport: AdminReport | undefined;
  let dnsReport: DnsReport | undefined;
  let dnsStatus: DnsStatus | undefined;
  let credentials: CredentialsMessage | undefined;
  const { promise: serving, resolve: nowServing } = Promise.withResolvers<void>();
  const { promise: withoutAdmin, resolve: adminLost } = Promise.withResolvers<void>();
  const announceDns = (report: DnsReport): void => {
    announcer.dns(report, choice.remedy);
    writeRunning(directory.path, { version, adminUrl: adminReport!.url, dns: report.listeners, settings }, log);
  };

  const admin: SupervisedChild<'admin'> = new SupervisedChild({
    ...common,
    role: 'admin',
    environment,
    start,
    onReady(report) {
      if (adminReport) log.info('the admin process is back');
      else announceAdmin(announcer, report, directory);
      const isFirst = adminReport === undefined;
      adminReport = report;
      if (isFirst && dnsReport) announceDns(dnsReport);
      if (dnsStatus) admin.send({ kind: 'dns-status', status: dnsStatus });
    },
    onLost: adminLost,
    onNotice(notice) {
      hearAdmin(notice, nowServing, edge);
      if (notice.kind === 'replaced') readAgain();
      if (notice.kind !== 'credentials') return;
      credentials = notice;
      dns.send(notice);
    },
  });
  const dns: SupervisedChild<'dns'> = new SupervisedChild({
    ...common,
    role: 'dns',
    environment: withoutStorageKeys(withoutSecrets(environment)),
    start: { ...start, settings: forDns(settings) },
    onReady(report) {
      if (dnsReport) log.info('the dns process is back');
      else if (adminReport) announceDns(report);
      dnsReport = report;
      if (credentials) dns.send(credentials);
    },
    onLost() {
      dnsStatus = undefined;
      admin.send({ kind: 'dns-status', status: undefined });
    },
    onNotice(notice) {
      if (notice.kind !== 'dns-status') return;
      dnsStatus = notice.status;
      admin.send(notice);
    },
  });
  const edge = createEdge(options, start, announcer, admin);
  let ofDns = { ...start, settings: forDns(settings) };
  const readAgain = (): void => {
    // A DNS process that is still starting has perhaps read the old content already.
    void dns.whenStarted().then(() => dns.replace({ ...ofDns, isRestart: true }));
    edge.replace();
  };
  const replaceDns = (change: Partial<Settings>): void => {
    ofDns = { ...ofDns, settings: { ...ofDns.settings, ...change } };
    dns.replace(ofDns);
  };
  return familyOf({ admin, dns, edge, replaceDns }, directory, { serving, withoutAdmin });
}

function familyOf(
  {
    admin,
    dns,
    edge,
    replaceDns,
  }: {
    readonly admin: SupervisedChild<'admin'>;
    readonly dns: SupervisedChild<'dns'>;
    readonly edge: SupervisedEdge;
    readonly replaceDns: (change: Partial<Settings>) => void;
  },
  directory: DataDirectory,
  { serving, withoutAdmin }: { readonly serving: Promise<void>; readonly withoutAdmin: Promise<void> },
): Family {
  const limitMs = DRAIN_LIMIT_MS + KILL_GRACE_MS;
  let stopping = false;
  let dnsStarted: Promise<void> | undefined;
  return {
    startBeside() {
      if (isUpToDate(directory)) dnsStarted = dns.start(true);
      return dnsStarted ?? Promise.resolve();
    },
    async start() {
      if (!dnsStarted) dns.preload();
      const adminStarted = admin.start();
      // A process that lacks the master key has migrated the database.
      if (!isUpToDate(directory)) await Promise.race([adminStarted, withoutAdmin]);
      if (!stopping) await Promise.all([adminStarted, dnsStarted ?? dns.start()]);
      await serving;
      edge.start();
    },
    async drain() {
      stopping = true;
      const clean = await Promise.all([admin.drain(limitMs), edge.drain()]);
      return (await dns.drain(limitMs)) && clean.every(Boolean);
    },
    reload(change, ofDns) {
      for (const member of [admin, dns, edge]) member.reload(change);
      if (ofDns) replaceDns(ofDns);
    },
    kill() {
      for (const member of [admin, dns, edge]) member.kill();
    },
  };
}

function announceAdmin(announcer: Announcer, report: AdminReport, { path }: DataDirectory): void {
  announcer.admin(report);
  if (report.initialKey !== undefined) forgetInitialKey(path);
}

function hearAdmin(notice: Notice, nowServing: () => void, edge: SupervisedEdge): void {
  if (notice.kind === 'serving') nowServing();
  else if (notice.kind === 'edge-needed') edge.setNeeded(notice.needed);
}

function createEdge(
  options: ServeOptions,
  start: StartOrder,
  announcer: Announcer,
  admin: SupervisedChild<'admin'>,
): SupervisedEdge {
  return createSupervisedEdge({
    ...options,
    spare: hasRoomForSpares() ? 'standby' : undefined,
    environment: withoutSecrets(options.environment),
    // It faces the Internet, too: its only secret is the one that opens keys of certificates.
    start: { ...start, settings: withoutSecretSettings(start.settings, 'masterKey') },
    onReady: announcer.edge,
    onStatus: (status) => admin.send({ kind: 'edge-status', status }),
  });
}

/** The DNS process faces the Internet and needs only the secret that it uses for answers. */
function forDns(settings: Settings): Settings {
  return withoutSecretSettings(settings, 'cookieSecret');
}
