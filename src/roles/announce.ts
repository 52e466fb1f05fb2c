/** The start messages of `serve`: lines for people on a terminal, otherwise the same facts as log lines. */
import type { Logger } from '../base/log.js';
import { LINK_MINUTES } from '../control/access/authentication.js';
import type { AdminReport, DnsListener, DnsReport, EdgeReport, FirstImport } from './process/ipc.js';

export interface StartFacts {
  readonly version: string;
  /** The data directory as the operator wrote it. */
  readonly dataDir: string;
  readonly isNew: boolean;
  readonly nodeVersion: string;
  /** Threads that answer UDP; undefined for a process without UDP. */
  readonly workers?: number | undefined;
}

export interface Announcer {
  started(facts: StartFacts): void;
  admin(report: AdminReport): void;
  /** `remedy`: why the port is not 53, and how to change that. */
  dns(report: DnsReport, remedy: string | undefined): void;
  /** `remedies`: why its ports are not 80 and 443, and what to do about it. */
  edge(report: EdgeReport, remedies: readonly string[]): void;
  ready(seconds: number): void;
}

/** On a terminal, lines go to `print`; otherwise to the log. */
export function createAnnouncer(terminal: boolean, print: (line: string) => void, log: Logger): Announcer {
  return terminal ? announceLines(inWords(print)) : announceFacts(log);
}

/** Behind the labels of lines. */
const INDENT = ' '.repeat(9);

/** Breaks lines that are wider than the terminal at words, and goes on below their text. Commands to copy stay whole. */
function inWords(print: (line: string) => void, width = process.stdout.columns || Number.POSITIVE_INFINITY) {
  return (line: string): void => {
    const isCommand = line.startsWith('  ') && !line.startsWith(INDENT);
    for (const part of isCommand ? [line] : breakLine(line, width)) print(part);
  };
}

/** Exported for its test. */
export function breakLine(line: string, width: number): string[] {
  if (line.length <= width) return [line];
  const end = line.lastIndexOf(' ', width);
  const head = line.slice(0, Math.max(end, 0)).trimEnd();
  if (head.trim() === '' || head.length <= INDENT.length) {
    // A word that is wider than that; the terminal breaks it.
    const next = line.indexOf(' ', Math.max(INDENT.length, line.search(/\S/)));
    if (next < 0 || next < width) return [line];
    return [line.slice(0, next), ...breakLine(INDENT + line.slice(next).trimStart(), width)];
  }
  return [head, ...breakLine(INDENT + line.slice(end).trimStart(), width)];
}

function announceLines(print: (line: string) => void): Announcer {
  let administration: AdminReport | undefined;
  let service: DnsReport | undefined;
  return {
    started({ version, dataDir, isNew, nodeVersion, workers }) {
      const data = `data ${dataDir}${isNew ? ' (new)' : ''}`;
      const threads = workers === undefined ? '' : `   ${plural(workers, 'worker')}`;
      print(`zoneplane ${version}   ${data}   node ${nodeVersion}${threads}`);
    },
    admin(report) {
      administration = report;
      print(`admin    ${report.url}/client/v4      API description ${report.url}/docs`);
      if (report.secureUrl) print(`         ${report.secureUrl}/client/v4`);
      for (const line of keyLines(report)) print(line);
      for (const line of dashboardLines(report)) print(line);
      if (report.bucketUrl) print(`bucket   ${report.bucketUrl}`);
      if (report.s3Url) print(`s3       ${report.s3Url}`);
      if (report.firstImport) for (const line of importLines(report.firstImport)) print(line);
      for (const notice of report.notices ?? []) print(`note     ${notice}`);
    },
    dns(report, remedy) {
      service = report;
      for (const place of listenerPlaces(report.listeners)) print(`dns      ${place}`);
      if (remedy) print(`         ${remedy}`);
      print(`zones    ${plural(report.zones, 'zone')}, ${plural(report.records, 'record')}`);
    },
    edge(report, remedies) {
      for (const host of report.hosts) print(`edge     ${edgePlace(host, report)}`);
      if (report.processes !== undefined && report.processes > 1) print(`         ${report.processes} processes`);
      for (const remedy of remedies) print(`         ${remedy}`);
    },
    ready(seconds) {
      if (!administration || !service) {
        print(`ready in ${seconds.toFixed(1)} s`);
        return;
      }
      print(`ready in ${seconds.toFixed(1)} s. Try:`);
      for (const command of exampleCommands(administration, service)) print(`  ${command}`);
    },
  };
}

function announceFacts(log: Logger): Announcer {
  return {
    started: (facts) => log.info({ ...facts }, 'zoneplane starts'),
    admin({ url, secureUrl, email, initialKeyFile, keyUnused, firstImport, notices = [], bucketUrl }) {
      log.info({ url: `${url}/client/v4`, email, initialKeyFile }, 'admin API listens');
      log.info(
        { url: `${url}/`, command: ANOTHER_LINK },
        'the dashboard; the command prints a link that signs in once',
      );
      if (keyUnused) log.info({ command: ANOTHER_KEY }, 'no key was used yet; the command makes another');
      if (secureUrl) log.info({ url: `${secureUrl}/client/v4` }, 'admin API listens over TLS');
      if (bucketUrl) log.info({ url: bucketUrl }, 'bucket application listens');
      for (const notice of notices) log.warn(notice);
      if (!firstImport) return;
      log.info({ directory: firstImport.directory, zones: firstImport.imported }, 'zone files imported');
      for (const failure of firstImport.failed) log.error(`zone file not imported: ${failure}`);
      for (const note of firstImport.notes) log.warn(note);
    },
    dns({ listeners, zones, records, transport }, remedy) {
      for (const { protocol, host, port } of listeners) log.info({ protocol, host, port }, 'DNS listens');
      if (remedy) log.warn(remedy);
      log.info({ zones, records, transport }, 'zones served');
    },
    edge({ hosts, httpPort, httpsPort, processes }, remedies) {
      for (const host of hosts) log.info({ host, httpPort, httpsPort, processes }, 'edge listens');
      for (const remedy of remedies) log.warn(remedy);
    },
    ready: (seconds) => log.info({ seconds: Number(seconds.toFixed(3)) }, 'ready'),
  };
}

function edgePlace(host: string, { httpPort, httpsPort }: EdgeReport): string {
  const place = host.includes(':') ? `[${host}]` : host;
  return `http ${place}:${httpPort}   https ${place}:${httpsPort}`;
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function keyLines({ email, initialKey, initialKeyFile, keyUnused }: AdminReport): string[] {
  if (keyUnused) return [`key      none was used yet; make another with: ${ANOTHER_KEY}`];
  if (initialKey) {
    return [`key      ${initialKey}   (shown once; X-Auth-Email ${email}; another: zoneplane key create)`];
  }
  return initialKeyFile ? [`key      in ${initialKeyFile}   (X-Auth-Email ${email})`] : [];
}

function dashboardLines({ url, loginLink }: AdminReport): string[] {
  if (loginLink === undefined)
    return [`web      ${url}/      the dashboard: sign in with a key, or with: ${ANOTHER_LINK}`];
  return [
    `web      ${loginLink}`,
    `         the dashboard; signs you in once, for ${LINK_MINUTES} minutes; another: ${ANOTHER_LINK}`,
  ];
}

const ANOTHER_LINK = 'zoneplane dashboard link';

/** The first administrator's, for `X-Auth-Key` and as bearer token. */
const ANOTHER_KEY = 'zoneplane key create --kind key administrator';

function importLines({ directory, imported, failed, notes }: FirstImport): string[] {
  const lines = imported.length > 0 ? [`import   ${plural(imported.length, 'zone')} from ${directory}`] : [];
  return [
    ...lines,
    ...failed.map((failure) => `import   FAILED ${failure}`),
    ...notes.map((note) => `import   ${note}`),
  ];
}

/** One text for each listening address; UDP and TCP on the same address are combined. */
function listenerPlaces(listeners: readonly DnsListener[]): string[] {
  const protocols = new Map<string, string[]>();
  for (const { protocol, host, port } of listeners) {
    const place = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
    const known = protocols.get(place) ?? [];
    if (!known.includes(protocol)) protocols.set(place, [...known, protocol]);
  }
  return [...protocols].map(([place, names]) => `${names.join('+')} ${place}`);
}

/** An address at which a client on this machine reaches a listener on `host`. */
export function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return /^[0:]+$/.test(host) ? '::1' : host;
}

/** A curl and a dig command that work unchanged. */
export function exampleCommands({ url, initialKey, initialKeyFile }: AdminReport, dns: DnsReport): string[] {
  const zone = dns.exampleZone ?? 'example.com';
  const create = dns.exampleZone === undefined ? `-d '{"name":"${zone}"}' ` : '';
  const credential = initialKey
    ? `'Authorization: Bearer ${initialKey}'`
    : initialKeyFile && `"Authorization: Bearer $(cat '${initialKeyFile.replaceAll("'", "'\\''")}')"`;
  const curl = credential ? `curl -H ${credential} ${create}${url}/client/v4/zones` : `curl ${url}/readyz`;
  const listener = dns.listeners.find(({ protocol }) => protocol === 'udp') ?? dns.listeners[0];
  if (!listener || (dns.exampleZone === undefined && !credential)) return [curl];
  const port = listener.port === 53 ? '' : ` -p ${listener.port}`;
  return [curl, `dig @${reachableHost(listener.host)}${port} ${zone} SOA`];
}
