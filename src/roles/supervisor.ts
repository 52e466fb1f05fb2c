/**
 * `serve`: one admin and one DNS process, started in this order because the admin process migrates the database that the
 * DNS process reads, watched, and drained together. The supervisor itself touches neither zones nor requests.
 */
import { availableParallelism } from 'node:os';
import type { Clock } from '../base/clock.js';
import type { Logger } from '../base/log.js';
import type { LoadedSettings } from '../config/load.js';
import { SETTINGS, type Settings } from '../config/schema.js';
import { type Announcer, createAnnouncer } from './announce.js';
import { type DataDirectory, prepareDataDirectory, removeRunning, writeRunning } from './data-directory.js';
import { chooseDnsPort, type PortChoice } from './dns-port.js';
import type { AdminReport, DnsReport } from './ipc.js';
import { DRAIN_LIMIT_MS, KILL_GRACE_MS } from './limits.js';
import { lockDataDirectory } from './lock.js';
import { watchSignals } from './signals.js';
import { SupervisedChild } from './supervised-child.js';

export interface ServeOptions {
  readonly loaded: LoadedSettings;
  /** The program's entry, which the children run too. */
  readonly program: string;
  readonly version: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly clock: Clock;
  readonly log: Logger;
  /** Standard output is a terminal. */
  readonly terminal: boolean;
  readonly print: (line: string) => void;
}

/** Serves until a signal comes. Resolves to the exit code; rejects with a UserError when it cannot start. */
export async function serve(options: ServeOptions): Promise<number> {
  const { loaded, clock, log } = options;
  const startedMs = clock.nowMs();
  const directory = prepareDataDirectory(loaded.settings.dataDir);
  const lock = lockDataDirectory(directory.path, 'serveLock');
  const signals = watchSignals(clock);
  const announcer = createAnnouncer(options.terminal, options.print, log);
  try {
    announceStart(options, directory, announcer);
    const { dnsHost, dnsPort } = loaded.settings;
    const choice = dnsPort === undefined ? await chooseDnsPort(dnsHost) : { port: dnsPort };
    const family = createFamily(options, directory, announcer, choice);
    try {
      const started = await Promise.race([family.start(), signals.first]);
      if (started !== 'signal') announcer.ready((clock.nowMs() - startedMs) / 1000);
      await signals.first;
    } catch (error) {
      await family.drain();
      throw error;
    }
    log.info('stopping: finishing what has begun');
    const clean = await Promise.race([family.drain(), signals.second]);
    if (clean === 'signal') family.kill();
    if (clean === true) log.info('stopped');
    return clean === true ? 0 : 1;
  } finally {
    signals.stop();
    removeRunning(directory.path);
    lock.release();
  }
}

function announceStart({ loaded, version, log }: ServeOptions, directory: DataDirectory, announcer: Announcer): void {
  for (const warning of loaded.warnings) log.warn(warning);
  if (directory.openToOthers) {
    log.warn(`the data directory ${directory.path} can be entered by other users: chmod 700 ${directory.path}`);
  }
  const { dataDir, dnsWorkers = availableParallelism() } = loaded.settings;
  announcer.started({ version, dataDir, isNew: directory.isNew, nodeVersion: process.version, workers: dnsWorkers });
}

interface Family {
  /** Resolves when a query would be answered and `/readyz` says so. */
  start(): Promise<void>;
  /** True when both ended in time and without a fault. */
  drain(): Promise<boolean>;
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
  let stopping = false;
  let adminReport: AdminReport | undefined;
  let dnsReport: DnsReport | undefined;
  let nowServing = (): void => {};
  const serving = new Promise<void>((resolve) => {
    nowServing = resolve;
  });
  const start = { settings, origins: loaded.origins, version, terminal };
  const common = { program, clock, log };

  const admin: SupervisedChild<'admin'> = new SupervisedChild({
    ...common,
    role: 'admin',
    environment,
    start,
    onReady(report) {
      if (adminReport) log.info('the admin process is back');
      else announcer.admin(report);
      adminReport = report;
    },
    onLost: () => {},
    onNotice(notice) {
      if (notice.kind === 'serving') nowServing();
    },
  });
  const dns = new SupervisedChild({
    ...common,
    role: 'dns',
    environment: withoutSecrets(environment),
    start: { ...start, settings: forDns(settings) },
    onReady(report) {
      if (dnsReport) log.info('the dns process is back');
      else announcer.dns(report, choice.remedy);
      dnsReport = report;
      writeRunning(directory.path, {
        pid: process.pid,
        version,
        adminUrl: adminReport?.url ?? '',
        dns: report.listeners,
      });
    },
    onLost: () => admin.send({ kind: 'dns-status', status: undefined }),
    onNotice(notice) {
      if (notice.kind === 'dns-status') admin.send(notice);
    },
  });
  const members = [admin, dns];

  return {
    async start() {
      dns.prepare();
      await admin.start();
      if (stopping) return;
      await dns.start();
      await serving;
    },
    async drain() {
      stopping = true;
      const clean = await Promise.all(members.map((member) => member.drain(DRAIN_LIMIT_MS + KILL_GRACE_MS)));
      return clean.every(Boolean);
    },
    kill() {
      for (const member of members) member.kill();
    },
  };
}

/** The DNS process faces the Internet and needs none of the secrets but the one it answers with. */
function forDns(settings: Settings): Settings {
  const secrets = SETTINGS.filter(({ secret, key }) => secret && key !== 'cookieSecret').map(({ key }) => [
    key,
    undefined,
  ]);
  return { ...settings, ...Object.fromEntries(secrets) };
}

function withoutSecrets(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const secrets = SETTINGS.filter(({ secret }) => secret).flatMap(({ environment: name }) => [name, `${name}_FILE`]);
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !secrets.includes(name)));
}
