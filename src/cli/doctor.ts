/** `zoneplane doctor`: looks at everything that commonly goes wrong, and says what to do about it. */
import { existsSync, statfsSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Command } from 'commander';
import { type Clock, SystemClock } from '../base/clock.js';
import { messageOf, UserError } from '../base/errors.js';
import type { LoadedSettings } from '../config/load.js';
import { printHostPort, type Settings } from '../config/schema.js';
import { createUpstream } from '../resolver/upstream.js';
import { masterKeysOf, servingSettings, upstreamServers } from '../roles/control-base.js';
import { dataFile, hasDatabase, prepareDataDirectory, readRunning } from '../roles/data-directory.js';
import { chooseDnsPort, DNS_PORT } from '../roles/dns-port.js';
import { checkHealth } from '../roles/health.js';
import { openStore, type Store } from '../store/driver.js';
import { findDamage, journalMode } from '../store/integrity.js';
import { listJobs } from '../store/jobs.js';
import { requireSchema } from '../store/migrate.js';
import { servedZones } from '../store/zones/zones.js';
import { vaultStatus } from '../vault/status.js';
import { examineCluster } from './cluster/examine.js';
import { type CommandContext, example } from './command.js';
import { printInstant } from './control.js';
import { examineSignedZones } from './dnssec/examine.js';
import { examineCertificates } from './examine-certificates.js';
import { healthTarget } from './healthcheck.js';
import { examineBackups } from './operations/examine-backups.js';
import { examineBodies } from './operations/examine-bodies.js';
import { examineChanges } from './operations/examine-changes.js';
import { examineConsumedCatalogs, examineSecondaries } from './operations/examine-secondaries.js';
import { examineShares } from './operations/examine-shares.js';
import { examineUpdateKeys } from './operations/examine-update-keys.js';
import { examineNameServers, examineZones } from './operations/examine-zones.js';
import type { Finding } from './operations/finding.js';
import { addSettingOptions, loadCommandSettings } from './settings.js';
import { showControls } from './terminal.js';

const LEAST_FREE_BYTES = 512 * 1024 * 1024;
const TIMEOUT_MS = 2000;
/** Failing jobs that are named. */
const MOST_JOBS = 5;

interface DoctorOptions {
  readonly json?: boolean;
  readonly bodies?: boolean;
}

export function addDoctorCommand(program: Command, { terminal, environment }: CommandContext): void {
  const doctor = program
    .command('doctor')
    .option('--bodies', 'read the bodies of all objects, and compare them with their sums')
    .option('--json', 'print JSON')
    .addHelpText('after', example('zoneplane doctor', 'zoneplane doctor --data-dir /var/lib/zoneplane --json'));
  addSettingOptions(doctor).action(async ({ json, bodies = false }: DoctorOptions) => {
    const findings = await examine(loadCommandSettings(doctor, environment), new SystemClock(), bodies);
    terminal.exitCode = findings.some(({ verdict }) => verdict === 'fail') ? 1 : 0;
    if (json) {
      terminal.json(findings);
      return;
    }
    const style = { ok: 'green', warn: 'yellow', fail: 'red' } as const;
    for (const { what, verdict, text, remedy } of findings) {
      terminal.print(`${terminal.styled(style[verdict], verdict.padEnd(4))}  ${what.padEnd(14)} ${showControls(text)}`);
      if (remedy) terminal.print(`      ${' '.repeat(14)} ${remedy}`);
    }
  });
}

/** All findings, in the order in which they should be put right. */
async function examine(loaded: LoadedSettings, clock: Clock, readsBodies: boolean): Promise<Finding[]> {
  const { settings } = loaded;
  const directory = examineDirectory(settings);
  const findings = [...examineSettings(loaded), ...directory];
  // What is in one that is full can still be read.
  const isUsable = directory.some(({ verdict }) => verdict === 'ok');
  const database = isUsable ? [...examineDatabase(settings), ...examineLostChanges(settings, clock)] : [];
  findings.push(...database);
  if (isUsable && !database.some(({ verdict }) => verdict === 'fail')) {
    findings.push(
      ...examineServedZones(settings),
      ...(await examineBodies(settings, readsBodies)),
      ...examineBackups(settings, clock),
      ...examineVault(loaded),
      ...examineJobs(settings),
      ...examineExpiry(settings, clock),
      ...(hasDatabase(settings.dataDir) ? await examineCluster(loaded, clock) : []),
    );
  }
  const running = readRunning(settings.dataDir);
  if (running) {
    findings.push({
      what: 'server',
      verdict: 'ok',
      text: `zoneplane ${running.version} runs as process ${running.pid}`,
    });
    for (const { what, ok, text, heldZones = [] } of await checkHealth(healthTarget(settings), clock, TIMEOUT_MS)) {
      findings.push({ what, verdict: ok ? 'ok' : 'fail', text });
      findings.push(...heldZones.map(heldFinding));
    }
  } else {
    findings.push({ what: 'server', verdict: 'warn', text: 'not running on this data directory' });
    findings.push(...(await examinePorts(settings)));
  }
  findings.push(...(await examineResolvers(settings, clock)));
  return findings;
}

function examineSettings({ settings }: LoadedSettings): Finding[] {
  const findings: Finding[] = [];
  if (settings.adminHost !== '127.0.0.1' && settings.adminHost !== '::1') {
    findings.push({
      what: 'settings',
      verdict: 'warn',
      text: `the admin API on ${settings.adminHost} speaks plain HTTP: keys can be read on the way`,
      remedy: 'Put a proxy that speaks TLS in front, or let it listen on 127.0.0.1.',
    });
  }
  return findings.length > 0 ? findings : [{ what: 'settings', verdict: 'ok', text: 'valid' }];
}

function examineDirectory({ dataDir }: Settings): Finding[] {
  const what = 'data directory';
  try {
    if (!existsSync(dataDir)) return [{ what, verdict: 'ok', text: `${dataDir} is missing; the first start makes it` }];
    const { path, openToOthers } = prepareDataDirectory(dataDir);
    const { bavail, bsize } = statfsSync(path);
    const free = bavail * bsize;
    const findings: Finding[] = [{ what, verdict: 'ok', text: `${path} is writable` }];
    if (openToOthers) {
      const remedy = `chmod 700 ${path}`;
      findings.push({ what, verdict: 'warn', text: 'other users of this machine can enter it', remedy });
    }
    if (free < LEAST_FREE_BYTES) {
      const text = `only ${Math.floor(free / 1024 / 1024)} MiB are free on its file system`;
      findings.push({ what, verdict: free === 0 ? 'fail' : 'warn', text, remedy: 'Make room there.' });
    }
    return [...findings, ...examineInitialKey(path)];
  } catch (error) {
    return [failureOf(what, error)];
  }
}

function examineInitialKey(path: string): Finding[] {
  const file = dataFile(path, 'initialKey');
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat) return [];
  const exposed = (stat.mode & 0o077) !== 0;
  return [
    {
      what: 'initial key',
      verdict: exposed ? 'fail' : 'warn',
      text: `${file} still holds the first administrator's key${exposed ? ', readable by other users' : ''}`,
      remedy: `Keep the key somewhere safe and remove the file${exposed ? '; better, revoke that key' : ''}.`,
    },
  ];
}

function examineDatabase({ dataDir }: Settings): Finding[] {
  const what = 'database';
  if (!hasDatabase(dataDir)) return [{ what, verdict: 'ok', text: 'none yet; the first start makes it' }];
  let store: Store | undefined;
  try {
    store = openStore(dataDir, { readonly: true });
    requireSchema(store);
    const damage = findDamage(store);
    const mode = journalMode(store);
    const zones = servedZones(store).length;
    if (damage !== undefined) {
      const remedy = 'Stop the server and restore a backup.';
      return [{ what, verdict: 'fail', text: `damaged: ${damage}`, remedy }];
    }
    if (mode !== 'wal') return [{ what, verdict: 'warn', text: `journal mode is ${mode}, not wal` }];
    return [{ what, verdict: 'ok', text: `sound, ${zones} zone${zones === 1 ? '' : 's'} served` }];
  } catch (error) {
    return [failureOf(what, error)];
  } finally {
    store?.close();
  }
}

/** Only the settings where there is no database that could be asked. */
function examineServedZones(settings: Settings): Finding[] {
  const { dataDir } = settings;
  if (!hasDatabase(dataDir)) return examineNameServers(settings);
  let store: Store | undefined;
  try {
    store = openStore(dataDir, { readonly: true });
    requireSchema(store);
    return [...examineZones(store, settings), ...examineShares(store)];
  } catch (error) {
    return [failureOf('zones', error)];
  } finally {
    store?.close();
  }
}

/** Also for a database without tables, which is what may be left of one whose log is gone. */
function examineLostChanges({ dataDir }: Settings, clock: Clock): Finding[] {
  if (!hasDatabase(dataDir)) return [];
  let store: Store | undefined;
  try {
    store = openStore(dataDir, { readonly: true });
    return examineChanges(store, clock, readRunning(dataDir) !== undefined);
  } catch (error) {
    return [failureOf('changes', error)];
  } finally {
    store?.close();
  }
}

/** Nothing where there is no database that could be asked: that is a finding of its own. */
function examineVault(loaded: LoadedSettings): Finding[] {
  const what = 'master key';
  const { dataDir } = loaded.settings;
  if (!hasDatabase(dataDir)) return [];
  let store: Store | undefined;
  try {
    store = openStore(dataDir, { readonly: true });
    requireSchema(store);
    const { place, key, oldKeys } = vaultStatus(store, masterKeysOf(loaded));
    if (key === undefined) return [{ what, verdict: 'ok', text: 'none yet; the next start makes it' }];
    if (oldKeys === 0) return [{ what, verdict: 'ok', text: `${place} opens the vault` }];
    const text = `${place} still holds ${oldKeys} old key${oldKeys === 1 ? '' : 's'}`;
    return [{ what, verdict: 'warn', text, remedy: 'Finish their replacement with `zoneplane vault rotate`.' }];
  } catch (error) {
    return [failureOf(what, error)];
  } finally {
    store?.close();
  }
}

function heldFinding(zone: string): Finding {
  return {
    what: 'zones',
    verdict: 'fail',
    text: `changes of ${zone} cannot be published: queries see it as it was before`,
    remedy: 'The log of the DNS process says why. Undo the change, or remove the record it names.',
  };
}

/** The jobs that failed last time; nothing where there is no database that could be asked. */
function examineJobs({ dataDir }: Settings): Finding[] {
  const what = 'jobs';
  if (!hasDatabase(dataDir)) return [];
  let store: Store | undefined;
  try {
    store = openStore(dataDir, { readonly: true });
    requireSchema(store);
    const failing = listJobs(store, MOST_JOBS + 1, 'failing');
    if (failing.length === 0) return [{ what, verdict: 'ok', text: 'none failed last time' }];
    const more = failing.length > MOST_JOBS ? [{ what, verdict: 'warn' as const, text: 'there are more' }] : [];
    const findings = failing.slice(0, MOST_JOBS).map((row): Finding => {
      const job = `${row.kind}${row.subject === '' ? '' : ` of ${row.subject}`}`;
      const next = printInstant(row.run_at * 1000);
      const text = `${job} failed ${row.attempt} time${row.attempt === 1 ? '' : 's'} in a row: ${row.last_error}`;
      return {
        what,
        verdict: 'warn',
        text,
        remedy: `It is tried again at ${next}; see \`zoneplane job list --failed\`.`,
      };
    });
    return [...findings, ...more];
  } catch (error) {
    return [failureOf(what, error)];
  } finally {
    store?.close();
  }
}

/** Nothing where there is no database that could be asked. */
function examineExpiry(settings: Settings, clock: Clock): Finding[] {
  const { dataDir } = settings;
  if (!hasDatabase(dataDir)) return [];
  let store: Store | undefined;
  try {
    const opened = openStore(dataDir, { readonly: true });
    store = opened;
    requireSchema(opened);
    const nowMs = clock.nowMs();
    return opened.snapshot(() => [
      ...examineSecondaries(opened, clock.nowUs()),
      ...examineConsumedCatalogs(opened),
      ...examineUpdateKeys(opened),
      ...examineCertificates(opened, nowMs),
      ...examineSignedZones(opened, nowMs, servingSettings(settings, opened)),
    ]);
  } catch (error) {
    return [failureOf('certificates', error)];
  } finally {
    store?.close();
  }
}

async function examinePorts(settings: Settings): Promise<Finding[]> {
  const { dnsHost, dnsPort, adminHost, adminPort } = settings;
  const findings: Finding[] = [];
  const { remedy } = await chooseDnsPort(dnsHost, dnsPort ?? DNS_PORT);
  if (remedy === undefined)
    findings.push({ what: 'dns port', verdict: 'ok', text: `${dnsPort ?? DNS_PORT} can be bound` });
  else {
    const text = dnsPort === undefined ? '53 cannot be bound; 1053 will be used' : `${dnsPort} cannot be bound`;
    findings.push({ what: 'dns port', verdict: dnsPort === undefined ? 'warn' : 'fail', text, remedy });
  }
  const code = await tryListen(adminHost, adminPort);
  if (code === undefined) findings.push({ what: 'admin port', verdict: 'ok', text: `${adminPort} can be bound` });
  else {
    const text = `${adminHost} port ${adminPort} cannot be bound (${code})`;
    findings.push({ what: 'admin port', verdict: 'fail', text, remedy: 'Choose another with --admin-port.' });
  }
  return findings;
}

function tryListen(host: string, port: number): Promise<string | undefined> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', (error) => resolve((error as NodeJS.ErrnoException).code));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

/** Each resolver is asked for a name that always exists. */
async function examineResolvers(settings: Settings, clock: Clock): Promise<Finding[]> {
  const what = 'resolvers';
  const servers = upstreamServers(settings);
  if (servers.length === 0)
    return [{ what, verdict: 'ok', text: 'none is configured; the outside world is not asked' }];
  return Promise.all(
    servers.map(async (server): Promise<Finding> => {
      const upstream = createUpstream({ servers: [server], clock, timeoutMs: TIMEOUT_MS, deadlineMs: TIMEOUT_MS });
      const { status, reason } = await upstream.query('arpa', 'NS');
      if (status === 'ok') return { what, verdict: 'ok', text: `${printHostPort(server)} answers` };
      return {
        what,
        verdict: 'warn',
        text: `${printHostPort(server)} does not help: ${reason ?? status}`,
        remedy: 'Name resolvers that answer with ZONEPLANE_RESOLVER_UPSTREAMS, or none with an empty value.',
      };
    }),
  );
}

function failureOf(what: string, error: unknown): Finding {
  const remedy = error instanceof UserError ? error.remedy : undefined;
  return { what, verdict: 'fail', text: messageOf(error), ...(remedy === undefined ? {} : { remedy }) };
}
