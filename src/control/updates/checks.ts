/** What an instruction of an update may do: types, permissions of the key, and what is changed in other ways. */

import { Class, Type } from '../../dns/codes.js';
import type { ReadRecord } from '../../dns/message.js';
import { toFqdn } from '../../dns/name.js';
import { isNeverStored } from '../../dns/rr/mnemonics.js';
import { typeByCode, typeMnemonic } from '../../dns/rr/registry.js';
import { RdataError } from '../../dns/rr/type.js';
import { signatureState } from '../../serving/zone-state.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { inRecordScopes } from '../guard/permissions.js';
import type { Context } from '../kernel/context.js';
import { requireSeveralSigners } from '../rules/foreign-keys.js';
import { isProxiableType } from '../rules/proxiable.js';
import { updateFailure } from './errors.js';
import type { UpdatedOwner } from './owners.js';

/** Made by the service when it signs. */
const OF_SIGNER: ReadonlySet<number> = new Set([Type.rrsig, Type.nsec, Type.nsec3, Type.nsec3param]);
/** In a signed zone they follow from its keys. */
const OF_KEYS: ReadonlySet<number> = new Set([Type.cds, Type.cdnskey]);

/** Types of questions are not data; ANY is allowed in deletions of a whole name (RFC 2136 §3.4.1.3). */
export function requireKnownType({ type, class: recordClass }: ReadRecord): void {
  const isWholeName = type === Type.any && recordClass === Class.any;
  if (!isWholeName && isNeverStored(type)) {
    throw updateFailure('malformed', { reason: `an instruction has the type ${typeMnemonic(type)}` });
  }
}

/** Throws for data that the type cannot have. */
export function requireUsable({ owner, type, rdata }: ReadRecord): void {
  const known = typeByCode(type);
  try {
    known.check(rdata);
  } catch (error) {
    if (!(error instanceof RdataError)) throw error;
    throw updateFailure('malformed', { reason: `${known.mnemonic}: ${error.message}` });
  }
  const fault = known.semanticFault(rdata);
  if (fault) throw updateFailure('unusable', { name: toFqdn(owner), type: known.mnemonic, reason: fault.reason });
}

/** `at` undefined: the apex. */
export function requireMayAdd(ctx: Context, zone: ZoneRow, at: UpdatedOwner | undefined, type: number): void {
  requirePolicy(ctx, at ? toFqdn(at.owner) : zone.name, type);
  requireOurs(ctx, zone, type);
  if (at) requireUnproxied(at, type);
}

/** `types`: the types that would be removed; none: nothing is stored there. */
export function requireMayRemove(ctx: Context, zone: ZoneRow, at: UpdatedOwner, types: ReadonlySet<number>): void {
  for (const type of types) {
    requirePolicy(ctx, toFqdn(at.owner), type);
    requireOurs(ctx, zone, type);
    requireUnproxied(at, type);
  }
}

function requirePolicy({ actor: { recordScopes } }: Context, name: string, type: number): void {
  if (!recordScopes || inRecordScopes(recordScopes, name, typeMnemonic(type))) return;
  throw updateFailure('noPolicy', { name, type: typeMnemonic(type) });
}

/** Throws for an instruction about records that nobody but the service makes. */
export function requireNotOfSigner({ type }: ReadRecord): void {
  if (OF_SIGNER.has(type)) throw updateFailure('notHere', { type: typeMnemonic(type) });
}

function requireOurs({ store }: Context, zone: ZoneRow, type: number): void {
  if (signatureState(zone) !== 'none' && OF_KEYS.has(type))
    throw updateFailure('notHere', { type: typeMnemonic(type) });
  if (type === Type.dnskey) requireSeveralSigners(store, zone);
}

/** Resolvers see the addresses of the edge there, so a client cannot know what it would change. */
function requireUnproxied({ owner, isProxied }: UpdatedOwner, type: number): void {
  if (isProxiableType(type) && isProxied) {
    throw updateFailure('proxied', { name: toFqdn(owner) });
  }
}
