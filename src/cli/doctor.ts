/** `zoneplane doctor`: looks at everything that commonly goes wrong, and says what to do about it. */
import { existsSync, statfsSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { type Clock, SystemClock } from '../base/clock.js';
import { messageOf, UserError } from '../base/errors.js';
import { periodMs } from '../config/backup-settings.js';
import type { LoadedSettings } from '../config/load.js';
import type { Settings } from '../config/schema.js';
import { OPERATOR } from '../control/guard/actor.js';
import { checkHealth } from '../roles/health.js';
import { masterKeysOf, servingSettings, upstreamServers } from '../roles/process/control-base.js';
import { dataFile, hasDatabase, prepareDataDirectory, readRunning } from '../roles/process/data-directory.js';
import { chooseDnsPort, DNS_PORT } from '../roles/process/dns-port.js';
import { mayPing } from '../roles/process/icmp-capability.js';
import { countListening } from '../roles/process/listening.js';
import { createPlaceExaminer } from '../roles/process/place-findings.js';
import { openStore, type Store } from '../store/driver.js';
import { findDamage, journalMode } from '../store/integrity.js';
import { requireSchema } from '../store/migrate.js';
import { servedZones } from '../store/zones/zones.js';
import { vaultStatus } from '../vault/status.js';
import { examineBackups } from '../warnings/backups.js';
import { examineStore } from '../warnings/examine.js';
import { type Finding, nameSome } from '../warnings/finding.js';
import { examineMonitors } from '../warnings/pools.js';
import { examineResolvers } from '../warnings/resolvers.js';
import { examineNameServers, heldZone } from '../warnings/zones.js';
import { examineCluster } from './cluster/examine.js';
import type { Command, CommandContext } from './command.js';
import { healthTarget } from './healthcheck.js';
import { examineBodies } from './operations/examine-bodies.js';
import { examineChanges } from './operations/examine-changes.js';
import { addSettingOptions, loadCommandSettings, withRunningSettings } from './settings.js';
import { showControls } from './terminal.js';

const LEAST_FREE_BYTES = 512 * 1024 * 1024;
const TIMEOUT_MS = 2000;

interface DoctorOptions {
  readonly json?: boolean;
  readonly bodies?: boolean;
}

export function addDoctorCommand(program: Command, { terminal, environment }: CommandContext): void {
  const doctor = program
    .command('doctor')
    .option('--bodies', 'read the bodies of all objects, and compare them with their sums')
    .printsJson('zoneplane doctor', 'zoneplane doctor --data-dir /var/lib/zoneplane --json');
  addSettingOptions(doctor).action(async ({ json, bodies = false }: DoctorOptions) => {
    const loaded = withRunningSettings(loadCommandSettings(doctor, environment));
    const findings = await examine(loaded, new SystemClock(), bodies);
    terminal.exitCode = findings.some(({ verdict }) => verdict === 'fail') ? 1 : 0;
    if (json) return terminal.json(findings);
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
      ...examineStored(settings, clock),
      ...(await examineBodies(settings, readsBodies)),
      ...(await examineBackups(
        { directory: settings.backupDir, everyMs: periodMs(settings.backupEvery) },
        clock.nowMs(),
      )),
      ...examineVault(loaded),
      ...(hasDatabase(settings.dataDir) ? await examineCluster(loaded, clock) : []),
    );
  }
  return nameSome([
    ...findings,
    ...(await examineServer(settings, clock)),
    ...(await examineResolvers(upstreamServers(settings), clock)),
  ]);
}

/** The server of this data directory as its clients see it, or whether one could start. */
async function examineServer(settings: Settings, clock: Clock): Promise<Finding[]> {
  const what = 'server';
  const running = readRunning(settings.dataDir);
  if (!running) {
    return [{ what, verdict: 'warn', text: 'not running on this data directory' }, ...(await examinePorts(settings))];
  }
  const asked = await checkHealth(healthTarget(settings), clock, TIMEOUT_MS);
  return [
    { what, verdict: 'ok', text: `zoneplane ${running.version} runs as process ${running.pid}` },
    ...examineEdge(settings),
    ...asked.flatMap(({ what, ok, text, heldZones = [] }): Finding[] => [
      { what, verdict: ok ? 'ok' : 'fail', text },
      ...heldZones.map((zone) => heldZone(zone)),
    ]),
  ];
}

/** Nothing where none listens: it may not be needed, and if it cannot listen, the log says why. */
function examineEdge({ dataDir, edgeProcesses }: Settings): Finding[] {
  const running = countListening(dataDir, 'edge');
  if (running === 0) return [];
  const text = edgeProcesses === 1 ? 'listens' : `${running} of ${edgeProcesses} processes listen`;
  const remedy = 'The log says why a process ended, or cannot start.';
  return [{ what: 'edge', ...(running < edgeProcesses ? { verdict: 'warn', text, remedy } : { verdict: 'ok', text }) }];
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
  return withDatabase(dataDir, what, (store) => {
    const damage = findDamage(store);
    const mode = journalMode(store);
    const zones = servedZones(store).length;
    if (damage !== undefined) {
      const remedy = 'Stop the server and restore a backup.';
      return [{ what, verdict: 'fail', text: `damaged: ${damage}`, remedy }];
    }
    if (mode !== 'wal') return [{ what, verdict: 'warn', text: `journal mode is ${mode}, not wal` }];
    return [{ what, verdict: 'ok', text: `sound, ${zones} zone${zones === 1 ? '' : 's'} served` }];
  });
}

/** What the database shows; only the settings where there is none that could be asked. */
function examineStored(settings: Settings, clock: Clock): Finding[] {
  const { dataDir, nameservers, zoneActivation: activation } = settings;
  if (!hasDatabase(dataDir)) return examineNameServers(nameservers);
  return withDatabase(dataDir, 'zones', (store) => {
    const serving = { ...servingSettings(settings, store), activation };
    const found = examineStore({ store, actor: OPERATOR }, serving, clock.nowUs());
    // One warning about these name servers is enough.
    const isSaid = found.some(({ kind }) => kind === 'test-name-servers');
    const balancing = [...examineMonitors(store, mayPing()), ...createPlaceExaminer(settings)(store, clock.nowMs())];
    return [...(isSaid ? [] : examineNameServers(nameservers)), ...found, ...balancing];
  });
}

/** Also for a database without tables, which is what may be left of one whose log is gone. */
function examineLostChanges({ dataDir }: Settings, clock: Clock): Finding[] {
  if (!hasDatabase(dataDir)) return [];
  const isRunning = readRunning(dataDir) !== undefined;
  return withDatabase(dataDir, 'changes', (store) => examineChanges(store, clock, isRunning), false);
}

/** Nothing where there is no database that could be asked: that is a finding of its own. */
function examineVault(loaded: LoadedSettings): Finding[] {
  const what = 'master key';
  const { dataDir } = loaded.settings;
  if (!hasDatabase(dataDir)) return [];
  return withDatabase(dataDir, what, (store) => {
    const { place, key, oldKeys } = vaultStatus(store, masterKeysOf(loaded));
    if (key === undefined) return [{ what, verdict: 'ok', text: 'none yet; the next start makes it' }];
    if (oldKeys === 0) return [{ what, verdict: 'ok', text: `${place} opens the vault` }];
    const text = `${place} still holds ${oldKeys} old key${oldKeys === 1 ? '' : 's'}`;
    return [{ what, verdict: 'warn', text, remedy: 'Finish their replacement with `zoneplane vault rotate`.' }];
  });
}

/** What `look` finds in the database, or why it cannot look. */
function withDatabase(dataDir: string, what: string, look: (store: Store) => Finding[], hasSchema = true): Finding[] {
  let store: Store | undefined;
  try {
    store = openStore(dataDir, { readonly: true });
    if (hasSchema) requireSchema(store);
    return look(store);
  } catch (error) {
    return [failureOf(what, error)];
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

function failureOf(what: string, error: unknown): Finding {
  const remedy = error instanceof UserError ? error.remedy : undefined;
  return { what, verdict: 'fail', text: messageOf(error), ...(remedy === undefined ? {} : { remedy }) };
}
