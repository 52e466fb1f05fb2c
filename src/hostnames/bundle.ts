/** Use cases of single certificates of a bundle that a customer brought (v4: §10.1). */
import { uuidOctets } from '../base/bytes.js';
import { type BundleFault, type BundleItem, deleteFromBundle, replaceInBundle } from '../certs/bundle.js';
import { whenDeployed } from '../certs/deployment.js';
import { requireZone } from '../control/guard/access.js';
import { commit, type Draft } from '../control/kernel/commit.js';
import type { Context } from '../control/kernel/context.js';
import type { HostnameRow } from '../store/hostnames/hostnames.js';
import type { ZoneRow } from '../store/zones/zones.js';
import { checkBrought } from './brought.js';
import type { HostnameContext } from './context.js';
import { hostnameFailure } from './errors.js';
import { getHostname, itemOf, requireHostname } from './hostnames.js';
import { certificateNames, certificateOwner, type HostnameItem, sslConfigurationOf } from './item.js';
import { type BroughtInput, pairOf } from './ssl-input.js';

/** A certificate of a hostname. */
export interface HostnameCertificate extends BundleItem {
  readonly hostname: string;
}

/** Throws 1426 to 1447 for what cannot take the place of the certificate. */
export async function replaceCertificate(
  ctx: HostnameContext,
  zoneId: string,
  item: HostnameCertificate,
  input: BroughtInput,
): Promise<HostnameItem> {
  const [pair] = pairOf(input, '');
  if (!pair) throw hostnameFailure('certificateMissing', {}, { pointer: '/custom_certificate' });
  const { vault } = ctx.hostnames.certificates;
  const { value } = await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const row = requireHostname(ctx, zone, item.hostname);
    const configuration = sslConfigurationOf(row);
    if (!configuration) throw hostnameFailure('packMissing');
    const names = certificateNames(row.hostname, configuration);
    const [checked] = checkBrought([pair], names, configuration, ctx.clock.nowMs());
    refuse(replaceInBundle({ store: ctx.store, vault }, certificateOwner(row.id), item, checked!));
    audit(draft, zone, row, { after: { replaced_certificate: item.certificate, fingerprint: checked!.fingerprint } });
    return itemOf(ctx, zone, row);
  });
  if (ctx.dryRun) return value;
  await whenDeployed(ctx.store);
  return getHostname(ctx, zoneId, item.hostname);
}

export async function deleteCertificate(
  ctx: Context,
  zoneId: string,
  item: HostnameCertificate,
): Promise<{ readonly id: string }> {
  const { value } = await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const row = requireHostname(ctx, zone, item.hostname);
    refuse(deleteFromBundle(ctx.store, certificateOwner(row.id), item));
    audit(draft, zone, row, { before: { deleted_certificate: item.certificate } });
    return { id: row.id };
  });
  return value;
}

function audit(
  draft: Draft,
  zone: ZoneRow,
  { id, hostname }: HostnameRow,
  told: { before?: object; after?: object },
): void {
  draft.event({ kind: 'custom_hostname.edit', zone, id: uuidOctets(id), name: hostname, ...told });
}

const REFUSALS = {
  'no such pack': 'packMissing',
  'no such certificate': 'packCertificateMissing',
  'not brought': 'notBrought',
  'other key': 'otherKey',
  last: 'lastCertificate',
} as const satisfies Record<BundleFault, Parameters<typeof hostnameFailure>[0]>;

function refuse(fault: BundleFault | undefined): void {
  if (fault !== undefined) throw hostnameFailure(REFUSALS[fault]);
}
