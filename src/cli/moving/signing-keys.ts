/** Private keys with which another server signs a zone, so that the DS record at its parent stays good. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, UserError } from '../../base/errors.js';
import { explainFileFailure } from '../../base/file-failure.js';
import type { OfferedKey } from '../../control/imports/signatures.js';
import { lowerName, parseName, ROOT } from '../../dns/name.js';
import { parsePrivateKeyFile } from '../../dnssec/private-key-file.js';
import { keyMaterial, SigningKeyError } from '../../dnssec/signing-key.js';
import type { SigningStatement, StoredKey } from '../../foreign/configuration.js';
import { faultAt } from '../../foreign/place.js';
import { readKey, readText } from '../dnssec/key-files.js';

/** Files of keys by directory and zone; many zones share a directory. */
export type KeyListings = Map<string, ReadonlyMap<string, readonly string[]>>;

/**
 * The keys that sign the zone now. Throws a UserError when there are none: without them the zone would not fit the DS record at its
 * parent.
 */
export function keysOfZone(
  zone: string,
  { place, directory, keys, remedy }: SigningStatement,
  nowMs: number,
  listings: KeyListings,
): OfferedKey[] {
  const found = keys
    ? keys.map((key) => openStored(zone, key))
    : directory === undefined
      ? []
      : keyFilesOf(zone, directory, listings)
          .filter((path) => isInUse(path, nowMs))
          .map((path) => readKey(path));
  if (found.length > 0) return found;
  const where = directory === undefined ? '' : ` in ${directory}`;
  throw faultAt(place, `the zone is signed, but its keys were not found${where}`, remedy);
}

function openStored(zone: string, { text, flags }: StoredKey): OfferedKey {
  try {
    const { key, algorithm } = parsePrivateKeyFile(text);
    if (algorithm === undefined) throw new UserError(`a key of ${zone} does not say its algorithm`);
    return { apex: lowerName(parseName(`${zone}.`, ROOT)), key: keyMaterial(key, algorithm, flags) };
  } catch (error) {
    if (error instanceof SigningKeyError) throw new UserError(`a key of ${zone}: ${messageOf(error)}`);
    throw error;
  }
}

/** The private keys of a zone in a directory. */
function keyFilesOf(zone: string, directory: string, listings: KeyListings): string[] {
  const known = listings.get(directory) ?? listKeys(directory);
  listings.set(directory, known);
  return (known.get(zone) ?? []).map((name) => join(directory, name));
}

function listKeys(directory: string): ReadonlyMap<string, readonly string[]> {
  let names: string[];
  try {
    names = readdirSync(directory);
  } catch (error) {
    throw explainFileFailure(error, directory);
  }
  const byZone = new Map<string, string[]>();
  for (const name of names.sort()) {
    const zone = /^K(.+)\.\+\d+\+\d+\.private$/.exec(name)?.[1]?.toLowerCase();
    if (zone !== undefined) byZone.set(zone, [...(byZone.get(zone) ?? []), name]);
  }
  return byZone;
}

/** Whether a key is in use, by the times that BIND writes into the file of the private key. */
function isInUse(path: string, nowMs: number): boolean {
  const text = readText(path);
  const at = (name: string): number | undefined => {
    const [, y, mo, d, h, mi, s] =
      new RegExp(`^${name}: (\\d{4})(\\d\\d)(\\d\\d)(\\d\\d)(\\d\\d)(\\d\\d)`, 'm').exec(text) ?? [];
    return y === undefined ? undefined : Date.UTC(+y, Number(mo) - 1, Number(d), Number(h), Number(mi), Number(s));
  };
  const begins = at('Activate') ?? 0;
  const ends = Math.min(at('Inactive') ?? Number.POSITIVE_INFINITY, at('Delete') ?? Number.POSITIVE_INFINITY);
  return begins <= nowMs && nowMs < ends;
}
