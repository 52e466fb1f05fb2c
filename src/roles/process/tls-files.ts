/** Certificate and key for TLS: read from files, and reloaded when they change. */
import { readFileSync, statSync } from 'node:fs';
import type { Clock } from '../../base/clock.js';
import { messageOf, UserError } from '../../base/errors.js';
import type { Logger } from '../../base/log.js';
import { AUTOMATIC } from '../../config/dns-settings.js';
import type { Settings } from '../../config/schema.js';

/** Milliseconds between two checks of the files. */
const LOOK_PERIOD_MS = 30_000;

/** The chain, beginning with the end-entity certificate, and its key. */
export interface PemPair {
  readonly certificate: Buffer;
  readonly key: Buffer;
}

interface TlsFiles {
  readonly certificate: string;
  readonly key: string;
}

export interface TlsMaterial {
  readonly files: TlsFiles;
  readonly credentials: PemPair;
}

/** The files with their content; undefined when none are configured. Throws a UserError when one cannot be read. */
export function readTlsFiles({ tlsCert, tlsKey }: Pick<Settings, 'tlsCert' | 'tlsKey'>): TlsMaterial | undefined {
  if (tlsCert === undefined || tlsCert === AUTOMATIC || tlsKey === undefined) return undefined;
  const files = { certificate: tlsCert, key: tlsKey };
  return { files, credentials: readCredentials(files) };
}

function readCredentials({ certificate, key }: TlsFiles): PemPair {
  return { certificate: readPem(certificate), key: readPem(key) };
}

function readPem(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new UserError(
      `the TLS file ${file} cannot be read: ${messageOf(error)}`,
      'Check --tls-cert and --tls-key, and that the user who runs zoneplane may read both files.',
    );
  }
}

/**
 * Calls `renew` with the new content when one of the files has changed. Unusable content is logged and tried again at
 * the next check, while the old certificate stays in use. The returned function ends the watch.
 */
export function watchTlsFiles(
  files: TlsFiles,
  renew: (credentials: PemPair) => void,
  clock: Clock,
  log: Logger,
): () => void {
  const look = (): string =>
    [files.certificate, files.key].map((file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0).join();
  let seen = look();
  return clock.every(LOOK_PERIOD_MS, () => {
    const found = look();
    if (found === seen) return;
    try {
      renew(readCredentials(files));
      seen = found;
      log.info({ certificate: files.certificate }, 'the certificate was reloaded');
    } catch (error) {
      log.error({ reason: messageOf(error) }, 'the new certificate cannot be used');
    }
  });
}
