/** Signing turned on and off for a zone, without the delegation that the use cases look after; and records of all types. */
import { makeId } from '../../src/base/random.js';
import { beginSigning, type EnableOptions, endSigning, planSigning } from '../../src/control/dnssec/enable.js';
import { requireZone } from '../../src/control/guard/access.js';
import { commit } from '../../src/control/kernel/commit.js';
import type { Context } from '../../src/control/kernel/context.js';
import { ownerKeyOf, parseName, toFqdn } from '../../src/dns/name.js';
import { parseRdata, typeByMnemonic } from '../../src/dns/rr/registry.js';
import { findDnssecZone } from '../../src/store/dnssec/zones.js';
import { rdataKeyOf } from '../../src/store/records/records.js';
import type { ChangedZone } from './random-changes.js';

export async function enableSigning(ctx: Context, zoneId: string, options: EnableOptions = {}): Promise<void> {
  const first = options.keys ? undefined : await planSigning(ctx, requireZone(ctx, zoneId), options.algorithm);
  await commit({ ...ctx, signatures: first?.signatures }, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const made = first && { made: first.made };
    if (!findDnssecZone(ctx.store, zone.seq)) beginSigning(ctx, draft, zone, { ...options, ...made });
  });
}

export async function disableSigning(ctx: Context, zoneId: string): Promise<void> {
  await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    if (findDnssecZone(ctx.store, zone.seq)) endSigning(ctx, draft, zone);
  });
}

/** Adds a record, also one of a type that clients cannot create. */
export async function insertRecord(
  { ctx, seq, apex }: Pick<ChangedZone, 'ctx' | 'seq' | 'apex'>,
  name: string,
  type: string,
  content: string,
): Promise<void> {
  const origin = parseName(`${apex}.`);
  const owner = parseName(name, origin);
  const { code } = typeByMnemonic(type)!;
  const rdata = parseRdata(code, content, origin);
  await commit(ctx, (draft) => {
    draft.insertRecord({
      id: makeId(ctx.clock.nowUs(), ctx.random),
      zone: seq,
      owner_key: ownerKeyOf(owner, origin),
      name: toFqdn(owner),
      type: code,
      content,
      rdata,
      rdata_key: rdataKeyOf(rdata),
      ttl: 300,
      proxied: 0,
      settings: null,
      comment: null,
      tags: null,
      private_routing: null,
      created_at: draft.now,
      modified_at: draft.now,
      comment_modified_at: null,
      tags_modified_at: null,
    });
  });
}
