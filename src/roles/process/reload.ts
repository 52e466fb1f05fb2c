/**
 * SIGHUP: settings and certificates are read again. Either everything that can change while a server runs is taken, or
 * nothing. Settings that only the DNS process uses take effect by replacing that process without a gap.
 */
import { createSecureContext } from 'node:tls';
import { messageOf, UserError } from '../../base/errors.js';
import type { Logger } from '../../base/log.js';
import type { LoadedSettings } from '../../config/load.js';
import { SETTINGS, type SettingKey, type Settings } from '../../config/schema.js';
import { readTlsFiles } from './tls-files.js';

/** What the processes of a server are told to change. */
export interface Reload {
  readonly logLevel: Settings['logLevel'];
}

/** Settings of which other processes than the DNS process need to know nothing. */
const DNS_ONLY: readonly SettingKey[] = [
  'dnsWorkers',
  'udpTransport',
  'dnsXdp',
  'dnsIdentity',
  'cookieSecret',
  'cookiePolicy',
  'ecs',
  'dnsRateLimit',
  'dnsRateSlip',
  'dnsRateExempt',
  'dnsStatistics',
  'queryLog',
  'queryLogSample',
  'queryLogClients',
  'dnstap',
];

/**
 * Reads everything anew, checks it, and hands it to `apply`, with the changed settings of the DNS process if there are
 * any. What is wrong is logged, and nothing changes then. Returns the settings that are in use afterwards.
 */
export function reloadSettings(
  running: Settings,
  load: () => LoadedSettings,
  log: Logger,
  apply: (reload: Reload, ofDns: Partial<Settings> | undefined) => void,
): Settings {
  try {
    const { settings } = load();
    const changed = SETTINGS.filter(({ key }) => differs(settings[key], running[key]));
    const ofDns = changed.filter(({ key }) => DNS_ONLY.includes(key));
    const taken = Object.fromEntries(ofDns.map(({ key }) => [key, settings[key]])) as Partial<Settings>;
    const { logLevel } = settings;
    requireUsable(running);
    apply({ logLevel }, ofDns.length > 0 ? taken : undefined);
    const replaced = ofDns.map(({ name }) => name);
    const waiting = changed.map(({ name }) => name).filter((name) => name !== 'log-level' && !replaced.includes(name));
    const certificates = running.tlsCert === undefined ? 'none' : 'read again';
    log.info({ logLevel, certificates, dnsReplacedFor: replaced, needRestart: waiting }, 'settings were reloaded');
    return { ...running, ...taken, logLevel };
  } catch (error) {
    const remedy = error instanceof UserError ? error.remedy : undefined;
    log.error({ reason: messageOf(error), remedy }, 'nothing was reloaded');
    return running;
  }
}

/** The certificate and key that the processes will read must be there and belong together. */
function requireUsable(settings: Settings): void {
  const tls = readTlsFiles(settings);
  if (tls) createSecureContext({ cert: tls.credentials.certificate, key: tls.credentials.key });
}

function differs(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) !== JSON.stringify(b);
}
