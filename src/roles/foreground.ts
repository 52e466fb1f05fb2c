/** Runs one role in the foreground, for operators who run the processes separately. */
import { type Clock, steadyMs } from '../base/clock.js';
import { UserError } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import { AUTOMATIC } from '../config/dns-settings.js';
import type { LoadedSettings } from '../config/load.js';
import type { Settings } from '../config/schema.js';
import { type Announcer, createAnnouncer } from './announce.js';
import type { Follower } from './cluster/follower.js';
import { createMergedSamples } from './edge/merged-samples.js';
import { chooseEdgePorts } from './edge/ports.js';
import { requireSharedPorts } from './edge/several.js';
import { forgetInitialKey, prepareDataDirectory } from './process/data-directory.js';
import { chooseDnsPort } from './process/dns-port.js';
import type { AdminReport, DnsReport, EdgeReport, Reports, Role } from './process/ipc.js';
import { DRAIN_LIMIT_MS, KILL_GRACE_MS } from './process/limits.js';
import { reloadSettings } from './process/reload.js';
import type { RoleContext, RunningRole } from './process/role.js';
import { withoutSecretSettings, withoutSecrets } from './process/secrets.js';
import { watchSignals } from './signals.js';
import { endOnFaults } from './supervision/unheard-errors.js';

export interface ForegroundOptions {
  readonly loaded: LoadedSettings;
  /** Loads the settings again, as the command line, the environment and the file give them now. */
  readonly load: () => LoadedSettings;
  /** The program's entry, which several edge processes run. */
  readonly program: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Whether standard output is a terminal. */
  readonly terminal: boolean;
  readonly print: (line: string) => void;
}

/** Runs until a signal comes. Resolves to the exit code; rejects with a UserError when the role cannot start. */
export async function runForeground(role: Role, options: ForegroundOptions): Promise<number> {
  const { loaded, log, clock } = options;
  const startedMs = steadyMs(clock);
  endOnFaults(role, log);
  const acts: (() => void)[] = [];
  const signals = watchSignals(clock, {
    onReload: () =>
      reloadSettings(loaded.settings, options.load, log, ({ logLevel }) => {
        log.level = logLevel;
        for (const act of acts) act();
      }),
  });
  const onReload = (act: () => void): void => void acts.push(act);
  const directory = prepareDataDirectory(loaded.settings.dataDir);
  const announcer = createAnnouncer(options.terminal, options.print, log);
  announcer.started({
    version: options.version,
    dataDir: loaded.settings.dataDir,
    isNew: directory.isNew,
    nodeVersion: process.version,
    workers: role === 'dns' ? loaded.settings.dnsWorkers : undefined,
  });
  const follower = await followFor(role, { ...options, onReload });
  const running = await startAlone[role]({ ...options, onReload }, announcer).catch(async (error: unknown) => {
    await follower?.stop(DRAIN_LIMIT_MS);
    throw error;
  });
  announcer.ready((steadyMs(clock) - startedMs) / 1000);
  const never = new Promise<never>(() => {});
  const ended = Promise.race([running.ended ?? never, follower?.ended ?? never]);
  const isAsked = await Promise.race([signals.first.then(() => true), ended.then(() => false)]);
  if (isAsked) log.info('stopping: finishing current work');
  else log.error('this process ends, so that its next start replaces the copy of the database');
  const drained = running.drain(DRAIN_LIMIT_MS).then(async (clean) => (await follower?.stop(DRAIN_LIMIT_MS)) ?? clean);
  const clean = await Promise.race([drained, signals.second]);
  signals.stop();
  return clean === true && isAsked ? 0 : 1;
}

/** A DNS or edge process alone in a cluster follows the log itself, unless an admin process does so in the same directory. */
async function followFor(role: Role, options: AloneOptions): Promise<Follower | undefined> {
  const { cluster } = options.loaded.settings;
  if (role === 'admin' || cluster === undefined) return undefined;
  const { startFollower } = await import('./cluster/follower.js');
  return startFollower(contextOf(options), role, cluster);
}

type AloneOptions = ForegroundOptions & Pick<RoleContext, 'onReload'>;

function contextOf({ loaded, version, terminal, clock, log, onReload }: AloneOptions): RoleContext {
  return { settings: loaded.settings, origins: loaded.origins, version, terminal, clock, log, onReload };
}

async function startDnsAlone(options: AloneOptions, announcer: Announcer): Promise<RunningRole<DnsReport>> {
  const { settings } = options.loaded;
  if (settings.tlsCert === AUTOMATIC && (settings.dotPort ?? settings.dohPort) !== undefined) {
    throw new UserError(
      'tls-cert auto needs the admin process, which has the key',
      'Run `zoneplane serve` without --role, or give the DNS process --tls-cert and --tls-key as files.',
    );
  }
  const choice = settings.dnsPort === undefined ? await chooseDnsPort(settings.dnsHost) : { port: settings.dnsPort };
  const { startDns } = await import('./dns.js');
  const running = await startDns({ ...contextOf(options), settings: { ...settings, dnsPort: choice.port } });
  announcer.dns(running.report, choice.remedy);
  return running;
}

async function startEdgeAlone(options: AloneOptions, announcer: Announcer): Promise<RunningRole<EdgeReport>> {
  const { settings } = options.loaded;
  await requireSharedPorts(settings);
  const { remedies, ...ports } = await chooseEdgePorts(settings);
  if (settings.edgeProcesses > 1) return startSeveralEdges(options, { ...settings, ...ports }, announcer, remedies);
  const { startEdgeRole } = await import('./edge/edge.js');
  const running = await startEdgeRole({ ...contextOf(options), settings: { ...settings, ...ports } });
  announcer.edge(running.report, remedies);
  return running;
}

async function startSeveralEdges(
  options: AloneOptions,
  settings: Settings,
  announcer: Announcer,
  remedies: readonly string[],
): Promise<RunningRole<EdgeReport>> {
  const { createEdgeProcesses } = await import('./edge/processes.js');
  const { promise: ready, resolve } = Promise.withResolvers<EdgeReport>();
  const { loaded, environment, version, terminal, log, onReload } = options;
  const processes = createEdgeProcesses({
    ...options,
    environment: withoutSecrets(environment),
    start: { settings: withoutSecretSettings(settings, 'masterKey'), origins: loaded.origins, version, terminal },
    merged: createMergedSamples(),
    onReady(report) {
      announcer.edge(report, remedies);
      resolve(report);
    },
    // Nobody asks this process.
    onStatus() {},
  });
  onReload(() => processes.reload({ logLevel: log.level as Settings['logLevel'] }));
  await processes.start();
  return { report: await ready, drain: (limitMs) => processes.drain(limitMs + KILL_GRACE_MS) };
}

async function startAdminAlone(options: AloneOptions, announcer: Announcer): Promise<RunningRole<AdminReport>> {
  const { startAdmin } = await import('./admin.js');
  const running = await startAdmin({ ...contextOf(options), dnsApart: true });
  announcer.admin(running.report);
  if (running.report.initialKey !== undefined) forgetInitialKey(options.loaded.settings.dataDir);
  return running;
}

const startAlone: Readonly<
  Record<Role, (options: AloneOptions, announcer: Announcer) => Promise<RunningRole<Reports[Role]>>>
> = { dns: startDnsAlone, admin: startAdminAlone, edge: startEdgeAlone };
