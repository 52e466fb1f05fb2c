/** What is to happen to the signatures of a signed zone that comes in: `--presigned`, `--keys` and `--strip-dnssec`. */
import { UserError } from '../../base/errors.js';
import type { SignatureTreatment } from '../../control/imports/signatures.js';

export interface SignaturesOptions {
  readonly stripDnssec?: boolean;
  readonly presigned?: boolean;
  /** A directory. */
  readonly keys?: string;
  readonly automaticSoa?: boolean;
  readonly proxied?: boolean;
}

/** Rejects with a UserError for options that exclude each other, and for keys that cannot be read. */
export async function readSignatureTreatment({
  stripDnssec,
  presigned,
  keys,
  automaticSoa,
  proxied,
}: SignaturesOptions): Promise<SignatureTreatment> {
  if ([stripDnssec, presigned, keys].filter((option) => option !== undefined).length > 1) {
    throw new UserError('--presigned, --keys and --strip-dnssec exclude each other', undefined, 2);
  }
  if (presigned && (automaticSoa || proxied)) {
    const other = automaticSoa ? '--automatic-soa' : '--proxied';
    throw new UserError(`${other} changes what is signed, so it cannot be used with --presigned`, undefined, 2);
  }
  if (presigned) return { kind: 'presigned' };
  if (keys !== undefined) {
    const { readKeyDirectory } = await import('./key-files.js');
    return { kind: 'sign', keys: readKeyDirectory(keys) };
  }
  return { kind: stripDnssec ? 'strip' : 'refuse' };
}
