/** Use cases of TSIG keys (v4: secondary DNS). */
import { toBase64, toHex } from '../../base/bytes.js';
import { makeId, type Random } from '../../base/random.js';
import type { Store } from '../../store/driver.js';
import { TSIG_SECRETS } from '../../store/sealed-columns.js';
import { transferPeersOfKey } from '../../store/secondary/peers.js';
import {
  findTsigKeyById,
  findTsigKeyByName,
  insertTsigKey,
  removeTsigKey,
  type TsigKeyRow,
  tsigKeysOfAccount,
  updateTsigKey,
} from '../../store/secondary/tsig-keys.js';
import type { Vault } from '../../vault/vault.js';
import { type PolicyInput, readPolicies } from '../access/policy.js';
import { parseId, requireAccount } from '../guard/access.js';
import { decide } from '../guard/decision.js';
import { DNS_WRITE, findPermissionGroup, type Policy } from '../guard/permissions.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { badBody } from '../kernel/errors.js';
import { requireRoomFor } from '../rules/quotas.js';
import { secondaryFailure } from './errors.js';
import { type KeyInput, readKey } from './input.js';

export interface TsigItem {
  readonly id: string;
  /** Name and algorithm as the client wrote them. */
  readonly name: string;
  readonly algo: string;
  /** Base 64; empty for a caller who may not change keys. */
  readonly secret: string;
  /** What the key may change by dynamic update; none: nothing. */
  readonly policies: readonly Policy[];
}

/** A key as a client sends it. Null or absent policies: those of a key stay, and a new key has none. */
export interface TsigInput extends KeyInput {
  readonly policies?: readonly PolicyInput[] | null | undefined;
}

/** Opens and seals the secrets. */
export interface SecondaryServices {
  readonly vault: Vault;
}

const MOST_KEYS = 200;
const SECRET_OCTETS = 32;

/** A secret for a new key, in base 64. */
export function makeTsigSecret(random: Random): string {
  return toBase64(random.bytes(SECRET_OCTETS));
}

export async function listTsigs(ctx: Context, services: SecondaryServices, accountId: string): Promise<TsigItem[]> {
  const account = requireAccount(ctx, accountId);
  return tsigKeysOfAccount(ctx.store, account.seq).map((row) => itemOf(ctx, services, accountId, row));
}

export async function getTsig(
  ctx: Context,
  services: SecondaryServices,
  accountId: string,
  id: string,
): Promise<TsigItem> {
  return itemOf(ctx, services, accountId, requireKey(ctx, accountId, id));
}

export async function createTsig(
  ctx: Context,
  services: SecondaryServices,
  accountId: string,
  input: TsigInput,
): Promise<TsigItem> {
  const made = readNewTsig(ctx, accountId, input);
  return (await commit(ctx, (draft) => draftTsig(ctx, services, draft, accountId, made))).value;
}

/** A key that was checked, with its identifier. */
interface NewTsig extends ReturnType<typeof readKey> {
  readonly id: Uint8Array;
  readonly input: TsigInput;
  readonly policies: readonly Policy[] | null;
}

/** Checks a key before the write that makes it. Throws 400. */
export function readNewTsig(ctx: Context, accountId: string, input: TsigInput): NewTsig {
  const policies = input.policies ? readUpdatePolicies(ctx, input.policies, accountId) : null;
  return { ...readKey(input), id: makeId(ctx.clock.nowUs(), ctx.random), input, policies };
}

/** Makes the key inside a write. Throws 400 for a name that is taken, and for too many keys. */
export function draftTsig(
  ctx: Context,
  services: SecondaryServices,
  draft: Draft,
  accountId: string,
  { id, input, keyName, secret, policies }: NewTsig,
): TsigItem {
  const { store } = ctx;
  const account = requireAccount(ctx, accountId);
  if (tsigKeysOfAccount(store, account.seq).length >= MOST_KEYS) {
    throw secondaryFailure('tooMany', { most: MOST_KEYS, things: 'TSIG keys' });
  }
  refuseTwice(store, account.seq, keyName, input.name);
  const sealed = services.vault.seal(TSIG_SECRETS, id, secret);
  const values = valuesOf(input, keyName, sealed, policies && JSON.stringify(policies));
  requireRoomFor(ctx, account.seq, 'lists');
  insertTsigKey(store, id, account.seq, values, draft.now);
  const after = { name: input.name, algo: input.algo, policies: policies ?? [] };
  draft.event({ kind: 'tsig.create', account: account.seq, id, name: input.name, after });
  return itemOf(ctx, services, accountId, requireKey(ctx, accountId, toHex(id)));
}

export async function replaceTsig(
  ctx: Context,
  services: SecondaryServices,
  accountId: string,
  keyId: string,
  input: TsigInput,
): Promise<TsigItem> {
  const { keyName, secret } = readKey(input);
  const policies = input.policies ? readUpdatePolicies(ctx, input.policies, accountId) : null;
  const { value } = await commit(ctx, (draft) => {
    const { store } = ctx;
    const row = requireKey(ctx, accountId, keyId);
    refuseTwice(store, row.account, keyName, input.name, row.seq);
    const sealed = services.vault.seal(TSIG_SECRETS, row.id, secret);
    const values = valuesOf(input, keyName, sealed, policies ? JSON.stringify(policies) : row.policies);
    updateTsigKey(store, row.seq, values, draft.now);
    const before = { name: row.name, algo: row.algorithm, policies: updatePoliciesOf(row) };
    const after = { name: input.name, algo: input.algo, policies: policies ?? updatePoliciesOf(row) };
    draft.event({ kind: 'tsig.edit', account: row.account, id: row.id, name: input.name, before, after });
    return itemOf(ctx, services, accountId, requireKey(ctx, accountId, keyId));
  });
  return value;
}

/** Throws 400 while a peer uses the key. */
export async function deleteTsig(ctx: Context, accountId: string, keyId: string): Promise<{ readonly id: string }> {
  const { value } = await commit(ctx, (draft) => {
    const row = requireKey(ctx, accountId, keyId);
    const [peer] = transferPeersOfKey(ctx.store, row.seq);
    if (peer) throw secondaryFailure('keyInUse', { peer: peer.name });
    removeTsigKey(ctx.store, row.seq);
    const before = { name: row.name, algo: row.algorithm };
    draft.event({ kind: 'tsig.delete', account: row.account, id: row.id, name: row.name, before });
    return { id: toHex(row.id) };
  });
  return value;
}

/** The account's key with this identifier. Throws 404. */
export function requireKey(ctx: Context, accountId: string, keyId: string): TsigKeyRow {
  const account = requireAccount(ctx, accountId);
  const id = parseId(keyId);
  const row = id && findTsigKeyById(ctx.store, id);
  if (row?.account !== account.seq) throw secondaryFailure('keyMissing', { id: keyId.slice(0, 64) });
  return row;
}

function refuseTwice(store: Store, account: number, keyName: Uint8Array, name: string, except?: number): void {
  const other = findTsigKeyByName(store, account, keyName);
  if (other && other.seq !== except) throw secondaryFailure('keyExists', { name }, { pointer: '/name' });
}

function itemOf(ctx: Context, { vault }: SecondaryServices, accountId: string, row: TsigKeyRow): TsigItem {
  const mayWrite = !ctx.actor.readOnly && decide(ctx.actor, 'account', 'write', { account: accountId }).allowed;
  const secret = mayWrite ? toBase64(vault.open(TSIG_SECRETS, row.id, row.secret)) : '';
  return { id: toHex(row.id), name: row.name, algo: row.algorithm, secret, policies: updatePoliciesOf(row) };
}

function valuesOf(
  { name, algo: algorithm }: KeyInput,
  key_name: Uint8Array,
  secret: Uint8Array,
  policies: string | null,
) {
  return { name, key_name, algorithm, secret, policies };
}

/** What a key may change by dynamic update; none: nothing. */
export function updatePoliciesOf({ policies }: TsigKeyRow): readonly Policy[] {
  return policies === null ? [] : (JSON.parse(policies) as Policy[]);
}

/** Keys write records and nothing else, so other permissions are refused. */
function readUpdatePolicies(ctx: Context, inputs: readonly PolicyInput[], accountId: string): readonly Policy[] {
  const policies = readPolicies(ctx, inputs, { account: accountId });
  policies.forEach(({ groups }, i) => {
    const other = groups.map((id) => findPermissionGroup(id)).find((entry) => entry?.id !== DNS_WRITE);
    if (other)
      throw badBody(`a TSIG key can have DNS Write only, not ${other.name}`, `/policies/${i}/permission_groups`);
  });
  return policies;
}

/** The policies of a key as a phrase. */
export function describeUpdates(policies: TsigItem['policies']): string {
  const texts = policies.map(({ effect, resources, records }) => {
    const { names = ['*'], types = ['all types'] } = records ?? {};
    const within = Object.keys(resources).map((name) => name.replace('com.cloudflare.api.account.', ''));
    return `${effect === 'deny' ? 'never ' : ''}${names.join(', ')} (${types.join(', ')}) in ${within.join(', ')}`;
  });
  return texts.length === 0 ? 'nothing' : texts.join('; ');
}
