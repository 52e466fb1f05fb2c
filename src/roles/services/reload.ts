/** SIGHUP: settings and certificates are read again. Either everything that can change while a server runs is taken, or nothing. */
import { createSecureContext } from 'node:tls';
import { messageOf, UserError } from '../../base/errors.js';
import type { Logger } from '../../base/log.js';
import type { LoadedSettings } from '../../config/load.js';
import { SETTINGS, type Settings } from '../../config/schema.js';
import { readTlsFiles } from '../tls-files.js';

/** What the processes of a server are told to change. */
export interface Reload {
  readonly logLevel: Settings['logLevel'];
}

/** Reads everything anew, checks it, and hands it to `apply`. What is wrong is logged, and nothing changes then. */
export function reloadSettings(
  running: Settings,
  load: () => LoadedSettings,
  log: Logger,
  apply: (reload: Reload) => void,
): void {
  try {
    const { settings } = load();
    const changed = SETTINGS.filter(({ key }) => differs(settings[key], running[key])).map(({ name }) => name);
    requireUsable(running);
    apply({ logLevel: settings.logLevel });
    const waiting = changed.filter((name) => name !== 'log-level');
    const certificates = running.tlsCert === undefined ? 'none' : 'read again';
    log.info({ logLevel: settings.logLevel, certificates, needRestart: waiting }, 'settings were reloaded');
  } catch (error) {
    const remedy = error instanceof UserError ? error.remedy : undefined;
    log.error({ reason: messageOf(error), remedy }, 'nothing was reloaded');
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
