/** Certificates that customers bring: the faults found in them, in the words and numbers of v4 (v4: §15.4). */
import type { AppError } from '../base/errors.js';
import { checkBundle, UploadError, type UploadedCertificate, type UploadFault } from '../certs/upload.js';
import { hostnameFailure } from './errors.js';
import type { BroughtCertificate, SslConfiguration } from './ssl-input.js';

/** Checked, and in the order they are served in. Throws 1426 to 1447. */
export function checkBrought(
  brought: readonly BroughtCertificate[],
  names: readonly string[],
  { bundleMethod }: SslConfiguration,
  nowMs: number,
): readonly UploadedCertificate[] {
  try {
    return checkBundle(brought, { names, bundleMethod, nowMs });
  } catch (error) {
    if (error instanceof UploadError) throw refusalOf(error);
    throw error;
  }
}

type Key = Parameters<typeof hostnameFailure>[0];

const KEYS: Partial<Readonly<Record<UploadFault, Key>>> = {
  'certificate-empty': 'certificateMissing',
  'key-empty': 'keyMissing',
  'key-unreadable': 'badKey',
  'key-weak': 'badKey',
  'key-mismatch': 'badKey',
  'no-leaf': 'badLeaf',
  'several-leaves': 'badLeaf',
  'name-missing': 'notCovered',
  'signature-algorithm': 'badSignature',
};

function refusalOf({ code, message: reason }: UploadError): AppError {
  return hostnameFailure(KEYS[code] ?? 'badCertificate', { reason }, { pointer: '/ssl' });
}
