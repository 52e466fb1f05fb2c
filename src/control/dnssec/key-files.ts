/** Keys of a zone that come from other servers, or go there. A zone can move without being unsigned in between. */

import { keyTag } from '../../dns/key-tag.js';
import { readPublicKey } from '../../dnssec/key.js';
import { printPrivateKeyFile } from '../../dnssec/private-key-file.js';
import type { KeyMaterial } from '../../dnssec/signing-key.js';
import { findSigning } from '../../serving/signing.js';
import { keysOfZone } from '../../store/dnssec/keys.js';
import { findDnssecZone, updateDnssecZone } from '../../store/dnssec/zones.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { requireWriter, requireZone } from '../guard/access.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { lookAtParentSoon } from '../schedule/signing.js';
import { beginSigning } from './enable.js';
import { dnssecFailure } from './errors.js';
import { signFirst } from './plan-signatures.js';

/** A key as files hold it. */
export interface ExportedKey {
  readonly tag: number;
  readonly algorithm: number;
  /** Rdata of the DNSKEY. */
  readonly dnskey: Uint8Array;
  /** The private key in BIND's format. */
  readonly privateKey: string;
}

/** The keys of a zone with their private keys. Only for super administrators. */
export async function exportKeys(ctx: Context, zoneId: string): Promise<readonly ExportedKey[]> {
  if (!ctx.actor.superAdministrator) throw dnssecFailure('exportRefused');
  const zone = requireZone(ctx, zoneId);
  const { seq, name } = zone;
  const { zoneKeys } = ctx;
  const signing = findSigning(ctx.store, seq);
  if (signing.kind === 'none') throw dnssecFailure('notSigned');
  if (signing.kind === 'elsewhere') throw dnssecFailure('presignedKeys', { zone: name });
  if (!zoneKeys) throw dnssecFailure('noKeys', { zone: name, reason: 'this process has no master key' });
  const own = keysOfZone(ctx.store, seq).filter(({ sealed }) => sealed !== null);
  const exported = own.map((row) => {
    const { key, tag, algorithm, dnskey } = zoneKeys.open(row);
    return { tag, algorithm, dnskey, privateKey: printPrivateKeyFile(key, algorithm) };
  });
  await commit(ctx, (draft) => {
    draft.event({ kind: 'dnssec.export', zone, after: { key_tags: own.map(({ tag }) => tag) } });
  });
  return exported;
}

/**
 * Signs a zone with keys that exist already, such as those of the server that it comes from: at least one with the flags
 * 257, which also signs the records when there is none with 256.
 */
export async function importKeys(ctx: Context, zoneId: string, keys: readonly KeyMaterial[]): Promise<void> {
  requireWriter(ctx.actor);
  const signatures = await signFirst(ctx, requireZone(ctx, zoneId), keys);
  await commit({ ...ctx, signatures }, (draft) => {
    const zone = requireZone(ctx, zoneId);
    signWithKeys(ctx, draft, zone, keys);
  });
}

/** The same inside a commit, for a zone that is not signed. It is never served unsigned in between. */
export function signWithKeys(ctx: Context, draft: Draft, zone: ZoneRow, keys: readonly KeyMaterial[]): void {
  if (findDnssecZone(ctx.store, zone.seq)) throw dnssecFailure('signedAlready', { zone: zone.name });
  requireWhole(keys);
  beginSigning(ctx, draft, zone, { keys, atOnce: true });
  // The parent has their DS record already, or has had it until now.
  updateDnssecZone(ctx.store, zone.seq, { ds_seen_at: draft.now });
  lookAtParentSoon(ctx, zone);
}

function requireWhole(keys: readonly KeyMaterial[]): void {
  const known = keys.map(({ dnskey }) => readPublicKey(dnskey));
  const entry = known.filter(({ isEntryPoint }) => isEntryPoint);
  if (entry.length === 0) throw dnssecFailure('noEntryKey');
  if (known.some(({ signs }) => !signs)) throw dnssecFailure('noZoneKey');
  const tags = keys.map(({ dnskey }) => keyTag(dnskey));
  if (new Set(tags).size < tags.length) throw dnssecFailure('sameTag');
  const zoneKeys = known.filter(({ isEntryPoint }) => !isEntryPoint);
  // Each algorithm of the keys has to sign everything (RFC 4035 §2.2).
  for (const { algorithm } of known) {
    const complete =
      entry.some((key) => key.algorithm === algorithm) &&
      (zoneKeys.length === 0 || zoneKeys.some((key) => key.algorithm === algorithm));
    if (!complete) throw dnssecFailure('halfAlgorithm', { algorithm });
  }
}
