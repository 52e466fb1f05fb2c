/** Settings from flags, environment, a file and defaults, in this order of precedence, each with its origin. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { messageOf, UserError } from '../base/errors.js';
import { AUTOMATIC } from './dns-settings.js';
import { nearMatch } from './near-match.js';
import { SETTINGS, type Setting, type SettingKey, type Settings } from './schema.js';

/** The source of a value. */
export interface Origin {
  readonly kind: 'flag' | 'environment' | 'file' | 'default';
  /** Such as `--dns-port`, `ZONEPLANE_DNS_PORT` or `zoneplane.yaml: dns-port`; 'default' for defaults. */
  readonly place: string;
}

export interface LoadedSettings {
  readonly settings: Settings;
  readonly origins: Readonly<Record<SettingKey, Origin>>;
}

export interface SettingSources {
  /** Values of flags by setting name (`dns-port`, `admin-key-file`), as written. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Configuration file, JSON (`.json`) or YAML; the default is `ZONEPLANE_CONFIG`. */
  readonly file?: string | undefined;
  /** Read when no other file is named and this one exists. */
  readonly defaultFile?: string | undefined;
}

interface Given {
  readonly value: unknown;
  readonly origin: Origin;
}

/** Variables that are not settings; the last ones are those that Kubernetes adds for a Service called zoneplane. */
const NOT_SETTINGS = /^ZONEPLANE_(CONFIG$|(.*_)?SERVICE_(HOST|PORT)|PORT$|(.*_)?PORT_\d+_(TCP|UDP))/;

/** The longest configuration or secret file that is read, in octets. */
const MAX_FILE_OCTETS = 1024 * 1024;

/**
 * Loads and validates all settings. Throws a {@link UserError} with exit code 2 that lists every problem, with the
 * place of each value and, for unknown names, the nearest known one.
 */
export function loadSettings(sources: SettingSources): LoadedSettings {
  const faults: string[] = [];
  const path = sources.file ?? (sources.environment['ZONEPLANE_CONFIG'] || existing(sources.defaultFile));
  const entries = path === undefined ? {} : readConfigFile(path);
  faults.push(...unknownEnvironment(sources.environment), ...unknownEntries(entries, path));

  const settings: Record<string, unknown> = {};
  const origins: Record<string, Origin> = {};
  for (const setting of SETTINGS) {
    const candidates = [
      fromFlags(setting, sources.flags, faults),
      fromEnvironment(setting, sources.environment, faults),
      fromEntries(setting, entries, path ?? '', faults),
    ];
    const given = candidates.find((candidate) => candidate !== undefined);
    const parsed = setting.schema.safeParse(given?.value);
    if (parsed.success) settings[setting.key] = parsed.data;
    else faults.push(...describeFaults(setting, given, parsed.error.issues));
    origins[setting.key] = given?.origin ?? { kind: 'default', place: 'default' };
  }
  faults.push(...mismatches(settings as Partial<Settings>), ...withoutUrl(settings as Partial<Settings>));
  if (faults.length > 0) throw badSettings(faults);
  return { settings: settings as Settings, origins: origins as Record<SettingKey, Origin> };
}

/** Checks settings that depend on each other. */
function mismatches({ dotPort, dohPort, adminTlsPort, tlsCert, tlsKey, tlsNames }: Partial<Settings>): string[] {
  if (tlsCert === AUTOMATIC) {
    return tlsKey === undefined ? [] : ['tls-key: tls-cert auto makes its own key; remove tls-key'];
  }
  if (tlsNames !== undefined) return ['tls-names: only tls-cert auto uses names'];
  if (tlsCert !== undefined && tlsKey !== undefined) return [];
  const needs = 'needs a certificate and its key: set tls-cert and tls-key, or tls-cert auto';
  return [
    ...(dotPort === undefined ? [] : [`dot-port: DNS over TLS ${needs}`]),
    ...(dohPort === undefined ? [] : [`doh-port: DNS over HTTPS ${needs}`]),
    ...(adminTlsPort === undefined ? [] : [`admin-tls-port: the admin API over HTTPS ${needs}`]),
  ];
}

/** Links in messages begin with the public address: never with what a request says. */
function withoutUrl({ smtp, publicUrl }: Partial<Settings>): string[] {
  return smtp !== undefined && publicUrl === undefined ? ['smtp: messages have links, which need public-url'] : [];
}

function badSettings(faults: readonly string[]): UserError {
  const [first] = faults;
  const message = faults.length === 1 ? `bad setting: ${first}` : `bad settings:\n  ${faults.join('\n  ')}`;
  return new UserError(message, '`zoneplane serve --help` lists every setting with its default.', 2);
}

function describeFaults(setting: Setting, given: Given | undefined, issues: readonly { message: string }[]): string[] {
  const place = given?.origin.place ?? setting.name;
  const shown = setting.secret || given === undefined ? '' : `=${shorten(given.value)}`;
  return [...new Set(issues.map((issue) => `${place}${shown}: ${issue.message}${serviceLinkHint(given)}`))];
}

/** Kubernetes itself sets ZONEPLANE_DNS_PORT=tcp://… when a Service is called zoneplane-dns. */
function serviceLinkHint(given: Given | undefined): string {
  const isLink = given?.origin.kind === 'environment' && /^(tcp|udp):\/\//.test(String(given.value));
  return isLink ? ' (set by Kubernetes for a Service of that name: use `enableServiceLinks: false` in the pod)' : '';
}

function shorten(value: unknown): string {
  const shown = typeof value === 'string' ? value : JSON.stringify(value);
  return shown.length > 60 ? `${shown.slice(0, 57)}...` : shown;
}

function fromFlags(setting: Setting, flags: SettingSources['flags'], faults: string[]): Given | undefined {
  const flag = `--${setting.name}`;
  return fromTwins(setting, flags[setting.name], flag, flags[`${setting.name}-file`], `${flag}-file`, 'flag', faults);
}

function fromEnvironment(
  setting: Setting,
  environment: SettingSources['environment'],
  faults: string[],
): Given | undefined {
  const name = setting.environment;
  const plain = environment[name];
  const given = plain === '' && !setting.mayBeEmpty ? undefined : plain;
  const file = environment[`${name}_FILE`] || undefined;
  return fromTwins(setting, given, name, file, `${name}_FILE`, 'environment', faults);
}

function fromEntries(
  setting: Setting,
  entries: Readonly<Record<string, unknown>>,
  path: string,
  faults: string[],
): Given | undefined {
  const place = `${path}: ${setting.name}`;
  const value = entries[setting.name] ?? undefined;
  const file = entries[`${setting.name}-file`];
  return fromTwins(setting, value, place, file as string | undefined, `${place}-file`, 'file', faults);
}

/** A plain value, or for secrets a value from a file. */
function fromTwins(
  setting: Setting,
  plain: unknown,
  plainPlace: string,
  file: string | undefined,
  filePlace: string,
  kind: Origin['kind'],
  faults: string[],
): Given | undefined {
  if (file === undefined || !setting.secret) {
    return plain === undefined ? undefined : { value: plain, origin: { kind, place: plainPlace } };
  }
  if (plain !== undefined) faults.push(`${plainPlace} and ${filePlace} are both set: keep only one`);
  try {
    const value = readLimited(file).replace(/\r?\n$/, '');
    return { value, origin: { kind, place: filePlace } };
  } catch (error) {
    faults.push(`${filePlace}=${file}: ${explainRead(error)}`);
    return undefined;
  }
}

function readLimited(path: string): string {
  const bytes = readFileSync(path);
  if (bytes.length > MAX_FILE_OCTETS) throw new Error(`longer than ${MAX_FILE_OCTETS} octets`);
  return bytes.toString('utf8');
}

function explainRead(error: unknown): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
      return 'no such file';
    case 'EACCES':
      return 'not readable by this user';
    case 'EISDIR':
      return 'is a directory';
    default:
      return messageOf(error);
  }
}

function existing(file: string | undefined): string | undefined {
  return file !== undefined && existsSync(file) ? file : undefined;
}

function readConfigFile(path: string): Readonly<Record<string, unknown>> {
  let source: string;
  try {
    source = readLimited(path);
  } catch (error) {
    throw new UserError(`configuration file ${path}: ${explainRead(error)}`, 'Give --config an existing file.', 2);
  }
  const value = extname(path).toLowerCase() === '.json' ? parseJson(path, source) : parseYaml(path, source);
  if (value === null || value === undefined) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new UserError(`configuration file ${path}: expected settings as \`name: value\``, undefined, 2);
  }
  return value as Record<string, unknown>;
}

function parseJson(path: string, source: string): unknown {
  try {
    return JSON.parse(source);
  } catch (error) {
    throw new UserError(`configuration file ${path}: ${messageOf(error)}`, 'Files ending in .json hold JSON.', 2);
  }
}

function parseYaml(path: string, source: string): unknown {
  // Loaded only where there is such a file, since commands shall start at once.
  const { LineCounter, parseDocument } = createRequire(import.meta.url)('yaml') as typeof import('yaml');
  const lines = new LineCounter();
  const document = parseDocument(source, { lineCounter: lines, prettyErrors: false, uniqueKeys: true, schema: 'core' });
  const [fault] = document.errors;
  if (fault) {
    const { line, col } = lines.linePos(fault.pos[0]);
    throw new UserError(`configuration file ${path}:${line}:${col}: ${fault.message}`, undefined, 2);
  }
  return document.toJS({ maxAliasCount: 20 });
}

function unknownEnvironment(environment: SettingSources['environment']): string[] {
  const known = SETTINGS.flatMap(({ environment: name, secret }) => (secret ? [name, `${name}_FILE`] : [name]));
  return Object.keys(environment)
    .filter((name) => name.startsWith('ZONEPLANE_') && !known.includes(name))
    .filter((name) => !NOT_SETTINGS.test(name))
    .map((name) => unknownName(name, known));
}

function unknownEntries(entries: Readonly<Record<string, unknown>>, path = ''): string[] {
  const known = SETTINGS.flatMap(({ name, secret }) => (secret ? [name, `${name}-file`] : [name]));
  return Object.keys(entries)
    .filter((name) => !known.includes(name))
    .map((name) => `${path}: ${unknownName(name, known)}`);
}

/** `unknown setting X, did you mean Y?` */
function unknownName(name: string, known: readonly string[]): string {
  // What all variables begin with makes none of them similar.
  const plain = (text: string): string => text.replace(/^ZONEPLANE_/, '');
  const nearest = nearMatch(plain(name), known.map(plain));
  const near = known.find((other) => nearest !== undefined && plain(other) === nearest);
  return `unknown setting ${name}${near === undefined ? '' : `, did you mean ${near}?`}`;
}
