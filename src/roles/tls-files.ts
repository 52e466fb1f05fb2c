/** Certificate and key of what is served over TLS: read from files, and read again when they change. */
import { readFileSync, statSync } from 'node:fs';
import type { Clock } from '../base/clock.js';
import { messageOf, UserError } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import type { Settings } from '../config/schema.js';

/** Milliseconds between two looks at the files. */
const LOOK_PERIOD_MS = 30_000;

/** The chain with the leaf first, and its key. */
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

/** The files and their content; undefined when there are none. Throws a UserError when one cannot be read. */
export function readTlsFiles({ tlsCert, tlsKey }: Pick<Settings, 'tlsCert' | 'tlsKey'>): TlsMaterial | undefined {
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
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
 * Calls `renew` when one of the files has changed, with their new content. What cannot be used is logged and tried again at the
 * next look, while the old certificate goes on serving. The returned function ends the watch.
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
      log.info({ certificate: files.certificate }, 'the certificate was renewed');
    } catch (error) {
      log.error({ reason: messageOf(error) }, 'the new certificate cannot be used');
    }
  });
}
