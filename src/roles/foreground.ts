/** One role alone in the foreground, for people who run the processes apart. */
import type { Clock } from '../base/clock.js';
import type { Logger } from '../base/log.js';
import type { LoadedSettings } from '../config/load.js';
import { type Announcer, createAnnouncer } from './announce.js';
import { prepareDataDirectory } from './data-directory.js';
import { chooseDnsPort } from './dns-port.js';
import type { AdminReport, DnsReport, Role } from './ipc.js';
import { DRAIN_LIMIT_MS } from './limits.js';
import type { RoleContext, RunningRole } from './role.js';
import { watchSignals } from './signals.js';

export interface ForegroundOptions {
  readonly loaded: LoadedSettings;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Standard output is a terminal. */
  readonly terminal: boolean;
  readonly print: (line: string) => void;
}

/** Runs until a signal comes. Resolves to the exit code; rejects with a UserError when the role cannot start. */
export async function runForeground(role: Role, options: ForegroundOptions): Promise<number> {
  const { loaded, log, clock } = options;
  const startedMs = clock.nowMs();
  const signals = watchSignals(clock);
  const directory = prepareDataDirectory(loaded.settings.dataDir);
  for (const warning of loaded.warnings) log.warn(warning);
  const announcer = createAnnouncer(options.terminal, options.print, log);
  announcer.started({
    version: options.version,
    dataDir: loaded.settings.dataDir,
    isNew: directory.isNew,
    nodeVersion: process.version,
    workers: role === 'dns' ? loaded.settings.dnsWorkers : undefined,
  });
  const running = role === 'dns' ? await startDnsAlone(options, announcer) : await startAdminAlone(options, announcer);
  announcer.ready((clock.nowMs() - startedMs) / 1000);
  await signals.first;
  log.info('stopping: finishing what has begun');
  const clean = await Promise.race([running.drain(DRAIN_LIMIT_MS), signals.second]);
  signals.stop();
  return clean === true ? 0 : 1;
}

function contextOf({ loaded, version, terminal, clock, log }: ForegroundOptions): RoleContext {
  return { settings: loaded.settings, origins: loaded.origins, version, terminal, clock, log };
}

async function startDnsAlone(options: ForegroundOptions, announcer: Announcer): Promise<RunningRole<DnsReport>> {
  const { settings } = options.loaded;
  const choice = settings.dnsPort === undefined ? await chooseDnsPort(settings.dnsHost) : { port: settings.dnsPort };
  const { startDns } = await import('./dns.js');
  const running = await startDns({ ...contextOf(options), settings: { ...settings, dnsPort: choice.port } });
  announcer.dns(running.report, choice.remedy);
  return running;
}

async function startAdminAlone(options: ForegroundOptions, announcer: Announcer): Promise<RunningRole<AdminReport>> {
  const { startAdmin } = await import('./admin.js');
  const running = await startAdmin({ ...contextOf(options), dnsApart: true });
  announcer.admin(running.report);
  return running;
}
