/**
 * The automatic certificate of a zone with proxied records: for its apex and all names one label below (edge
 * specification §5).
 */
import { toHex } from '../../base/bytes.js';
import { updateCertifiedNames } from '../../control/certificates/certified-names.js';
import { requireZone } from '../../control/guard/access.js';
import type { Draft } from '../../control/kernel/commit.js';
import type { Context } from '../../control/kernel/context.js';
import { changeZone } from '../../control/zones/write.js';
import { isProven } from '../../serving/name-owner.js';
import { findRequest } from '../../store/certs/requests.js';
import { proxiedOwners } from '../../store/records/records.js';
import { findZoneById, type ZoneRow } from '../../store/zones/zones.js';
import type { AuthorityName } from '../authority.js';
import { type CertificateOwner, dropCertificateRequest, putCertificateRequest } from '../certificates.js';

export interface UniversalSettings {
  readonly enabled: boolean;
  /** Empty: the default order. */
  readonly authority: AuthorityName | '';
}

export async function getUniversal(ctx: Context, zoneId: string): Promise<UniversalSettings> {
  return settingsOf(requireZone(ctx, zoneId));
}

/** The members that a client may set. Absent members stay unchanged. */
export interface UniversalInput {
  readonly enabled?: boolean | null | undefined;
  /** Null and empty: the service chooses. */
  readonly certificate_authority?: AuthorityName | '' | null | undefined;
}

export async function editUniversal(
  ctx: Context,
  zoneId: string,
  { enabled, certificate_authority: authority }: UniversalInput,
): Promise<UniversalSettings> {
  const zone = await changeZone(ctx, zoneId, 'universal_certificate.edit', () => ({
    ...(typeof enabled === 'boolean' && { universal_certificate: enabled ? 1 : 0 }),
    ...(authority !== undefined && { universal_authority: authority ?? '' }),
  }));
  return settingsOf(zone);
}

function settingsOf({ universal_certificate: enabled, universal_authority: authority }: ZoneRow): UniversalSettings {
  return { enabled: enabled === 1, authority: authority as AuthorityName | '' };
}

function universalOwner(zone: Pick<ZoneRow, 'id'>): CertificateOwner {
  return { kind: 'zone', id: toHex(zone.id) };
}

/** Requests or drops a zone's certificate, as its records and settings require. Inside a commit. */
export function keepUniversal(
  ctx: Pick<Context, 'store' | 'clock' | 'random'>,
  draft: Draft,
  zoneId: Uint8Array,
): void {
  const zone = findZoneById(ctx.store, zoneId);
  // Deleting a zone drops its certificates.
  if (!zone) return;
  const owner = universalOwner(zone);
  const has = findRequest(ctx.store, owner.kind, owner.id);
  const { enabled, authority } = settingsOf(zone);
  // The certificate stays when the last proxied record is deleted, because the next one would need it again.
  // No certificate covers names below a zone whose own name has the label `*` (RFC 6125 §6.4.3).
  const covered = !zone.name.includes('*');
  const isOwn = zone.status === 'active' && isProven(zone);
  const needed = covered && enabled && isOwn && (has || proxiedOwners(ctx.store, zone.seq, 1).length > 0);
  if (!needed) {
    dropCertificateRequest(ctx, owner);
    updateCertifiedNames(ctx, draft, zone.seq);
  } else if (has?.authority !== authority) {
    const names = [zone.name, `*.${zone.name}`];
    putCertificateRequest(ctx, owner, { names, method: 'txt', authority, zone: zone.seq });
  }
}
